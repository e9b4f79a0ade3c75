"""Spaces whose vectors stay on the server: failures, and compatible options."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from mnemic.adapters.ann.graphs import Graphs
from mnemic.adapters.codec import Codec
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.encrypted import EncryptedStore, KeyTable
from mnemic.adapters.stores.logs.vector_detection import DetectedVectors
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.vector_payloads import Embeddings
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import FieldRefused, LogCorrupt, NotAStore, StoreBusy, Unavailable
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model.vectors import Vector, pack
from mnemic.kernel.numeric.arithmetic import Integers
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.ports import PayloadRow, Record, Store
from mnemic.kernel.results import RecallResult, Search
from mnemic.projections.vectors.index import VectorIndex
from mnemic.projections.vectors.mapped_rows import RemoteRowSource
from mnemic.specs.contracts.indexes import spread
from tests.adapters.checkpoints.states import (
    checkpoint_writer_of,
    restored,
    space_of,
    told,
    told_by_log,
)
from tests.adapters.stores.postgres.connections import line
from tests.adapters.stores.postgres.test_vector_rows import EveryPayload

pytestmark = pytest.mark.extended

Edit = Callable[..., None]
EMBEDDER = HashEmbedder(dimension=32)
THINGS = 40
MANY = 900
"""Of more than 512 not all are looked at closely."""
FEW = evolve(DEFAULT, name="few", candidates=3, expansions=2, runners_up=3)
"""So few are looked at closely that rough products decide who they are."""
ONE = ("anchor", "birch", "cable", "drum", "ember", "flint", "gravel")
OTHER = (
    "holds",
    "turns",
    "meets",
    "keeps",
    "lifts",
    "parts",
    "sees",
    "nears",
    "rings",
    "is",
    "has",
)


@pytest.fixture(params=[True, False], ids=["pgvector", "bytea"])
def kept(request: pytest.FixtureRequest, address: str) -> Generator[PostgresStore]:
    """Return a store that keeps vectors."""
    with closing(opened_store(address, pgvector=request.param)) as opened:
        yield opened


def opened_store(address: str, **options: Any) -> PostgresStore:
    recogniser = Embeddings(Codec(SeededEntropy("seen")))
    return PostgresStore(address, synchronous="normal", recogniser=recogniser, **options)


def far(store: Store | str, **options: Any) -> SyncMemory:
    return near(store, vectors="server", **options)


def near(store: Store | str, **options: Any) -> SyncMemory:
    # Time stands still, so that two answers may be compared.
    return SyncMemory.open(store, space="home", embedder=EMBEDDER, clock=ManualClock(), **options)


def learn(memory: SyncMemory, first: int = 0) -> list[str]:
    ids = [memory.learn(f"thing {n} is {n * n}").block_id for n in range(first, first + THINGS)]
    memory.consolidate()
    return list(ids)


def asked(memory: SyncMemory) -> RecallResult:
    return memory.recall("thing 7", record=False)


def index_of(memory: SyncMemory) -> VectorIndex:
    space = space_of(memory)
    with space.state_lock:
        return space.state.indexes[EMBEDDER.identity]


def size_of(index: VectorIndex) -> int:
    """Return how many bytes of arrays an index takes when it is frozen."""
    return sum(part.nbytes for part in index.frozen().values())


# --- opening -------------------------------------------------------------------------------------


def test_an_address_suffices_and_no_vector_is_held_in_memory(address: str) -> None:
    with (
        far(address, entropy=SeededEntropy("life")) as memory,
        near(MemoryStore(), entropy=SeededEntropy("life")) as other,
    ):
        learn(memory)
        learn(other)
        expected = Search(retriever="exact", vectors=THINGS, place="server")
        assert memory.status().search == expected
        assert expected.summary == f"exact, over {THINGS} vectors on the server"
        assert asked(memory) == asked(other)
        assert size_of(index_of(memory)) == THINGS * 20 + 4
        assert size_of(index_of(other)) == THINGS * (12 + 2 * 32)


@pytest.mark.parametrize("retriever", ["exact", "auto"])
def test_every_search_is_exact(kept: PostgresStore, retriever: str) -> None:
    with far(kept, retriever=retriever) as memory:
        learn(memory)
        assert asked(memory).retriever == "exact"


@pytest.mark.parametrize(
    ("options", "field", "remedy"),
    [
        ({"vectors": "elsewhere"}, "vectors", ""),
        ({"vectors": "server", "retriever": "ann"}, "retriever", "Let retriever be exact"),
        ({"vectors": "server", "retriever": Graphs()}, "retriever", "Let retriever be exact"),
        ({"vectors": "server", "keys": Path("keys")}, "vectors", "Leave out keys"),
    ],
)
def test_incompatible_options_are_refused_before_opening(
    options: dict[str, Any], field: str, remedy: str
) -> None:
    with pytest.raises(FieldRefused) as caught:
        SyncMemory.open("postgresql:///nowhere", **options)
    assert caught.value.facts["field"] == field
    assert remedy in caught.value.recovery


def test_remote_vectors_need_a_server(tmp_path: Path) -> None:
    for path in (tmp_path / "agent.db", ":memory:", MemoryStore()):
        with pytest.raises(FieldRefused, match=r"on a (PostgreSQL )?server") as caught:
            SyncMemory.open(path, vectors="server")
        assert "Give the address of a" in caught.value.recovery
    assert list(tmp_path.iterdir()) == []


def test_the_error_without_a_vector_table_says_how_to_make_one(store: PostgresStore) -> None:
    with pytest.raises(Unavailable) as caught:
        far(store)
    assert "with a recogniser" in caught.value.recovery


def test_encrypted_text_has_no_remote_vectors(kept: PostgresStore, tmp_path: Path) -> None:
    locked = EncryptedStore(kept, KeyTable(tmp_path / "keys"))
    with pytest.raises(FieldRefused, match="keeps no vectors on a server"):
        far(locked)


def test_many_blocks_are_recalled_alike_at_any_time(kept: PostgresStore) -> None:
    lessons = [f"{ONE[n % 7]} {n} {OTHER[n % 9]} the {ONE[n % 5]}" for n in range(MANY)]
    with (
        far(kept, policy=FEW, entropy=SeededEntropy("life")) as memory,
        near(MemoryStore(), policy=FEW, entropy=SeededEntropy("life")) as other,
    ):
        for each in (memory, other):
            each.learn_many(lessons[:600])
            each.consolidate()
        middle = memory.status().version
        for each in (memory, other):
            each.learn_many(lessons[600:])
            each.consolidate()
        for question in lessons[::90]:
            assert memory.recall(question, top_k=3) == other.recall(question, top_k=3)
            past, then = (each.as_of(version=middle) for each in (memory, other))
            assert past.recall(question) == then.recall(question)
        assert memory.replay_all().to_dict() == other.replay_all().to_dict()
        assert list(kept.log("home").read()) == list(space_of(other).log.read())


def test_a_reader_without_a_vector_table_is_told_to_write_once(address: str) -> None:
    with near(address) as memory:
        learn(memory)
        expected = asked(memory)
    with pytest.raises(Unavailable) as caught:
        far(address, read_only=True)
    assert "vectors on the server, once to write" in caught.value.recovery
    with far(address):
        pass
    with far(address, read_only=True) as memory:
        assert asked(memory) == expected


# --- others --------------------------------------------------------------------------------------


def test_promotions_by_writers_without_remote_vectors_are_found(
    kept: PostgresStore, address: str
) -> None:
    with far(kept) as memory, near(address) as other:
        learn(memory)
        learn(other, first=THINGS)
        assert asked(memory) == asked(other)
        assert memory.consolidate(relink=True).to_dict() != {}
        assert asked(memory) == asked(other)


def test_a_search_is_repeated_after_a_concurrent_erasure(kept: PostgresStore) -> None:
    with far(kept) as memory, far(kept) as other:
        blocks = learn(memory)
        index = index_of(memory)
        other.erase(blocks[7])
        with pytest.raises(StoreBusy) as caught:
            index.vector(7)
        assert caught.value.recovery == "Ask again."
        assert asked(memory) == asked(other)
        assert index_of(memory).vector(7).tolist() == [0] * 32


def test_a_vector_erased_by_a_session_handle_is_missing_for_an_earlier_search(
    kept: PostgresStore,
) -> None:
    with far(kept) as memory:
        blocks = learn(memory)
        index = index_of(memory)
        memory.erase(blocks[7])
        with pytest.raises(StoreBusy):
            index.vector(7)
        assert index_of(memory).vector(7).tolist() == [0] * 32


class Interrupted:
    """Calls a hook once, before one operation is carried out."""

    def __init__(self, behind: Any, operation: str, then: Callable[[], object]) -> None:
        self._behind = behind
        self._operation = operation
        self._then = [then]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._behind, name)
        if name == self._operation and self._then:
            self._then.pop()()
        return found


class Watched:
    """A store whose ports call a hook before an operation."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self.coming: list[Callable[[], object]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @property
    def vectors(self) -> Watched:
        return self

    def far(self, *place: Any, **known: Any) -> Any:
        return Interrupted(
            self._store.vectors.far(*place, **known),
            "stretch",
            lambda: self.coming and self.coming.pop()(),
        )

    def reach(self, space: str) -> None:
        self._store.vectors.reach(space)

    def count(self, space: str, embedder: EmbedderIdentity, *, below: int) -> int:
        return self._store.vectors.count(space, embedder, below=below)


@pytest.mark.parametrize("relink", [True, False])
def test_an_erasure_during_a_consolidation_does_not_abort_it(
    kept: PostgresStore, *, relink: bool
) -> None:
    watched: Any = Watched(kept)
    with far(kept) as other:
        blocks = learn(other)
        with far(watched) as memory:
            if not relink:
                memory.learn("thing 7 is 49 again")
            watched.coming.append(lambda: other.erase(blocks[7]))
            memory.consolidate(relink=relink)
            assert watched.coming == []
            assert memory.block(blocks[7]).content is None
            assert memory.verify().sound
            assert asked(memory) == asked(other)


@pytest.mark.parametrize("record", [True, False])
def test_an_erasure_during_a_recall_does_not_abort_it(kept: PostgresStore, *, record: bool) -> None:
    watched: Any = Watched(kept)
    with far(kept) as other:
        blocks = learn(other)
        with far(watched) as memory:
            watched.coming.append(lambda: other.erase(blocks[7]))
            found = memory.recall("thing 7", record=record)
            assert watched.coming == []
            assert blocks[7] not in found.block_ids
            assert asked(memory) == asked(other)


def test_an_erasure_during_a_replay_does_not_abort_it(kept: PostgresStore) -> None:
    watched: Any = Watched(kept)
    with far(kept) as other:
        blocks = learn(other)
        other.recall("thing 7")
        with far(watched) as memory:
            watched.coming.append(lambda: other.erase(blocks[7]))
            answered = memory.replay_all()
            assert watched.coming == []
            assert answered == other.replay_all()


# --- damage --------------------------------------------------------------------------------------


def test_a_changed_vector_never_contributes_a_score(kept: PostgresStore, edit: Edit) -> None:
    changed = (
        "embedding = (SELECT embedding FROM vectors WHERE number = 8)",
        "embedding = (SELECT embedding FROM vectors WHERE number = 9), owner = 'x'",
    )
    with far(kept) as memory:
        learn(memory)
        expected = asked(memory)
        for change in changed:
            edit(f"UPDATE vectors SET {change} WHERE number = 7")  # noqa: S608
            with pytest.raises(LogCorrupt, match="not what its log vouches for") as caught:
                memory.consolidate(relink=True)
            assert "rebuild()" in caught.value.recovery
        version = memory.status().version
        kept.vectors.rebuild("home")
        assert asked(memory) == expected
        assert memory.status().version == version


def test_a_vector_of_another_size_is_refused(kept: PostgresStore, edit: Edit) -> None:
    with far(kept) as memory:
        learn(memory)
        short = "'[1,2]'" if kept.vectors.is_searched_there else r"'\x01000200'"
        edit(f"UPDATE vectors SET embedding = {short} WHERE number = 7")  # noqa: S608
        index = index_of(memory)
        with pytest.raises(LogCorrupt, match="vector 7 of hash"):
            index.vector(7)
        with pytest.raises(LogCorrupt):
            index.products([index.vector(8)], THINGS)


def test_a_missing_row_is_detected_and_restored_at_the_next_opening(
    kept: PostgresStore, edit: Edit
) -> None:
    with far(kept) as memory:
        learn(memory)
        expected = asked(memory)
        edit("DELETE FROM vectors WHERE number = 7")
        with pytest.raises(LogCorrupt, match="vector 7 of hash"):
            asked(memory)
    with far(kept) as memory:
        assert asked(memory) == expected


def test_an_emptied_table_is_rebuilt_while_the_space_is_open(
    kept: PostgresStore, edit: Edit
) -> None:
    with far(kept) as memory:
        learn(memory)
        expected = asked(memory)
        edit("DELETE FROM vectors", "DELETE FROM vector_heads")
        assert asked(memory) == expected


def test_a_reader_of_an_outdated_table_is_told_what_to_do(
    kept: PostgresStore, address: str
) -> None:
    with far(kept) as memory:
        learn(memory)
    with near(address) as other:
        learn(other, first=THINGS)
    with closing(opened_store(address, read_only=True)) as reading:
        with far(reading, read_only=True) as reader, pytest.raises(Unavailable) as caught:
            asked(reader)
        assert "vectors.reach()" in caught.value.recovery
        kept.vectors.reach("home")
        with far(reading, read_only=True) as reader, near(address) as other:
            assert asked(reader) == asked(other)


def test_a_failed_recall_records_nothing_and_releases_its_locks(
    kept: PostgresStore, edit: Edit
) -> None:
    with far(kept) as memory:
        learn(memory)
        expected, version = asked(memory), memory.status().version
        edit("ALTER TABLE vectors RENAME TO away")
        with pytest.raises(NotAStore):
            memory.recall("thing 7")
        edit("ALTER TABLE away RENAME TO vectors")
        with ThreadPoolExecutor(1) as another:
            assert another.submit(asked, memory).result(timeout=30) == expected
        assert memory.status().version == version


def test_a_query_is_repeated_when_the_server_hangs_up(address: str) -> None:
    with (
        line(address) as cable,
        closing(opened_store(cable.address)) as store,
        far(store) as memory,
    ):
        learn(memory)
        index = index_of(memory)
        query, every = index.vector(7), np.arange(THINGS)
        expected = index.rough_cosines(query, every).tolist()
        cable.cut_before_the_next_answer()
        assert index.rough_cosines(query, every).tolist() == expected
        cable.cut_before_the_next_question()
        assert index.vector(7).tolist() == query.tolist()


# --- checkpoints ---------------------------------------------------------------------------------


def test_a_checkpoint_without_vectors_is_loaded(kept: PostgresStore, tmp_path: Path) -> None:
    with far(kept, checkpoints=tmp_path) as memory:
        blocks = learn(memory)
        memory.checkpoint()
        version = memory.status().version
        learn(memory, first=THINGS)
        expected = asked(memory)
    with far(kept, checkpoints=tmp_path) as memory:
        assert restored(memory) == version
        assert asked(memory) == expected
        memory.erase(blocks[7])
        memory.checkpoint()
        expected = asked(memory)
    with far(kept, checkpoints=tmp_path) as memory, near(kept) as other:
        assert asked(memory) == asked(other) == expected


def test_a_checkpoint_with_vectors_is_loaded(kept: PostgresStore, tmp_path: Path) -> None:
    with near(kept, checkpoints=tmp_path) as memory:
        learn(memory)
        memory.checkpoint()
        version, expected = memory.status().version, asked(memory)
    with far(kept, checkpoints=tmp_path) as memory:
        assert restored(memory) == version
        assert index_of(memory).is_elsewhere
        assert asked(memory) == expected


def test_a_checkpoint_without_vectors_is_ignored_where_they_are_local(
    kept: PostgresStore, tmp_path: Path
) -> None:
    with far(kept, checkpoints=tmp_path) as memory:
        learn(memory)
        memory.checkpoint()
        expected = asked(memory)
    with near(kept, checkpoints=tmp_path) as memory:
        assert restored(memory) is None
        assert "its vectors are stored elsewhere" in str(checkpoint_writer_of(memory).trouble)
        assert told(memory) == told_by_log(memory)
        assert asked(memory) == expected


def test_a_checkpoint_with_vectors_replaces_one_without(
    kept: PostgresStore, tmp_path: Path
) -> None:
    with far(kept, checkpoints=tmp_path) as memory:
        learn(memory)
        memory.checkpoint()
        version, expected = memory.status().version, asked(memory)
    with near(kept, checkpoints=tmp_path) as memory:
        memory.checkpoint()
    for kind in (near, far):
        with kind(kept, checkpoints=tmp_path) as memory:
            assert restored(memory) == version
            assert asked(memory) == expected


# --- the port ------------------------------------------------------------------------------------


class Named(EveryPayload):
    """Treats each payload as a vector of one embedder."""

    def __init__(self, embedder: EmbedderIdentity) -> None:
        self._embedder = embedder

    def sightings(
        self, records: Sequence[Record], payloads: Sequence[PayloadRow]
    ) -> DetectedVectors:
        seen = super().sightings(records, payloads)
        return DetectedVectors(
            vectors=tuple(each._replace(embedder=self._embedder.id) for each in seen.vectors)
        )


@pytest.mark.parametrize("pgvector", [True, False], ids=["pgvector", "bytea"])
@pytest.mark.parametrize(("dimension", "count"), [(3, 50), (256, 5000), (4096, 300)])
def test_an_index_over_the_server_answers_as_one_in_memory(
    address: str, dimension: int, count: int, *, pgvector: bool
) -> None:
    embedder = EmbedderIdentity(name="none", dimension=dimension)
    stored = spread(count, dimension)
    with closing(
        PostgresStore(address, synchronous="normal", recogniser=Named(embedder), pgvector=pgvector)
    ) as store:
        log = store.log("home")
        log.append(
            [Record(row, "thing-noted.1", b"{}") for row in range(count)],
            [
                PayloadRow(row, 0, f"{row}", b"key", (f"{row}",), pack(vector))
                for row, vector in enumerate(stored)
            ],
        )
        port = store.vectors.far("home", embedder, folded=lambda: count - 1)
        ours, index = VectorIndex(RemoteRowSource(port)), VectorIndex()
        for each in (ours, index):
            each.extend(range(count), list(map(pack, stored)))
        rows, few = np.arange(count), np.array([count - 1, 3, 7])
        assert (port.multiplies, ours.remote_count) == (pgvector, count)
        for query in stored[:2]:
            assert ours.cosines(query).tolist() == index.cosines(query).tolist()
            assert ours.cosines(query, few).tolist() == index.cosines(query, few).tolist()
            rough = ours.rough_cosines(query, rows)
            assert rough.tolist() == index.rough_cosines(query, rows).tolist()
        assert pairs(ours, stored[:9], rows) == pairs(index, stored[:9], rows)
        assert pairs(ours, stored[:9], few) == pairs(index, stored[:9], few)


def pairs(index: VectorIndex, queries: list[Vector], rows: Integers) -> list[tuple[int, ...]]:
    return sorted(
        (int(query), int(row), int(cosine))
        for found in index.pairs(queries, rows, floor=200_000_000)
        for query, row, cosine in zip(found.queries, found.rows, found.cosines, strict=True)
    )
