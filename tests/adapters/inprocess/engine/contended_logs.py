"""Logs whose write lock is held by another writer, or whose waiting writers can be observed."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from mnemic.kernel.ports import Log


class WaitReportingLog:
    """A log that reports when a writer begins to wait for the write lock."""

    def __init__(self, behind: Log, on_wait: Callable[[], object]) -> None:
        self._behind = behind
        self._on_wait = on_wait

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    @contextmanager
    def write_lock(self) -> Generator[None]:
        self._on_wait()
        with self._behind.write_lock():
            yield
