"""The vectors of a PostgreSQL store in a table of their own, to be searched on the server.

``stores.logs.vector_detection`` defines how a store detects vectors. Here ``format`` lays the table
out in one of two forms, ``table`` keeps it in step with the log, ``search`` finds the nearest, and
``vectors`` is the public interface; ``rows`` and ``far`` implement ports of the kernel: one finds
the nearest, the other serves an index that holds no vectors itself.

Rules of this package:

1. The payload is authoritative. The table holds a copy of each vector, written in the transaction
   that writes its payload. The server deletes the copy with the payload, whichever program deletes
   that, whether it knows of this table or not: it is a foreign key.
2. The table records how far it goes, by version and digest. One that is behind, or belongs to
   another log, is brought forward or rebuilt before it is searched.
3. Whatever is found is scored again, by the bytes of the payload, under its MAC; or by a digest of
   them that an index computed when it replayed the log. A vector that was changed here can hide a
   block until ``check`` finds it. It can never give one a false score.
4. Components are integers and so are their products (see `mnemic.kernel.model.vectors`), so the
   server adds them up exactly, in any order: its results are those of the exact search.
5. Encrypted text has no vectors here, for a vector reveals what a text is about.
"""

from __future__ import annotations

from mnemic.adapters.stores.postgres.vectors.rows import ServerRows
from mnemic.adapters.stores.postgres.vectors.search import Near
from mnemic.adapters.stores.postgres.vectors.table import Checked
from mnemic.adapters.stores.postgres.vectors.vectors import Vectors

__all__ = ["Checked", "Near", "ServerRows", "Vectors"]
