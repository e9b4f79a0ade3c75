"""Saving what can be read of a damaged store into a new and sound one.

Rules of this module:

1. The damaged store is only read, and the new one is another file.
2. Of each space the longest prefix is kept that passes all checks to its end: every record by the
   chain, every event by the codec, every payload by its MAC.
3. A payload that is damaged or missing, though no erasure that can be read accounts for it, costs
   its block and no more: the copy records that the block is erased, so that it verifies. Where the
   event names no block that could be erased for it (a query, a note between two blocks, the salt),
   the copy ends before the event, unless the caller asks to keep what follows and accept the loss.
4. What is lost is reported, and never guessed.
5. What a newer release wrote is not damaged. It is left out only on request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from attrs import define, field

from mnemic.adapters.codec import Codec
from mnemic.adapters.stores.opening import Address, is_file, open_store, opened
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.stores.sqlite.damaged_heads import remains
from mnemic.adapters.system.clocks import SystemClock
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.adapters.transfer.copies.copying import CopyContext, record_losses
from mnemic.adapters.transfer.copies.logs import fill, verified
from mnemic.adapters.transfer.copies.pipeline import Progress, Tally, TransferRecord, Walk
from mnemic.adapters.transfer.destination import check_apart, new_file, shown, underlying_store
from mnemic.adapters.transfer.lost_payloads import verdict
from mnemic.adapters.transfer.results import SalvageResult, SpaceSalvaged
from mnemic.kernel.errors import FieldRefused, LogCorrupt, MnemicError, StoreTooNew
from mnemic.kernel.events import Recorded
from mnemic.kernel.ports import Clock, CommandRow, Entropy, Log, PayloadRow, Record, Store
from mnemic.projections.state.event_validation import check_policy_known, impossible_event
from mnemic.projections.timeline.command_ids import is_like_generated

Unlock = Callable[[PayloadRow], PayloadRow | None]
"""Returns a payload as the codec wrote it; None: its key is destroyed, and it is copied unread."""

ACTOR = "salvage"
"""Actor of the events in the copy that erase blocks which lost their text."""


def salvage(
    damaged: Address | Store,
    to: str | Path,
    *,
    gaps: bool = False,
    drop_newer: bool = False,
    keys: Path | None = None,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    progress: Progress | None = None,
) -> SalvageResult:
    """Write a new store with the longest sound prefix of every space of a damaged one.

    Args:
        damaged: A store, or its address. It is read only.
        to: A file that does not exist.
        gaps: Keep also what follows a lost payload for which no block can be erased; an event of
            the copy accepts the loss, and it is shown as lost from then on.
        drop_newer: End the copy before the first event that a newer release wrote, which this one
            cannot read; otherwise such a store is refused.
        keys: Keys of a store that is named by its address. They show which text is damaged; the
            copy is encrypted with the same.
        clock: Stamps the events that are added to the copies; None: the system's.
        entropy: None: the system's.
        progress: Called now and then with the number of events processed and the total.

    Raises:
        FieldRefused: The file exists, or *to* is no path.
        KeysMissing: It is encrypted, and the keys were not given, or are others.
        NotAStore, LogCorrupt: The store cannot even be opened for reading.
        SpaceExists: The file was made meanwhile.
        StoreTooNew: Likewise; or a newer release wrote a part of it.
        StoreFull, StoreFailed: The file cannot be written.
    """
    if not isinstance(to, str | Path) or not is_file(to):
        raise FieldRefused(f"not a file: {to!r:.100}", field="to")
    check_apart(damaged, to)
    path = Path(to)
    copy_context = CopyContext(
        clock=clock or SystemClock(), entropy=entropy or SystemEntropy(), actor=ACTOR
    )
    with (
        new_file(path) as draft,
        opened(damaged, read_only=True, keys=keys) as store,
    ):
        kept, unlock = underlying_store(store), unlocking(store)
        with closing(open_store(draft, synchronous="normal")) as copy:
            logs = [kept.log(name, create=False) for name in kept.spaces()]
            tally = Tally(progress, total=2 * sum(map(_length, logs)))
            saved = tuple(
                _Salvage(
                    log=log,
                    store=kept,
                    copy_context=copy_context,
                    unlock=unlock,
                    tally=tally,
                    drop_newer=drop_newer,
                ).into(copy.log(log.name), gaps=gaps)
                for log in logs
            )
            tally.show()
        problem = _lost_besides(kept)
    return SalvageResult(damaged=shown(damaged), into=str(path), spaces=saved, problem=problem)


def _lost_besides(store: Store) -> str | None:
    """Return which spaces a store is known to have had, and has no trace of."""
    try:
        if isinstance(store, SQLiteStore):
            store.check_spaces()
    except LogCorrupt as error:
        return error.message
    return None


def unlocking(store: Store) -> Unlock:
    """Return what decrypts the payloads of a store, as far as keys were given."""
    if not getattr(store, "is_encrypted", False):
        return lambda row: row
    from mnemic.adapters.stores.encrypted.store import EncryptedStore

    assert isinstance(store, EncryptedStore)  # noqa: S101 - the one store with this attribute
    return store.unlocked


def _length(log: Log) -> int:
    """Return how many events a log has, as far as is known."""
    try:
        return log.head().version + 1
    except LogCorrupt:
        return 0


def _kept_whole(space: str, error: StoreTooNew) -> StoreTooNew:
    return StoreTooNew(
        f"space {space!r} is not damaged there: {error.message}",
        recovery="Save it with the newer release. To keep only what this release can read, call "
        "salvage with drop_newer=True (`mnemic salvage --drop-newer`).",
        space=space,
        **error.facts,
    )


@define(kw_only=True, eq=False)
class _Salvage:
    """One space of a damaged store."""

    log: Log
    store: Store
    copy_context: CopyContext
    unlock: Unlock
    tally: Tally
    drop_newer: bool
    _codec: Codec = field(init=False)
    _found: Walk = field(init=False)
    """What the log holds, as far as it can be read."""
    _problem: str | None = field(default=None, init=False)
    """Why nothing can be read after what was."""
    _acknowledged: int = field(default=-1, init=False)
    """The last version that is known to be missing at the end."""
    _commands_lost: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._codec = Codec(self.copy_context.entropy)
        self._found = Walk(self._codec, tally=self.tally)

    def into(self, copy: Log, *, gaps: bool) -> SpaceSalvaged:
        """Write what can be kept into an empty log, and report it."""
        read = self._look()
        sensible = self._sensible(read)
        found = self._found
        kept = verdict(found.erasures, sensible, payloads=found.payloads, gaps=gaps)
        copied = Walk(self._codec, tally=self.tally)
        head = fill(copy, self._records(kept.kept, commands=True), copied)
        if copied.last is not None:
            record_losses(
                copy,
                copied.last,
                self.copy_context,
                after=head,
                erase=kept.erase,
                lost=kept.accept,
                erase_all=kept.erase_all,
            )
        whole = verified(copy, copy.head().version, self._codec)
        if kept.kept < sensible:
            self._problem = (
                f"version {kept.kept + 1} lost a payload that belongs to no block; "
                "what follows can be kept if the loss is accepted (gaps)"
            )
        return SpaceSalvaged(
            space=copy.name,
            version=head.version,
            chain=head.digest.hex(),
            lost=max(read, _length(self.log) - 1, self._acknowledged) - kept.kept,
            problem=self._problem,
            payloads=whole.payloads,
            payloads_lost=kept.lost,
            erased=kept.erase,
            commands_lost=self._commands_lost,
        )

    def _look(self) -> int:
        """Find out how far the log can be read, and what is missing on the way."""
        try:
            for _ in self._found.over(self._known()):
                pass
        except (LogCorrupt, StoreTooNew) as error:
            if isinstance(error, StoreTooNew) and not self.drop_newer:
                raise _kept_whole(self.log.name, error) from error
            self._problem = error.message
            self._acknowledged = int(str(error.facts.get("acknowledged", -1)))
        return self._found.head.version

    def _sensible(self, read: int) -> int:
        """Return the last version that a memory could be opened with."""
        found = impossible_event(lambda: self._recorded(read))
        if found is None:
            return read
        self._problem = f"the event at version {found.version} is inconsistent"
        return found.version - 1

    def _recorded(self, upto: int) -> Iterator[Recorded]:
        return (each.recorded for each in self._records(upto))

    def _known(self) -> Iterator[TransferRecord]:
        for each in self._records():
            check_policy_known(each.recorded)
            yield each

    def _records(
        self, upto: int | None = None, *, commands: bool = False
    ) -> Iterator[TransferRecord]:
        """Yield the events up to a version, each with those of its payloads that match it.

        Raises:
            LogCorrupt, StoreTooNew: At the first event that cannot be read.
        """
        before = ""
        for record, rows in self._remains() if upto != -1 else ():
            recorded, sound, missing = self._sound(record, rows)
            command = None
            if commands and recorded.command_id != before:
                before = recorded.command_id
                command = self._command(before, record.version)
                if command is not None and upto is not None and command.last > upto:
                    command = None
            yield TransferRecord(
                record=record,
                recorded=recorded,
                payloads=sound,
                missing=missing,
                command=command,
            )
            if record.version == upto:
                return

    def _remains(self) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        if isinstance(self.store, SQLiteStore):
            return remains(self.store, self.log.name)
        return self.log.read()

    def _sound(
        self, record: Record, rows: Sequence[PayloadRow]
    ) -> tuple[Recorded, tuple[PayloadRow, ...], tuple[int, ...]]:
        """Return an event, those of its payloads that match it, and the slots of the others.

        Raises:
            LogCorrupt, StoreTooNew: The event itself cannot be read.
        """
        bad: list[PayloadRow] = []
        opened: list[tuple[PayloadRow, PayloadRow]] = []
        for row in rows:
            try:
                unlocked = self.unlock(row)
            except LogCorrupt:
                bad.append(row)
            else:
                opened += [] if unlocked is None else [(row, unlocked)]
        try:
            recorded, missing = self._codec.decode_noting(record, [row for _, row in opened])
        except LogCorrupt:
            bad += [row for row, unlocked in opened if not self._fits(record, unlocked)]
            sound = [unlocked for row, unlocked in opened if row not in bad]
            recorded, missing = self._codec.decode_noting(record, sound)
        kept = tuple(row for row in rows if row not in bad)
        present = {row.slot for row in kept}
        return recorded, kept, tuple(slot for slot in missing if slot not in present)

    def _fits(self, record: Record, row: PayloadRow) -> bool:
        try:
            self._codec.decode(record, [row])
        except LogCorrupt:
            return False
        return True

    def _command(self, command_id: str, version: int) -> CommandRow | None:
        """Return the remembered command that begins at *version*, if it can be read.

        One that the store has lost is counted, unless the engine may have made its id.
        """
        try:
            found = self.log.command(command_id)
        except MnemicError:
            self._commands_lost += 1
            return None
        if found is None:
            self._commands_lost += not is_like_generated(command_id)
            return None
        if found.first != version or type(found.last) is not int:
            self._commands_lost += 1
            return None
        return found
