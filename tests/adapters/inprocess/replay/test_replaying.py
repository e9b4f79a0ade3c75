"""replay: a past decision is reproduced, or the replay names the differences and their cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from attrs import evolve

from mnemic.adapters.codec import Codec
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.events import RecallRecorded
from mnemic.kernel.model.identity import PolicyId
from mnemic.kernel.results import RecallResult, SuspectCount

Open: TypeAlias = Callable[..., SyncMemory]
Busy: TypeAlias = Callable[[SyncMemory], list[RecallResult]]
Change: TypeAlias = Callable[[RecallRecorded], RecallRecorded]


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


def forged(store: MemoryStore, decision: str, change: Change) -> MemoryStore:
    """Return a store with a sound chain in which one decision is altered."""
    codec, copy = Codec(SeededEntropy("forger")), MemoryStore()
    log = copy.log("default")
    for record, payloads in store.log("default").read():
        recorded = codec.decode(record, payloads)
        if f"d{record.version}" == decision:
            assert isinstance(recorded.event, RecallRecorded)
            record, payloads = codec.encode(evolve(recorded, event=change(recorded.event)))  # noqa: PLW2901
        log.append([record], payloads, after=log.head())
    return copy


# --- reproduced ---------------------------------------------------------------------------------


def test_every_decision_of_a_busy_history_is_reproduced(opened: Open, busy: Busy) -> None:
    memory = opened()
    recalls = busy(memory)
    recalls.append(memory.recall("harbour gate", where={"author": ["Ann", "Bob"]}))
    assert len(recalls) == memory.status().decisions == 7
    assert any(found.dropped for found in recalls)
    assert any(found.counterpoints for found in recalls)
    assert any(block.was_expanded for found in recalls for block in found.blocks)
    for found in recalls:
        replayed = memory.replay(str(found.decision_id))
        assert (replayed.outcome, replayed.recombines) == ("reproduced", True)
        assert replayed.recall == found
        assert replayed.recorded_digest == replayed.replayed_digest == found.digest
        assert (replayed.version, replayed.hour) == (found.version, found.hour)
        assert (replayed.differences, replayed.cause) == ((), None)


class UnusableEmbedder:
    """An embedder that must not be called."""

    identity = HashEmbedder().identity

    def embed(self, texts: object) -> Any:
        raise AssertionError(f"asked for {texts!r}")


def test_a_replay_needs_no_model_and_no_clock_and_writes_nothing(opened: Open, busy: Busy) -> None:
    memory = opened()
    recalls = busy(memory)
    reader = opened(embedder=UnusableEmbedder(), clock=ManualClock(0), read_only=True)
    before = reader.status().version
    for found in recalls:
        assert reader.replay(str(found.decision_id)).recall == found
    assert reader.status().version == before


def test_a_decision_is_replayed_under_its_own_policy(opened: Open) -> None:
    memory = opened()
    memory.learn("the harbour gate")
    found = memory.recall("harbour")
    loud = evolve(memory.policy, name="loud", lexical_share=0.1, recency_rate_days=0.9, top_k=1)
    memory.adopt_policy(loud)
    later = memory.recall("harbour", record=False)
    assert later.blocks[0].score != found.blocks[0].score
    assert memory.replay(str(found.decision_id)).recall == found


# --- forged -------------------------------------------------------------------------------------


def nudged(event: RecallRecorded, **row: Any) -> RecallRecorded:
    first, *rest = event.answer.rows
    return evolve(event, answer=evolve(event.answer, rows=(evolve(first, **row), *rest)))


def with_signal(event: RecallRecorded) -> RecallRecorded:
    signals = list(event.answer.rows[0].signals)
    signals[1] -= 1_000
    return nudged(event, signals=tuple(signals))


def with_score(event: RecallRecorded) -> RecallRecorded:
    return nudged(event, score=event.answer.rows[0].score + 1)


def with_other_block(event: RecallRecorded) -> RecallRecorded:
    return nudged(event, block=event.answer.rows[1].block)


def without_last(event: RecallRecorded) -> RecallRecorded:
    return evolve(event, answer=evolve(event.answer, rows=event.answer.rows[:-1]))


def with_digest(event: RecallRecorded) -> RecallRecorded:
    return evolve(event, digest="0" * 16)


def with_hour(event: RecallRecorded) -> RecallRecorded:
    return evolve(event, asked_us=event.asked_us + 86_400_000_000)


def with_policy(event: RecallRecorded) -> RecallRecorded:
    return evolve(event, policy_id=PolicyId("0" * 16), asked_us=event.asked_us + 86_400_000_000)


def with_embedder(event: RecallRecorded) -> RecallRecorded:
    return evolve(event, embedder_id="0" * 16, asked_us=event.asked_us + 86_400_000_000)


Changes: TypeAlias = list[str]
FORGERIES: list[tuple[Change, Changes, str]] = [
    (with_signal, ["signals"], "record"),
    (with_score, ["score"], "record"),
    (with_other_block, ["entered"], "record"),
    (without_last, ["entered"], "record"),
    (with_digest, [], "record"),
    (with_hour, ["score", "score"], "state"),
    (with_policy, ["score", "score"], "policy"),
    (with_embedder, ["score", "score"], "embedder"),
]


@pytest.mark.parametrize(("change", "changes", "suspect"), FORGERIES)
def test_a_forged_decision_differs_with_location_and_cause(
    opened: Open, store: MemoryStore, change: Change, *, changes: Changes, suspect: str
) -> None:
    memory = opened()
    memory.learn("the harbour gate")
    memory.learn("a crane at the harbour", confidence=0.2)
    found = memory.recall("harbour", frame="attention")
    assert len(found.blocks) == 2
    other = opened(forged(store, str(found.decision_id), change))
    assert other.verify().sound
    replayed = other.replay(str(found.decision_id))
    assert (replayed.outcome, replayed.suspect) == ("differs", suspect)
    assert replayed.recombines == (suspect != "record")
    assert [each.change for each in replayed.differences] == changes
    assert replayed.cause
    counted = other.replay_all()
    assert (counted.differs, counted.differences) == (1, (evolve(replayed, recall=None),))
    assert counted.suspects == (SuspectCount(suspect=suspect, decisions=1),)


def test_a_decision_of_an_unknown_recipe_is_refused(opened: Open, store: MemoryStore) -> None:
    memory = opened()
    memory.learn("the harbour gate")
    decision = str(memory.recall("harbour").decision_id)
    other = opened(forged(store, decision, lambda event: evolve(event, recipe="recall-0")))
    assert refused(lambda: other.replay(decision)) == "recipe-retired"


class Words:
    """A token counter that counts words."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


def test_a_decision_is_replayed_with_its_own_token_counter(opened: Open) -> None:
    plain, counting = opened(), opened(tokens=Words())
    for n in range(5):
        plain.learn(f"harbour note {n}", category="message")
    by_words = counting.recall("harbour", token_budget=20)
    by_estimate = plain.recall("harbour", token_budget=20)
    assert len(by_words.blocks) != len(by_estimate.blocks)
    assert counting.replay(str(by_words.decision_id)).recall == by_words
    assert counting.replay(str(by_estimate.decision_id)).recall == by_estimate
    assert refused(lambda: plain.replay(str(by_words.decision_id))) == "recipe-retired"


@pytest.mark.parametrize("decision", ["d0", "d2", "d99", "", "x", "d", "d-1", "D5"])
def test_an_invalid_decision_id_is_refused(opened: Open, decision: str) -> None:
    memory = opened()
    memory.learn("the harbour gate")
    memory.recall("harbour")
    assert refused(lambda: memory.replay(decision)) == "decision-not-found"
