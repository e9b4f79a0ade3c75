"""Creating a space from an export: checked completely, then written and checked again."""

from __future__ import annotations

from mnemic.adapters.codec import Codec
from mnemic.adapters.files import atomic_files
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import SystemClock
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.adapters.transfer.copies.copying import CopyContext, record_losses
from mnemic.adapters.transfer.copies.logs import fill
from mnemic.adapters.transfer.copies.pipeline import Progress, Tally, Walk
from mnemic.adapters.transfer.exports.reader import Export
from mnemic.adapters.transfer.exports.writer import vectors_path
from mnemic.kernel.errors import FieldRefused, LogCorrupt
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.ports import Head, Log

IMPORT_BYTES_MAX = 16 * 2**30
"""Longest export that is imported, by every interface: its lines and vectors together."""
PASSES = 2
"""Passes over every event: one before anything is written, one to write it."""


def check_words(export: Export) -> None:
    """Refuse an export without text, from which no memory can be made.

    Raises:
        FieldRefused: It was made without text.
    """
    if not export.manifest.words:
        raise FieldRefused(
            f"{export.path} was exported without text",
            recovery="Export with the text (words=True); this one is good for checking receipts.",
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


def check(export: Export, *, tally: Tally | None = None) -> None:
    """Check an export from end to end.

    Raises:
        ExportCorrupt, StoreTooNew, StoreFailed: It is damaged, or cannot be read.
        LogCorrupt: It has no event.
    """
    walk = _walk(tally)
    for _ in walk.over(export.entries()):
        pass
    if walk.last is None:
        raise LogCorrupt(f"{export.path} holds no event", version=0)


def write(
    export: Export, log: Log, copy_context: CopyContext, *, tally: Tally | None = None
) -> Head:
    """Write a checked export into an empty log, and return where the copied part ends.

    Args:
        export: Read a second time.
        log: The target.
        copy_context: The actor of the copy.
        tally: Counts the events.

    Raises:
        ExportCorrupt: The files were changed meanwhile.
        VersionConflict: Another process writes there.
        LogCorrupt: The store did not keep what it was given.
    """
    walk = _walk(tally)
    head = fill(log, export.entries(), walk)
    if walk.last is not None:
        erased = [BlockId(block) for block in export.manifest.erased]
        record_losses(log, walk.last, copy_context, after=head, erase=erased)
    return head


def passes_of(export: Export, progress: Progress | None) -> Tally:
    """Return what counts the passes of an import."""
    return Tally(progress, total=PASSES * (export.manifest.version + 1))


def _walk(tally: Tally | None) -> Walk:
    return Walk(Codec(SystemEntropy()), tally=tally)


def into_memory(export: Export) -> MemoryStore:
    """Return a store in memory that holds an export as a space of its own name.

    Raises:
        ExportCorrupt, StoreTooNew, StoreFailed: It is damaged, or cannot be read.
    """
    store = MemoryStore()
    copy_context = CopyContext(clock=SystemClock(), entropy=SystemEntropy(), actor="import")
    check(export)
    write(export, store.log(export.manifest.space), copy_context)
    return store
