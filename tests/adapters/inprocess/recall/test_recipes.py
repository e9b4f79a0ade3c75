"""A decision is replayed with the recipe it was made with, whatever recipe is current."""

from __future__ import annotations

from attrs import evolve

from mnemic.adapters.codec import Codec
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.events import RecallRecorded, Recorded
from mnemic.kernel.model.texts import Embedding, Question
from mnemic.kernel.model.tokens import EstimatedTokens
from mnemic.kernel.model.vectors import unpack
from mnemic.projections.retrieval.filters import Eligibility
from mnemic.projections.retrieval.packing import Limits, pack
from mnemic.projections.retrieval.ranking import Inquiry, rank
from mnemic.projections.retrieval.recipes import PLAIN
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from mnemic.projections.view import as_of

CODEC = Codec(SeededEntropy("rewriter"))


def opened(store: MemoryStore) -> SyncMemory:
    return SyncMemory.open(store, embedder=HashEmbedder(16), clock=ManualClock())


def recorded_log() -> list[Recorded]:
    """Return a log whose last event is a recall by the current recipe."""
    store = MemoryStore()
    memory = opened(store)
    memory.start_session()
    for content in ("Where do the bees sleep?", "Under the porch", "Ann baked a cake"):
        memory.learn(content, category="message", author="Ann")
    memory.recall("where do Ann's bees sleep")
    return [CODEC.decode(*entry) for entry in store.log("default").read()]


def rewritten(log: list[Recorded], decision: RecallRecorded) -> SyncMemory:
    """Return a memory whose log ends with another decision."""
    store = MemoryStore()
    for recorded in [*log[:-1], evolve(log[-1], event=decision)]:
        record, payloads = CODEC.encode(recorded)
        store.log("default").append([record], payloads, after=store.log("default").head())
    return opened(store)


def by_the_plain_recipe(log: list[Recorded], event: RecallRecorded) -> RecallRecorded:
    """Return the decision as the recipe of the first release made it."""
    view = as_of(
        rebuild(State(), log[:-1]),
        event.read_version,
        active_us=event.read_us,
        instant_us=event.asked_us,
    )
    assert isinstance(event.asked, Question)
    assert isinstance(event.vector, Embedding)
    inquiry = Inquiry(
        query=event.asked.query,
        vector=unpack(event.vector.packed),
        eligibility=Eligibility(frame=view.policy.frame(event.frame)),
        recipe=PLAIN,
    )
    limits = Limits(top_k=None, token_budget=2000, counter=EstimatedTokens())
    packed = pack(view, inquiry, rank(view, inquiry), limits)
    return evolve(
        event,
        recipe=PLAIN.name,
        answer=packed.found.answer,
        digest=packed.result.digest,
        answerable=-1,
        verdict="",
    )


def recorded_recall(log: list[Recorded]) -> RecallRecorded:
    event = log[-1].event
    assert isinstance(event, RecallRecorded)
    return event


def test_a_decision_of_the_first_recipe_is_reproduced() -> None:
    log = recorded_log()
    now = recorded_recall(log)
    then = by_the_plain_recipe(log, now)
    assert (then.recipe, then.digest == now.digest) == ("recall-1", False)
    replayed = rewritten(log, then).replay(f"d{log[-1].version}")
    assert (replayed.outcome, replayed.recombines) == ("reproduced", True)


def test_a_decision_with_another_recipe_name_differs() -> None:
    log = recorded_log()
    replayed = rewritten(log, evolve(recorded_recall(log), recipe="recall-1")).replay(
        f"d{log[-1].version}"
    )
    assert replayed.outcome == "differs"
