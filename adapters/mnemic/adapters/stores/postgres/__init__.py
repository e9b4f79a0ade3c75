"""A store in a schema of a PostgreSQL database: for several machines, or many writers.

``store`` is what hosts open, by an ``address``; ``opening`` makes, opens or refuses its schema,
whose tables ``format`` lays out; ``recorder`` and ``connections`` access them; ``write_lock``
queues writers; ``notices`` informs readers of changes; ``faults`` maps errors.

Assumptions of this store: sessions of its own (a connection pooler must pool sessions, not
transactions), and a server that its operator secures. An erased text leaves the tables with its
command. The server's write-ahead log, its replicas and base backups, and dead space in its files
keep a copy until they are recycled: that is up to the operator, and encryption by ``keys`` is the
remedy on our side.
"""

from __future__ import annotations

from mnemic.adapters.stores.postgres.store import PostgresLog, PostgresStore

__all__ = ["PostgresLog", "PostgresStore"]
