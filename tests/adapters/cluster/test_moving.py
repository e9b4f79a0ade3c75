"""Moving a space to another database: nothing is lost, whoever writes and whenever it is killed."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import ExitStack, closing, suppress

import pytest

from mnemic.adapters.cluster.moving import move
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.leaders import LedElsewhere, MovedAway
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.kernel.errors import FieldRefused, SpaceExists, SpaceNotFound
from tests.adapters.cluster.test_fencing import Host
from tests.adapters.stores.postgres import server as servers

EMBEDDER = HashEmbedder(8)
STEPS = ("copied", "taken over", "caught up", "moved")


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with servers.SHARED.served() as made:
        yield made


@pytest.fixture
def databases(server: str) -> Generator[tuple[str, str]]:
    """Return the addresses of two stores, the first of which has a space with three blocks."""
    with ExitStack() as stack:
        one, two = (stack.enter_context(servers.schema(server)) for _ in range(2))
        with SyncMemory.open(one, embedder=EMBEDDER) as memory:
            for text in ("The demo is on Thursday.", "Ines leads it.", "Jonas pays."):
                memory.learn(text)
            memory.recall("When is the demo?")
        yield one, two


class Killed(BaseException):
    """The end of the process, as a test plays it."""


def test_a_moved_space_is_the_same_there_and_gone_here(databases: tuple[str, str]) -> None:
    home, there = databases
    with SyncMemory.open(home, embedder=EMBEDDER) as memory:
        erased = memory.blocks()[0]
        memory.erase(erased.id)
        version = memory.status().version
    moved = move(home, "default", there)
    assert (moved.version, moved.space) == (version, "default")
    with SyncMemory.open(there, embedder=EMBEDDER) as memory:
        assert memory.verify().sound
        assert memory.status().version == version
        kept = {block.content for block in memory.blocks() if block.content is not None}
        assert kept == {"Ines leads it.", "Jonas pays."}
        memory.learn("Anna is new.")
    with pytest.raises(MovedAway) as caught:
        SyncMemory.open(home, embedder=EMBEDDER)
    assert caught.value.address == there
    with closing(PostgresStore(home)) as store:
        numbers = [store.recorder.space(name) for name in store.recorder.names()]
        assert [store.recorder.payload_count(number or 0, 10**6) for number in numbers] == [0]


def test_it_can_be_moved_back_and_its_epochs_go_on(databases: tuple[str, str]) -> None:
    home, there = databases
    with closing(Host(home, "one")) as one:
        one.memory.learn("First.")
        first = one.part.epoch_of("default")
    move(home, "default", there)
    with closing(Host(there, "two")) as two:
        two.memory.learn("Second.")
        second = two.part.epoch_of("default")
    move(home, "default", home)
    with closing(Host(home, "one")) as one:
        one.memory.learn("Third.")
        third = one.part.epoch_of("default")
        assert one.memory.verify().sound
        assert {"First.", "Second.", "Third."} <= {block.content for block in one.memory.blocks()}
    assert first < second < third


@pytest.mark.parametrize("last", STEPS)
def test_a_move_that_was_killed_is_continued_by_the_same_command(
    databases: tuple[str, str], last: str
) -> None:
    home, there = databases

    def die(name: str) -> None:
        if name == last:
            raise Killed

    with suppress(Killed):
        move(home, "default", there, step=die)
    is_there = last == "moved"
    with closing(Host(there if is_there else home, "one")) as one:  # it can be written meanwhile
        one.memory.learn("Written between the two.")
    move(home, "default", there)
    with SyncMemory.open(there, embedder=EMBEDDER) as memory:
        assert memory.verify().sound
        assert "Written between the two." in {block.content for block in memory.blocks()}


def test_nothing_that_was_acknowledged_while_it_moves_is_lost(databases: tuple[str, str]) -> None:
    home, there = databases
    with closing(Host(home, "one")) as one:
        acknowledged: list[str] = []
        stopping = threading.Event()

        def write() -> None:
            number = 0
            while not stopping.is_set():
                with suppress(LedElsewhere):
                    one.memory.learn(f"Fact {number}.", command_id=f"fact {number}")
                    acknowledged.append(f"Fact {number}.")
                    number += 1

        def until_moved() -> None:
            with suppress(MovedAway):
                write()

        writer = threading.Thread(target=until_moved)
        writer.start()
        try:
            moved = move(home, "default", there)
        finally:
            stopping.set()
            writer.join()
    assert moved.version >= len(acknowledged)
    with SyncMemory.open(there, embedder=EMBEDDER, actor="one") as memory:
        assert memory.verify().sound
        for number, text in enumerate(acknowledged):  # a repetition is answered, not written
            memory.learn(text, command_id=f"fact {number}")
        assert memory.status().version == moved.version


def test_what_cannot_be_moved_is_refused(databases: tuple[str, str]) -> None:
    home, there = databases
    with SyncMemory.open(there, embedder=EMBEDDER) as memory:
        memory.learn("Another memory.")
    with pytest.raises(SpaceExists):
        move(home, "default", there)
    with pytest.raises(SpaceNotFound):
        move(home, "nothing", there)
    with pytest.raises(FieldRefused):
        move("memory.db", "default", there)
    with pytest.raises(FieldRefused, match="password"):
        move(home, "default", "postgresql://me:secret@host/memories")
    with SyncMemory.open(home, embedder=EMBEDDER) as memory:
        assert len(memory.blocks()) == 3


@pytest.mark.parametrize("last", STEPS)
def test_a_move_back_that_was_killed_is_continued_too(
    databases: tuple[str, str], last: str
) -> None:
    home, there = databases
    move(home, "default", there)

    def die(name: str) -> None:
        if name == last:
            raise Killed

    with suppress(Killed):
        move(home, "default", home, step=die)
    move(home, "default", home)
    with closing(Host(home, "one")) as one:
        assert one.memory.verify().sound
        assert len(one.memory.blocks()) == 3
    with closing(PostgresStore(there)) as store:
        numbers = [store.recorder.space(name) for name in store.recorder.names()]
        assert [store.recorder.payload_count(number or 0, 10**6) for number in numbers] == [0]
