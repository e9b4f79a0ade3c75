"""Erasure in one encrypted log: an event is appended, and keys are destroyed, despite crashes.

An erasure happens under one write lock in three steps: intend, append, destroy. A process that dies
in between leaves an intended erasure. The next writer of that log, or of a copy with its event,
destroys the keys; if no log ever gets the event, the intended erasure remains without effect.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Final

from mnemic.adapters.stores.encrypted.cipher import CHECKPOINTS
from mnemic.adapters.stores.encrypted.erasures import Account
from mnemic.adapters.stores.encrypted.keys import KeyTable
from mnemic.adapters.stores.logs import chain
from mnemic.kernel.errors import Conflict, FieldRefused, MnemicError
from mnemic.kernel.ports import Head, Log, Record

REFUSALS: Final = (Conflict, FieldRefused)
"""Errors after which it is certain that nothing was appended."""


class Eraser:
    """Destroys the keys of text that one log erases.

    Args:
        log: The encrypted log, as the inner store holds it.
        keys: The table of keys.
    """

    def __init__(self, log: Log, keys: KeyTable) -> None:
        self.log = log
        self.keys = keys
        self.pending: set[int] = set()
        """Erasures that are recorded in the log but whose keys could not be destroyed yet."""
        self.is_unsure = False
        """Whether an erasure may be in the log although its append raised an error."""

    @property
    def left(self) -> tuple[str, ...]:
        """The names of files that may still hold keys of erased content."""
        return (self.keys.path.name,) if self.pending else self.keys.left

    def erase(
        self,
        space: int | None,
        blocks: Sequence[str] | None,
        account: Account,
        append: Callable[[], Head],
    ) -> Head:
        """Append the records of an erasure, and destroy the keys. The write lock is held.

        Args:
            space: Number of the space; None: nothing was ever encrypted.
            blocks: Blocks to erase; None: the whole space.
            account: Where the log ends after the append.
            append: Appends the records, and erases the rows.

        Returns:
            The new head of the log. Keys that could not be destroyed are in ``pending``.
        """
        number = None
        if space is not None:
            number = self.keys.intend(space, _owners_of_erased(blocks), account)
        try:
            head = append()
        except REFUSALS:
            if number is not None:
                with suppress(MnemicError):
                    self.keys.forget(number)
            raise
        except BaseException:
            self.is_unsure = True
            raise
        if number is not None:
            self.pending.add(number)
            self.settle_pending(space)
        return head

    def erase_left_keys(self, space: int | None, blocks: Sequence[str] | None) -> None:
        """Destroy keys of text that the log has erased before. The write lock is held.

        Args:
            space: Number of the space; None: nothing was ever encrypted.
            blocks: Erased blocks; None: the whole space.

        Raises:
            StoreFailed, StoreFull, ViewReadOnly: The keys cannot be written.
        """
        owners = None if blocks is None else frozenset(blocks)
        if space is not None and self.keys.have_keys(space, owners):
            head = self.log.head()
            account = Account(head.version, head.digest)
            self.keys.fulfil(self.keys.intend(space, _owners_of_erased(blocks), account))

    def settle_pending(self, space: int | None) -> None:
        """Destroy the keys of recorded erasures; after a failure, the next append retries."""
        if self.is_unsure:
            with suppress(MnemicError):
                self.settle(space)
                self.is_unsure = False
        for number in tuple(self.pending):
            with suppress(MnemicError):  # the erasure is in the log; ``left`` reports these keys
                self.keys.fulfil(number)
                self.pending.discard(number)

    def settle(self, space: int | None) -> None:
        """Fulfil erasures that this log records and that were left unfinished; not if read-only.

        An intended erasure without an event in this log is left alone: another process may be about
        to append the event, or has appended it to the log that this one is a copy of.
        """
        if self.keys.read_only or space is None:
            return
        for erasure in self.keys.intentions(space):
            if self.records_any(erasure.accounts):
                self.keys.fulfil(erasure.number)

    def records_any(self, accounts: Collection[Account]) -> bool:
        """Return whether an event of *accounts* is in the log."""
        return any(self.log.digest_at(each.version) == each.digest for each in accounts)


def _owners_of_erased(blocks: Sequence[str] | None) -> frozenset[str] | None:
    """Return the owners whose keys are destroyed: the blocks and ``CHECKPOINTS``; None: all."""
    if blocks is None:
        return None
    return frozenset((*blocks, CHECKPOINTS))


def end_of(head: Head, records: Sequence[Record]) -> Account:
    """Return where a log ends after *records* were appended to *head*."""
    version, digest = head.version, head.digest
    for record in records:
        version, digest = record.version, chain.digest(digest, *record)
    return Account(version, digest)
