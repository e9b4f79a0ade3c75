"""Log of one encrypted space: a wrapper around any other log, and a table of keys.

Rules of this module:

1. Records are stored unchanged: they hold no text, and their chain is over stored bytes. Payloads
   are encrypted when they are written and decrypted when they are read, here and nowhere else.
2. A payload that belongs to no block is encrypted with the key of the space, all others with the
   keys of their owners.
3. An erasure happens under one write lock; see ``erasing``.
4. A row whose key is destroyed is absent for readers, also in a backup that still has it.
5. If the log does not record that, because the erasure was made in another copy, the next holder of
   the write lock appends the events: readers see a log that has grown.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import get_ident
from typing import TYPE_CHECKING

from mnemic.adapters.codec.sealing import is_event
from mnemic.adapters.stores.encrypted import cipher
from mnemic.adapters.stores.encrypted.cipher import (
    CHECKPOINTS,
    THE_SPACE,
    Key,
    owners_of,
)
from mnemic.adapters.stores.encrypted.decryption import Decrypter
from mnemic.adapters.stores.encrypted.erasing import REFUSALS, Eraser, end_of
from mnemic.adapters.stores.encrypted.identification import identified
from mnemic.adapters.stores.encrypted.keys import KeyTable
from mnemic.adapters.stores.encrypted.unrecorded import UnrecordedErasures, record, unrecorded
from mnemic.adapters.stores.encrypted.vault import Vault
from mnemic.adapters.stores.logs import chain
from mnemic.kernel.errors import (
    FieldRefused,
    HistoryReplaced,
    KeysMissing,
    LogCorrupt,
)
from mnemic.kernel.ports import CommandRow, Head, Log, LogCapabilities, PayloadRow, Record

if TYPE_CHECKING:
    from mnemic.adapters.transfer.copies.copying import CopyContext
    from mnemic.kernel.events import Event


class EncryptedLog:
    """One space of an encrypted store.

    Args:
        inner: The log, as the inner store holds it.
        keys: The table of keys.
    """

    def __init__(self, inner: Log, keys: KeyTable) -> None:
        self.inner = inner
        self.keys = keys
        self.copy_context: CopyContext | None = None
        """Actor and clock of erasure events that the log lacks; None: none are appended."""
        self._recorded = 0
        """Generation of the keys up to which the log records every erasure."""
        self._holder: int | None = None
        """The thread that holds the write lock; None: no thread of this log does."""
        self._eraser = Eraser(inner, keys)
        self.space = identified(self.inner, self.keys)
        """The space's number in the table of keys; None: it has none yet."""

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
    def capabilities(self) -> LogCapabilities:
        """What the inner log can do beyond the port."""
        return self.inner.capabilities

    @property
    def vault(self) -> Vault:
        """The encryption of the checkpoints of this space."""
        return Vault(
            lambda: self.keys.keys(self._number(), {CHECKPOINTS})[CHECKPOINTS],
            self._existing,
            lambda: self.keys.newest(self._number()),
        )

    def _existing(self, name: bytes) -> Key | None:
        """Return the key with this name as it is stored now; None: it is destroyed."""
        self.keys.refresh(None)
        found = self.keys.find((name,))
        return None if found is None else found[0]

    @property
    def left(self) -> tuple[str, ...]:
        """The names of files that may still hold keys of erased content."""
        return self._eraser.left

    def close(self) -> None:
        """Release the log."""
        self.inner.close()

    # --- reading --------------------------------------------------------------------------------

    def read(
        self, after: Head | int = -1, upto: Head | int | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        """Yield records with version in (after, upto] in order, each with its payloads by slot.

        Raises:
            HistoryReplaced: The log does not hold a head that was given.
            LogCorrupt: With the fact ``version``; every sound record before it has been yielded.
            KeysMissing: The table of keys does not have the key of a payload.
        """
        if self.space is None:
            self.space = identified(self.inner, self.keys)
        self.keys.refresh(self.space)
        decrypter = Decrypter(self.keys, self.space)
        try:
            for entry, rows in self.inner.read(after, upto):
                found = map(decrypter.decrypted, rows)
                yield entry, tuple([row for row in found if row is not None])
        except HistoryReplaced:
            self._recorded = 0  # the log at hand may lack erasures that the one before had
            raise

    def unrecorded_erasures(self) -> Sequence[Event]:
        """Return an event for each erasure that was made in another copy and is not recorded here.

        Raises:
            LogCorrupt: The log cannot be read.
        """
        missing = self._unrecorded()
        return () if missing is None else missing.events()

    def _unrecorded(self) -> UnrecordedErasures | None:
        generation = self.keys.generation()
        if generation == self._recorded:
            return None
        missing = unrecorded(self._eraser, self.space, since=self._recorded)
        if missing is None:
            self._recorded = generation
        return missing

    # --- writing --------------------------------------------------------------------------------

    @contextmanager
    def write_lock(self) -> Generator[None]:
        """Hold the write lock of the inner log. Not re-entrant.

        Erasures made in other copies are recorded first.

        Raises:
            StoreFull, StoreBusy, StoreFailed: The lock is not available, or the events cannot be
                written.
        """
        with self.inner.write_lock(), self._held():
            self._record_erasures()
            yield

    def _record_erasures(self) -> None:
        """Append the erasure events that the log lacks. The write lock is held."""
        if self.copy_context is not None:
            with suppress(LogCorrupt):  # the next fold reports it
                missing = self._unrecorded()
                if missing is not None:
                    record(self._eraser, missing, self.copy_context)

    @contextmanager
    def _held(self) -> Generator[None]:
        self._holder = get_ident()
        try:
            yield
        finally:
            self._holder = None

    @contextmanager
    def _write_lock(self) -> Generator[None]:
        """Acquire the write lock unless this thread holds it already."""
        if self._holder == get_ident():
            yield
        else:
            with self.write_lock():
                yield

    def append(
        self,
        records: Sequence[Record],
        payloads: Sequence[PayloadRow],
        *,
        after: Head,
        commands: Sequence[CommandRow] = (),
        erase: Sequence[str] = (),
        erase_all: bool = False,
    ) -> Head:
        """Write everything, or nothing, and return the new head.

        Raises:
            VersionConflict: The log is longer than *after*.
            HistoryReplaced: The log does not hold *after*.
            CommandIdReused: The id of a command is stored already.
            FieldRefused: The records leave a gap, a payload has no record, or an owner in *erase*
                has no key of its own.
            KeysMissing: A payload is encrypted already.
            StoreFailed, ViewReadOnly: The keys cannot be written.
        """
        if records and records[0].version == 0:
            return self._begun(
                records, payloads, after=after, commands=commands, erase=erase, erase_all=erase_all
            )
        if erase or erase_all:
            blocks = None if erase_all else erase
            with self._write_lock():
                return self._erased(records, payloads, blocks, after=after, commands=commands)
        self._eraser.settle_pending(self.space)
        return self.inner.append(
            records, self._locked(payloads, None), after=after, commands=commands
        )

    def _begun(
        self,
        records: Sequence[Record],
        payloads: Sequence[PayloadRow],
        *,
        after: Head,
        commands: Sequence[CommandRow],
        erase: Sequence[str],
        erase_all: bool,
    ) -> Head:
        """Append the first records, which create a space with its own keys."""
        genesis = chain.digest(chain.EMPTY.digest, *records[0])
        begun = self.keys.begin(self.name, genesis)
        try:
            rows = self._locked(payloads, begun)
            head = self.inner.append(
                records, rows, after=after, commands=commands, erase=erase, erase_all=erase_all
            )
        except REFUSALS:  # after any other error the append may have succeeded
            self.keys.discard(begun)
            raise
        self.space = begun
        return head

    def _locked(self, payloads: Sequence[PayloadRow], space: int | None) -> list[PayloadRow]:
        """Return *payloads* encrypted for storage, after creating the keys of new owners.

        Args:
            payloads: The payloads of one append.
            space: The space whose keys are used; None: this one.
        """
        if not payloads:
            return []
        if space is None:
            space = self._number()
        if any(cipher.is_encrypted(row.key) for row in payloads):
            raise KeysMissing(
                f"text to be written to space {self.name!r} is encrypted with other keys already",
                recovery="Open the store that it is copied from with the keys of that store.",
                space=self.name,
            )
        owned = [owners_of(row) for row in payloads]
        keys = self.keys.keys(space, {owner for owners in owned for owner in owners})
        return [
            cipher.encrypted(row, [keys[owner] for owner in owners])
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
        blocks: Sequence[str] | None,
        *,
        after: Head,
        commands: Sequence[CommandRow],
    ) -> Head:
        """Append the erasure of *blocks*; None: of everything. The write lock is held."""
        require_own_keys(blocks or ())
        rows = self._locked(payloads, None)

        def append() -> Head:
            return self.inner.append(
                records,
                rows,
                after=after,
                commands=commands,
                erase=blocks or (),
                erase_all=blocks is None,
            )

        return self._eraser.erase(self.space, blocks, end_of(after, records), append)

    def erased_before(self, erase: Sequence[str], *, erase_all: bool) -> None:
        """Destroy the remaining keys of text that this log has erased. The write lock is held.

        There are such if an older copy of the key file was put back after the erasure.

        Args:
            erase: Owners of the text.
            erase_all: Whether all text of the space was erased.

        Raises:
            StoreFailed, StoreFull, ViewReadOnly: The keys cannot be written.
        """
        self._eraser.erase_left_keys(self.space, None if erase_all else erase)

    def record_erasures(self) -> None:
        """Append events for erasures made in other copies, if there are any.

        Raises:
            StoreFull, StoreBusy, StoreFailed: The events cannot be written.
        """
        with suppress(LogCorrupt):  # the next fold reports it
            if self._unrecorded() is None:
                return
        with self.write_lock():  # entering it appends them
            pass

    def settle(self) -> None:
        """Fulfil erasures that a process left unfinished, unless the keys are read-only."""
        self._eraser.settle(self.space)


def require_own_keys(owners: Collection[str]) -> None:
    """Refuse to erase by itself what is encrypted with the key of the space.

    Raises:
        FieldRefused: An owner is the space, or an event.
    """
    for owner in owners:
        if owner == THE_SPACE or is_event(owner):
            raise FieldRefused(
                f"text that belongs to event {owner!r} and to no block has no key of its own",
                recovery="Erase a block, or the whole space.",
                field="erase",
            )
