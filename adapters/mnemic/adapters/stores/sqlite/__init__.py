"""A store in one SQLite file: the default.

``store`` is what hosts open; ``opening`` makes, opens or refuses its file, whose tables ``format``
lays out; ``recorder`` and ``connections`` access them; ``watermark`` records how far each log was
acknowledged, and ``lost_tail`` finds what a file lacks of that; ``name_lock`` refuses a second name
of the file, and ``remains`` one that was deleted; ``faults`` maps errors.
"""

from __future__ import annotations

from mnemic.adapters.stores.sqlite.store import SQLiteLog, SQLiteStore

__all__ = ["SQLiteLog", "SQLiteStore"]
