"""The table of vectors, kept in step with the log, and looked over.

An append that finds the table where the log was takes it along, in its own statement. Anything else
leaves it where it is: a writer who knows nothing of vectors, or a log that is older than the table.
Then it is brought forward from the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import LiteralString, NamedTuple, TypeAlias

import psycopg
from attrs import frozen

from mnemic.adapters.stores import chain
from mnemic.adapters.stores.entry import Entry
from mnemic.adapters.stores.postgres.connections import Datastore
from mnemic.adapters.stores.postgres.vectors.format import Form
from mnemic.adapters.stores.postgres.vectors.numbering import Numbering, Stored
from mnemic.adapters.stores.postgres.vectors.search import ENDLESS
from mnemic.adapters.stores.sightings import Recogniser, Sighting, Sightings
from mnemic.kernel import vectors
from mnemic.kernel.ports import GENESIS_DIGEST, Head, Log, PayloadRow, Record

Parcels: TypeAlias = list[tuple[Record, tuple[PayloadRow, ...]]]

STRETCH_RECORDS = 1024
STRETCH_BYTES = 2**20
"""Records, and bytes of payloads, that are taken up at once: whoever writes has to wait so long."""
REBUILD = "Call rebuild() of the store's vectors for this space; nothing is lost."
WRONG_MAX = 20
"""Places that are named; with more it is no matter which."""

_BEGIN: LiteralString = """INSERT INTO {schema}.vector_heads VALUES (%b, -1, %b, '', '{{}}')
    ON CONFLICT DO NOTHING RETURNING space"""
# Whoever appends locks the row of the space first, and so does everybody here: else two could wait
# for each other.
_CLEAR: LiteralString = """WITH
    held AS (SELECT id FROM {schema}.spaces WHERE id = %b FOR NO KEY UPDATE),
    gone AS (DELETE FROM {schema}.vectors WHERE space = (SELECT id FROM held))
    UPDATE {schema}.vector_heads SET version = -1, digest = %b, embedder = '', counts = '{{}}'
    WHERE space = (SELECT id FROM held) RETURNING space"""
_HEADS: LiteralString = """SELECT s.version, s.digest, h.version, h.digest, h.embedder
    FROM {schema}.spaces s LEFT JOIN {schema}.vector_heads h ON h.space = s.id WHERE s.id = %b"""
_ROWS: LiteralString = """SELECT version, slot, embedder, number, owner, squared_norm, embedding
    FROM {schema}.vectors WHERE space = %b AND version BETWEEN %b AND %b ORDER BY version, slot"""
_COUNT: LiteralString = "SELECT count(*) FROM {schema}.vectors WHERE space = %b"
_VACUUM: LiteralString = "VACUUM (SKIP_LOCKED) {schema}.vectors"

_TOLD: LiteralString = """,
    told AS (UPDATE {schema}.vector_heads h SET version = %b, digest = %b
        FROM moved
        WHERE h.space = moved.id AND h.version = %b AND h.digest = %b RETURNING h.space)"""
_SIGHTED: LiteralString = """,
    named AS (SELECT new.*, coalesce(new.said, h.embedder) AS embedder, h.counts
        FROM {schema}.vector_heads h, unnest(%b::bigint[], %b::int[], %b::text[], %b::text[],
            %b::int[], %b::text[]) AS new (version, slot, said, owner, norm, embedding)
        WHERE h.space = %b AND h.version = %b AND h.digest = %b),
    numbered AS (SELECT *, coalesce((counts ->> embedder)::bigint, 0) - 1
            + row_number() OVER (PARTITION BY embedder ORDER BY version, slot) AS number
        FROM named),
    counted AS (SELECT jsonb_object_agg(embedder, last + 1) AS counts
        FROM (SELECT embedder, max(number) AS last FROM numbered GROUP BY embedder) AS lasts),
    told AS (UPDATE {schema}.vector_heads h SET version = %b, digest = %b,
            embedder = coalesce(%b::text, h.embedder),
            counts = h.counts || coalesce((SELECT counts FROM counted), '{{}}')
        FROM moved WHERE h.space = moved.id AND h.version = %b AND h.digest = %b RETURNING h.space),
    sighted AS (INSERT INTO {schema}.vectors
        SELECT told.space, version, slot, embedder, number, owner, norm, embedding::{type}
        FROM told, numbered WHERE embedding IS NOT NULL)"""
_FORWARD: LiteralString = """WITH
    moved AS (SELECT id FROM {schema}.spaces WHERE id = %b FOR NO KEY UPDATE)"""
_WAS_TOLD: LiteralString = "\n    SELECT space FROM told"


class Heads(NamedTuple):
    """Where a log ends, and how far its vectors go."""

    log: Head
    table: Head | None
    """None: they have not been begun."""
    embedder: str
    """Id of the embedder in force where the table ends; empty before the first."""


@frozen(kw_only=True)
class Checked:
    """What came of comparing the table with the log."""

    version: int
    """How far the two were compared; -1 if the table is of another log, or of none."""
    rows: int
    """Vectors that should stand there."""
    wrong: tuple[tuple[int, int], ...]
    """Version and slot of those that do not, or not like this, and of what should not stand there;
    a few of them, if there are many."""

    @property
    def is_sound(self) -> bool:
        """Whether everything stands there that should, and nothing else."""
        return not self.wrong


class VectorTable:
    """The tables of vectors of one store.

    Args:
        datastore: Where they are.
        form: How vectors stand there.
        recogniser: Says which payloads are vectors.
    """

    def __init__(self, datastore: Datastore, form: Form, recogniser: Recogniser) -> None:
        self.datastore = datastore
        self.form = form
        self.recogniser = recogniser
        self._begin = form.filled(_BEGIN)
        self._clear = form.filled(_CLEAR)
        self._heads = form.filled(_HEADS)
        self._rows = form.filled(_ROWS)
        self._count = form.filled(_COUNT)
        self._vacuum = form.filled(_VACUUM)
        self._told = form.filled(_TOLD)
        self._sighted = form.filled(_SIGHTED)
        self._forward = form.filled(_FORWARD + _SIGHTED + _WAS_TOLD)

    # --- writing ---

    def begin(self, space: int) -> None:
        """Let the vectors of *space* be kept from now on."""
        self.datastore.rows(self._begin, (space, GENESIS_DIGEST))

    def beside(self, space: int, entry: Entry) -> tuple[bytes, list[object]]:
        """Return what the statement of an append does besides, and its values.

        It relies on the part ``moved``, which brings the number of the space if all goes well.
        """
        records = [
            Record(each.originator_version, each.topic, each.state[chain.DIGEST_BYTES :])
            for each in entry.stored
        ]
        gone = frozenset(entry.erase)
        kept = () if entry.erase_all else entry.payloads
        seen = self.recogniser.sightings(
            records, [each for each in kept if gone.isdisjoint(each.owners)]
        )
        if not seen.vectors and seen.adopted is None:
            return self._told, [*_ends(entry.before, entry.after)]
        return self._sighted, self._values(space, seen, entry.before, entry.after)

    def _values(self, space: int, seen: Sightings, before: Head, after: Head) -> list[object]:
        return [
            *map(list, zip(*map(self._row, seen.vectors), strict=True) if seen.vectors else _NONE),
            *(space, before.version, before.digest),
            *(after.version, after.digest, seen.adopted, before.version, before.digest),
        ]

    def _row(self, each: Sighting) -> tuple[object, ...]:
        if each.packed is None:
            return (each.version, each.slot, each.embedder, None, None, None)
        norm = vectors.squared_norm(vectors.unpack(each.packed))
        written = self.form.written(each.packed)
        return (each.version, each.slot, each.embedder, each.owner, norm, written)

    def vacuum(self) -> None:
        """Let the server reuse the room of deleted vectors.

        Raises:
            Lost: The server hung up.
            psycopg.Error: It refuses.
        """
        with self.datastore.lent() as connection:
            connection.execute(self._vacuum, prepare=False)

    # --- bringing forward ---

    def heads(self, space: int) -> Heads:
        """Return how far log and table go."""
        version, digest, reached, its_digest, embedder = self.datastore.rows(self._heads, (space,))[
            0
        ]
        table = None if reached is None else Head(reached, its_digest)
        return Heads(Head(version, digest), table, embedder or "")

    def clear(self, space: int) -> None:
        """Let the table hold nothing of *space*; it is to be brought forward from the beginning."""
        self.begin(space)
        self.datastore.rows(self._clear, (space, GENESIS_DIGEST))

    def forward(self, space: int, log: Log) -> None:
        """Bring the table as far as *log* goes, other writers or not.

        Raises:
            LogCorrupt: The log cannot be read.
        """
        while True:
            heads = self.heads(space)
            if heads.table == heads.log:
                return
            if heads.table is None or not _is_of(log, heads.table):
                self.clear(space)
                continue
            try:
                self._take_up(space, log, heads.table)
            except psycopg.errors.ForeignKeyViolation:
                continue  # a payload was erased since it was read
            except psycopg.errors.UniqueViolation:
                self.clear(space)  # something stands there that should not

    def _take_up(self, space: int, log: Log, start: Head) -> None:
        """Take up what comes after *start*, until somebody else does."""
        for parcels in _stretches(log, start.version):
            end = _moved_on(start, parcels)
            seen = self._seen(parcels)
            values = [space, *self._values(space, seen, start, end)]
            if not self.datastore.rows(self._forward, values):
                return
            start = end

    def _seen(self, parcels: Parcels) -> Sightings:
        payloads = [row for _, rows in parcels for row in rows]
        return self.recogniser.sightings([record for record, _ in parcels], payloads)

    # --- looking over ---

    def check(self, space: int, log: Log) -> Checked:
        """Compare every row with the log, as far as the table goes.

        Raises:
            LogCorrupt: The log cannot be read.
        """
        heads = self.heads(space)
        if heads.table is None or not _is_of(log, heads.table):
            count = self.datastore.rows(self._count, (space,))[0][0]
            return Checked(version=-1, rows=count, wrong=((-1, -1),) * bool(count))
        numbering, first, rows = Numbering(), 0, 0
        wrong: set[tuple[int, int]] = set()
        for parcels in _stretches(log, -1, heads.table.version):
            last = parcels[-1][0].version
            expected = {
                (row.version, row.slot): row for row in numbering.stored(self._seen(parcels))
            }
            rows += len(expected)
            wrong |= self._wrong(expected, self._standing(space, first, last))
            first = last + 1
        wrong |= self._standing(space, first, ENDLESS).keys()
        return Checked(
            version=heads.table.version, rows=rows, wrong=tuple(sorted(wrong)[:WRONG_MAX])
        )

    def _standing(self, space: int, first: int, last: int) -> dict[tuple[int, int], Stored | None]:
        """Return the rows of some versions by place; None stands for what is no vector."""
        found: dict[tuple[int, int], Stored | None] = {}
        for row in self.datastore.rows(self._rows, (space, first, last)):
            version, slot, embedder, number, owner, norm, embedding = row
            vector = self.form.read(embedding)
            found[version, slot] = (
                None
                if vector is None
                else Stored(version, slot, embedder, number, owner, norm, vector)
            )
        return found

    def _wrong(
        self,
        expected: dict[tuple[int, int], Stored],
        standing: dict[tuple[int, int], Stored | None],
    ) -> set[tuple[int, int]]:
        """Return the places where the two differ; what was erased just now may be missing."""
        alike = {
            place
            for place in expected.keys() & standing.keys()
            if _are_equal(expected[place], standing[place])
        }
        return (expected.keys() | standing.keys()) - alike


_NONE: tuple[tuple[()], ...] = ((), (), (), (), (), ())


def _ends(before: Head, after: Head) -> tuple[object, ...]:
    return (after.version, after.digest, before.version, before.digest)


def _are_equal(one: Stored, other: Stored | None) -> bool:
    if other is None or one[:-1] != other[:-1]:
        return False
    return one.vector.shape == other.vector.shape and bool((one.vector == other.vector).all())


def _is_of(log: Log, head: Head) -> bool:
    """Return whether *log* goes, or went, through *head*."""
    return head == chain.EMPTY or log.digest_at(head.version) == head.digest


def _stretches(log: Log, after: int, upto: int | None = None) -> Iterator[Parcels]:
    parcels: Parcels = []
    size = 0
    for parcel in log.read(after, upto):
        parcels.append(parcel)
        size += sum(len(row.data) for row in parcel[1])
        if size >= STRETCH_BYTES or len(parcels) >= STRETCH_RECORDS:
            yield parcels
            parcels, size = [], 0
    if parcels:
        yield parcels


def _moved_on(head: Head, parcels: Sequence[tuple[Record, object]]) -> Head:
    digest = head.digest
    for record, _ in parcels:
        digest = chain.digest(digest, record.version, record.topic, record.body)
    return Head(parcels[-1][0].version, digest)
