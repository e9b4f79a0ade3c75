"""Logs whose turn to write somebody else has, or whose queue can be looked at."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from mnemic.kernel.ports import Log


class Announced:
    """A log that tells when somebody begins to wait for the turn."""

    def __init__(self, behind: Log, waits: Callable[[], object]) -> None:
        self._behind = behind
        self._waits = waits

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    @contextmanager
    def writing(self) -> Generator[None]:
        self._waits()
        with self._behind.writing():
            yield


class Taken(Announced):
    """A log whose turn is always somebody else's, so that everybody has to wait for it."""

    @contextmanager
    def writing_if_free(self) -> Generator[bool]:
        yield False
