"""Vectors of a store: found on the server, and verified by the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import LiteralString

from mnemic.adapters.stores.logs.chain import DIGEST_BYTES
from mnemic.adapters.stores.postgres.vectors.far import RemoteVectors
from mnemic.adapters.stores.postgres.vectors.search import ENDLESS, Near, Search, Where
from mnemic.adapters.stores.postgres.vectors.table import REBUILD, Checked, VectorTable
from mnemic.kernel.errors import LogCorrupt, PointOutOfRange, Unavailable, VectorRefused
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model import vectors
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.ports import Log, PayloadRow, Record

_PAYLOADS: LiteralString = """SELECT
    e.topic, e.state, p.version, p.slot, p.id, p.key, p.owner, p.data
    FROM unnest(%b::bigint[], %b::int[]) AS place (version, slot)
    JOIN {schema}.payloads p ON p.space = %b AND p.version = place.version AND p.slot = place.slot
    JOIN {schema}.stored_events e
        ON e.originator_id = %b AND e.originator_version = place.version"""
_ATTEMPTS = 10
"""How often a search is repeated if something is erased during it."""


class Vectors:
    """The vectors of every space of a PostgreSQL store.

    Args:
        table: Their table.
        log_of: Returns number and log of a space that exists.
        named: Converts errors of the server to ours.
        read_only: Never write.
    """

    def __init__(
        self,
        table: VectorTable,
        log_of: Callable[[str], tuple[int, Log]],
        named: Callable[[], AbstractContextManager[None]],
        *,
        read_only: bool = False,
    ) -> None:
        self.table = table
        self.search = Search(table.datastore, table.form)
        self._log_of = log_of
        self._named = named
        self._read_only = read_only
        self._sizes: dict[tuple[int, str], int] = {}
        self._payloads = table.form.filled(_PAYLOADS)

    @property
    def is_searched_there(self) -> bool:
        """Whether the server computes products, with pgvector; if not, they are computed here."""
        return self.table.form.is_searched_there

    def nearest(
        self,
        space: str,
        query: Vector,
        k: int,
        *,
        upto: int | None = None,
        embedder: str | None = None,
        below: int = ENDLESS,
        among: Sequence[int] | None = None,
    ) -> tuple[Near, ...]:
        """Return the *k* vectors nearest to *query*, best first, equals in the order of block ids.

        Blocks that were archived since are among them, and former vectors of a block; only what was
        erased is not. Every cosine is that of the payload, whose bytes the log authenticates.

        Args:
            space: Its name.
            query: A quantised vector.
            k: How many at most, >= 1.
            upto: The last version that counts; None: all there are.
            embedder: Id of the embedder whose vectors count; None: the one in force now.
            below: Numbers from this one on are excluded; none are unless given.
            among: Numbers of those that count; None: all.

        Raises:
            SpaceNotFound, PointOutOfRange: There is no such space, or it has no version *upto* yet.
            VectorRefused: The query is of another size.
            LogCorrupt: The table does not match the log.
            Unavailable: The table is behind, and the store is open to read only.
        """
        if k < 1:
            raise ValueError(f"k {k}: pass at least 1")
        number, log = self._log_of(space)
        with self._named():
            end, in_force = self._reach(space, number, log, upto)
            where = Where(
                space=number,
                embedder=in_force if embedder is None else embedder,
                upto=end,
                below=below,
                among=among,
            )
            self._require_size(where, query)
            for _ in range(_ATTEMPTS):
                found = self.search.nearest(where, query, k)
                if self._are_vouched_for(where, query, found):
                    return tuple(found)
        raise self._wrong(space, "what was found is gone, and found again")

    def reach(self, space: str) -> None:
        """Bring the table as far as the log goes now.

        Raises:
            LogCorrupt: The log cannot be read.
            Unavailable: The store is open to read only.
        """
        number, log = self._log_of(space)
        with self._named():
            self._reach(space, number, log, None)

    def rebuild(self, space: str) -> None:
        """Rebuild the table from the log.

        Raises:
            LogCorrupt: The log cannot be read.
            Unavailable: The store is open to read only.
        """
        number, log = self._log_of(space)
        self._require_writable(space, -1, log.head().version)
        with self._named():
            self.table.clear(number)
            self.table.forward(number, log)

    def check(self, space: str) -> Checked:
        """Compare the table with the log, row by row, as far as it goes.

        Raises:
            LogCorrupt: The log cannot be read.
        """
        number, log = self._log_of(space)
        with self._named():
            return self.table.check(number, log)

    def standing(
        self, space: str, *, embedder: str | None, below: int, among: Sequence[int] | None
    ) -> set[int]:
        """Return which of some numbers have a vector that is not erased; see ``nearest``."""
        number, log = self._log_of(space)
        with self._named():
            end, in_force = self._reach(space, number, log, None)
            return self.search.standing(
                Where(
                    space=number,
                    embedder=in_force if embedder is None else embedder,
                    upto=end,
                    below=below,
                    among=among,
                )
            )

    def count(self, space: str, embedder: EmbedderIdentity, *, below: int) -> int:
        """Return how many vectors of one embedder exist, of the first *below* of the log."""
        number, _ = self._log_of(space)
        with self._named():
            return self.search.count(Where(space=number, embedder=embedder.id, below=below))

    def far(
        self, space: str, embedder: EmbedderIdentity, *, folded: Callable[[], int]
    ) -> RemoteVectors:
        """Return the vectors of one embedder, for an index that holds none itself.

        Args:
            space: The space's name.
            embedder: Whose vectors.
            folded: Returns the version up to which that index has them.
        """
        return RemoteVectors(
            self.table,
            embedder,
            place=lambda: self._log_of(space),
            named=self._named,
            reach=lambda: self.reach(space),
            folded=folded,
        )

    # --- how far ---

    def _reach(self, space: str, number: int, log: Log, upto: int | None) -> tuple[int, str]:
        """Return the last version to search and the embedder in force now."""
        heads = self.table.heads(number)
        if upto is not None and not -1 <= upto <= heads.log.version:
            raise PointOutOfRange(
                f"the space {space!r} has versions up to {heads.log.version}, not {upto}",
                version=upto,
            )
        if heads.table != heads.log:
            reached = -1 if heads.table is None else heads.table.version
            self._require_writable(space, reached, heads.log.version)
            self.table.forward(number, log)
            heads = self.table.heads(number)
        return heads.log.version if upto is None else upto, heads.embedder

    def _require_writable(self, space: str, reached: int, version: int) -> None:
        if self._read_only:
            raise Unavailable(
                f"the table of vectors of {space!r} goes to version {reached}, its log to "
                f"{version}, and the store is open to read only",
                recovery="Bring it forward from a store that may write: vectors.reach().",
                space=space,
                version=reached,
            )

    def _require_size(self, where: Where, query: Vector) -> None:
        """Refuse a query vector of another size than those in the table."""
        key = (where.space, where.embedder)
        size = self._sizes.get(key) or self.search.dimension(where)
        if size is None:
            return
        self._sizes[key] = size
        if query.shape != (size,):
            raise VectorRefused(
                f"the table holds vectors of size {size}, got {query.shape}",
                dimension=size,
                shape=query.shape,
            )

    # --- verification ---

    def _are_vouched_for(self, where: Where, query: Vector, found: Sequence[Near]) -> bool:
        """Return whether the log has everything that was found; False: search again.

        Raises:
            LogCorrupt: The table holds something else than the log.
        """
        places = [[each.version for each in found], [each.slot for each in found]]
        values = (*places, where.space, str(where.space))
        rows = self.table.datastore.rows(self._payloads, values) if found else []
        standing: dict[tuple[int, int], tuple[str, int | None]] = {}
        for topic, state, version, slot, payload_id, key, owner, data in rows:
            row = PayloadRow(version, slot, payload_id, key, (owner,), data)
            self.table.recogniser.verify(Record(version, topic, state[DIGEST_BYTES:]), (row,))
            vector = vectors.unpack(data)
            cosine = vectors.cosine(query, vector) if vector.shape == query.shape else None
            standing[version, slot] = (owner, cosine)
        for each in found:
            stands = standing.get((each.version, each.slot))
            if stands is not None and stands != (each.block_id, each.cosine):
                raise self._wrong(str(where.space), f"version {each.version}, slot {each.slot}")
        return len(standing) == len(found)

    @staticmethod
    def _wrong(space: str, what: str) -> LogCorrupt:
        return LogCorrupt(
            f"the table of vectors of space {space} is not what its log vouches for: {what}",
            recovery=REBUILD,
        )
