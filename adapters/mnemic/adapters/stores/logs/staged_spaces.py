"""Staged spaces: written batch by batch, and hidden until they are complete.

In the tables a staged space has a name that no other space can have. Once all of it is written it
is given its own name, in one transaction. Rules of this module:

1. There is one row for each name, hence only one process can finish making it: a later one clears
   what is there, whether its maker is alive or not, and a live one gets a conflict, as every append
   states where the log ended.
2. A process that fails clears what it began, and never what another has begun since.
3. Nothing complete is cleared: what was staged a moment ago may be complete now.
4. A row is never deleted, for its number could be assigned again while an old handle writes to it.
5. What killed processes left is swept on demand. A killed process cannot be told from a paused one,
   so a space that grows during the sweep is left alone, and a process that was paused finds, as in
   1, that the log ends elsewhere, and leaves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from attrs import frozen

from mnemic.adapters.stores.logs import chain
from mnemic.kernel.errors import HistoryReplaced, MnemicError, SpaceExists, VersionConflict
from mnemic.kernel.ports import Head, Log, LookupStore, StagingStore, Store
from mnemic.kernel.values import Value

if TYPE_CHECKING:
    from mnemic.adapters.stores.logs.recorded_log import RecordedLog

Making = TypeVar("Making", bound="RecordedLog")
"""The type of a store's logs."""
MARK = "\x1f"
"""Prefix of the names of staged spaces. No other name has it: names are stripped of it."""


class Rows(Protocol):
    """The rows of spaces in the tables of a store."""

    def names(self) -> tuple[str, ...]:
        """Return the names of all spaces, staged ones included, sorted."""
        ...

    def space(self, name: str) -> int | None:
        """Return the number of the space *name*, or None if there is none."""
        ...

    def add_space(self, name: str) -> None:
        """Make the space *name* unless it exists."""
        ...

    def head(self, space: int) -> Head:
        """Return where the log of *space* ends."""
        ...

    def rename(self, space: int, names: tuple[str, str], head: Head) -> bool | None:
        """Rename a space that ends at *head*; *names* are its present and its new name.

        Returns:
            Whether it was done; False: another space has that name. None: it ends elsewhere, or has
            another name now.
        """
        ...

    def clear(self, space: int, name: str, head: Head) -> None:
        """Destroy everything of a space, if it is called *name* and ends at *head*."""
        ...


@frozen(kw_only=True)
class Swept(Value):
    """Outcome of sweeping staged spaces."""

    gone: tuple[str, ...]
    """Deleted: they did not grow during the sweep."""
    kept: tuple[str, ...]
    """Left alone: they grew, or were completed."""


def hidden(space: str) -> str:
    """Return the name of a space while it is staged."""
    return MARK + space


def is_hidden(name: str) -> bool:
    """Return whether a name is that of a staged space."""
    return name.startswith(MARK)


def unfinished(rows: Rows) -> tuple[str, ...]:
    """Return the names of spaces that are being made, or whose creation was interrupted."""
    return tuple(name for name, _, _ in _begun(rows))


def _begun(rows: Rows) -> list[tuple[str, int, Head]]:
    """Return the name of each staged space, its number, and where it ends."""
    numbers = {name: rows.space(name) for name in rows.names() if is_hidden(name)}
    found = [
        (name.removeprefix(MARK), number, rows.head(number))
        for name, number in numbers.items()
        if number is not None
    ]
    return [each for each in found if each[2] != chain.EMPTY]  # an abandoned one is empty


def sweep(
    rows: Rows,
    watch: Callable[[], None],
    log: Callable[[str, int], RecordedLog],
    named: Callable[[], AbstractContextManager[None]],
) -> Swept:
    """Delete staged spaces that do not grow.

    Args:
        rows: Of the store; they may be written.
        watch: Called between two looks, if there is anything to look at.
        log: Returns the log of a name and a number.
        named: Converts what the database raises to our errors.
    """
    with named():
        begun = _begun(rows)
    if begun:
        watch()
    gone: list[str] = []
    for space, number, head in begun:
        with log(space, number).write_lock(), named():
            rows.clear(number, hidden(space), head)
            if rows.space(hidden(space)) == number and rows.head(number) == chain.EMPTY:
                gone.append(space)
    kept = tuple(space for space, _, _ in begun if space not in gone)
    return Swept(gone=tuple(gone), kept=kept)


@contextmanager
def staged(
    rows: Rows,
    space: str,
    log: Callable[[str, int], Making],
    named: Callable[[], AbstractContextManager[None]],
) -> Generator[Making]:
    """Open the log of a space that stays hidden until the ``with`` block has succeeded.

    A space that exists and is empty is filled in place: others may have opened it.

    Args:
        rows: Of the store; they may be written.
        space: Its name.
        log: Returns the log of that name and a number.
        named: Converts what the database raises to our errors.

    Raises:
        SpaceExists: The space has events, or was made meanwhile.
        VersionConflict: Another process has begun to make it since.
    """
    with named():
        number = rows.space(space)
    if number is not None:
        existing = log(space, number)
        check_empty(space, existing.head())
        yield existing
        return
    with named():
        rows.add_space(hidden(space))
        number = rows.space(hidden(space))
    if number is None:  # another process has just completed it
        raise _made_meanwhile(space)
    making = log(space, number)
    if making.head() != chain.EMPTY:
        with making.write_lock(), named():
            rows.clear(number, hidden(space), making.head())
            if rows.space(space) is not None:  # it was completed between the two looks
                raise _made_meanwhile(space)
    try:
        yield making
        with making.write_lock(), named():
            _settle(rows, space, number, making.tip)
    except (VersionConflict, HistoryReplaced):
        raise  # another process has begun anew there
    except BaseException:
        with suppress(MnemicError), making.write_lock(), named():
            rows.clear(number, hidden(space), making.tip)
        raise


def _settle(rows: Rows, space: str, number: int, head: Head) -> None:
    """Make a complete space visible.

    Raises:
        SpaceExists, VersionConflict: Another process was faster.
    """
    done = rows.rename(number, (hidden(space), space), head)
    if done is False:
        raise _made_meanwhile(space)
    # If a server hung up before it answered, the repeated statement finds it done.
    if done is None and (rows.space(space) != number or rows.head(number) != head):
        raise VersionConflict(
            f"another process has begun to make {space!r} since",
            recovery="Check whether it exists; if not, and no other process makes it, begin again.",
            expected=head.version,
        )


def _made_meanwhile(space: str) -> SpaceExists:
    return SpaceExists(f"the space {space!r} was made meanwhile", space=space)


@contextmanager
def openly(store: Store, space: str) -> Generator[Log]:
    """Open the log of a space in a store that cannot stage it.

    Raises:
        SpaceExists: The space has events.
    """
    log = store.log(space)
    check_empty(space, log.head())
    yield log


def has_space(store: Store, space: str) -> bool:
    """Return whether *store* has *space*, without a list of all its spaces if it can do so."""
    return store.has(space) if isinstance(store, LookupStore) else space in store.spaces()


def staged_spaces_of(store: Store) -> Callable[[str], AbstractContextManager[Log]]:
    """Return the method of *store* that stages a space, or a substitute if it has none."""
    return store.draft if isinstance(store, StagingStore) else partial(openly, store)


def check_empty(space: str, head: Head) -> None:
    """Refuse to make a space that exists.

    Raises:
        SpaceExists: It has events.
    """
    if head.version >= 0:
        raise SpaceExists(
            f"there is a space {space!r} already, with {head.version + 1} events",
            space=space,
            version=head.version,
        )
