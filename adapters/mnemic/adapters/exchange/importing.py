"""Making a space of an export: all is checked first, then written, and checked again on the way."""

from __future__ import annotations

from mnemic.adapters.clocks import SystemClock
from mnemic.adapters.entropy import SystemEntropy
from mnemic.adapters.exchange.copying import Hands, Progress, check_copy, erase_again, fill
from mnemic.adapters.exchange.reading import Entry, Export
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import FieldRefused, LogCorrupt
from mnemic.kernel.identity import BlockId
from mnemic.kernel.ports import Head, Log

PROGRESS_EVERY = 1000
PASSES = 2
"""Looks at every event: one before anything is written, one to write it."""


def check_words(export: Export) -> None:
    """Refuse an export that no memory could live on.

    Raises:
        FieldRefused: It was made without words.
    """
    if not export.manifest.words:
        raise FieldRefused(
            f"{export.path} was exported without words",
            recovery="Export with words; this one is good for checking receipts.",
            field="path",
        )


def check(export: Export, *, progress: Progress | None = None) -> Entry:
    """Walk an export from end to end, and return its last event.

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
    export: Export, last: Entry, log: Log, hands: Hands, *, progress: Progress | None = None
) -> Head:
    """Write a checked export into an empty log, and return where the copied part ends.

    Args:
        export: Read once more on the way.
        last: Its last event.
        log: Where to.
        hands: Who copies.
        progress: Called with the looks taken, those of the check included.

    Raises:
        ExportCorrupt: The files were changed meanwhile.
        VersionConflict: Somebody else writes there.
        LogCorrupt: The store did not keep what it was given.
    """
    total = export.manifest.version + 1
    report = None if progress is None else _second(progress)
    head = fill(log, export.entries(), total=total, progress=report)
    check_copy(log, Head(last.record.version, last.digest))
    erase_again(
        log,
        [BlockId(block) for block in export.manifest.erased],
        last.recorded,
        hands,
    )
    return head


def _second(progress: Progress) -> Progress:
    return lambda done, total: progress(done + total, PASSES * total)


def into_memory(export: Export) -> MemoryStore:
    """Return a store in memory that holds an export under its own name.

    Raises:
        ExportCorrupt, StoreTooNew, StoreFailed: It cannot be believed, or read.
    """
    store = MemoryStore()
    hands = Hands(clock=SystemClock(), entropy=SystemEntropy(), actor="import")
    write(export, check(export), store.log(export.manifest.space), hands)
    return store
