"""Log wrapper that adds erasure events for keys destroyed through another copy.

Rules of this module:

1. Several stores may share one table of keys: a store and its backups. An erasure in one of them
   destroys keys of all; the others notice it here, at their next look at the table.
2. A look costs one query of the table, which counts the erasures that were fulfilled.
3. Until a writer appends them, the missing erasure events are presented behind the log's end, to
   this process alone. The next holder of the write lock writes them down. If other events are
   appended first, the presented ones are void: ``log_epoch`` counts how often the state has to be
   replayed for this reason.
4. No events are presented while a thread of this process holds the write lock and appends at the
   log's end. Erasures noticed meanwhile are presented after it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from mnemic.adapters.stores.encrypted.log_epoch import (
    LogEpoch,
    log_epoch,
    tell,
    unrecorded,
)
from mnemic.adapters.stores.logs.append import replaced
from mnemic.kernel.errors import HistoryReplaced, LogCorrupt, ViewReadOnly
from mnemic.kernel.ports import Head

if TYPE_CHECKING:
    from mnemic.adapters.stores.encrypted.log import EncryptedLog
    from mnemic.adapters.stores.encrypted.vault import Vault
    from mnemic.adapters.transfer.copies.copying import CopyContext
    from mnemic.kernel.ports import CommandRow, PayloadRow, Record


class ErasureOverlayLog:
    """One space of an encrypted store, with the erasure events that its log lacks.

    Args:
        log: Of the space.
        copy_context: Writes those events; None: it is open to read only.

    Raises:
        StoreFull, StoreBusy, StoreFailed: It cannot be written.
    """

    def __init__(self, log: EncryptedLog, copy_context: CopyContext | None) -> None:
        self._log = log
        self._copy_context = copy_context
        self._recorded: LogEpoch | None = None
        self._looking = Lock()
        self._log_epoch = 0
        self._is_writing = False
        """Whether a thread of this process holds the write lock."""
        self._noticed = -1
        """The generation of keys last seen while it was held."""
        self._seen = -1
        """The generation of keys at the last look."""
        self._known = 0
        """The generation up to which the log itself records every erasure."""
        self._is_replaced = False
        """Whether the log is another one, which may lack erasures that the one before recorded."""
        if self._look() is not None and copy_context is not None:
            with self.write_lock():
                pass
        self._log_epoch = 0

    @property
    def name(self) -> str:
        """The space's name."""
        return self._log.name

    @property
    def log_epoch(self) -> int:
        """How often the log was replaced by another version of itself, rather than extended."""
        self._look()
        return self._log_epoch

    # --- reading --------------------------------------------------------------------------------

    def head(self) -> Head:
        """Return where the log ends, the presented erasure events included."""
        answer = self._look()
        return self._log.head() if answer is None else answer.head

    def read(
        self, after: Head | int = -1, upto: Head | int | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        """Yield the records of the log, followed by the presented erasure events.

        Raises:
            HistoryReplaced: The log does not hold a head that was given.
            LogCorrupt: With the fact ``version``; every sound record before it has been yielded.
            KeysMissing: The table of keys is older than a payload.
        """
        try:
            yield from self._read(after, upto)
        except HistoryReplaced:
            self._is_replaced = True
            raise

    def _read(
        self, after: Head | int, upto: Head | int | None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        answer = self._recorded
        if answer is None:
            yield from self._log.read(after, upto)
            return
        first, last = _version_of(after), _version_of(answer.head if upto is None else upto)
        for known in (after, upto):
            if isinstance(known, Head) and not answer.holds(known):
                raise replaced(known, answer.head)
        yield from self._log.read(
            after if first <= answer.end.version else answer.end,
            answer.end if upto is None or last > answer.end.version else upto,
        )
        for record in answer.records:
            if first < record.version <= last:
                yield record, ()

    def digest_at(self, version: int) -> bytes | None:
        """Return the chain digest of the record at *version*."""
        answer = self._recorded
        if answer is None or version <= answer.end.version:
            return self._log.digest_at(version)
        place = version - answer.end.version - 1
        return answer.digests[place] if place < len(answer.digests) else None

    def command(self, command_id: str) -> CommandRow | None:
        """Return the remembered command with this id."""
        return self._log.command(command_id)

    @property
    def payload_count(self) -> Callable[[int], int]:
        """The inner log's count of payloads; see ``mnemic.kernel.ports.PayloadCounter``.

        Raises:
            AttributeError: It offers none.
        """
        return self._log.payload_count

    def check(self) -> None:
        """Let the inner store check what no chain covers, if it can.

        Raises:
            LogCorrupt: It is not what was written.
        """
        self._log.check()

    @property
    def confirm(self) -> Callable[[Head], None]:
        """The inner log's wait for durability; see ``mnemic.kernel.ports.DurabilityBarrier``.

        Raises:
            AttributeError: It offers none.
        """
        return partial(self._confirm, self._log.confirm)

    def _confirm(self, confirm: Callable[[Head], None], head: Head) -> None:
        """Confirm *head*, or the end of the inner log before the events that it does not have."""
        answer = self._recorded
        confirm(head if answer is None or head.version <= answer.end.version else answer.end)

    @property
    def hear(self) -> Callable[[Callable[[], None]], Callable[[], None]]:
        """The inner log's subscription to changes; see ``mnemic.kernel.ports.ChangeNotifier``.

        Raises:
            AttributeError: It offers none.
        """
        return self._log.hear

    @property
    def wait(self) -> Callable[[int, float], bool]:
        """The inner log's wait for changes; see ``mnemic.kernel.ports.ChangeNotifier``.

        Raises:
            AttributeError: It offers none.
        """
        return self._log.wait

    @property
    def vault(self) -> Vault:
        """What encrypts the checkpoints of this space."""
        return self._log.vault

    @property
    def left(self) -> tuple[str, ...]:
        """The names of files that may still hold keys of erased content."""
        return self._log.left

    # --- writing --------------------------------------------------------------------------------

    @contextmanager
    def write_lock(self) -> Generator[None]:
        """Hold the write lock. Erasure events that the log lacks are written down first.

        Raises:
            ViewReadOnly: It is open to read only.
            StoreFull, StoreBusy, StoreFailed: It cannot be written.
        """
        if self._copy_context is None:
            raise ViewReadOnly(f"space {self.name!r} is open read-only")
        with self._log.write_lock(), self._written_down(self._copy_context):
            yield

    @property
    def try_write_lock(self) -> Callable[[], AbstractContextManager[bool]]:
        """The inner log's write lock without waiting; see ``mnemic.kernel.ports.TryWriteLock``.

        Raises:
            AttributeError: The inner log does not offer it.
        """
        return partial(self._append_if_unlocked, self._log.try_write_lock)

    @contextmanager
    def _append_if_unlocked(
        self, try_write_lock: Callable[[], AbstractContextManager[bool]]
    ) -> Generator[bool]:
        with try_write_lock() as is_ours:
            if not is_ours or self._copy_context is None:
                yield False
                return
            with self._written_down(self._copy_context):
                yield True

    def append(
        self,
        records: Sequence[Record],
        payloads: Sequence[PayloadRow],
        *,
        after: Head,
        command: CommandRow | None = None,
        erase: Sequence[str] = (),
        erase_all: bool = False,
    ) -> Head:
        """Write everything, or nothing, and return the new head; see ``EncryptedLog.append``.

        Raises:
            ViewReadOnly: It is open to read only.
        """
        if self._copy_context is None:
            raise ViewReadOnly(f"space {self.name!r} is open read-only")
        return self._log.append(
            records,
            payloads,
            after=after,
            command=command,
            erase=erase,
            erase_all=erase_all,
        )

    def erased_before(self, erase: Sequence[str], *, erase_all: bool) -> None:
        """Destroy again the keys of what was erased before. The write lock is held."""
        self._log.erased_before(erase, erase_all=erase_all)

    def close(self) -> None:
        """Release the log."""
        self._log.close()

    # --- telling --------------------------------------------------------------------------------

    def _look(self) -> LogEpoch | None:
        """Return the epoch that is presented now, after a look at the keys."""
        with self._looking:
            generation, answer = self._log.keys.generation(), self._recorded
            if self._is_writing:
                if generation not in (self._seen, self._noticed):
                    self._noticed = generation
                    self._log_epoch += 1
                return None
            is_other = self._is_replaced or generation != self._seen
            if is_other or (answer is not None and answer.end != self._log.head()):
                self._retell(generation)
            return self._recorded

    def _retell(self, generation: int) -> None:
        self._forget_known()
        answer, is_readable = None, True
        try:
            answer = log_epoch(self._log, unrecorded(self._log, since=self._known))
        except LogCorrupt:  # nothing can be presented behind damage; the keys are gone all the same
            is_readable = False
        if answer != self._recorded or not is_readable:
            self._log_epoch += 1
        self._recorded, self._seen = answer, generation
        if answer is None:
            self._known = generation

    def _forget_known(self) -> None:
        """Forget what the log records, if it is another one."""
        if self._is_replaced:
            self._known, self._is_replaced = 0, False

    @contextmanager
    def _written_down(self, copy_context: CopyContext) -> Generator[None]:
        """Write down what the log lacks, and present nothing else, for a ``with`` block.

        The write lock is held.
        """
        try:
            self._write_down(copy_context)
            yield
        finally:
            self._is_writing = False

    def _write_down(self, copy_context: CopyContext) -> None:
        """Append the erasure events that the log lacks. The write lock is held."""
        with self._looking:
            self._is_writing = True
            generation = self._log.keys.generation()
            is_known = generation == self._seen and not self._is_replaced
            if is_known and self._recorded is None:
                return
            self._forget_known()
            self._log_epoch += self._recorded is not None
            self._recorded, self._seen = None, -1  # if it fails, it is presented again
        with suppress(LogCorrupt):  # the next replay reports it
            missing = unrecorded(self._log, since=self._known)
            if missing is not None:
                tell(self._log, missing, copy_context)
        with self._looking:
            self._seen = self._known = generation


def _version_of(place: Head | int) -> int:
    return place.version if isinstance(place, Head) else place
