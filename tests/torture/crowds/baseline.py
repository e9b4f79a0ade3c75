"""The baseline: the same number of writers on one SQLite file, without mnemic."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from tests.torture.crowds.journal import (
    Done,
    keep,
    kept,
    place,
)
from tests.torture.crowds.start_barrier import Barrier, together
from tests.torture.crowds.waiting_times import waits_of

PATIENCE_S = 60
"""Seconds after which SQLite would give up."""


def bare(folder: Path, writers: int, play_s: float) -> dict[str, Any]:
    """Let processes insert rows, with no queue but SQLite's own waiting."""
    path = folder / "bare.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("CREATE TABLE things (who TEXT, what TEXT)")

    def life(who: str) -> Callable[[Barrier], None]:
        return partial(_inserts, path, who, play_s)

    statuses = together([life(f"w{number}") for number in range(writers)])
    done = kept(folder, Done)
    failures = [f"a writer ended with {status}" for status in statuses if status]
    return {"failures": failures, "facts": {"commands": len(done)}, "waits": waits_of(done)}


def _inserts(path: Path, who: str, play_s: float, gate: Barrier) -> None:
    done: list[Done] = []
    with closing(sqlite3.connect(path, timeout=PATIENCE_S, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        gate.wait()
        until_s = time.monotonic() + play_s
        while time.monotonic() < until_s:
            begun = time.perf_counter()
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO things VALUES (?, ?)", (who, "x" * 300))
            connection.execute("COMMIT")
            wait_s = time.perf_counter() - begun
            done.append(Done(who=who, id="", operation="insert", wait_s=wait_s))
    keep(place(path.parent, who, Done), done)
