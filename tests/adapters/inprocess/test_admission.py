"""No verb reads, keeps or complains about what is far larger than anything it takes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from functools import cache
from itertools import repeat
from typing import Any

import pytest
from attrs import evolve

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.entropy import SeededEntropy
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.admission import (
    BITS_MAX,
    DEPTH_MAX,
    ENTRIES_MAX,
    TEXT_LENGTH_MAX,
    admissible,
)
from mnemic.adapters.inprocess.asking import FILTER_LENGTH_MAX
from mnemic.adapters.inprocess.snapshot import SyncView
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.wire.verbs import verbs
from mnemic.kernel.decisions.connecting import Assertion
from mnemic.kernel.errors import WORDS_LENGTH_MAX, BlockNotFound, FieldRefused, Refused
from mnemic.kernel.policy import DEFAULT

PATIENCE_S = 2.0
"""Longer than any refusal takes on a busy machine; what would be read takes minutes or for ever."""


def deep(around: Callable[[Any], Any], depth: int) -> Any:
    """Return so many lists or objects within each other."""
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
    """Return something far too large, made once for all tests: none of them goes through it."""
    return OVERSIZED[what]()


NO_VALUE = frozenset({"embedder", "progress", "clock", "entropy"})
"""Parts of a host's, no values."""


def arguments(of: type, names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield every verb of a class with each of its arguments."""
    for name in names:
        parameters = verbs()[name].taking(past=of is SyncView)
        yield from ((name, each) for each in parameters if each not in NO_VALUE)


LIVE = list(arguments(SyncMemory, [name for name in verbs() if name != "policy"]))
PAST = list(arguments(SyncView, [name for name in verbs() if hasattr(SyncView, name)]))
BATCHES = {("learn_many", "lessons"), ("connects", "edges")}
"""Whose items are refused one by one."""
COPIES = {"export", "import_space"}
"""They want a path besides."""


@pytest.fixture(scope="module")
def memory() -> Generator[SyncMemory]:
    """A memory that is only refused things, and has to stay as it is."""
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
    """Return how something is refused, and that it was soon."""
    begun = time.monotonic()
    with pytest.raises(Refused) as caught:
        ask()
    assert time.monotonic() - begun < PATIENCE_S
    assert len(str(caught.value)) <= WORDS_LENGTH_MAX + 1
    return caught.value.to_dict()


def others(verb: str, name: str, *, past: bool = False) -> dict[str, Any]:
    """Return something for each other argument that a verb needs; it is never looked at."""
    parameters = verbs()[verb].taking(past=past).values()
    return {each.name: "x" for each in parameters if each.required and each.name != name}


@pytest.mark.parametrize("what", OVERSIZED)
@pytest.mark.parametrize(
    ("verb", "name"), [pair for pair in LIVE if pair not in BATCHES and pair[0] not in COPIES]
)
def test_no_verb_takes_what_is_far_too_large(
    memory: SyncMemory, verb: str, name: str, what: str
) -> None:
    given = {**others(verb, name), name: made(what)}
    assert refused(lambda: getattr(memory, verb)(**given))["code"] in {
        "field-refused",
        "policy-refused",
    }


@pytest.mark.parametrize("what", OVERSIZED)
@pytest.mark.parametrize(("verb", "name"), PAST)
def test_no_view_of_the_past_takes_it_either(
    memory: SyncMemory, verb: str, name: str, what: str
) -> None:
    view = memory.as_of(version=1)
    given = {**others(verb, name, past=True), name: made(what)}
    assert refused(lambda: getattr(view, verb)(**given))["code"] == "field-refused"


@pytest.mark.parametrize("what", OVERSIZED)
@pytest.mark.parametrize("name", ["hour", "version", "at", "decision", "now"])
def test_a_point_of_the_past_is_no_novel(memory: SyncMemory, name: str, what: str) -> None:
    assert refused(lambda: memory.as_of(**{name: made(what)}))["field"] == name


def test_a_refusal_says_which_argument_and_what_the_limit_is(memory: SyncMemory) -> None:
    assert refused(lambda: memory.blocks(tag="x" * 1_000_001)) == {
        "code": "field-refused",
        "detail": "tag holds 1000001 characters, the limit is 1000000",
        "recovery": "Give less at once; guide() says what the verb takes.",
        "field": "tag",
    }


def test_an_item_of_a_batch_is_refused_by_itself(memory: SyncMemory) -> None:
    lesson = {"content": "x", "metadata": deep(lambda value: {"a": value}, DEPTH_MAX + 1)}
    edge = Assertion(source="a", target="b", note=deep(lambda value: [value], DEPTH_MAX + 1))
    (refusal,) = memory.learn_many([lesson]).refused
    (error,) = memory.connects([edge]).errors
    assert (refusal.code, error.code) == ("field-refused", "field-refused")


def test_what_is_within_the_limits_comes_through_as_it_is() -> None:
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
        assert admissible("it", value) is value


def test_what_can_be_gone_through_once_is_gone_through_once() -> None:
    assert admissible("it", iter("abc")) == ["a", "b", "c"]


class Endless:
    """Can be gone through, but to no end."""

    def __iter__(self) -> Iterator[str]:
        return repeat("x")


@pytest.mark.parametrize(
    "value",
    [Endless(), range(10**9), deque(["x"]) * (ENTRIES_MAX + 1)],
    ids=["it", "range", "deque"],
)
def test_what_is_no_list_and_has_no_end_is_refused_in_time(memory: SyncMemory, value: Any) -> None:
    block = memory.learn("the gate sticks").block_id
    for ask in (
        lambda: memory.learn("y", tags=value),
        lambda: memory.learn_many(value),
        lambda: memory.outcome(value, 0.5),
        lambda: memory.compose([block], metadata=value),
        lambda: memory.compose([{"block_id": block, "metadata": value}]),
    ):
        assert refused(ask)["code"] == "field-refused"
    (refusal,) = memory.learn_many([{"content": "z", "tags": value}]).refused
    assert refusal.code == "field-refused"


def test_what_is_no_list_and_has_an_end_is_taken() -> None:
    with SyncMemory.open(MemoryStore(), embedder=HashEmbedder()) as memory:
        learned = memory.learn_many(f"text {n}" for n in range(2)).results
        ids = deque(each.block_id for each in learned)
        memory.consolidate()
        assert memory.outcome(ids, 0.5).updated == tuple(sorted(ids))
        tags = {"tide": 1, "gate": 2}
        (tagged,) = memory.learn_many([{"content": "tags", "tags": tags.keys()}]).results
        assert memory.block(tagged.block_id).tags == ("gate", "tide")


def test_values_that_are_shared_many_times_over_are_not_counted_for_ever() -> None:
    value: Any = ["x"] * 10
    for _ in range(60):
        value = [value] * 10
    with pytest.raises(FieldRefused, match="more than 2000000 values"):
        admissible("it", value)


def test_a_filter_is_no_larger_than_a_log_should_keep(memory: SyncMemory) -> None:
    assert refused(lambda: memory.recall("x", where={"author": "x" * FILTER_LENGTH_MAX})) == {
        "code": "field-refused",
        "detail": "where has 65552 characters as JSON, the limit is 65536",
        "recovery": "Filter by fewer or shorter words.",
        "field": "where",
    }


def test_an_error_repeats_no_more_of_a_value_than_a_page() -> None:
    error = BlockNotFound(f"no block has the id {'x' * 100_000}", block_id="x" * 100_000)
    assert len(error.message) == len(str(error)) == WORDS_LENGTH_MAX + 1
    assert len(str(error.to_dict()["block_id"])) == WORDS_LENGTH_MAX + 1


@pytest.mark.parametrize("name", ["tag", "category", "author", "thread"])
def test_blocks_are_looked_for_by_words(memory: SyncMemory, name: str) -> None:
    given: dict[str, Any] = {name: ["x"]}
    assert refused(lambda: memory.blocks(**given)) == {
        "code": "field-refused",
        "detail": f"{name} must be text, got ['x']",
        "recovery": "Correct the named field and repeat the command.",
        "field": name,
    }


def test_no_version_is_too_late_to_ask_behind_it(memory: SyncMemory) -> None:
    assert memory.replay_all(after=2**63).decisions == 0


def test_what_is_no_id_is_no_block_that_a_decision_missed() -> None:
    with SyncMemory.open(MemoryStore(), embedder=HashEmbedder()) as memory:
        decision = memory.recall("gate").decision_id
        assert decision is not None
        missed: Any = ["x"]
        refusal = refused(lambda: memory.why_not(decision, missed))
    assert refusal["detail"] == "no block has the id ['x']"


@pytest.mark.parametrize("verb", ["learn_many", "connects"])
@pytest.mark.parametrize("what", [what for what in OVERSIZED if what != "deep lists"])
def test_a_batch_that_is_far_too_large_is_refused_as_a_whole(
    memory: SyncMemory, verb: str, what: str
) -> None:
    assert refused(lambda: getattr(memory, verb)(made(what)))["code"] == "field-refused"
