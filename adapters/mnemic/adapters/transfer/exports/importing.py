"""Creating a space from an export: checked completely, then written and checked again."""

from __future__ import annotations

from mnemic.adapters.files import atomic_files
from mnemic.adapters.stores.logs.chain import EMPTY
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import SystemClock
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.adapters.transfer.copies.copying import (
    CopyContext,
    Progress,
    check_copy,
    erase_again,
    fill,
)
from mnemic.adapters.transfer.exports.reader import Entry, Export
from mnemic.adapters.transfer.exports.writer import vectors_path
from mnemic.kernel.errors import FieldRefused, LogCorrupt
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.ports import Head, Log

IMPORT_BYTES_MAX = 16 * 2**30
"""Longest export that is imported, by every interface: its lines and vectors together."""
PROGRESS_EVERY = 1000
PASSES = 2
"""Passes over every event: one before anything is written, one to write it."""


def check_words(export: Export) -> None:
    """Refuse an export without text, from which no memory can be made.

    Raises:
        FieldRefused: It was made without words.
    """
    if not export.manifest.words:
        raise FieldRefused(
            f"{export.path} was exported without words",
            recovery="Export with words; this one is good for checking receipts.",
            field="path",
        )


def check_size(export: Export, *, limit: int = IMPORT_BYTES_MAX) -> None:
    """Refuse an export that is longer than any may be, before it is read.

    Raises:
        FieldRefused: It is.
        StoreFailed: Its files cannot be found.
    """
    with atomic_files.named(export.path):
        size = export.path.stat().st_size
        beside = vectors_path(export.path)
        size += beside.stat().st_size if beside.exists() else 0
    if size > limit:
        raise FieldRefused(
            f"{export.path} has {size} bytes with its vectors, the limit is {limit}",
            recovery="Export a part of the memory with upto, or copy the store with "
            "`mnemic migrate`.",
            field="path",
            limit_bytes=limit,
        )


def check(export: Export, *, progress: Progress | None = None) -> Entry:
    """Check an export from end to end, and return its last event.

    Raises:
        ExportCorrupt, StoreTooNew, StoreFailed: It cannot be believed, or read.
        LogCorrupt: It has no event.
    """
    last: Entry | None = None
    total = PASSES * (export.manifest.version + 1)
    for last in export.entries():
        if progress is not None and last.record.version % PROGRESS_EVERY == 0:
            progress(last.record.version + 1, total)
    if last is None:
        raise LogCorrupt(f"{export.path} holds no event", version=0)
    return last


def write(
    export: Export,
    last: Entry,
    log: Log,
    copy_context: CopyContext,
    *,
    progress: Progress | None = None,
) -> Head:
    """Write a checked export into an empty log, and return where the copied part ends.

    Args:
        export: Read a second time.
        last: Its last event.
        log: The target.
        copy_context: The actor of the copy.
        progress: Called with the number of events, those of the check included.

    Raises:
        ExportCorrupt: The files were changed meanwhile.
        VersionConflict: Another process writes there.
        LogCorrupt: The store did not keep what it was given.
    """
    total = export.manifest.version + 1
    report = None if progress is None else _second(progress)
    head = fill(log, export.entries(), after=EMPTY, total=total, progress=report)
    check_copy(log, Head(last.record.version, last.digest))
    erase_again(
        log,
        [BlockId(block) for block in export.manifest.erased],
        last.recorded,
        copy_context,
        after=head,
    )
    return head


def _second(progress: Progress) -> Progress:
    return lambda done, total: progress(done + total, PASSES * total)


def into_memory(export: Export) -> MemoryStore:
    """Return a store in memory that holds an export as a space of its own name.

    Raises:
        ExportCorrupt, StoreTooNew, StoreFailed: It cannot be believed, or read.
    """
    store = MemoryStore()
    copy_context = CopyContext(clock=SystemClock(), entropy=SystemEntropy(), actor="import")
    write(export, check(export), store.log(export.manifest.space), copy_context)
    return store
