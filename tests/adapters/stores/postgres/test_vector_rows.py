"""The port of nearest rows over a real server, with and without its extension for vectors."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from itertools import count

import numpy as np
import pytest

from mnemic.adapters.stores.logs.vector_detection import DetectedVector, DetectedVectors
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.postgres.vectors import ServerRows
from mnemic.kernel.model.vectors import Vector, pack, quantise
from mnemic.kernel.ports import NearestRows, PayloadRow, Record
from mnemic.projections.vectors.index import VectorIndex
from mnemic.specs.contracts import VectorIndexContract
from mnemic.specs.contracts.indexes import IDS, found_by, spread

pytestmark = pytest.mark.extended


class EveryPayload:
    """Treats each payload as a vector."""

    def sightings(
        self, records: Sequence[Record], payloads: Sequence[PayloadRow]
    ) -> DetectedVectors:
        rows = {row.version: row for row in payloads}
        return DetectedVectors(
            vectors=tuple(
                DetectedVector(version, 0, None, rows[version].owners[0], rows[version].data)
                if version in rows
                else DetectedVector(version, 0, None)
                for version, _, _ in records
            )
        )

    def verify(self, record: Record, payloads: Sequence[PayloadRow]) -> None:
        """Accept everything."""


class LoggedRows(ServerRows):
    """Writes each vector to a log before it is appended, as a space does."""

    def __init__(self, store: PostgresStore, space: str) -> None:
        super().__init__(store.vectors, space)
        self._log = store.log(space)

    def append(self, block: int, vector: Vector) -> int:
        row = super().append(block, vector)  # refuses what should not get into a log
        self.write([(row, block, vector)])
        return row

    def write(self, rows: list[tuple[int, int, Vector]]) -> None:
        self._log.append(
            [Record(row, "thing-noted.1", b"{}") for row, _, _ in rows],
            [
                PayloadRow(row, 0, f"{row}", b"key", (IDS[block],), pack(vector))
                for row, block, vector in rows
            ],
        )

    def erase(self, *blocks: int) -> None:
        head = self._log.head()
        self._log.append(
            [Record(head.version + 1, "thing-noted.1", b"{}")],
            (),
            erase=[IDS[block] for block in blocks],
        )


class ServerRowsContract(VectorIndexContract):
    pgvector: bool

    @pytest.fixture(autouse=True)
    def opened(self, address: str) -> Generator[None]:
        with closing(
            PostgresStore(
                address, synchronous="normal", recogniser=EveryPayload(), pgvector=self.pgvector
            )
        ) as store:
            self.store, self.names = store, map(str, count())
            yield

    def index(self) -> NearestRows:
        return LoggedRows(self.store, next(self.names))

    def filled(self, stored: list[Vector]) -> NearestRows:
        rows = LoggedRows(self.store, next(self.names))
        for block, vector in enumerate(stored):
            ServerRows.append(rows, block, vector)
        rows.write([(block, block, vector) for block, vector in enumerate(stored)])
        return rows

    def test_the_search_runs_on_the_expected_side(self) -> None:
        assert self.store.vectors.is_searched_there == self.pgvector

    def test_an_erased_vector_scores_zero(self) -> None:
        stored = spread(9, 4)
        index, ours = VectorIndex(), self.filled(stored)
        assert isinstance(ours, LoggedRows)
        ours.erase(2, 5)
        for block, vector in enumerate(stored):
            gone = block in {2, 5}
            index.append(block, quantise([0.0] * 4, dimension=4) if gone else vector)
        for query in stored:
            for rows in (None, [2, 3], [5], [*range(9)]):
                assert found_by(ours, query, rows, 9) == found_by(index, query, rows, 9)
                assert found_by(ours, query, rows, 4) == found_by(index, query, rows, 4)

    def test_rows_beyond_those_appended_are_not_found(self) -> None:
        stored = spread(6, 4)
        ours = self.filled(stored)
        assert isinstance(ours, LoggedRows)
        before = found_by(ours, stored[0], None, 9)
        ours.write([(6, 6, stored[0])])
        assert found_by(ours, stored[0], None, 9) == before

    def test_it_agrees_with_the_index_in_memory_on_vectors_of_any_length(self) -> None:
        generator = np.random.default_rng(7)
        for dimension in (2, 256, 1000):
            stored = [
                quantise(row, dimension=dimension)
                for row in generator.normal(size=(300, dimension))
            ]
            index, ours = VectorIndex(), self.filled(stored[:256])
            for block, vector in enumerate(stored[:256]):
                index.append(block, vector)
            for query in stored[250:]:
                assert found_by(ours, query, None, 50) == found_by(index, query, None, 50)


class TestRowsMultipliedByTheServer(ServerRowsContract):
    pgvector = True


class TestRowsMultipliedHere(ServerRowsContract):
    pgvector = False


@pytest.mark.parametrize("pgvector", [True, False])
@pytest.mark.parametrize("dimension", [2000, 4096])
def test_long_vectors_are_searched_too(address: str, dimension: int, *, pgvector: bool) -> None:
    stored = spread(20, dimension)
    with closing(PostgresStore(address, recogniser=EveryPayload(), pgvector=pgvector)) as store:
        ours, index = LoggedRows(store, "home"), VectorIndex()
        for block, vector in enumerate(stored):
            ours.append(block, vector)
            index.append(block, vector)
        for query in stored[:3]:
            assert found_by(ours, query, None, 20) == found_by(index, query, None, 20)
