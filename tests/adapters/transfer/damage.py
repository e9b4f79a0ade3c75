"""A log with an overwritten event."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def damage(path: Path, version: int) -> None:
    """Change the topic of the event at *version*, from outside the store."""
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(
            "UPDATE stored_events SET topic = 'x' WHERE originator_version = ?", (version,)
        )
