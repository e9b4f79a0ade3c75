"""The log of one space, whose words are locked: any other log, and a table of keys beside it.

Rules of this module:

1. Records pass as they are: they hold no words, and their chain is over stored bytes. Payloads are
   locked on their way in and unlocked on their way out; nothing else ever sees them locked.
2. A payload of an event alone goes under the key of the space, all others under those of their
   owners.
3. An erasure is one turn at the log; see ``erasing``.
4. A row whose key is destroyed is not there, whatever a backup says. Where the log does not account
   for that, ``telling`` makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, cast

from mnemic.adapters.encryption import cipher
from mnemic.adapters.encryption.cipher import Key
from mnemic.adapters.encryption.erasing import REFUSALS, Eraser
from mnemic.adapters.encryption.identity import identified
from mnemic.adapters.encryption.keys import KeyTable
from mnemic.adapters.encryption.owners import CHECKPOINTS, owners_of, require_own_keys
from mnemic.adapters.encryption.unlocking import Unlocker
from mnemic.adapters.encryption.vault import Vault
from mnemic.adapters.exchange.copying import Hands
from mnemic.adapters.stores import chain
from mnemic.kernel.errors import KeysMissing
from mnemic.kernel.ports import CommandRow, Head, Log, PayloadRow, Record

if TYPE_CHECKING:
    from mnemic.adapters.encryption.erasures import Account
    from mnemic.kernel.ports import Prompt, Telling


class EncryptedLog:
    """One space of an encrypted store."""

    def __init__(self, inner: Log, keys: KeyTable) -> None:
        self.inner = inner
        self.keys = keys
        self._holder: int | None = None
        """The thread that holds the right to append."""
        self._eraser = Eraser(inner, keys)
        self.space = identified(self.inner, self.keys)
        """Its number in the table of keys; None: it has none there yet."""

    @property
    def name(self) -> str:
        """The space's name."""
        return self.inner.name

    def head(self) -> Head:
        """Return where the log ends now."""
        return self.inner.head()

    def digest_at(self, version: int) -> bytes | None:
        """Return the chain digest of the record at *version*, from its stored bytes."""
        return self.inner.digest_at(version)

    def command(self, command_id: str) -> CommandRow | None:
        """Return the remembered command with this id."""
        return self.inner.command(command_id)

    @property
    def hear(self) -> Callable[[Callable[[], None]], Callable[[], None]]:
        """What asks the log inside to tell of itself; see ``mnemic.kernel.ports.Telling``.

        Raises:
            AttributeError: It does not tell.
        """
        return cast("Telling", self.inner).hear

    @property
    def wait(self) -> Callable[[int, float], bool]:
        """What waits until the log inside goes on; see ``mnemic.kernel.ports.Telling``.

        Raises:
            AttributeError: It cannot.
        """
        return cast("Telling", self.inner).wait

    def check(self) -> None:
        """Let the store that is inside check what no chain covers, if it can.

        Raises:
            LogCorrupt: It is not what was written.
        """
        check: Callable[[], None] | None = getattr(self.inner, "check", None)
        if check is not None:
            check()

    @property
    def vault(self) -> Vault:
        """What locks the checkpoints of this space."""
        return Vault(
            lambda: self.keys.keys(self._number(), {CHECKPOINTS})[CHECKPOINTS],
            self._standing,
            lambda: self.keys.newest(self._number()),
        )

    def _standing(self, name: bytes) -> Key | None:
        """Return the key of a name as it stands now; None: it is destroyed."""
        self.keys.refresh(None)
        found = self.keys.find((name,))
        return None if found is None else found[0]

    @property
    def left(self) -> tuple[str, ...]:
        """The names of files that may hold keys of what was erased."""
        return self._eraser.left

    def accounted(self, hands: Hands, *, read_only: bool) -> Log:
        """Return this log with every erasure told in it that its keys know of; see ``telling``.

        Args:
            hands: Who tells.
            read_only: Whether that is told to this reader alone, and nothing is written.
        """
        from mnemic.adapters.encryption.telling import ToldLog

        return ToldLog(self, None if read_only else hands)

    def close(self) -> None:
        """Let go of the log."""
        self.inner.close()

    # --- reading --------------------------------------------------------------------------------

    def read(
        self, after: int = -1, upto: int | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        """Yield records with version in (after, upto] in order, each with its payloads by slot.

        Raises:
            LogCorrupt: With the fact ``version``; every sound record before it has been yielded.
            KeysMissing: The table of keys is older than a payload.
        """
        if self.space is None:
            self.space = identified(self.inner, self.keys)
        self.keys.refresh(self.space)
        unlocker = Unlocker(self.keys, self.space)
        for record, rows in self.inner.read(after, upto):
            found = map(unlocker.unlocked, rows)
            yield record, tuple([row for row in found if row is not None])

    # --- writing --------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Generator[None]:
        """Hold the right to append, fairly among processes. Not re-entrant."""
        with self.inner.writing(), self._held():
            yield

    @property
    def writing_if_free(self) -> Callable[[], AbstractContextManager[bool]]:
        """What holds the right to append if it is free; see ``mnemic.kernel.ports.Prompt``.

        Raises:
            AttributeError: The log inside does not offer it.
        """
        return partial(self._writing_if_free, cast("Prompt", self.inner).writing_if_free)

    @contextmanager
    def _writing_if_free(
        self, writing_if_free: Callable[[], AbstractContextManager[bool]]
    ) -> Generator[bool]:
        with writing_if_free() as is_ours:
            if is_ours:
                with self._held():
                    yield True
            else:
                yield False

    @contextmanager
    def _held(self) -> Generator[None]:
        self._holder = get_ident()
        try:
            yield
        finally:
            self._holder = None

    @contextmanager
    def _turn(self) -> Generator[None]:
        """Hold the right to append, unless this thread has it."""
        if self._holder == get_ident():
            yield
        else:
            with self.writing():
                yield

    def append(
        self,
        records: Sequence[Record],
        payloads: Sequence[PayloadRow],
        *,
        command: CommandRow | None = None,
        erase: Sequence[str] = (),
        erase_all: bool = False,
    ) -> Head:
        """Write everything, or nothing, and return the new head.

        Raises:
            VersionConflict: If another writer was first.
            CommandIdReused: If the command is remembered already.
            FieldRefused: If the records leave a gap, a payload has no record, or what is to be
                erased has no key of its own.
            KeysMissing: A payload is locked already.
            StoreFailed, ViewReadOnly: The keys cannot be written.
        """
        if records and records[0].version == 0:
            return self._begun(records, payloads, command, erase, erase_all=erase_all)
        if erase or erase_all:
            blocks = None if erase_all else erase
            with self._turn():
                return self._erased(records, payloads, command, blocks)
        self._eraser.settle_pending(self.space)
        return self.inner.append(records, self._locked(payloads, None), command=command)

    def _begun(
        self,
        records: Sequence[Record],
        payloads: Sequence[PayloadRow],
        command: CommandRow | None,
        erase: Sequence[str],
        *,
        erase_all: bool,
    ) -> Head:
        """Append the first records: they begin a space with keys of its own."""
        genesis = chain.digest(chain.EMPTY.digest, *records[0])
        begun = self.keys.begin(self.name, genesis)
        try:
            rows = self._locked(payloads, begun)
            head = self.inner.append(
                records, rows, command=command, erase=erase, erase_all=erase_all
            )
        except REFUSALS:  # after anything else it may stand there yet
            self.keys.discard(begun)
            raise
        self.space = begun
        return head

    def _locked(self, payloads: Sequence[PayloadRow], space: int | None) -> list[PayloadRow]:
        """Return what is stored of *payloads*. New owners have keys from now on.

        Args:
            payloads: Of one append.
            space: Under whose keys; None: those of this space.
        """
        if not payloads:
            return []
        if space is None:
            space = self._number()
        if any(cipher.is_locked(row.key) for row in payloads):
            raise KeysMissing(
                f"what comes to space {self.name!r} is locked with other keys already",
                recovery="Open what it comes from with its keys.",
                space=self.name,
            )
        owned = [owners_of(row) for row in payloads]
        keys = self.keys.keys(space, {owner for owners in owned for owner in owners})
        return [
            cipher.locked(row, [keys[owner] for owner in owners])
            for row, owners in zip(payloads, owned, strict=True)
        ]

    def _number(self) -> int:
        """Return the number of this space, whose log has a first event."""
        if self.space is None:
            self.space = identified(self.inner, self.keys)
        if self.space is None:
            self.space = self.keys.take_up(self.name, self.inner.digest_at(0) or b"")
        return self.space

    # --- erasing --------------------------------------------------------------------------------

    def _erased(
        self,
        records: Sequence[Record],
        payloads: Sequence[PayloadRow],
        command: CommandRow | None,
        blocks: Sequence[str] | None,
    ) -> Head:
        """Append what erases *blocks*; None: everything. The right to do so is held."""
        require_own_keys(blocks or ())
        rows = self._locked(payloads, None)

        def append() -> Head:
            return self.inner.append(
                records, rows, command=command, erase=blocks or (), erase_all=blocks is None
            )

        return self._eraser.erase(self.space, blocks, records, append)

    def erased_before(self, erase: Sequence[str], *, erase_all: bool) -> None:
        """Destroy keys of what this log has erased already: an older copy of the file has them yet.

        The right to append is held.

        Raises:
            StoreFailed, StoreFull, ViewReadOnly: The keys cannot be written.
        """
        self._eraser.erase_again(self.space, None if erase_all else erase)

    def settle(self) -> None:
        """Bring to an end what somebody who is dead intended. Does nothing when reading only."""
        self._eraser.settle(self.space)

    def tells_of(self, accounts: Collection[Account]) -> bool:
        """Say whether one of *accounts* stands in this log."""
        return self._eraser.tells_of(accounts)
