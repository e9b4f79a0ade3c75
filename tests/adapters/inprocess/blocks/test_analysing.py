"""Analysts: time limits, failures, and the rules as default."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from threading import Event
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.analysts.absent import NoAnalyst
from mnemic.adapters.codec import Codec
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.analysis import TimedAnalyst
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import MnemicError, Unavailable
from mnemic.kernel.events import BlocksPromoted, EmbedderIdentity, Promotion
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Analysis, Passage

Open: TypeAlias = Callable[..., SyncMemory]

HASTE_S = 0.05
"""A time limit that a blocking analyst always exceeds."""
PATIENCE_S = 20.0


@pytest.fixture
def release() -> Generator[Event]:
    """Return the event that blocking analysts wait for; it is set at the end of the test.

    Until then a thread that was started goes on until it waits for something, and so an analyst has
    said by the time that others are waiting what it can say at once, however busy the machine is.
    """
    event, before = Event(), sys.getswitchinterval()
    sys.setswitchinterval(PATIENCE_S)
    yield event
    sys.setswitchinterval(before)
    event.set()


class BlockingAnalyst:
    """An analyst that yields some analyses, and the next one only when it is released."""

    name = "slow"

    def __init__(self, release: Event, quick: int = 0) -> None:
        self._release = release
        self._quick = quick
        self.asked: list[list[str]] = []

    def analyse(self, passages: Sequence[Passage]) -> Iterator[Analysis]:
        self.asked.append([passage.content for passage in passages])
        yield from [Analysis(tags=("quick",))] * self._quick
        self._release.wait()
        yield from [Analysis(tags=("late",))] * (len(passages) - self._quick)


def learned(memory: SyncMemory, *contents: str) -> list[str]:
    return [memory.learn(content).block_id for content in contents]


def promotions(store: MemoryStore) -> list[Promotion]:
    """Return every promotion in the log."""
    codec = Codec(SeededEntropy())
    events = [codec.decode(*stored).event for stored in store.log("default").read()]
    return [
        each for event in events if isinstance(event, BlocksPromoted) for each in event.promotions
    ]


def analysed(store: MemoryStore) -> list[str]:
    """Return the recorded analysis status of each promotion."""
    return [promotion.analysed for promotion in promotions(store)]


# --- time ---------------------------------------------------------------------------------------


def test_an_analyst_that_times_out_counts_as_failed(
    opened: Open, store: MemoryStore, release: Event
) -> None:
    memory = opened(analyst=BlockingAnalyst(release), analyst_timeout_s=HASTE_S)
    learned(memory, "alpha", "bravo")
    done = memory.consolidate()
    assert (done.promoted, done.analyses_failed) == (2, 2)
    assert analysed(store) == ["failed", "failed"]
    memory.close()
    assert not release.is_set()


def test_analyses_that_arrive_in_time_count(opened: Open, release: Event) -> None:
    memory = opened(analyst=BlockingAnalyst(release, quick=2), analyst_timeout_s=HASTE_S)
    blocks = learned(memory, "alpha", "bravo", "charlie")
    assert memory.consolidate().analyses_failed == 1
    assert [memory.block(block).tags for block in blocks] == [("quick",), ("quick",), ()]


def test_a_hanging_analyst_is_no_longer_called(opened: Open, release: Event) -> None:
    analyst = BlockingAnalyst(release)
    policy = Policy(consolidate_chunk=1)
    memory = opened(analyst=analyst, analyst_timeout_s=HASTE_S, policy=policy)
    learned(memory, "alpha", "bravo", "charlie", "delta")
    assert memory.consolidate().analyses_failed == 4
    assert analyst.asked == [["alpha"], ["bravo"]]


def test_analyses_before_a_failure_count() -> None:
    class FailingAnalyst:
        name = "stumbling"

        def analyse(self, passages: Sequence[Passage]) -> Iterator[Analysis]:  # noqa: ARG002
            yield Analysis(tags=("fine",))
            raise ConnectionError("the model is away")

    passages = [Passage(content="alpha"), Passage(content="bravo")]
    assert TimedAnalyst(FailingAnalyst(), 10.0).analyse(passages) == [
        Analysis(tags=("fine",)),
        None,
    ]


def test_an_analyst_with_too_many_answers_has_failed(opened: Open) -> None:
    class EndlessAnalyst:
        name = "endless"

        def analyse(self, passages: Sequence[Passage]) -> Iterator[Analysis]:  # noqa: ARG002
            while True:
                yield Analysis()

    memory = opened(analyst=EndlessAnalyst())
    learned(memory, "alpha", "bravo")
    assert memory.consolidate().analyses_failed == 2


def test_an_analyst_may_give_up_on_one_passage(opened: Open) -> None:
    class PartialAnalyst:
        name = "partial"

        def analyse(self, passages: Sequence[Passage]) -> list[Analysis | None]:
            return [None, *[Analysis(tags=("fine",))] * (len(passages) - 1)]

    memory = opened(analyst=PartialAnalyst())
    blocks = learned(memory, "alpha", "bravo")
    assert memory.consolidate().analyses_failed == 1
    assert [memory.block(block).tags for block in blocks] == [(), ("fine",)]


def test_an_analyst_gets_the_facts_of_a_block(opened: Open) -> None:
    seen: list[Passage] = []

    class RecordingAnalyst:
        name = "watching"

        def analyse(self, passages: Sequence[Passage]) -> list[Analysis]:
            seen.extend(passages)
            return [Analysis()] * len(passages)

    memory = opened(analyst=RecordingAnalyst())
    memory.learn("alpha", tags=["b", "a"], category="message", author="Ann", source="web")
    memory.learn("bravo")
    memory.consolidate()
    assert seen == [
        Passage(content="alpha", category="message", tags=("a", "b"), author="Ann", source="web"),
        Passage(content="bravo"),
    ]


# --- the choice of an analyst -------------------------------------------------------------------


def test_the_rules_analyse_by_default(opened: Open, store: MemoryStore) -> None:
    memory = opened()
    block, plain = learned(memory, "I must never leave the #gate open.", "The gate is open.")
    assert memory.consolidate().analyses_failed == 0
    found = memory.block(block)
    assert (found.tags, found.decay_rate) == (("gate", "self/constraint"), 0.001)
    assert memory.block(plain).tags == ()
    assert analysed(store) == ["done", "done"]


def test_a_promotion_without_findings_holds_no_analysis(opened: Open, store: MemoryStore) -> None:
    memory = opened()
    learned(memory, "The gate is open.")
    memory.consolidate()
    (promotion,) = promotions(store)
    assert (promotion.analysis, promotion.alignment) == (None, None)


def test_no_analyst_disables_analysis(opened: Open, store: MemoryStore) -> None:
    memory = opened(analyst=NoAnalyst())
    (block,) = learned(memory, "I must never leave the #gate open.")
    memory.consolidate()
    assert memory.block(block).tags == ()
    assert analysed(store) == ["none"]


class NamelessAnalyst:
    def analyse(self, passages: Sequence[Passage]) -> list[Analysis]:
        return [Analysis()] * len(passages)


@pytest.mark.parametrize("analyst", ["rules", object(), NamelessAnalyst()])
def test_an_invalid_analyst_is_refused_when_opening(opened: Open, analyst: object) -> None:
    with pytest.raises(MnemicError) as caught:
        opened(analyst=analyst)
    assert caught.value.code == "field-refused"


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), 86_401, True, "30", None])
def test_an_invalid_time_limit_is_refused_when_opening(opened: Open, limit: Any) -> None:
    with pytest.raises(MnemicError) as caught:
        opened(analyst_timeout_s=limit)
    assert caught.value.facts["field"] == "analyst_timeout_s"


# --- an unreachable embedder --------------------------------------------------------------------


def test_a_session_ends_though_the_embedder_is_unreachable(opened: Open) -> None:
    class UnreachableEmbedder:
        identity = EmbedderIdentity(name="away", dimension=4)

        def embed(self, _: Sequence[str]) -> Any:
            raise Unavailable("the server is down", recovery="Start it.")

    memory = opened(embedder=UnreachableEmbedder())
    memory.start_session()
    learned(memory, "alpha")
    with pytest.raises(Unavailable):
        memory.end_session()
    assert (memory.status().inbox, [entry.kind for entry in memory.log()][-1]) == (
        1,
        "session-ended",
    )
