"""Oversized arguments are refused before any operation reads, stores or quotes them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from functools import cache
from itertools import repeat
from typing import Any

import pytest
from attrs import evolve

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.argument_limits import (
    BITS_MAX,
    DEPTH_MAX,
    ENTRIES_MAX,
    TEXT_LENGTH_MAX,
    checked_argument,
)
from mnemic.adapters.inprocess.view import SyncView
from mnemic.adapters.remote.operations import operations
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.decisions.connecting import Assertion
from mnemic.kernel.errors import (
    WORDS_LENGTH_MAX,
    BatchRefused,
    BlockNotFound,
    FieldRefused,
    Refused,
)
from mnemic.kernel.policy import DEFAULT
from mnemic.projections.retrieval.request import FILTER_LENGTH_MAX

PATIENCE_S = 2.0
"""Longer than any refusal takes on a busy machine; what would be read takes minutes or for ever."""


def deep(around: Callable[[Any], Any], depth: int) -> Any:
    """Return lists or objects nested to a given depth."""
    value: Any = "x"
    for _ in range(depth):
        value = around(value)
    return value


OVERSIZED: dict[str, Callable[[], Any]] = {
    "a text": lambda: "x" * (TEXT_LENGTH_MAX + 1),
    "bytes": lambda: bytes(TEXT_LENGTH_MAX + 1),
    "a list": lambda: ["x"] * (ENTRIES_MAX + 1),
    "an object": lambda: dict.fromkeys(map(str, range(ENTRIES_MAX + 1))),
    "deep lists": lambda: deep(lambda value: [value], 100_000),
    "deep objects": lambda: deep(lambda value: {"a": value}, 100_000),
    "a wide number": lambda: 10**5000,
    "no end": lambda: repeat("x"),
}


@cache
def made(what: str) -> Any:
    """Return an oversized value, built once for all tests: none of them iterates over it."""
    return OVERSIZED[what]()


NO_VALUE = frozenset({"embedder", "progress", "clock", "entropy"})
"""Parts of a host's, no values."""


def arguments(of: type, names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield every operation of a class with each of its arguments."""
    for name in names:
        parameters = operations()[name].taking(past=of is SyncView)
        yield from ((name, each) for each in parameters if each not in NO_VALUE)


LIVE = list(arguments(SyncMemory, [name for name in operations() if name != "policy"]))
PAST = list(arguments(SyncView, [name for name in operations() if hasattr(SyncView, name)]))
BATCHES = {("learn_many", "lessons"), ("connects", "edges")}
"""Whose items are refused one by one."""
COPIES = {"export", "import_space"}
"""They want a path besides."""


@pytest.fixture(scope="module")
def memory() -> Generator[SyncMemory]:
    """A memory for refused calls only, which must stay unchanged."""
    with SyncMemory.open(
        MemoryStore(),
        embedder=HashEmbedder(),
        clock=ManualClock(),
        entropy=SeededEntropy("admission"),
    ) as opened:
        opened.learn("the gate sticks", tags=["yard"])
        version = opened.status().version
        yield opened
        assert opened.status().version == version


def refused(ask: Callable[[], Any]) -> dict[str, Any]:
    """Return the refusal of a call, after checking that it came quickly."""
    begun = time.monotonic()
    with pytest.raises(Refused) as caught:
        ask()
    assert time.monotonic() - begun < PATIENCE_S
    assert len(str(caught.value)) <= WORDS_LENGTH_MAX + 1
    return caught.value.to_dict()


def others(operation: str, name: str, *, past: bool = False) -> dict[str, Any]:
    """Return placeholders for the other required arguments; they are never read."""
    parameters = operations()[operation].taking(past=past).values()
    return {each.name: "x" for each in parameters if each.required and each.name != name}


@pytest.mark.parametrize("what", OVERSIZED)
@pytest.mark.parametrize(
    ("operation", "name"), [pair for pair in LIVE if pair not in BATCHES and pair[0] not in COPIES]
)
def test_every_operation_refuses_oversized_arguments(
    memory: SyncMemory, operation: str, name: str, what: str
) -> None:
    given = {**others(operation, name), name: made(what)}
    assert refused(lambda: getattr(memory, operation)(**given))["code"] in {
        "batch-refused",
        "field-refused",
        "policy-refused",
    }


@pytest.mark.parametrize("what", OVERSIZED)
@pytest.mark.parametrize(("operation", "name"), PAST)
def test_views_of_the_past_refuse_oversized_arguments(
    memory: SyncMemory, operation: str, name: str, what: str
) -> None:
    view = memory.as_of(version=1)
    given = {**others(operation, name, past=True), name: made(what)}
    assert refused(lambda: getattr(view, operation)(**given))["code"] == "field-refused"


@pytest.mark.parametrize("what", OVERSIZED)
@pytest.mark.parametrize("name", ["hour", "version", "at", "decision", "now"])
def test_a_point_of_the_past_is_limited_in_length(memory: SyncMemory, name: str, what: str) -> None:
    assert refused(lambda: memory.as_of(**{name: made(what)}))["field"] == name


def test_a_refusal_names_the_argument_and_the_limit(memory: SyncMemory) -> None:
    assert refused(lambda: memory.blocks(tag="x" * 1_000_001)) == {
        "code": "field-refused",
        "detail": "tag holds 1000001 characters, the limit is 1000000",
        "recovery": "Give less at once; guide() says what the operation takes.",
        "field": "tag",
    }


def test_an_oversized_item_of_a_batch_is_refused_individually(memory: SyncMemory) -> None:
    lesson = {"content": "x", "metadata": deep(lambda value: {"a": value}, DEPTH_MAX + 1)}
    edge = Assertion(source="a", target="b", note=deep(lambda value: [value], DEPTH_MAX + 1))
    for ask in (lambda: memory.learn_many([lesson]), lambda: memory.connects([edge])):
        with pytest.raises(BatchRefused, match=r"1 .* was refused: #0 field-refused"):
            ask()


def test_arguments_within_the_limits_are_passed_unchanged() -> None:
    for value in (
        "x" * TEXT_LENGTH_MAX,
        ["x"] * ENTRIES_MAX,
        deep(lambda value: [value], DEPTH_MAX),
        2**BITS_MAX - 1,
        evolve(DEFAULT, name="mine"),
        HashEmbedder(),
        None,
        True,
        0.5,
    ):
        assert checked_argument("it", value) is value


def test_one_shot_iterables_are_consumed_once() -> None:
    assert checked_argument("it", iter("abc")) == ["a", "b", "c"]


class Endless:
    """An infinite iterable."""

    def __iter__(self) -> Iterator[str]:
        return repeat("x")


@pytest.mark.parametrize(
    "value",
    [Endless(), range(10**9), deque(["x"]) * (ENTRIES_MAX + 1)],
    ids=["it", "range", "deque"],
)
def test_infinite_iterables_are_refused_in_time(memory: SyncMemory, value: Any) -> None:
    (block,) = (each.id for each in memory.blocks().items)
    for ask in (
        lambda: memory.learn("y", tags=value),
        lambda: memory.learn_many(value),
        lambda: memory.outcome(value, 0.5),
        lambda: memory.compose([block], metadata=value),
        lambda: memory.compose([{"block_id": block, "metadata": value}]),
    ):
        assert refused(ask)["code"] == "field-refused"
    with pytest.raises(BatchRefused, match="1 lesson was refused: #0 field-refused"):
        memory.learn_many([{"content": "z", "tags": value}])


def test_finite_iterables_are_accepted() -> None:
    with SyncMemory.open(MemoryStore(), embedder=HashEmbedder()) as memory:
        learned = memory.learn_many(f"text {n}" for n in range(2)).results
        ids = deque(each.block_id for each in learned)
        memory.consolidate()
        assert memory.outcome(ids, 0.5).updated == tuple(sorted(ids))
        tags = {"tide": 1, "gate": 2}
        (tagged,) = memory.learn_many([{"content": "tags", "tags": tags.keys()}]).results
        assert memory.block(tagged.block_id).tags == ("gate", "tide")


def test_counting_of_shared_values_is_bounded() -> None:
    value: Any = ["x"] * 10
    for _ in range(60):
        value = [value] * 10
    with pytest.raises(FieldRefused, match="more than 2000000 values"):
        checked_argument("it", value)


def test_a_filter_is_limited_in_size(memory: SyncMemory) -> None:
    assert refused(lambda: memory.recall("x", where={"author": "x" * FILTER_LENGTH_MAX})) == {
        "code": "field-refused",
        "detail": "where has 65552 characters as JSON, the limit is 65536",
        "recovery": "Filter by fewer or shorter words.",
        "field": "where",
    }


def test_an_error_repeats_at_most_a_page_of_a_value() -> None:
    error = BlockNotFound(f"no block has the id {'x' * 100_000}", block_id="x" * 100_000)
    assert len(error.message) == len(str(error)) == WORDS_LENGTH_MAX + 1
    assert len(str(error.to_dict()["block_id"])) == WORDS_LENGTH_MAX + 1


@pytest.mark.parametrize("name", ["tag", "category", "author", "thread"])
def test_block_filters_must_be_text(memory: SyncMemory, name: str) -> None:
    given: dict[str, Any] = {name: ["x"]}
    assert refused(lambda: memory.blocks(**given)) == {
        "code": "field-refused",
        "detail": f"{name} must be text, got ['x']",
        "recovery": "Correct the named field and repeat the command.",
        "field": name,
    }


def test_any_version_is_accepted_as_after(memory: SyncMemory) -> None:
    assert memory.replay_all(after=2**63).decisions == 0


def test_why_not_refuses_an_invalid_id() -> None:
    with SyncMemory.open(MemoryStore(), embedder=HashEmbedder()) as memory:
        decision = memory.recall("gate").decision_id
        assert decision is not None
        missed: Any = ["x"]
        refusal = refused(lambda: memory.why_not(decision, missed))
    assert refusal["detail"] == "no block has the id ['x']"


@pytest.mark.parametrize("operation", ["learn_many", "connects"])
@pytest.mark.parametrize("what", [what for what in OVERSIZED if what != "deep lists"])
def test_an_oversized_batch_is_refused_as_a_whole(
    memory: SyncMemory, operation: str, what: str
) -> None:
    assert refused(lambda: getattr(memory, operation)(made(what)))["code"] == "field-refused"
