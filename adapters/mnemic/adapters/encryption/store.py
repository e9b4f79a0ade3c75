"""A store whose words are locked: any other store, and a table of keys beside it.

Rules of this module:

1. Records pass as they are: they hold no words, and their chain is over stored bytes. Payloads are
   locked on their way in and unlocked on their way out; nothing else ever sees them locked.
2. A payload of an event alone goes under the key of the space, all others under those of their
   owners.
3. An erasure is one turn at the log: intend, append, destroy. Whoever dies in it leaves an
   intention. The next to write that log, or a copy that has the record, destroys the keys; if no
   log ever has it, it stays an intention, and harms nobody.
4. A row whose key is destroyed is not there, whatever a backup says. Where the log does not account
   for that, ``restoring`` makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, get_ident
from typing import TYPE_CHECKING, cast

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mnemic.adapters.codec.sealing import is_event, itself
from mnemic.adapters.encryption import cipher
from mnemic.adapters.encryption.keys import Account, KeyTable
from mnemic.adapters.encryption.vault import Vault
from mnemic.adapters.exchange.copying import Hands
from mnemic.adapters.stores import chain
from mnemic.adapters.stores.drafts import drafts_of
from mnemic.kernel.errors import (
    CommandIdReused,
    FieldRefused,
    KeysMissing,
    LogCorrupt,
    MnemicError,
    NotEncrypted,
    VersionConflict,
)
from mnemic.kernel.ports import CommandRow, Head, Log, PayloadRow, Record, Store

if TYPE_CHECKING:
    from mnemic.kernel.ports import Telling

THE_SPACE = ""
"""The owner of what belongs to no block."""
CHECKPOINTS = "checkpoints"
"""The owner of the key under which checkpoints are; it goes with every erasure."""
CIPHERS_KEPT = 4096
"""Derived keys that a reader keeps: those of the blocks it meets again soon."""


class EncryptedStore:
    """Many spaces, locked. Closing it closes both parts.

    Args:
        inner: Where the log is kept, and the locked words.
        keys: What opens them.
    """

    is_encrypted = True
    """Whoever keeps words elsewhere must ask."""

    def __init__(self, inner: Store, keys: KeyTable) -> None:
        self.inner = inner
        self.keys = keys
        self._logs: dict[str, EncryptedLog] = {}
        self._opening = Lock()

    @property
    def path(self) -> Path:
        """The file of the inner store.

        Raises:
            AttributeError: It has none.
        """
        path: Path = self.inner.path  # type: ignore[attr-defined]
        return path

    @property
    def probe(self) -> Callable[[], None]:
        """What sees whether the inner store can be reached.

        Raises:
            AttributeError: It has nothing of the kind.
        """
        probe: Callable[[], None] = self.inner.probe  # type: ignore[attr-defined]
        return probe

    @property
    def unfinished(self) -> Callable[[], tuple[str, ...]]:
        """What names the spaces of the inner store whose making has not ended.

        Raises:
            AttributeError: It has nothing of the kind.
        """
        unfinished: Callable[[], tuple[str, ...]] = self.inner.unfinished  # type: ignore[attr-defined]
        return unfinished

    def spaces(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted."""
        return self.inner.spaces()

    def log(self, space: str, *, create: bool = True) -> EncryptedLog:
        """Return the log of *space*; twice the same.

        Raises:
            PointOutOfRange: If the space does not exist and may not be made.
            KeysMissing: The keys are not those of this space.
            NotEncrypted: Its words stand open.
        """
        with self._opening:
            if space not in self._logs:
                log = EncryptedLog(self.inner.log(space, create=create), self.keys)
                log.settle()
                self._logs[space] = log
            return self._logs[space]

    def unlocked(self, row: PayloadRow) -> PayloadRow | None:
        """Return what stands locked in one row of the inner store; None: its key is destroyed.

        Raises:
            LogCorrupt: It is not what was written.
            KeysMissing: Its keys stand elsewhere.
        """
        if not cipher.is_locked(row.key):
            return row  # of an open store; or else no MAC will vouch for it
        try:
            keys = self.keys.find(cipher.names(row))
            return None if keys is None else cipher.unlocked(row, cipher.opened_by(keys))
        except cipher.Damaged as error:
            raise chain.damage(row.version, reason=str(error)) from error

    @contextmanager
    def draft(self, space: str) -> Generator[Log]:
        """Give the log of a space that nobody sees before the ``with`` block has ended well.

        Raises:
            SpaceExists: The space has events, or was made meanwhile.
            VersionConflict: Somebody else has begun to make it since.
        """
        with drafts_of(self.inner)(space) as inner:
            yield EncryptedLog(inner, self.keys)

    def close(self) -> None:
        """Close the store and the table of keys. Closing twice is fine."""
        try:
            self.inner.close()
        finally:
            self.keys.close()


class EncryptedLog:
    """One space of an encrypted store."""

    def __init__(self, inner: Log, keys: KeyTable) -> None:
        self.inner = inner
        self.keys = keys
        self._holder: int | None = None
        """The thread that holds the right to append."""
        self._pending: set[int] = set()
        """Erasures that stand in the log and whose keys could not be destroyed yet."""
        self.space = self._identified()
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
            lambda name: (self.keys.find((name,)) or (None,))[0],
            lambda: self.keys.newest(self._number()),
        )

    @property
    def left(self) -> tuple[str, ...]:
        """The names of files that may hold keys of what was erased."""
        return (self.keys.path.name,) if self._pending else self.keys.left

    def accounted(self, hands: Hands, *, read_only: bool) -> Log:
        """Return this log with every erasure told in it that its keys know of; see ``restoring``.

        Args:
            hands: Who tells.
            read_only: Whether that is told to this reader alone, and nothing is written.
        """
        from mnemic.adapters.encryption.restoring import accounted, retold

        return retold(self) if read_only else accounted(self, hands)

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
            self.space = self._identified()
        self.keys.refresh(self.space)
        ciphers: dict[tuple[bytes, ...], AESGCM] = {}
        for record, rows in self.inner.read(after, upto):
            yield record, self._unlocked(rows, ciphers) if rows else ()
            if len(ciphers) > CIPHERS_KEPT:
                ciphers.clear()

    def _unlocked(
        self, rows: Sequence[PayloadRow], ciphers: dict[tuple[bytes, ...], AESGCM]
    ) -> tuple[PayloadRow, ...]:
        found: list[PayloadRow] = []
        for row in rows:
            try:
                names = cipher.names(row)
                if names not in ciphers:
                    keys = self.keys.find(names)
                    if keys is None:
                        continue  # erased
                    ciphers[names] = cipher.opened_by(keys)
                found.append(cipher.unlocked(row, ciphers[names]))
            except cipher.Damaged as error:
                raise chain.damage(row.version, reason=str(error)) from error
        return tuple(found)

    def _identified(self) -> int | None:
        """Return the number of this space; None if nothing was ever locked in it.

        Raises:
            KeysMissing, NotEncrypted: See ``EncryptedStore.log``.
        """
        genesis = self.inner.digest_at(0)
        if genesis is None:
            return None
        begun = self.keys.space_begun(self.name, genesis)
        with suppress(LogCorrupt):  # whoever reads finds out how far it goes
            # The first event of a space has its salt, and only an erasure of all takes that away.
            row = self._first_row(upto=0)
            if row is None and begun is None:
                row = self._first_row(upto=None)
            if row is None:
                return begun
            if not cipher.is_locked(row.key) and begun is None:
                raise NotEncrypted(f"the words of space {self.name!r} stand open", space=self.name)
            with suppress(cipher.Damaged):
                names = cipher.names(row)
                self.keys.find(names)
                return self.keys.space_with(names[0])
        return begun

    def _first_row(self, *, upto: int | None) -> PayloadRow | None:
        return next((rows[0] for _, rows in self.inner.read(-1, upto) if rows), None)

    # --- writing --------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Generator[None]:
        """Hold the right to append, fairly among processes. Not re-entrant."""
        with self.inner.writing():
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
            with self._turn():
                return self._erased(records, payloads, command, erase, erase_all=erase_all)
        if self._pending:
            self.settle_pending()
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
        except BaseException:
            if self.inner.digest_at(0) != genesis:
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
            self.space = self._identified()
        if self.space is None:
            self.space = self.keys.begin(self.name, self.inner.digest_at(0) or b"")
        return self.space

    # --- erasing --------------------------------------------------------------------------------

    def _erased(
        self,
        records: Sequence[Record],
        payloads: Sequence[PayloadRow],
        command: CommandRow | None,
        erase: Sequence[str],
        *,
        erase_all: bool,
    ) -> Head:
        """Append what erases. The right to do so is held."""
        _require_own_keys(erase)
        owners = None if erase_all else frozenset((*erase, CHECKPOINTS))
        rows = self._locked(payloads, None)
        number = None
        if self.space is not None:
            number = self.keys.intend(self.space, owners, _after(self.head(), records))
        try:
            head = self.inner.append(
                records, rows, command=command, erase=erase, erase_all=erase_all
            )
        except (VersionConflict, CommandIdReused):  # after anything else it may stand there yet
            if number is not None:
                with suppress(MnemicError):
                    self.keys.forget(number)
            raise
        if number is not None:
            self._pending.add(number)
            self.settle_pending()
        return head

    def erased_before(self, erase: Sequence[str], *, erase_all: bool) -> None:
        """Destroy keys of what this log has erased already: an older copy of the file has them yet.

        The right to append is held.

        Raises:
            StoreFailed, StoreFull, ViewReadOnly: The keys cannot be written.
        """
        owners = None if erase_all else frozenset(erase)
        if self.space is not None and self.keys.serve(self.space, owners):
            head = self.head()
            doomed = None if owners is None else owners | {CHECKPOINTS}
            number = self.keys.intend(self.space, doomed, Account(head.version, head.digest))
            self.keys.fulfil(number)

    def settle_pending(self) -> None:
        """Destroy the keys of what is erased. What fails here is tried again with every append."""
        for number in tuple(self._pending):
            with suppress(MnemicError):  # the erasure stands in the log; ``left`` tells of this
                self.keys.fulfil(number)
                self._pending.discard(number)

    def settle(self) -> None:
        """Bring to an end what somebody who is dead intended. Does nothing when reading only.

        An intention that this log does not tell of is left alone: somebody may be about to append
        its record, or has done so in the log that this one is a copy of.
        """
        if self.keys.read_only or self.space is None:
            return
        for erasure in self.keys.intentions(self.space):
            if self.tells_of(erasure.accounts):
                self.keys.fulfil(erasure.number)

    def tells_of(self, accounts: Collection[Account]) -> bool:
        """Say whether one of *accounts* stands in this log."""
        return any(self.inner.digest_at(each.version) == each.digest for each in accounts)


def owners_of(row: PayloadRow) -> tuple[str, ...]:
    """Return whose keys lock a payload."""
    own = itself(row.version)
    return tuple(THE_SPACE if owner == own else owner for owner in row.owners) or (THE_SPACE,)


def _require_own_keys(owners: Collection[str]) -> None:
    """Refuse to erase what goes with its space only: its key could not be destroyed."""
    for owner in owners:
        if owner == THE_SPACE or is_event(owner):
            raise FieldRefused(
                f"what belongs to event {owner!r} alone has no key of its own",
                recovery="Erase a block, or the whole space.",
                field="erase",
            )


def _after(head: Head, records: Sequence[Record]) -> Account:
    """Return where the log will end."""
    version, digest = head.version, head.digest
    for record in records:
        version, digest = record.version, chain.digest(digest, *record)
    return Account(version, digest)
