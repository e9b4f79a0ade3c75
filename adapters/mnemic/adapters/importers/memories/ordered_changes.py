"""Changes of a source on disk, in the order of their times.

Reading everything before anything is written means that a source which cannot be read to its end
changes nothing, and that sources whose parts are in no order are imported in the order of their
times. The file is temporary, so memory does not grow with the source.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final, Self

from attrs import asdict

from mnemic.adapters.importers.memories.changes import (
    CHANGES,
    Change,
    Connect,
    Found,
    Learn,
    Left,
)
from mnemic.kernel.timestamps import instant

LEFT_SHOWN: Final = 20
"""Places that are kept of each kind of thing that is left."""
_UNTIMED: Final = 2**62
"""Sorts what has no time behind all that has one, in the order of the source."""


class OrderedChanges:
    """Changes in a temporary file, for a ``with`` block."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="mnemic-import-")
        self._rows = sqlite3.connect(Path(self._folder.name) / "changes")
        self._rows.execute(
            "CREATE TABLE changes (at INTEGER, seq INTEGER PRIMARY KEY, kind TEXT, body TEXT)"
        )
        self.counts: Counter[str] = Counter()
        """Changes by kind."""
        self.left: Counter[tuple[str, str]] = Counter()
        """What is not imported, and why."""
        self.left_at: dict[tuple[str, str], list[str]] = {}
        """The first places of each."""
        self.referred: set[str] = set()
        """Keys that a later change refers to."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._rows.close()
        self._folder.cleanup()

    def fill(self, found: Iterable[Found]) -> None:
        """Read a source to its end.

        Raises:
            InputRefused: It cannot be read.
        """
        for each in found:
            if isinstance(each, Left):
                key = each.what, each.why
                self.left[key] += 1
                if self.left[key] <= LEFT_SHOWN:
                    self.left_at.setdefault(key, []).append(each.place)
                continue
            self._add(each)
        self._rows.execute("CREATE INDEX by_time ON changes (at, seq)")
        self._rows.commit()

    def _add(self, change: Change) -> None:
        self.counts[type(change).__name__] += 1
        if isinstance(change, Connect):
            self.referred |= {change.source, change.target}
        elif not isinstance(change, Learn):
            self.referred.add(change.key)
        at_us = instant("at", change.at)
        self._rows.execute(
            "INSERT INTO changes (at, kind, body) VALUES (?, ?, ?)",
            (
                _UNTIMED if at_us is None else at_us,
                type(change).__name__,
                json.dumps(asdict(change), ensure_ascii=True),
            ),
        )

    def __len__(self) -> int:
        return sum(self.counts.values())

    @property
    def first(self) -> str | None:
        """The first time in the source; None if it has none."""
        for change in self:
            return change.at
        return None

    def __iter__(self) -> Iterator[Change]:
        """Yield the changes by time, those without one last."""
        for kind, body in self._rows.execute("SELECT kind, body FROM changes ORDER BY at, seq"):
            yield CHANGES[kind](**json.loads(body))
