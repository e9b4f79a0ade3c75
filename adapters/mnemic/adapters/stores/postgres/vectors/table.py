"""The table of vectors: kept in step with the log, and checked.

An append that finds the table at the log's head moves it along, in its own statement. Otherwise the
table stays behind: after a writer without a recogniser, or for a log that is older than the table.
Then it is brought forward from the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import LiteralString, NamedTuple, TypeAlias

import psycopg
from attrs import frozen

from mnemic.adapters.stores.logs import chain
from mnemic.adapters.stores.logs.append import Entry
from mnemic.adapters.stores.logs.vector_detection import (
    DetectedVector,
    DetectedVectors,
    VectorDetector,
)
from mnemic.adapters.stores.postgres.connections import Datastore
from mnemic.adapters.stores.postgres.vectors.format import Form
from mnemic.adapters.stores.postgres.vectors.search import ENDLESS
from mnemic.kernel.model import vectors
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.ports import GENESIS_DIGEST, Head, Log, PayloadRow, Record

TransferRecords: TypeAlias = list[tuple[Record, tuple[PayloadRow, ...]]]

STRETCH_RECORDS = 1024
STRETCH_BYTES = 2**20
"""Records, and bytes of payloads, per batch: writers have to wait for one."""
REBUILD = "Call rebuild() of the store's vectors for this space; nothing is lost."
WRONG_MAX = 20
"""Positions that are reported; with more it does not matter which."""

_BEGIN: LiteralString = """INSERT INTO {schema}.vector_heads VALUES (%b, -1, %b, '', '{{}}')
    ON CONFLICT DO NOTHING RETURNING space"""
# An append locks the row of the space first, and so does everything here: otherwise two could
# deadlock.
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


class Stored(NamedTuple):
    """One row of the table."""

    version: int
    slot: int
    embedder: str
    number: int
    """Its number among all vectors of this embedder in the log, erased ones included, from 0."""
    owner: str
    squared_norm: int
    vector: Vector


class Numbering:
    """Computes the numbers of vectors as the table's own statement does."""

    def __init__(self) -> None:
        self._embedder = ""
        self._counts: dict[str, int] = {}

    def stored(self, seen: DetectedVectors) -> Iterator[Stored]:
        """Yield the rows for the vectors detected next."""
        for each in seen.vectors:
            embedder = self._embedder if each.embedder is None else each.embedder
            number = self._counts.get(embedder, 0)
            self._counts[embedder] = number + 1
            if each.owner is not None and each.packed is not None:
                vector = vectors.unpack(each.packed)
                yield Stored(
                    each.version,
                    each.slot,
                    embedder,
                    number,
                    each.owner,
                    vectors.squared_norm(vector),
                    vector,
                )
        self._embedder = seen.adopted or self._embedder


@frozen(kw_only=True)
class Checked:
    """Result of comparing the table with the log."""

    version: int
    """How far the two were compared; -1 if the table is of another log, or of none."""
    rows: int
    """Vectors that should be in the table."""
    wrong: tuple[tuple[int, int], ...]
    """Version and slot of those that are missing, different or unexpected; a few of them, if there
    are many."""

    @property
    def is_sound(self) -> bool:
        """Whether the table holds exactly what it should."""
        return not self.wrong


class VectorTable:
    """The tables of vectors of one store.

    Args:
        datastore: The database.
        form: How vectors are stored.
        recogniser: Detects which payloads are vectors.
    """

    def __init__(self, datastore: Datastore, form: Form, recogniser: VectorDetector) -> None:
        self.datastore = datastore
        self.form = form
        self.recogniser = recogniser
        self._begin = form.filled(_BEGIN)
        self._clear = form.filled(_CLEAR)
        self._heads = form.filled(_HEADS)
        self._rows = form.filled(_ROWS)
        self._count = form.filled(_COUNT)
        self._vacuum = form.filled(_VACUUM)
        self._recorded = form.filled(_TOLD)
        self._sighted = form.filled(_SIGHTED)
        self._forward = form.filled(_FORWARD + _SIGHTED + _WAS_TOLD)

    # --- writing ---

    def begin(self, space: int) -> None:
        """Begin to keep the vectors of *space*."""
        self.datastore.rows(self._begin, (space, GENESIS_DIGEST))

    def beside(self, space: int, entry: Entry) -> tuple[bytes, list[object]]:
        """Return further CTEs of the statement of an append, and their values.

        They rely on the CTE ``moved``, which has the number of the space if all goes well.
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
            return self._recorded, [*_ends(entry.before, entry.after)]
        return self._sighted, self._values(space, seen, entry.before, entry.after)

    def _values(self, space: int, seen: DetectedVectors, before: Head, after: Head) -> list[object]:
        return [
            *map(list, zip(*map(self._row, seen.vectors), strict=True) if seen.vectors else _NONE),
            *(space, before.version, before.digest),
            *(after.version, after.digest, seen.adopted, before.version, before.digest),
        ]

    def _row(self, each: DetectedVector) -> tuple[object, ...]:
        if each.packed is None:
            return (each.version, each.slot, each.embedder, None, None, None)
        norm = vectors.squared_norm(vectors.unpack(each.packed))
        written = self.form.written(each.packed)
        return (each.version, each.slot, each.embedder, each.owner, norm, written)

    def vacuum(self) -> None:
        """Let the server reuse the space of deleted vectors.

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
        """Delete all vectors of *space*; the table is to be brought forward from the beginning."""
        self.begin(space)
        self.datastore.rows(self._clear, (space, GENESIS_DIGEST))

    def forward(self, space: int, log: Log) -> None:
        """Bring the table to the end of *log*, with or without concurrent writers.

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
                self.clear(space)  # it holds something that it should not

    def _take_up(self, space: int, log: Log, start: Head) -> None:
        """Add what comes after *start*, until another process does."""
        for transfer_records in _stretches(log, start.version):
            end = _moved_on(start, transfer_records)
            seen = self._seen(transfer_records)
            values = [space, *self._values(space, seen, start, end)]
            if not self.datastore.rows(self._forward, values):
                return
            start = end

    def _seen(self, transfer_records: TransferRecords) -> DetectedVectors:
        payloads = [row for _, rows in transfer_records for row in rows]
        return self.recogniser.sightings([record for record, _ in transfer_records], payloads)

    # --- checking ---

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
        for transfer_records in _stretches(log, -1, heads.table.version):
            last = transfer_records[-1][0].version
            expected = {
                (row.version, row.slot): row
                for row in numbering.stored(self._seen(transfer_records))
            }
            rows += len(expected)
            wrong |= self._wrong(expected, self._existing(space, first, last))
            first = last + 1
        wrong |= self._existing(space, first, ENDLESS).keys()
        return Checked(
            version=heads.table.version, rows=rows, wrong=tuple(sorted(wrong)[:WRONG_MAX])
        )

    def _existing(self, space: int, first: int, last: int) -> dict[tuple[int, int], Stored | None]:
        """Return the rows of some versions by position; None for one that holds no vector."""
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
        """Return the positions where the two differ; what was erased just now may be missing."""
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


def _stretches(log: Log, after: int, upto: int | None = None) -> Iterator[TransferRecords]:
    transfer_records: TransferRecords = []
    size = 0
    for transfer_record in log.read(after, upto):
        transfer_records.append(transfer_record)
        size += sum(len(row.data) for row in transfer_record[1])
        if size >= STRETCH_BYTES or len(transfer_records) >= STRETCH_RECORDS:
            yield transfer_records
            transfer_records, size = [], 0
    if transfer_records:
        yield transfer_records


def _moved_on(head: Head, transfer_records: Sequence[tuple[Record, object]]) -> Head:
    digest = head.digest
    for record, _ in transfer_records:
        digest = chain.digest(digest, record.version, record.topic, record.body)
    return Head(transfer_records[-1][0].version, digest)
