"""Spaces in the making: written batch by batch, and seen by nobody before they are whole.

In the tables a space in the making stands under a name that no space can have. Once all of it is
written it takes its own, in one transaction. Rules of this module:

1. There is one row for each name, hence one maker at a time who gets anywhere: who comes later
   clears away what stands there, be that maker dead or alive, and a live one meets a conflict, as
   every append says where the log ended.
2. Who fails clears away its own beginning, and never what somebody else has begun since.
3. Nothing is cleared away that is whole: what was in the making a moment ago may be there now.
4. A row is never deleted, for its number could be given out again while an old handle writes to it.
5. What killed makers left is swept away on demand. Nobody can tell a maker who was killed from one
   who sleeps, so one who goes on while one looks is left alone, and one who slept finds, as in 1,
   that the log ends elsewhere, and leaves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from attrs import frozen

from mnemic.adapters.stores import chain
from mnemic.kernel.errors import MnemicError, SpaceExists, VersionConflict
from mnemic.kernel.ports import DraftingStore, Head, Log, Store

if TYPE_CHECKING:
    from mnemic.adapters.stores.recorded import RecordedLog

Making = TypeVar("Making", bound="RecordedLog")
"""The logs of a store."""
MARK = "\x1f"
"""Begins the name of a space in the making. No name begins so: names are stripped of it."""


class Rows(Protocol):
    """The rows of spaces in the tables of a store."""

    def names(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted; those in the making among them."""
        ...

    def space(self, name: str) -> int | None:
        """Return the number of the space *name*, or None if there is none."""
        ...

    def add_space(self, name: str) -> None:
        """Make the space *name* unless it is there."""
        ...

    def head(self, space: int) -> Head:
        """Return where the log of *space* ends."""
        ...

    def rename(self, space: int, names: tuple[str, str], head: Head) -> bool | None:
        """Give a space that ends at *head* another name; what it is called now comes first.

        Returns:
            Whether it was done; False: another space has that name. None: it ends elsewhere, or is
            called otherwise.
        """
        ...

    def clear(self, space: int, name: str, head: Head) -> None:
        """Destroy everything of a space, if it is called *name* and ends at *head*."""
        ...


@frozen(kw_only=True)
class Swept:
    """What came of spaces that were in the making."""

    gone: tuple[str, ...]
    """Nobody had gone on with these, and nothing is left of them."""
    kept: tuple[str, ...]
    """Somebody went on with these, or has ended."""


def hidden(space: str) -> str:
    """Return the name that a space has while it is made."""
    return MARK + space


def is_hidden(name: str) -> bool:
    """Return whether a name is that of a space in the making."""
    return name.startswith(MARK)


def unfinished(rows: Rows) -> tuple[str, ...]:
    """Return the names of spaces that are being made, or whose maker was killed over it."""
    return tuple(name for name, _, _ in _begun(rows))


def _begun(rows: Rows) -> list[tuple[str, int, Head]]:
    """Return the name of each space in the making, its number, and where it ends."""
    numbers = {name: rows.space(name) for name in rows.names() if is_hidden(name)}
    found = [
        (name.removeprefix(MARK), number, rows.head(number))
        for name, number in numbers.items()
        if number is not None
    ]
    return [each for each in found if each[2] != chain.EMPTY]  # as what was given up


def sweep(
    rows: Rows,
    watch: Callable[[], None],
    log: Callable[[str, int], RecordedLog],
    named: Callable[[], AbstractContextManager[None]],
) -> Swept:
    """Clear away what is in the making, and with which nobody goes on.

    Args:
        rows: Of the store; they may be written.
        watch: Called between two looks, if there is anything to look at.
        log: Returns the log of a name and a number.
        named: Turns what the database raises into our errors.
    """
    with named():
        begun = _begun(rows)
    if begun:
        watch()
    gone: list[str] = []
    for space, number, head in begun:
        with log(space, number).writing(), named():
            rows.clear(number, hidden(space), head)
            if rows.space(hidden(space)) == number and rows.head(number) == chain.EMPTY:
                gone.append(space)
    kept = tuple(space for space, _, _ in begun if space not in gone)
    return Swept(gone=tuple(gone), kept=kept)


@contextmanager
def drafted(
    rows: Rows,
    space: str,
    log: Callable[[str, int], Making],
    named: Callable[[], AbstractContextManager[None]],
) -> Generator[Making]:
    """Give the log of a space that nobody sees before the ``with`` block has ended well.

    A space that is there and empty is filled as it is: others may have opened it.

    Args:
        rows: Of the store; they may be written.
        space: Its name.
        log: Returns the log of that name and a number.
        named: Turns what the database raises into our errors.

    Raises:
        SpaceExists: The space has events, or was made meanwhile.
        VersionConflict: Somebody else has begun to make it since.
    """
    with named():
        number = rows.space(space)
    if number is not None:
        standing = log(space, number)
        check_empty(space, standing.head())
        yield standing
        return
    with named():
        rows.add_space(hidden(space))
        number = rows.space(hidden(space))
    if number is None:  # whoever was faster has just ended well
        raise _made_meanwhile(space)
    making = log(space, number)
    if making.head() != chain.EMPTY:
        with making.writing(), named():
            rows.clear(number, hidden(space), making.head())
            if rows.space(space) is not None:  # it has ended while one looked
                raise _made_meanwhile(space)
    try:
        yield making
        with making.writing(), named():
            _settle(rows, space, number, making.tip)
    except VersionConflict:
        raise  # what stands there is somebody else's
    except BaseException:
        with suppress(MnemicError), making.writing(), named():
            rows.clear(number, hidden(space), making.tip)
        raise


def _settle(rows: Rows, space: str, number: int, head: Head) -> None:
    """Let everybody see a space that is whole.

    Raises:
        SpaceExists, VersionConflict: Somebody was faster.
    """
    done = rows.rename(number, (hidden(space), space), head)
    if done is False:
        raise _made_meanwhile(space)
    # A server that hung up before it answered is asked again, and finds it done.
    if done is None and (rows.space(space) != number or rows.head(number) != head):
        raise VersionConflict(
            f"somebody else has begun to make {space!r} since",
            recovery="See whether it is there; if not, and nobody else makes it, begin again.",
            expected=head.version,
        )


def _made_meanwhile(space: str) -> SpaceExists:
    return SpaceExists(f"the space {space!r} was made meanwhile", space=space)


@contextmanager
def openly(store: Store, space: str) -> Generator[Log]:
    """Give the log of a space in a store that cannot hide its beginning.

    Raises:
        SpaceExists: The space has events.
    """
    log = store.log(space)
    check_empty(space, log.head())
    yield log


def drafts_of(store: Store) -> Callable[[str], AbstractContextManager[Log]]:
    """Return how to make a space in *store* that nobody sees before it is whole, if it can that."""
    return store.draft if isinstance(store, DraftingStore) else partial(openly, store)


def check_empty(space: str, head: Head) -> None:
    """Refuse to make a space that is there.

    Raises:
        SpaceExists: It has events.
    """
    if head.version >= 0:
        raise SpaceExists(
            f"there is a space {space!r} already, with {head.version + 1} events",
            space=space,
            version=head.version,
        )
