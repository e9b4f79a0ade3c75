"""A store in one SQLite file: the one that most people use.

``store`` is what hosts open; ``opening`` makes, opens or refuses its file, whose tables ``format``
lays out; ``recorder`` and ``connections`` are the way to them; ``locking`` queues writers;
``faults`` names what failed.
"""

from __future__ import annotations

from mnemic.adapters.stores.sqlite.store import SQLiteLog, SQLiteStore

__all__ = ["SQLiteLog", "SQLiteStore"]
