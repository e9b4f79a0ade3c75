"""Mode ``classic``: the fast columns and the plain definition find the same pairs, now and then."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import BatchRefused
from mnemic.kernel.model.compositions import CONSUMES, LABELS
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.projections.frontier.classic import candidates as classic
from mnemic.projections.frontier.classic.overlaps import RARE_MAX, shared_words
from mnemic.projections.retrieval.retention import retrievability
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from mnemic.projections.view import View, as_of
from mnemic.specs.reference.classic import expected_classic
from mnemic.specs.reference.fold import PlainState
from tests.agreement.log_checker import read

WORDS = "oracle queues SETTLE fee_split v2-42x drift there which é".split()
TAGS = ("project:x", "project", "projectile", "boundary-a", "Oracle", "scope", "plain")
DATES = (None, None, "unknown", "2025-01-01", "2026-06-01")
PLACES = st.integers(min_value=0, max_value=11)

lessons = st.lists(
    st.fixed_dictionaries(
        {
            "words": st.lists(st.sampled_from(WORDS), min_size=1, max_size=9),
            "tags": st.lists(st.sampled_from(TAGS), max_size=3, unique=True),
            "category": st.sampled_from(("knowledge", "fact")),
            "created_at": st.sampled_from(DATES),
            "expires_at": st.sampled_from((None, None, None, "2026-01-02")),
        }
    ),
    min_size=2,
    max_size=12,
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("compose"), st.lists(PLACES, min_size=1, max_size=3, unique=True)),
        st.tuples(st.just("label"), st.tuples(PLACES, st.sampled_from(LABELS))),
        st.tuples(st.just("forget"), PLACES),
        st.tuples(st.just("outcome"), st.tuples(PLACES, st.sampled_from((0.0, 1.0)))),
        st.tuples(st.just("wait"), st.integers(min_value=1, max_value=72)),
    ),
    max_size=12,
)


def learned(memory: SyncMemory, given_lessons: list[dict[str, Any]]) -> list[str]:
    """Learn and promote the drawn lessons, with distinct texts, and return the ids."""
    ids: list[str] = []
    for place, lesson in enumerate(given_lessons):
        more = {name: value for name, value in lesson.items() if name != "words"}
        ids.append(memory.learn(" ".join([*lesson["words"], f"n{place}"]), **more).block_id)
    memory.consolidate()
    return ids


def play(memory: SyncMemory, clock: ManualClock, ids: list[str], step: tuple[str, Any]) -> None:
    """Play one step; indices are modulo the number of blocks."""
    operation, what = step
    match operation:
        case "compose":
            members = dict.fromkeys(ids[place % len(ids)] for place in what)
            memory.compose(list(members), consume=CONSUMES[len(members) % len(CONSUMES)])
        case "label":
            composed = memory.ledger(limit=1000)
            if composed:
                memory.label(composed[what[0] % len(composed)].id, what[1])
        case "forget":
            memory.forget(ids[what % len(ids)], "so")
        case "outcome":
            with suppress(BatchRefused):
                memory.outcome([ids[what[0] % len(ids)]], what[1])
        case _:
            clock.advance(hours=what)


def state_of_columns(view: View, wanted: tuple[str, ...]) -> list[dict[str, Any]]:
    return [
        {
            "first": pair.first_id,
            "second": pair.second_id,
            "score": round(pair.score * NANO),
            "bridge": round(pair.bridge_score * NANO),
            "trust": round(pair.trust_score * NANO),
            "novelty": round(pair.novelty_score * NANO),
            "adjustment": round(pair.outcome_score_adjustment * NANO),
        }
        for pair in classic.candidates(view, tags=wanted, limit=1000)
    ]


def state_of_reference(
    view: View, plain: PlainState, wanted: tuple[str, ...]
) -> list[dict[str, Any]]:
    numbers = view.known()
    left = retrievability(view, numbers).tolist()
    retention = dict(zip(map(view.id, numbers.tolist()), left, strict=True))
    found = expected_classic(
        plain, retention=retention, instant_us=view.point.instant_us, wanted=wanted
    )
    names = ("score", "bridge", "trust", "novelty", "adjustment")
    return [{**pair, **{name: int(pair[name] * NANO) for name in names}} for pair in found]


@given(
    lessons=lessons,
    steps=steps,
    wanted=st.sampled_from(((), ("project",), ("project:x", "plain"), ("nobody",))),
    share=st.floats(min_value=0.0, max_value=1.0),
)
def test_columns_and_the_definition_find_the_same_pairs(
    lessons: list[dict[str, Any]], steps: list[Any], wanted: tuple[str, ...], share: float
) -> None:
    store, clock = MemoryStore(), ManualClock()
    with SyncMemory.open(
        store, embedder=HashEmbedder(16), clock=clock, entropy=SeededEntropy("classic")
    ) as memory:
        with memory.session():
            ids = learned(memory, lessons)
            for step in steps:
                play(memory, clock, ids, step)
        events = read(store.log("default"))
    version = round(share * (len(events) - 1))
    whole, plain = rebuild(State(), events), PlainState()
    for recorded in events[: version + 1]:
        plain.apply(recorded)
    view = as_of(whole, version)
    assert state_of_columns(view, wanted) == state_of_reference(view, plain, wanted)
    short = as_of(rebuild(State(), events[: version + 1]), version)
    assert classic.candidates(view, tags=wanted, limit=3) == classic.candidates(
        short, tags=wanted, limit=3
    )


def test_equal_scores_are_ordered_by_the_ids_of_first_and_second() -> None:
    with SyncMemory.open(":memory:", embedder=HashEmbedder(), clock=ManualClock()) as memory:
        for place in range(40):
            memory.learn(f"n{place}", tags=["same"])
        memory.consolidate()
        found = memory.composed_graph("never_composed", limit=100)["candidates"]
    order = [(-pair["score"], pair["firstId"], pair["secondId"]) for pair in found]
    assert len(order) == 100
    assert order == sorted(order)
    assert len({score for score, _, _ in order}) < 100


def test_shared_words_are_counted_alike_for_any_number_of_blocks() -> None:
    bags = [
        {f"often {place % 2}", f"seldom {place // 3}", f"once {place}"}
        for place in range(3 * RARE_MAX)
    ]
    counted = np.triu(shared_words(bags), k=1)
    plain = np.triu([[len(one & other) for other in bags] for one in bags], k=1)
    assert (counted == plain).all()
