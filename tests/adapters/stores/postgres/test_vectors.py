"""The vector table: written with the log, erased with it, brought forward, checked."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from mnemic.adapters.codec import Codec
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.addresses import parsed
from mnemic.adapters.stores.encrypted import EncryptedStore, KeyTable
from mnemic.adapters.stores.logs.vector_detection import DetectedVectors, VectorDetector
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.postgres.vectors import Checked, Near
from mnemic.adapters.stores.vector_payloads import Embeddings
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import (
    LogCorrupt,
    PointOutOfRange,
    SpaceNotFound,
    Unavailable,
    VectorRefused,
)
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.vectors import Vector, quantise
from mnemic.kernel.ports import PayloadRow, Record, Store
from mnemic.projections.vectors.index import VectorIndex

pytestmark = pytest.mark.extended

Edit = Callable[..., None]
EMBEDDER = HashEmbedder(dimension=32)
OTHER = HashEmbedder(dimension=48)
THINGS = 12
FORMS = pytest.mark.parametrize("pgvector", [True, False], ids=["pgvector", "bytea"])


def recogniser() -> Embeddings:
    return Embeddings(Codec(SeededEntropy("vectors")))


@pytest.fixture(params=[True, False], ids=["pgvector", "bytea"])
def kept(request: pytest.FixtureRequest, address: str) -> Generator[PostgresStore]:
    """Return a store that keeps vectors."""
    with closing(PostgresStore(address, recogniser=recogniser(), pgvector=request.param)) as opened:
        yield opened


def opened(store: Store, embedder: HashEmbedder = EMBEDDER) -> SyncMemory:
    return SyncMemory.open(store, space="home", embedder=embedder)


def learn(memory: SyncMemory, first: int = 0) -> list[BlockId]:
    """Learn some things, promote them, and return their ids."""
    ids = [memory.learn(f"thing {n} is {n * n}").block_id for n in range(first, first + THINGS)]
    memory.consolidate()
    return ids


def question(text: str, embedder: HashEmbedder = EMBEDDER) -> Vector:
    return quantise(embedder.embed([text])[0], dimension=embedder.identity.dimension)


def found(
    store: PostgresStore, embedder: HashEmbedder = EMBEDDER, k: int = 99, upto: int | None = None
) -> list[tuple[int, int]]:
    """Return numbers and cosines from the server."""
    near = store.vectors.nearest(
        "home", question("thing 7", embedder), k, embedder=embedder.identity.id, upto=upto
    )
    return [(each.number, each.cosine) for each in near]


def remembered(
    memory: SyncMemory, embedder: HashEmbedder = EMBEDDER, k: int = 99
) -> list[tuple[int, int]]:
    """Return rows and cosines from the index in memory."""
    space = memory._space  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    index = space.state.indexes.get(embedder.identity, VectorIndex())
    rows, cosines = index.top(question("thing 7", embedder), None, k, ids=Ids(space.live().id))
    return list(zip(rows.tolist(), cosines.tolist(), strict=True))


def near_all(store: PostgresStore, below: int = 99) -> tuple[Near, ...]:
    return store.vectors.nearest("home", question("thing 7"), 99, below=below)


class Ids(Sequence[str]):
    def __init__(self, id_of: Callable[[int], str]) -> None:
        self._id_of = id_of

    def __getitem__(self, ordinal: int) -> str:  # type: ignore[override]
        return self._id_of(ordinal)

    def __len__(self) -> int:
        return 99


def count(address: str) -> int:
    target = parsed(address)
    with closing(psycopg.connect(target.conninfo)) as connection:
        statement = SQL("SELECT count(*) FROM {}.vectors").format(Identifier(target.schema))
        row = connection.execute(statement).fetchone()
    assert row is not None
    return int(row[0])


def sound(store: PostgresStore, rows: int) -> bool:
    checked = store.vectors.check("home")
    expected = Checked(version=store.log("home").head().version, rows=rows, wrong=())
    return checked == expected


# --- beside the log -----------------------------------------------------------------------------


def test_learned_blocks_are_found_as_by_an_index_in_memory(kept: PostgresStore) -> None:
    with opened(kept) as memory:
        for first in (0, THINGS):
            learn(memory, first)
            for k in (1, 5, 99):
                assert found(kept, k=k) == remembered(memory, k=k)
        assert len(found(kept)) == 2 * THINGS
        assert sound(kept, 2 * THINGS)


def test_a_vector_is_stored_with_its_append(kept: PostgresStore, address: str) -> None:
    with opened(kept) as memory:
        learn(memory)
        assert count(address) == THINGS  # nobody has asked yet
        memory.recall("thing 7")
        assert count(address) == THINGS  # the vector of a question is nobody's


def test_vectors_of_two_embedders_are_kept_apart(kept: PostgresStore) -> None:
    with opened(kept) as memory:
        learn(memory)
        memory.reembed(OTHER)
        learn(memory, THINGS)
        for embedder in (EMBEDDER, OTHER):
            assert found(kept, embedder) == remembered(memory, embedder)
        assert len(found(kept, OTHER)) == 2 * THINGS
        assert kept.vectors.nearest("home", question("thing 7", OTHER), 1)[0].number == 7
        assert sound(kept, 3 * THINGS)
        kept.vectors.rebuild("home")
        assert sound(kept, 3 * THINGS)
    with pytest.raises(VectorRefused):
        kept.vectors.nearest("home", question("thing 7"), 1)


def test_an_erasure_deletes_the_vector(kept: PostgresStore, address: str) -> None:
    with opened(kept) as memory:
        gone = learn(memory)[7]
        memory.erase(gone)
        assert count(address) == THINGS - 1
        assert [number for number, _ in found(kept)].count(7) == 0
        assert sound(kept, THINGS - 1)
        learn(memory, THINGS)
        numbers = [number for number, _ in found(kept)]
    with opened(kept) as memory:  # folded anew, with zeros in its place
        rows = [row for row, _ in remembered(memory)]
    assert numbers == [row for row in rows if row != 7]


def test_a_writer_without_a_recogniser_erases_vectors_too(
    kept: PostgresStore, address: str
) -> None:
    with opened(kept) as memory:
        gone = learn(memory)[7]
    with closing(PostgresStore(address)) as other, opened(other) as memory:
        memory.erase(gone)
    assert count(address) == THINGS - 1
    assert sound(kept, THINGS - 1) is False  # behind by one event
    kept.vectors.reach("home")
    assert sound(kept, THINGS - 1)


def test_events_written_without_vectors_are_added_later(kept: PostgresStore, address: str) -> None:
    with opened(kept) as memory:
        learn(memory)
    with closing(PostgresStore(address)) as other, opened(other) as memory:
        learn(memory, THINGS)
        assert count(address) == THINGS
        assert found(kept) == remembered(memory)
    assert sound(kept, 2 * THINGS)


@FORMS
def test_a_store_older_than_its_vector_table_is_rebuilt(address: str, *, pgvector: bool) -> None:
    with closing(PostgresStore(address)) as older, opened(older) as memory:
        ids = learn(memory)
        memory.erase(ids[3])
        expected = [each for each in remembered(memory) if each[0] != 3]
    with closing(PostgresStore(address, recogniser=recogniser(), pgvector=pgvector)) as store:
        assert store.vectors.is_searched_there == pgvector
        assert found(store) == expected
        assert sound(store, THINGS - 1)


def test_a_past_version_has_the_vectors_of_that_time(kept: PostgresStore) -> None:
    with opened(kept) as memory:
        learn(memory)
        then, before = kept.log("home").head().version, found(kept)
        learn(memory, THINGS)
    assert found(kept, upto=then) == before
    assert found(kept, upto=-1) == []
    with pytest.raises(PointOutOfRange):
        found(kept, upto=10_000)


def test_a_search_is_limited_to_the_given_numbers(kept: PostgresStore) -> None:
    with opened(kept) as memory:
        learn(memory)
    near = kept.vectors.nearest("home", question("thing 7"), 9, among=[2, 7, 900])
    assert [each.number for each in near] == [7, 2]
    assert kept.vectors.nearest("home", question("thing 7"), 9, among=[]) == ()
    assert [each.number for each in near_all(kept, below=1)] == [0]


def test_a_space_without_vectors_has_no_results(kept: PostgresStore) -> None:
    kept.log("home")
    assert found(kept) == []
    with pytest.raises(SpaceNotFound):
        kept.vectors.nearest("elsewhere", question("thing 7"), 1)


class GivenUp(Exception):
    """Aborts a staged space."""


def copy(store: PostgresStore, *, is_given_up: bool = False) -> None:
    """Write the space once more, under another name."""
    entries = list(store.log("home").read())
    with suppress(GivenUp), store.draft("copy") as log:
        for record, rows in entries:
            log.append([record], rows)
        if is_given_up:
            raise GivenUp


def test_an_abandoned_staged_space_leaves_no_vectors_and_can_be_written_again(
    kept: PostgresStore, address: str
) -> None:
    with opened(kept) as memory:
        learn(memory)
    copy(kept, is_given_up=True)
    assert count(address) == THINGS
    copy(kept)
    assert count(address) == 2 * THINGS
    assert kept.vectors.nearest("copy", question("thing 7"), 99) == near_all(kept)
    assert kept.vectors.check("copy").is_sound


def test_encrypted_text_has_no_vectors(kept: PostgresStore, address: str, tmp_path: Path) -> None:
    with closing(EncryptedStore(kept, KeyTable(tmp_path / "keys"))) as locked:
        with opened(locked) as memory:
            learn(memory)
        assert count(address) == 0
        kept.vectors.rebuild("home")
        assert count(address) == 0


# --- damage -------------------------------------------------------------------------------------

_NEXT = "(SELECT max(number) + 1 FROM vectors)"
DAMAGES = {
    "a vector": ("embedding = (SELECT embedding FROM vectors WHERE number = 1)", (7,)),
    "its length": ("squared_norm = squared_norm - 1", (7,)),
    "its block": ("owner = '0123456789abcdef'", (7,)),
    "its number": (f"number = {_NEXT}", (7,)),
    "its embedder": ("embedder = 'ffffffffffffffff'", (7,)),
}


@pytest.mark.parametrize(("change", "wrong"), DAMAGES.values(), ids=DAMAGES.keys())
def test_changed_rows_are_found_and_repaired(
    kept: PostgresStore, edit: Edit, change: str, wrong: tuple[int, ...]
) -> None:
    with opened(kept) as memory:
        learn(memory)
        expected = remembered(memory)
    place = {each.number: (each.version, each.slot) for each in near_all(kept)}
    edit(f"UPDATE vectors SET {change} WHERE number = 7")  # noqa: S608
    assert kept.vectors.check("home").wrong == tuple(place[number] for number in wrong)
    kept.vectors.rebuild("home")
    assert sound(kept, THINGS)
    assert found(kept) == expected


@pytest.mark.parametrize(
    "change", [DAMAGES["a vector"][0], "squared_norm = squared_norm - 1000000", "owner = 'x'"]
)
def test_a_changed_row_never_gets_a_false_score(
    kept: PostgresStore, edit: Edit, change: str
) -> None:
    with opened(kept) as memory:
        learn(memory)
    edit(f"UPDATE vectors SET {change} WHERE number = 7")  # noqa: S608
    with pytest.raises(LogCorrupt) as caught:
        found(kept)
    assert "rebuild()" in caught.value.recovery


def test_a_changed_payload_is_not_accepted(kept: PostgresStore, edit: Edit) -> None:
    with opened(kept) as memory:
        learn(memory)
    near = kept.vectors.nearest("home", question("thing 7"), 1)[0]
    edit(
        "UPDATE payloads SET data = set_byte(data, 0, get_byte(data, 0) # 1) "  # noqa: S608
        f"WHERE version = {near.version} AND slot = {near.slot}"
    )
    with pytest.raises(LogCorrupt):
        found(kept)


def test_a_missing_row_is_found_and_restored(kept: PostgresStore, edit: Edit) -> None:
    with opened(kept) as memory:
        learn(memory)
        edit("DELETE FROM vectors WHERE number = 7")
        assert len(kept.vectors.check("home").wrong) == 1
        kept.vectors.rebuild("home")
        assert found(kept) == remembered(memory)


def test_damage_in_the_vector_table_does_not_block_appends(kept: PostgresStore, edit: Edit) -> None:
    with opened(kept) as memory:
        learn(memory)
        edit("UPDATE vectors SET number = 12 WHERE number = 7")  # that of the next one
        learn(memory, THINGS)
        assert found(kept) == remembered(memory)
        assert sound(kept, 2 * THINGS)


def test_a_table_of_another_log_is_rebuilt(kept: PostgresStore, edit: Edit) -> None:
    with opened(kept) as memory:
        learn(memory)
        edit(r"UPDATE vector_heads SET version = version - 1, digest = '\x00'")
        assert kept.vectors.check("home") == Checked(version=-1, rows=THINGS, wrong=((-1, -1),))
        assert found(kept) == remembered(memory)
        assert sound(kept, THINGS)


class Slow:
    """Calls a hook between the reading of payloads and the writing of vectors."""

    def __init__(self) -> None:
        self.meanwhile: list[Callable[[], object]] = []
        self._inner: VectorDetector = recogniser()

    def sightings(
        self, records: Sequence[Record], payloads: Sequence[PayloadRow]
    ) -> DetectedVectors:
        seen = self._inner.sightings(records, payloads)
        if seen.vectors and self.meanwhile:
            self.meanwhile.pop()()
        return seen

    def verify(self, record: Record, payloads: Sequence[PayloadRow]) -> None:
        self._inner.verify(record, payloads)


@FORMS
def test_an_erasure_during_a_rebuild_is_not_undone(address: str, *, pgvector: bool) -> None:
    slow = Slow()
    with closing(PostgresStore(address)) as other, opened(other) as memory:
        ids = learn(memory)
        slow.meanwhile.append(lambda: memory.erase(ids[7]))
        with closing(PostgresStore(address, recogniser=slow, pgvector=pgvector)) as store:
            store.vectors.reach("home")
            assert slow.meanwhile == []
            assert count(address) == THINGS - 1
            store.vectors.reach("home")
            assert sound(store, THINGS - 1)


def test_writes_and_erasures_continue_during_a_rebuild(kept: PostgresStore, address: str) -> None:
    with opened(kept) as memory, closing(PostgresStore(address)) as other:
        ids = learn(memory)

        def erase() -> None:
            with opened(other) as erasing:
                for gone in ids:
                    erasing.erase(gone)

        def write() -> None:
            for first in range(THINGS, 6 * THINGS, THINGS):
                learn(memory, first)

        with ThreadPoolExecutor(2) as pool:
            working = [pool.submit(erase), pool.submit(write)]
            while not all(each.done() for each in working):
                kept.vectors.rebuild("home")
            for each in working:
                each.result()
        kept.vectors.reach("home")
        assert sound(kept, 5 * THINGS)


# --- who may ------------------------------------------------------------------------------------


def test_a_store_without_a_recogniser_has_no_vectors(store: PostgresStore) -> None:
    with pytest.raises(Unavailable):
        _ = store.vectors


def test_a_reader_searches_current_tables_and_reports_outdated_ones(
    address: str, kept: PostgresStore
) -> None:
    with opened(kept) as memory:
        learn(memory)
        with closing(PostgresStore(address, recogniser=recogniser(), read_only=True)) as reader:
            assert found(reader) == remembered(memory)
            assert sound(reader, THINGS)
            with closing(PostgresStore(address)) as other, opened(other) as behind:
                behind.learn("unseen")
            with pytest.raises(Unavailable) as caught:
                found(reader)
            with pytest.raises(Unavailable):
                reader.vectors.rebuild("home")
    assert "reach()" in caught.value.recovery


def test_a_reader_makes_no_tables(address: str, store: PostgresStore) -> None:
    store.log("home")
    with (
        closing(PostgresStore(address, recogniser=recogniser(), read_only=True)) as reader,
        pytest.raises(Unavailable),
    ):
        _ = reader.vectors


def test_a_user_without_rights_to_the_extension_uses_none(server: str) -> None:
    with closing(psycopg.connect(server, autocommit=True)) as admin:
        admin.execute("CREATE ROLE plain LOGIN")
        admin.execute("CREATE DATABASE plain")
    there = server.replace("/postgres?", "/plain?")
    try:
        with closing(psycopg.connect(there, autocommit=True)) as admin:
            admin.execute("CREATE SCHEMA mnemic AUTHORIZATION plain")
        mine = there.replace("//postgres:@", "//plain:@")
        with closing(PostgresStore(mine, recogniser=recogniser())) as store:
            assert store.vectors.is_searched_there is False
            with opened(store) as memory:
                learn(memory)
                assert found(store) == remembered(memory)
    finally:
        with closing(psycopg.connect(server, autocommit=True)) as admin:
            admin.execute("DROP DATABASE plain")
            admin.execute("DROP ROLE plain")
