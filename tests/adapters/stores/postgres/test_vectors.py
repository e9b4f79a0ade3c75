"""Vectors beside the log: written with it, erased with it, brought forward, found out."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from mnemic.adapters.codec import Codec
from mnemic.adapters.codec.embeddings import Embeddings
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.encryption import EncryptedStore, KeyTable
from mnemic.adapters.entropy import SeededEntropy
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.addresses import parsed
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.stores.postgres.vectors import Checked, Near
from mnemic.adapters.stores.sightings import Recogniser, Sightings
from mnemic.kernel.errors import LogCorrupt, PointOutOfRange, Unavailable, VectorRefused
from mnemic.kernel.identity import BlockId
from mnemic.kernel.ports import PayloadRow, Record, Store
from mnemic.kernel.vectors import Vector, quantise
from mnemic.projections.index import VectorIndex

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
    """Return numbers and cosines as the server has them."""
    near = store.vectors.nearest(
        "home", question("thing 7", embedder), k, embedder=embedder.identity.id, upto=upto
    )
    return [(each.number, each.cosine) for each in near]


def remembered(
    memory: SyncMemory, embedder: HashEmbedder = EMBEDDER, k: int = 99
) -> list[tuple[int, int]]:
    """Return rows and cosines as the index in memory has them."""
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


def test_what_is_learned_is_found_as_an_index_in_memory_finds_it(kept: PostgresStore) -> None:
    with opened(kept) as memory:
        for first in (0, THINGS):
            learn(memory, first)
            for k in (1, 5, 99):
                assert found(kept, k=k) == remembered(memory, k=k)
        assert len(found(kept)) == 2 * THINGS
        assert sound(kept, 2 * THINGS)


def test_it_is_there_with_the_append_that_brings_it(kept: PostgresStore, address: str) -> None:
    with opened(kept) as memory:
        learn(memory)
        assert count(address) == THINGS  # nobody has asked yet
        memory.recall("thing 7")
        assert count(address) == THINGS  # the vector of a question is nobody's


def test_vectors_of_two_embedders_are_told_apart(kept: PostgresStore) -> None:
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


def test_an_erasure_takes_the_vector_along(kept: PostgresStore, address: str) -> None:
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


def test_a_writer_who_knows_nothing_of_vectors_erases_them_all_the_same(
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


def test_what_others_wrote_without_vectors_is_taken_up(kept: PostgresStore, address: str) -> None:
    with opened(kept) as memory:
        learn(memory)
    with closing(PostgresStore(address)) as other, opened(other) as memory:
        learn(memory, THINGS)
        assert count(address) == THINGS
        assert found(kept) == remembered(memory)
    assert sound(kept, 2 * THINGS)


@FORMS
def test_a_store_that_is_older_than_its_vectors_is_taken_up(
    address: str, *, pgvector: bool
) -> None:
    with closing(PostgresStore(address)) as older, opened(older) as memory:
        ids = learn(memory)
        memory.erase(ids[3])
        expected = [each for each in remembered(memory) if each[0] != 3]
    with closing(PostgresStore(address, recogniser=recogniser(), pgvector=pgvector)) as store:
        assert store.vectors.is_searched_there == pgvector
        assert found(store) == expected
        assert sound(store, THINGS - 1)


def test_a_version_of_the_past_has_the_vectors_of_then(kept: PostgresStore) -> None:
    with opened(kept) as memory:
        learn(memory)
        then, before = kept.log("home").head().version, found(kept)
        learn(memory, THINGS)
    assert found(kept, upto=then) == before
    assert found(kept, upto=-1) == []
    with pytest.raises(PointOutOfRange):
        found(kept, upto=10_000)


def test_numbers_that_are_not_among_those_asked_for_do_not_come_up(kept: PostgresStore) -> None:
    with opened(kept) as memory:
        learn(memory)
    near = kept.vectors.nearest("home", question("thing 7"), 9, among=[2, 7, 900])
    assert [each.number for each in near] == [7, 2]
    assert kept.vectors.nearest("home", question("thing 7"), 9, among=[]) == ()
    assert [each.number for each in near_all(kept, below=1)] == [0]


def test_a_space_without_vectors_answers_with_nothing(kept: PostgresStore) -> None:
    kept.log("home")
    assert found(kept) == []
    with pytest.raises(PointOutOfRange):
        kept.vectors.nearest("elsewhere", question("thing 7"), 1)


class GivenUp(Exception):
    """Ends a draft."""


def copy(store: PostgresStore, *, is_given_up: bool = False) -> None:
    """Write the space once more, under another name."""
    entries = list(store.log("home").read())
    with suppress(GivenUp), store.draft("copy") as log:
        for record, rows in entries:
            log.append([record], rows)
        if is_given_up:
            raise GivenUp


def test_a_draft_that_is_given_up_leaves_no_vectors_and_may_be_written_again(
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


def test_locked_words_have_no_vectors(kept: PostgresStore, address: str, tmp_path: Path) -> None:
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
def test_what_was_changed_in_the_table_is_found_and_mended(
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
def test_what_was_changed_never_gets_a_false_score(
    kept: PostgresStore, edit: Edit, change: str
) -> None:
    with opened(kept) as memory:
        learn(memory)
    edit(f"UPDATE vectors SET {change} WHERE number = 7")  # noqa: S608
    with pytest.raises(LogCorrupt) as caught:
        found(kept)
    assert "rebuild()" in caught.value.recovery


def test_a_payload_that_was_changed_is_vouched_for_by_nobody(
    kept: PostgresStore, edit: Edit
) -> None:
    with opened(kept) as memory:
        learn(memory)
    near = kept.vectors.nearest("home", question("thing 7"), 1)[0]
    edit(
        "UPDATE payloads SET data = set_byte(data, 0, get_byte(data, 0) # 1) "  # noqa: S608
        f"WHERE version = {near.version} AND slot = {near.slot}"
    )
    with pytest.raises(LogCorrupt):
        found(kept)


def test_a_row_that_is_gone_is_found_and_comes_back(kept: PostgresStore, edit: Edit) -> None:
    with opened(kept) as memory:
        learn(memory)
        edit("DELETE FROM vectors WHERE number = 7")
        assert len(kept.vectors.check("home").wrong) == 1
        kept.vectors.rebuild("home")
        assert found(kept) == remembered(memory)


def test_damage_in_the_table_keeps_no_log_from_growing(kept: PostgresStore, edit: Edit) -> None:
    with opened(kept) as memory:
        learn(memory)
        edit("UPDATE vectors SET number = 12 WHERE number = 7")  # that of the next one
        learn(memory, THINGS)
        assert found(kept) == remembered(memory)
        assert sound(kept, 2 * THINGS)


def test_a_table_of_another_log_is_made_anew(kept: PostgresStore, edit: Edit) -> None:
    with opened(kept) as memory:
        learn(memory)
        edit(r"UPDATE vector_heads SET version = version - 1, digest = '\x00'")
        assert kept.vectors.check("home") == Checked(version=-1, rows=THINGS, wrong=((-1, -1),))
        assert found(kept) == remembered(memory)
        assert sound(kept, THINGS)


class Slow:
    """Lets something happen between the reading of payloads and the writing of vectors."""

    def __init__(self) -> None:
        self.meanwhile: list[Callable[[], object]] = []
        self._inner: Recogniser = recogniser()

    def sightings(self, records: Sequence[Record], payloads: Sequence[PayloadRow]) -> Sightings:
        seen = self._inner.sightings(records, payloads)
        if seen.vectors and self.meanwhile:
            self.meanwhile.pop()()
        return seen

    def verify(self, record: Record, payloads: Sequence[PayloadRow]) -> None:
        self._inner.verify(record, payloads)


@FORMS
def test_what_is_erased_while_it_is_taken_up_does_not_come_back(
    address: str, *, pgvector: bool
) -> None:
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


def test_writers_and_erasers_go_on_while_vectors_are_made_anew(
    kept: PostgresStore, address: str
) -> None:
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


def test_a_store_without_a_recogniser_has_none(store: PostgresStore) -> None:
    with pytest.raises(Unavailable):
        _ = store.vectors


def test_a_reader_searches_what_is_in_step_and_says_what_is_not(
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


def test_a_user_who_may_not_have_the_extension_does_without(server: str) -> None:
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
