"""A store in a schema of a PostgreSQL database: for several machines, or many writers.

``store`` is what hosts open, by an ``address``; ``opening`` makes, opens or refuses its schema,
whose tables ``format`` lays out; ``recorder`` and ``connections`` are the way to them; ``turns``
queues writers; ``notices`` tells readers; ``faults`` names what failed.

What this store takes for granted: sessions of its own (a connection pooler must pool sessions, not
transactions), and a server that an operator keeps safe. An erased text leaves the tables with its
command. The server's write-ahead log, its replicas and base backups, and dead space in its files
keep a copy until they are recycled: that is in the operator's hands, and encryption by ``keys`` is
the remedy that is in ours.
"""

from __future__ import annotations

from mnemic.adapters.stores.postgres.store import PostgresLog, PostgresStore

__all__ = ["PostgresLog", "PostgresStore"]
