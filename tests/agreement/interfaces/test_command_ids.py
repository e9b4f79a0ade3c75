"""A command repeated under its id gets the first answer, and is written once."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

import attrs
import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import CommandIdReused
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.ports import Head
from mnemic.kernel.results import LearnResult

Operation = Callable[[SyncMemory, str], Any]

FACTS = ("rain falls", "rain falls on the plain", "snow falls in the hills", "wind from the sea")
CALM = attrs.evolve(DEFAULT, name="calm", degree_cap=7)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def opened(store: MemoryStore, clock: ManualClock) -> SyncMemory:
    return SyncMemory.open(
        store, embedder=HashEmbedder(16), clock=clock, entropy=SeededEntropy("ids")
    )


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(store: MemoryStore, clock: ManualClock) -> Generator[SyncMemory]:
    """A memory with three active blocks, one in the inbox, an edge, a decision and a session."""
    with opened(store, clock) as memory:
        memory.start_session()
        memory.learn_many(FACTS[:3])
        memory.consolidate()
        first, second = (block.id for block in memory.blocks(limit=2).items)
        memory.connect(first, second, "supports")
        memory.recall("rain", command_id="asked")
        clock.advance(hours=1)
        memory.learn(FACTS[3])
        yield memory


def block(memory: SyncMemory, place: int) -> str:
    return memory.blocks().items[place].id


def end(store: MemoryStore) -> Head:
    return store.log("default").head()


def _decision(memory: SyncMemory) -> str:
    return next(f"d{each.version}" for each in memory.log() if each.kind == "recall-recorded")


OPERATIONS: dict[str, Operation] = {
    "learn": lambda memory, name: memory.learn("new", tags=["a"], command_id=name),
    "learn_many": lambda memory, name: memory.learn_many(["x", FACTS[0], "", "y"], command_id=name),
    "revise": lambda memory, name: memory.revise(block(memory, 0), "rain rises", command_id=name),
    "forget": lambda memory, name: memory.forget(block(memory, 0), "why", command_id=name),
    "erase": lambda memory, name: memory.erase(block(memory, 0), command_id=name),
    "forget_many": lambda memory, name: memory.forget_many(
        {"category": "knowledge"}, "why", command_id=name
    ),
    "erase_many": lambda memory, name: memory.erase_many(
        {"category": "knowledge"}, command_id=name
    ),
    "erase_space": lambda memory, name: memory.erase_space("default", command_id=name),
    "rezone": lambda memory, name: memory.rezone(block(memory, 0), "external", command_id=name),
    "consolidate": lambda memory, name: memory.consolidate(command_id=name),
    "connect": lambda memory, name: memory.connect(
        block(memory, 1), block(memory, 3), "elaborates", command_id=name
    ),
    "connects": lambda memory, name: memory.connects(
        [
            {"source": block(memory, 1), "target": block(memory, 3)},
            {"source": block(memory, 3), "target": block(memory, 1), "if_exists": "update"},
            {"source": block(memory, 2), "target": "nobody"},
        ],
        command_id=name,
    ),
    "connect_by_query": lambda memory, name: memory.connect_by_query(
        "snow in the hills", "wind from the sea", min_confidence=0.01, command_id=name
    ),
    "disconnect": lambda memory, name: memory.disconnect(
        block(memory, 0), block(memory, 1), command_id=name
    ),
    "recall": lambda memory, name: memory.recall("rain and wind", top_k=2, command_id=name),
    "outcome": lambda memory, name: memory.outcome(
        [block(memory, 0), block(memory, 2)], 0.9, command_id=name
    ),
    "outcome of a decision": lambda memory, name: memory.outcome(
        decision_id=_decision(memory), signal=0.1, command_id=name
    ),
    "curate": lambda memory, name: memory.curate(command_id=name),
    "adopt_policy": lambda memory, name: memory.adopt_policy(CALM, command_id=name),
    "end_session": lambda memory, name: memory.end_session(command_id=name),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_repeated_id_gets_the_first_result_and_writes_nothing(
    operation: str, memory: SyncMemory, store: MemoryStore
) -> None:
    ask = OPERATIONS[operation]
    before = end(store)
    first = ask(memory, "once")
    written = end(store)
    assert written.version > before.version
    assert ask(memory, "once") == first
    assert end(store) == written


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_repeated_id_gets_the_first_result_from_another_process_too(
    operation: str, memory: SyncMemory, store: MemoryStore, clock: ManualClock
) -> None:
    first = OPERATIONS[operation](memory, "once")
    written = end(store)
    clock.advance(hours=3)
    with opened(store, clock) as other:
        assert OPERATIONS[operation](other, "once") == first
    assert end(store) == written


@pytest.mark.parametrize(
    "operation", [operation for operation in OPERATIONS if "erase" not in operation]
)
def test_a_repeated_id_gets_the_first_result_whatever_happened_since(
    operation: str, memory: SyncMemory, store: MemoryStore, clock: ManualClock
) -> None:
    first = OPERATIONS[operation](memory, "once")
    if memory.status().open_sessions:
        memory.end_session()
    memory.adopt_policy(attrs.evolve(DEFAULT, name="other", degree_cap=1, tags_max=1))
    clock.advance(days=400)
    memory.learn_many(["rain", "hail", "fog"])
    memory.start_session()
    memory.consolidate(relink=True)
    memory.curate()
    memory.learn("one more")
    written = end(store)
    assert OPERATIONS[operation](memory, "once") == first
    assert end(store) == written


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_id_of_one_request_is_refused_to_another(
    operation: str, memory: SyncMemory, store: MemoryStore
) -> None:
    OPERATIONS[operation](memory, "once")
    written = end(store)
    with pytest.raises(CommandIdReused) as caught:
        memory.rezone(block(memory, 2), "elsewhere", command_id="once")
    assert (caught.value.code, caught.value.facts["command_id"]) == ("command-id-reused", "once")
    assert end(store) == written


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_is_refused_the_id_of_another_request(
    operation: str, memory: SyncMemory, store: MemoryStore
) -> None:
    before = end(store)
    with pytest.raises(CommandIdReused):
        OPERATIONS[operation](memory, "asked")
    assert end(store) == before


def test_other_arguments_make_another_request(memory: SyncMemory, store: MemoryStore) -> None:
    memory.consolidate(1, command_id="some")
    memory.recall("rain", top_k=2, command_id="two")
    memory.learn("fresh", tags=["a"], command_id="fresh")
    written = end(store)
    with pytest.raises(CommandIdReused):
        memory.consolidate(2, command_id="some")
    with pytest.raises(CommandIdReused):
        memory.recall("rain", top_k=3, command_id="two")
    with pytest.raises(CommandIdReused):
        memory.learn("fresh", tags=["b"], command_id="fresh")
    assert end(store) == written


def test_a_session_is_started_once_and_continued(store: MemoryStore, clock: ManualClock) -> None:
    with opened(store, clock) as memory:
        first = memory.start_session(command_id="begin")
        assert memory.start_session(command_id="begin") == first
    written = end(store)
    with opened(store, clock) as other:  # the first process fell before it could use it
        assert other.start_session(command_id="begin") == first
        assert end(store) == written
        other.end_session()
        assert other.start_session(command_id="begin") == first
        assert other.status().open_sessions == ()
        assert other.start_session(command_id="again").session_id != first.session_id


def test_an_interrupted_consolidation_continues_with_the_blocks_that_waited_then(
    store: MemoryStore, clock: ManualClock
) -> None:
    chunky = attrs.evolve(DEFAULT, consolidate_chunk=2)
    embedder = Stumbling()
    with SyncMemory.open(store, embedder=embedder, clock=clock, policy=chunky) as memory:
        memory.learn_many([f"fact {word}" for word in "amber birch cedar delta ember".split()])
        with pytest.raises(KeyboardInterrupt):
            memory.consolidate(command_id="all")
        assert memory.status().inbox == 3
        memory.learn("fact of tomorrow")
        embedder.stumbles_at = -1
        whole = memory.consolidate(command_id="all")
        assert (whole.promoted, whole.chunks, whole.inbox_remaining) == (5, 3, 1)
        (waiting,) = memory.blocks(status="inbox").items
        assert waiting.content == "fact of tomorrow"
        written = end(store)
        assert memory.consolidate(command_id="all") == whole
        assert end(store) == written


class Stumbling(HashEmbedder):
    """Embedder that simulates a crash at one of its calls."""

    stumbles_at = 1

    def __init__(self) -> None:
        super().__init__(16)
        self._calls = 0

    def embed(self, texts: Any) -> Any:
        self._calls += 1
        if self._calls - 1 == self.stumbles_at:
            raise KeyboardInterrupt
        return super().embed(texts)


def test_a_command_that_wrote_nothing_is_decided_afresh(
    memory: SyncMemory, store: MemoryStore
) -> None:
    def again() -> LearnResult:
        return memory.learn(FACTS[0], created_at="2020-01-01", command_id="known")

    known = again()
    assert known.action == "duplicate"
    memory.forget(known.block_id)
    assert again().action == "reactivated"
    written = end(store)
    assert again().action == "reactivated"
    assert end(store) == written


def test_duplicates_of_a_batch_name_the_same_version_after_their_text_came_back(
    memory: SyncMemory, store: MemoryStore
) -> None:
    earlier = {"created_at": "2020-01-01"}
    lessons = [{"content": content, **earlier} for content in (FACTS[0], "hail", "hail")]
    first = memory.learn_many(lessons, command_id="batch")
    known, hail, again = first.results
    assert (known.action, hail.action, again.action) == ("duplicate", "created", "duplicate")
    assert again.version == hail.version
    for block in (known.block_id, hail.block_id):
        memory.forget(block)
    memory.learn_many([FACTS[0], "hail"])
    written = end(store)
    assert memory.learn_many(lessons, command_id="batch") == first
    assert end(store) == written


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_repeated_id_writes_nothing_after_everything_was_erased(
    operation: str, memory: SyncMemory, store: MemoryStore
) -> None:
    ask = OPERATIONS[operation]
    ask(memory, "once")
    for each in memory.blocks().items:
        memory.erase(each.id)
    written = end(store)
    with suppress(CommandIdReused):  # whether it is the same, only the erased words could tell
        ask(memory, "once")
    assert end(store) == written
