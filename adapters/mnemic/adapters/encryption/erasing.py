"""An erasure in one locked log, from the intention to the last key, whoever dies on the way.

It is one turn at the log: intend, append, destroy. Whoever dies in it leaves an intention. The next
to write that log, or a copy that has the record, destroys the keys; if no log ever has it, it stays
an intention, and harms nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Final

from mnemic.adapters.encryption.erasures import Account
from mnemic.adapters.encryption.keys import KeyTable
from mnemic.adapters.encryption.owners import CHECKPOINTS
from mnemic.adapters.stores import chain
from mnemic.kernel.errors import CommandIdReused, FieldRefused, MnemicError, VersionConflict
from mnemic.kernel.ports import Head, Log, Record

REFUSALS: Final = (VersionConflict, CommandIdReused, FieldRefused)
"""What says for certain that nothing was appended. After anything else it may stand there yet."""


class Eraser:
    """Destroys the keys of what one log erases.

    Args:
        log: The locked log, as the store inside has it.
        keys: What opens it.
    """

    def __init__(self, log: Log, keys: KeyTable) -> None:
        self.log = log
        self.keys = keys
        self.pending: set[int] = set()
        """Erasures that stand in the log and whose keys could not be destroyed yet."""
        self.is_unsure = False
        """Whether one may stand there though its append has failed: the word of it was lost."""

    @property
    def left(self) -> tuple[str, ...]:
        """The names of files that may hold keys of what was erased."""
        return (self.keys.path.name,) if self.pending else self.keys.left

    def erase(
        self,
        space: int | None,
        blocks: Sequence[str] | None,
        records: Sequence[Record],
        append: Callable[[], Head],
    ) -> Head:
        """Append what erases, and destroy the keys. The right to append is held.

        Args:
            space: Whose keys; None: nothing was ever locked.
            blocks: What is erased; None: the whole space.
            records: What says so.
            append: Appends them, and erases the rows.
        """
        number = None
        if space is not None:
            number = self.keys.intend(space, _doomed(blocks), _after(self.log.head(), records))
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

    def erase_again(self, space: int | None, blocks: Sequence[str] | None) -> None:
        """Destroy keys of what the log has erased already. The right to append is held.

        Raises:
            StoreFailed, StoreFull, ViewReadOnly: The keys cannot be written.
        """
        owners = None if blocks is None else frozenset(blocks)
        if space is not None and self.keys.serve(space, owners):
            head = self.log.head()
            account = Account(head.version, head.digest)
            self.keys.fulfil(self.keys.intend(space, _doomed(blocks), account))

    def settle_pending(self, space: int | None) -> None:
        """Destroy the keys of what is erased. What fails here is tried again with every append."""
        if self.is_unsure:
            with suppress(MnemicError):
                self.settle(space)
                self.is_unsure = False
        for number in tuple(self.pending):
            with suppress(MnemicError):  # the erasure stands in the log; ``left`` tells of this
                self.keys.fulfil(number)
                self.pending.discard(number)

    def settle(self, space: int | None) -> None:
        """Bring to an end what somebody who is dead intended. Does nothing when reading only.

        An intention that this log does not tell of is left alone: somebody may be about to append
        its record, or has done so in the log that this one is a copy of.
        """
        if self.keys.read_only or space is None:
            return
        for erasure in self.keys.intentions(space):
            if self.tells_of(erasure.accounts):
                self.keys.fulfil(erasure.number)

    def tells_of(self, accounts: Collection[Account]) -> bool:
        """Say whether one of *accounts* stands in the log."""
        return any(self.log.digest_at(each.version) == each.digest for each in accounts)


def _doomed(blocks: Sequence[str] | None) -> frozenset[str] | None:
    """Return whose keys go: those of the blocks, and that of every checkpoint; None: all."""
    if blocks is None:
        return None
    return frozenset((*blocks, CHECKPOINTS))


def _after(head: Head, records: Sequence[Record]) -> Account:
    """Return where the log will end."""
    version, digest = head.version, head.digest
    for record in records:
        version, digest = record.version, chain.digest(digest, *record)
    return Account(version, digest)
