"""A log that somebody has written over."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def damage(path: Path, version: int) -> None:
    """Give the event at *version* another topic, behind the back of its store."""
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(
            "UPDATE stored_events SET topic = 'x' WHERE originator_version = ?", (version,)
        )
