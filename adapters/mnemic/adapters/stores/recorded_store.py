"""A store whose spaces stand in tables that a recorder keeps: what all such stores share.

How the tables are opened, and what a space in them has besides, differs; the rest of a store is
here, as the rest of a log is in ``recorded``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import Generic, TypeVar

from mnemic.adapters.stores.drafts import Rows, Swept, drafted, is_hidden, sweep, unfinished
from mnemic.adapters.stores.recorded import RecordedLog
from mnemic.kernel.errors import PointOutOfRange, ViewReadOnly

Kept = TypeVar("Kept", bound=RecordedLog)
"""The logs of a store."""


class RecordedStore(ABC, Generic[Kept]):
    """Many spaces in the tables of one recorder.

    Args:
        rows: The rows of spaces in these.
        shown: The store as it may be told.
        read_only: Never write.
    """

    def __init__(self, rows: Rows, *, shown: str, read_only: bool) -> None:
        self.read_only = read_only
        self._rows = rows
        self._shown = shown
        self._logs: dict[str, Kept] = {}
        self._opening = Lock()

    @abstractmethod
    def _named(self) -> AbstractContextManager[None]:
        """Turn what the database raises into our errors."""

    @abstractmethod
    def _log(self, space: str, number: int) -> Kept:
        """Return a new handle of a space that is there."""

    @abstractmethod
    def _tidy(self) -> None:
        """Try to leave nothing of what has just been cleared away."""

    def spaces(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted."""
        with self._named():
            return tuple(name for name in self._rows.names() if not is_hidden(name))

    def unfinished(self) -> tuple[str, ...]:
        """Return the names of spaces that are being made, or whose maker was killed over it."""
        with self._named():
            return unfinished(self._rows)

    def sweep(self, watch: Callable[[], None]) -> Swept:
        """Clear away what makers who were killed have left of the spaces that they made.

        A maker who slept all the while fails afterwards, with ``VersionConflict``.

        Args:
            watch: Called between two looks; who goes on meanwhile is left alone.
        """
        self.require_writable()
        try:
            return sweep(self._rows, watch, self._draft, self._named)
        finally:
            self._tidy()

    def log(self, space: str, *, create: bool = True) -> Kept:
        """Return the log of *space*; twice the same.

        Raises:
            PointOutOfRange: If the space does not exist and may not be made.
        """
        with self._opening, self._named():
            if space not in self._logs:
                self._logs[space] = self._log(space, self._number(space, create=create))
            return self._logs[space]

    @contextmanager
    def draft(self, space: str) -> Generator[Kept]:
        """Give the log of a space that nobody sees before the ``with`` block has ended well.

        Raises:
            SpaceExists: The space has events, or was made meanwhile.
            VersionConflict: Somebody else has begun to make it since.
        """
        self.require_writable()
        try:
            with drafted(self._rows, space, self._draft, self._named) as log:
                yield log
        finally:
            self._tidy()  # what was given up, or left by somebody who was killed

    def require_writable(self) -> None:
        """Refuse to write to a store opened with ``read_only``."""
        if self.read_only:
            raise ViewReadOnly(f"{self._shown} is open to read only", path=self._shown)

    def _draft(self, space: str, number: int) -> Kept:
        """Return a new handle of a space in the making."""
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
            raise PointOutOfRange(
                f"{self._shown} has no space {space!r}",
                recovery="Name one of the store's spaces, or let it be made.",
                space=space,
            )
        return number
