"""The vectors of a PostgreSQL store in a table of their own, to be searched where they stand.

``stores.sightings`` says what a store has to be told of records. Here ``format`` lays the table out
in one of two forms, ``table`` keeps it in step with the log, ``search`` finds the nearest, and
``vectors`` is what others have of all this; ``rows`` and ``far`` give it the shapes of the kernel's
ports: one finds the nearest, the other serves an index that holds no vectors itself.

Rules of this package:

1. The truth is the payload. A vector stands here once more, and is written in the transaction that
   writes its payload. The server itself deletes it with that, whoever deletes it, whether they know
   of this table or not: it is a foreign key.
2. The table says how far it goes, by version and digest. One that is behind, or belongs to another
   log, is brought forward or made anew before anything is looked for in it.
3. Whatever is found is weighed again, by the bytes of the payload, under its MAC; or by a digest of
   them that an index took when it folded the log. A vector that was changed here can hide a block
   until ``check`` finds it. It can never lend one a false score.
4. Components are whole numbers and their products too (see `mnemic.kernel.vectors`), so the server
   adds them up exactly, in whatever order: its answers are those of the exact search.
5. Words that are locked have no vectors here, for a vector tells what a text is about.
"""

from __future__ import annotations

from mnemic.adapters.stores.postgres.vectors.rows import ServerRows
from mnemic.adapters.stores.postgres.vectors.search import Near
from mnemic.adapters.stores.postgres.vectors.table import Checked
from mnemic.adapters.stores.postgres.vectors.vectors import Vectors

__all__ = ["Checked", "Near", "ServerRows", "Vectors"]
