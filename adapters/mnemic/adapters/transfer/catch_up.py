"""A log that follows another: what it lacks, and how that is copied.

Rules of this module:

1. The follower is a prefix of the other log at every moment, so its readers see a sound past. A log
   that is no prefix is another memory, and is left unchanged.
2. What was copied may hold text that has been erased since. It is deleted in the transaction that
   appends the erasure, as in the original.
"""

from __future__ import annotations

from threading import RLock

from attrs import frozen

from mnemic.adapters.checkpoints.directory import checkpoint_directory
from mnemic.adapters.checkpoints.writer import CheckpointWriter
from mnemic.adapters.codec import Codec
from mnemic.adapters.stores.encryption_consistency import check_carried
from mnemic.adapters.stores.logs.chain import EMPTY, check_end
from mnemic.adapters.transfer.copies.logs import (
    fill,
    holds,
    log_records,
    parted,
)
from mnemic.adapters.transfer.copies.pipeline import Tally, Walk
from mnemic.kernel.errors import SpaceExists
from mnemic.kernel.ports import Head, Log, Store
from mnemic.projections.state.state import State

PASSES_MAX = 10
"""Passes over new events. Each has less to copy, unless a log grows faster than that."""


@frozen(kw_only=True)
class Plan:
    """One space, and how far the target has it."""

    source: Log
    theirs: Head
    """Where it ends in the source."""
    ours: Head
    """Where it ends in the target."""

    @property
    def to_copy(self) -> int:
        """How many events the target lacks."""
        return self.theirs.version - self.ours.version


def planned(source: Log, target: Store | None) -> Plan:
    """Return what there is to copy of one space.

    Raises:
        SpaceExists: The target has a different space of that name, or a longer one.
        KeysMissing, NotEncrypted: The target encrypts differently; see ``encryption_consistency``.
    """
    theirs, name = source.head(), source.name
    if target is not None:
        check_carried(source, target)
    if target is None or name not in target.spaces():
        return Plan(source=source, theirs=theirs, ours=EMPTY)
    own = target.log(name, create=False)
    ours = own.head()
    if ours.version > theirs.version or not holds(source, ours):
        raise _divergence(source, own, last=min(ours.version, theirs.version))
    return Plan(source=source, theirs=theirs, ours=ours)


def _divergence(source: Log, own: Log, *, last: int) -> SpaceExists:
    """Return the error for two logs of one name, with the first version at which they differ."""
    low, high = 0, last + 1
    while low < high:
        middle = (low + high) // 2
        if source.digest_at(middle) == own.digest_at(middle):
            low = middle + 1
        else:
            high = middle
    name = source.name
    if low > last:
        problem = f"the target's {name!r} goes on at version {low}, where the source ends"
    else:
        problem = f"the target has another {name!r}: the two part at version {low}"
    return SpaceExists(
        problem,
        recovery="Move it into a store that has none of this name; nothing was written.",
        space=name,
        version=low,
    )


def caught_up(
    source: Log,
    store: Store,
    codec: Codec,
    *,
    tally: Tally | None = None,
) -> Head:
    """Copy what *store* lacks of the space *source*, and return where it ends there then.

    Raises:
        LogCorrupt: The source is damaged, or the chains differ at the end.
        HistoryReplaced: The source does not hold what was copied from it any more.
        VersionConflict: Another process writes there.
    """
    own = store.log(source.name)
    for _ in range(PASSES_MAX):
        theirs, ours = source.head(), own.head()
        if ours.version >= theirs.version:
            break
        records = log_records(source, theirs, codec, after=ours)
        walk = Walk(codec, after=ours, tally=tally)
        # Payloads erased by now are not read here; those copied by earlier passes are still there.
        has_text = ours.version >= 0
        fill(own, records, walk, erasing=has_text)
        if has_text and walk.erasures.any_erased:
            _forget_checkpoints(store, own)
    head = own.head()
    check_end(source)
    if not holds(source, head):
        raise parted(own, head.version)
    return head


def _forget_checkpoints(store: Store, log: Log) -> None:
    """Destroy checkpoints of the target that may hold text that has just been erased."""
    place = checkpoint_directory(store, None, read_only=False)
    if place is not None:
        writer = CheckpointWriter(log, place, fold_lock=RLock(), state=State, payloads=lambda: 0)
        writer.erased()
        writer.destroy()
