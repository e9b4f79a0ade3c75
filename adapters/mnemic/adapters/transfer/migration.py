"""Moving spaces into another store: the same chains, payloads, keys and commands.

The source is only read, and others may write to it all the time. The target follows it, see
``catch_up``, so a run that was killed is resumed by running it again. A new file is temporary until
every space in it is complete and compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mnemic.adapters.codec import Codec
from mnemic.adapters.stores.encryption_consistency import is_locked
from mnemic.adapters.stores.opening import Address, opened
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.adapters.transfer.catch_up import Plan, caught_up, planned
from mnemic.adapters.transfer.copies.logs import log_records
from mnemic.adapters.transfer.copies.pipeline import Progress, Tally, Walk
from mnemic.adapters.transfer.destination import (
    check_apart,
    check_names,
    open_existing,
    open_target,
    shown,
)
from mnemic.adapters.transfer.results import MigrationResult, SpaceMoved
from mnemic.kernel.errors import LogCorrupt, StoreBusy
from mnemic.kernel.ports import Head, Log, Store

TRIES = 3
"""Comparisons that concurrent erasures may spoil before the run is aborted."""


def migrate(
    source: Address | Store,
    target: Address | Store,
    *,
    spaces: Iterable[str] | None = None,
    dry_run: bool = False,
    keys: Path | None = None,
    progress: Progress | None = None,
) -> MigrationResult:
    """Copy spaces from one store into another, or what was added since the last run.

    Run it again after a kill, or to catch up with a source that others go on writing.

    Args:
        source: A store, or its address. It is read only.
        target: A store, or its address; a file is made if it does not exist.
        spaces: Their names; None: all that the source has.
        dry_run: Write nothing, and report what would be done.
        keys: The file of keys that encrypt the target, if *target* is an address and the source
            is not encrypted; what is encrypted there is copied unchanged.
        progress: Called now and then with the number of events processed and the total, two for
            each: one when it is copied and one when it is compared.

    Raises:
        SpaceExists: A space of the target is no prefix of the one in the source; the fact
            ``version`` says where they diverge. Nothing was written.
        SpaceNotFound: The source has no such space.
        KeysMissing, NotEncrypted: One is encrypted, and the other is not.
        LogCorrupt: The source is damaged; what precedes the damage was copied.
        StoreBusy: Others erase all the time, or another process is migrating.
        FieldRefused: Both are one store, or an argument is invalid.
        NotAStore, StoreTooNew, StoreFull, StoreFailed, VersionConflict: See each.
    """
    check_apart(source, target)
    with opened(source, read_only=True) as origin:
        if spaces is None:
            check_names(origin)
        names = tuple(dict.fromkeys(origin.spaces() if spaces is None else spaces))
        logs = [origin.log(name, create=False) for name in names]
        if any(map(is_locked, logs)):
            keys = None
        if dry_run:
            with open_existing(target, keys=keys) as found:
                moved = [_foreseen(planned(log, found)) for log in logs]
        else:

            def plans_for(store: Store) -> list[Plan]:
                return [planned(log, store) for log in logs]

            with open_target(target, plans_for, keys=keys) as store:
                plans = plans_for(store)
                tally = Tally(progress, total=sum(_work(plan) for plan in plans))
                codec = Codec(SystemEntropy())
                moved = [_moved(plan, store, codec, tally) for plan in plans]
                tally.show()
    return MigrationResult(
        source=shown(source), target=shown(target), spaces=tuple(moved), dry_run=dry_run
    )


def _work(plan: Plan) -> int:
    return plan.to_copy + plan.theirs.version + 1


def _foreseen(plan: Plan) -> SpaceMoved:
    payloads = sum(len(rows) for _, rows in plan.source.read(-1, plan.theirs.version))
    return SpaceMoved(
        space=plan.source.name,
        version=plan.theirs.version,
        chain=plan.theirs.digest.hex(),
        payloads=payloads,
        copied=plan.to_copy,
        behind=0,
    )


def _moved(plan: Plan, store: Store, codec: Codec, tally: Tally) -> SpaceMoved:
    """Copy one space, compare it, and report the outcome."""
    source, own = plan.source, store.log(plan.source.name)
    for _ in range(TRIES):
        head = caught_up(source, store, codec, tally=tally)
        try:
            walk = _compared(source, own, head, codec=codec, tally=tally)
        except LogCorrupt:
            if source.head() == head:
                raise  # nothing has been erased meanwhile: it is damage
        else:
            return SpaceMoved(
                space=own.name,
                version=head.version,
                chain=head.digest.hex(),
                payloads=walk.payloads,
                copied=head.version - plan.ours.version,
                behind=source.head().version - head.version,
            )
    raise StoreBusy(f"text of {source.name!r} was erased during {TRIES} comparisons")


def _compared(source: Log, own: Log, head: Head, *, codec: Codec, tally: Tally) -> Walk:
    """Compare two logs up to where one ends: records, payloads, keys, commands.

    Raises:
        LogCorrupt: They differ, or one is damaged, or the source has erased text meanwhile.
    """
    walk, before = Walk(codec, tally=tally), ""
    ours = walk.over(log_records(own, head.version, codec, commands=False))
    for (record, rows), each in zip(source.read(-1, head.version), ours, strict=True):
        version, command_id = record.version, each.recorded.command_id
        if each.record != record:
            raise _differs(version, "the event")
        if {*each.payloads} != {*rows}:
            raise _differs(version, "a payload")
        if command_id != before and source.command(command_id) != own.command(command_id):
            raise _differs(version, "the command")
        before = command_id
    walk.settle()
    return walk


def _differs(version: int, what: str) -> LogCorrupt:
    return LogCorrupt(
        f"{what} at version {version} is not in the copy as it is in the original",
        version=version,
    )
