"""Base class of stores whose spaces are kept in a recorder's tables.

Stores differ in how the tables are opened, and in what else a space has in them; the rest of a
store is here, as the rest of a log is in ``recorded_log``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import Generic, TypeVar

from mnemic.adapters.stores.logs.recorded_log import RecordedLog
from mnemic.adapters.stores.logs.staged_spaces import (
    Rows,
    Swept,
    is_hidden,
    staged,
    sweep,
    unfinished,
)
from mnemic.adapters.system.forks import OpeningProcess
from mnemic.kernel.errors import SpaceNotFound, ViewReadOnly

Kept = TypeVar("Kept", bound=RecordedLog)
"""The type of a store's logs."""


def is_storable(name: str) -> bool:
    """Return whether every database can hold *name*."""
    try:
        return b"\0" not in name.encode()
    except UnicodeEncodeError:
        return False


class RecordedStore(ABC, Generic[Kept]):
    """Many spaces in the tables of one recorder.

    Args:
        rows: The rows of spaces in these.
        shown: How messages name the store.
        read_only: Never write.
    """

    def __init__(self, rows: Rows, *, shown: str, read_only: bool) -> None:
        self.read_only = read_only
        self._rows = rows
        self._shown = shown
        self._logs: dict[str, Kept] = {}
        self._opening = Lock()
        self._process = OpeningProcess(f"the store {shown}")

    @abstractmethod
    def _named(self) -> AbstractContextManager[None]:
        """Convert what the database raises to our errors."""

    @abstractmethod
    def _log(self, space: str, number: int) -> Kept:
        """Return a new handle of an existing space."""

    @abstractmethod
    def _tidy(self) -> None:
        """Try to remove the remains of what has just been deleted."""

    def spaces(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted."""
        with self._named():
            return tuple(name for name in self._rows.names() if not is_hidden(name))

    def has(self, space: str) -> bool:
        """Return whether *space* is among ``spaces()``."""
        if not is_storable(space):
            return False
        with self._named():
            return not is_hidden(space) and self._rows.space(space) is not None

    def check(self) -> None:
        """Refuse a store that has lost spaces which ``spaces`` would list.

        Raises:
            LogCorrupt: There are events of a space that has no name any more.
        """

    def unfinished(self) -> tuple[str, ...]:
        """Return the names of spaces that are being made, or whose creation was interrupted."""
        with self._named():
            return unfinished(self._rows)

    def sweep(self, watch: Callable[[], None]) -> Swept:
        """Delete spaces whose creation was interrupted.

        A process that was only paused fails afterwards, with ``VersionConflict``.

        Args:
            watch: Called between two looks; a space that grows meanwhile is left alone.
        """
        self.require_writable()
        try:
            return sweep(self._rows, watch, self._staged, self._named)
        finally:
            self._tidy()

    def log(self, space: str, *, create: bool = True) -> Kept:
        """Return the log of *space*, the same object on every call.

        Raises:
            SpaceNotFound: If the space does not exist and may not be made.
        """
        self._process.check()
        with self._opening, self._named():
            if space not in self._logs:
                self._logs[space] = self._log(space, self._number(space, create=create))
            return self._logs[space]

    @contextmanager
    def draft(self, space: str) -> Generator[Kept]:
        """Open the log of a space that stays hidden until the ``with`` block has succeeded.

        Raises:
            SpaceExists: The space has events, or was made meanwhile.
            VersionConflict: Another process has begun to make it since.
        """
        self.require_writable()
        try:
            with staged(self._rows, space, self._staged, self._named) as log:
                yield log
        finally:
            self._tidy()  # what was given up, or left by a process that was killed

    def require_writable(self) -> None:
        """Refuse to write to a store opened with ``read_only``."""
        if self.read_only:
            raise ViewReadOnly(f"{self._shown} is open read-only", path=self._shown)

    def _staged(self, space: str, number: int) -> Kept:
        """Return a new handle of a staged space."""
        return self._log(space, number)

    def _found(self, space: str) -> int | None:
        """Return the number of *space*; None: there is none."""
        return self._rows.space(space)

    def _number(self, space: str, *, create: bool) -> int:
        number = self._found(space)
        if number is None and create and not self.read_only:
            self._rows.add_space(space)
            number = self._rows.space(space)
        if number is None:
            raise SpaceNotFound(
                f"{self._shown} has no space {space!r}",
                recovery="Name one of the store's spaces, or let it be made.",
                space=space,
            )
        return number
