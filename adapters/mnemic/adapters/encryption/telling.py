"""The log of a space as its memory has it: with every erasure told in it that its keys know of.

Rules of this module:

1. Several stores may hang on one table of keys: a store and its backups. Whoever erases in one of
   them destroys keys of all, and the others learn of it here, when they next look.
2. Looking costs a query of the table, which counts the erasures that were fulfilled.
3. Until somebody who may write does, it is told behind the log's end, to this process alone. The
   next one to hold the right to append writes it down. If the log goes on otherwise meanwhile, what
   was told is void: ``recast`` counts how often whoever has folded it has to fold it again.
4. Nothing is told while somebody here holds the right to append, and it appends where the log ends.
   What is erased meanwhile is told after it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from mnemic.adapters.encryption.restoring import Retelling, retelling, tell, untold
from mnemic.kernel.errors import LogCorrupt, ViewReadOnly

if TYPE_CHECKING:
    from mnemic.adapters.encryption.log import EncryptedLog
    from mnemic.adapters.encryption.vault import Vault
    from mnemic.adapters.exchange.copying import Hands
    from mnemic.kernel.ports import CommandRow, Head, PayloadRow, Record


class ToldLog:
    """One space of an encrypted store, with what it does not know of its own erasures.

    Args:
        log: Of the space.
        hands: Who writes that down; None: nobody, it is open to read only.

    Raises:
        StoreFull, StoreBusy, StoreFailed: It cannot be written.
    """

    def __init__(self, log: EncryptedLog, hands: Hands | None) -> None:
        self._log = log
        self._hands = hands
        self._told: Retelling | None = None
        self._looking = Lock()
        self._recast = 0
        self._is_writing = False
        """Whether somebody here holds the right to append."""
        self._noticed = -1
        """The generation that was last seen meanwhile."""
        self._seen = -1
        """The generation of the keys when they were last looked at."""
        self._known = 0
        """Up to which generation the log itself accounts for everything."""
        if self._look() is not None and hands is not None:
            with self.writing():
                pass
        self._recast = 0

    @property
    def name(self) -> str:
        """The space's name."""
        return self._log.name

    @property
    def recast(self) -> int:
        """How often the log became another one than it was, and did not only go on."""
        self._look()
        return self._recast

    # --- reading --------------------------------------------------------------------------------

    def head(self) -> Head:
        """Return where the log ends, with what is told."""
        told = self._look()
        return self._log.head() if told is None else told.head

    def read(
        self, after: int = -1, upto: int | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        """Yield records as the log does, and then what is told.

        Raises:
            LogCorrupt: With the fact ``version``; every sound record before it has been yielded.
            KeysMissing: The table of keys is older than a payload.
        """
        told = self._told
        if told is None:
            yield from self._log.read(after, upto)
            return
        last = told.head.version if upto is None else upto
        yield from self._log.read(after, min(last, told.end.version))
        for record in told.records:
            if after < record.version <= last:
                yield record, ()

    def digest_at(self, version: int) -> bytes | None:
        """Return the chain digest of the record at *version*."""
        told = self._told
        if told is None or version <= told.end.version:
            return self._log.digest_at(version)
        place = version - told.end.version - 1
        return told.digests[place] if place < len(told.digests) else None

    def command(self, command_id: str) -> CommandRow | None:
        """Return the remembered command with this id."""
        return self._log.command(command_id)

    def check(self) -> None:
        """Let the store that is inside check what no chain covers, if it can.

        Raises:
            LogCorrupt: It is not what was written.
        """
        self._log.check()

    @property
    def hear(self) -> Callable[[Callable[[], None]], Callable[[], None]]:
        """What asks the log inside to tell of itself; see ``mnemic.kernel.ports.Telling``.

        Raises:
            AttributeError: It does not tell.
        """
        return self._log.hear

    @property
    def wait(self) -> Callable[[int, float], bool]:
        """What waits until the log inside goes on; see ``mnemic.kernel.ports.Telling``.

        Raises:
            AttributeError: It cannot.
        """
        return self._log.wait

    @property
    def vault(self) -> Vault:
        """What locks the checkpoints of this space."""
        return self._log.vault

    @property
    def left(self) -> tuple[str, ...]:
        """The names of files that may hold keys of what was erased."""
        return self._log.left

    # --- writing --------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Generator[None]:
        """Hold the right to append. What the log does not know is written down first.

        Raises:
            ViewReadOnly: It is open to read only.
            StoreFull, StoreBusy, StoreFailed: It cannot be written.
        """
        if self._hands is None:
            raise ViewReadOnly(f"space {self.name!r} is open read-only")
        with self._log.writing(), self._written_down(self._hands):
            yield

    @property
    def writing_if_free(self) -> Callable[[], AbstractContextManager[bool]]:
        """What holds the right to append if it is free; see ``mnemic.kernel.ports.Prompt``.

        Raises:
            AttributeError: The log inside does not offer it.
        """
        return partial(self._writing_if_free, self._log.writing_if_free)

    @contextmanager
    def _writing_if_free(
        self, writing_if_free: Callable[[], AbstractContextManager[bool]]
    ) -> Generator[bool]:
        with writing_if_free() as is_ours:
            if not is_ours or self._hands is None:
                yield False
                return
            with self._written_down(self._hands):
                yield True

    def append(
        self,
        records: Sequence[Record],
        payloads: Sequence[PayloadRow],
        *,
        command: CommandRow | None = None,
        erase: Sequence[str] = (),
        erase_all: bool = False,
    ) -> Head:
        """Write everything, or nothing, and return the new head; see ``EncryptedLog.append``.

        Raises:
            ViewReadOnly: It is open to read only.
        """
        if self._hands is None:
            raise ViewReadOnly(f"space {self.name!r} is open read-only")
        return self._log.append(
            records, payloads, command=command, erase=erase, erase_all=erase_all
        )

    def erased_before(self, erase: Sequence[str], *, erase_all: bool) -> None:
        """Destroy again the keys of what was erased before. The right to append is held."""
        self._log.erased_before(erase, erase_all=erase_all)

    def close(self) -> None:
        """Let go of the log."""
        self._log.close()

    # --- telling --------------------------------------------------------------------------------

    def _look(self) -> Retelling | None:
        """Return what is told now, after a look at the keys."""
        with self._looking:
            generation, told = self._log.keys.generation(), self._told
            if self._is_writing:
                if generation not in (self._seen, self._noticed):
                    self._noticed = generation
                    self._recast += 1
                return None
            if generation != self._seen or (told is not None and told.end != self._log.head()):
                self._retell(generation)
            return self._told

    def _retell(self, generation: int) -> None:
        told, is_readable = None, True
        try:
            told = retelling(self._log, untold(self._log, since=self._known))
        except LogCorrupt:  # nothing can be told behind damage, but the keys are gone all the same
            is_readable = False
        if told != self._told or not is_readable:
            self._recast += 1
        self._told, self._seen = told, generation
        if told is None:
            self._known = generation

    @contextmanager
    def _written_down(self, hands: Hands) -> Generator[None]:
        """Let the log know everything, and tell nothing besides, for a ``with`` block.

        The right to append is held.
        """
        try:
            self._write_down(hands)
            yield
        finally:
            self._is_writing = False

    def _write_down(self, hands: Hands) -> None:
        """Let the log itself tell what it does not know. The right to append is held."""
        with self._looking:
            self._is_writing = True
            generation = self._log.keys.generation()
            if generation == self._seen and self._told is None:
                return
            self._recast += self._told is not None
            self._told, self._seen = None, -1  # if it fails, it is told once more
        with suppress(LogCorrupt):  # whoever folds it finds out
            missing = untold(self._log, since=self._known)
            if missing is not None:
                tell(self._log, missing, hands)
        with self._looking:
            self._seen = self._known = generation
