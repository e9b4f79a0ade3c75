"""Blocks of lower zones take at most their share of places, and affect no other score.

Texts that are learned after the trusted ones, in any thread, with any tags, near-duplicates and
edges included. docs/threats.md says what is not covered: words that were learned before
a trusted text make its own less rare.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.errors import Refused
from mnemic.kernel.events import AnswerRow
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.policy import LEGACY
from mnemic.projections.retrieval.packing import Limits, pack
from mnemic.projections.retrieval.ranking import Ranking
from mnemic.projections.retrieval.recipes.exact_scoring import WHOLE
from mnemic.projections.view import View, as_of
from tests.agreement.conversations import Ask, Say, questions, turns
from tests.agreement.test_recall_against_reference import COUNTER, Talk, ranked_by_columns

BELOW = ("imported", "external", "untrusted", "elsewhere", "quarantined")
FEW = 5
UNLIKE = "early late never slowly wide again twice north south inward loudly once".split()
TRUSTED = st.lists(turns().map(lambda say: evolve(say, zone="trusted")), min_size=3, max_size=9)
FLOOD = st.lists(
    st.builds(lambda say, zone: evolve(say, zone=zone), turns(), st.sampled_from(BELOW)),
    min_size=1,
    max_size=12,
)
ENDS = st.tuples(
    st.integers(0, 11),
    st.integers(0, 11),
    st.sampled_from((None, "supports", "contradicts", "similar")),
)


def flooded(
    trusted: list[Say], flood: list[Say], ties: list[Any], *, policy: str = "sparing"
) -> tuple[Talk, View, View]:
    """Return views of one time: without the flood, and with it."""
    talk = Talk(policy)
    talk.play(trusted)
    memory = talk.agent.memory
    memory.consolidate()
    above = [block.id for block in memory.blocks(status="active").items]
    before = talk.agent.space.state.version
    talk.play(flood)
    memory.consolidate()
    below = [block.id for block in memory.blocks(status="active").items if block.id not in above]
    for source, target, relation in ties if below else ():
        try:
            memory.connect(
                below[source % len(below)], [*above, *below][target % len(above)], relation
            )
        except Refused:
            continue
    state = talk.agent.space.state
    moment = {
        "active_us": int(state.timeline.active_us.values[state.version]),
        "instant_us": int(state.timeline.recorded_us.values[state.version]),
    }
    return talk, as_of(state, before, **moment), as_of(state, state.version, **moment)


def rows(ranking: Ranking) -> list[AnswerRow]:
    """Return the fully trusted blocks, best first, with every signal."""
    return [
        ranking.row(place) for place, share in enumerate(ranking.shares.tolist()) if share == NANO
    ]


@given(
    trusted=TRUSTED,
    flood=FLOOD,
    ties=st.lists(ENDS, max_size=8),
    asked=st.lists(questions(), min_size=2, max_size=4),
)
def test_a_flood_of_lower_zones_changes_no_trusted_score_by_a_nano_unit(
    trusted: list[Say], flood: list[Say], ties: list[Any], asked: list[Ask]
) -> None:
    _, before, after = flooded(trusted, flood, ties)
    for ask in asked:
        alone = ranked_by_columns(before, ask)[1]
        inquiry, among = ranked_by_columns(after, ask)
        assert rows(among) == rows(alone)
        places = ask.top_k if ask.top_k is not None else FEW
        limits = Limits(top_k=places, token_budget=10**6, counter=COUNTER)
        chosen = [row.block for row in pack(after, inquiry, among, limits).found.answer.rows]
        free = alone.numbers[alone.order()].tolist()
        ours = {*chosen} & {*free}
        assert ours == {*free[: len(ours)]}
        assert len(chosen) - len(ours) <= max(places * 4 // 5, places - len(free))


def test_a_flood_changes_no_trusted_score_when_candidates_are_pruned() -> None:
    chance = Random("flood")  # noqa: S311 - the same in every run
    said = [f"{n} {' '.join(chance.sample(UNLIKE, 4))}" for n in range(2 * WHOLE)]
    trusted = [Say(content=f"the gate {text}", zone="trusted") for text in said[: WHOLE + 50]]
    flood = [Say(content=f"gate opens {text}", zone="untrusted") for text in said[WHOLE + 50 :]]
    _, before, after = flooded(trusted, flood, [(n, n, "supports") for n in range(8)])
    for query in ("the gate opens twice", "north wide", "slowly inward early"):
        alone = ranked_by_columns(before, Ask(query=query))[1]
        among = ranked_by_columns(after, Ask(query=query))[1]
        assert rows(among) == rows(alone)
        assert rows(alone)


OF_ZONES = ("zone_places", "zone_discounted", "privilege_from", "zones_apart")


@given(trusted=TRUSTED, asked=st.lists(questions(), min_size=2, max_size=4))
def test_zones_have_no_effect_when_all_blocks_are_trusted(
    trusted: list[Say], asked: list[Ask]
) -> None:
    talk = Talk("sparing")
    talk.play(trusted)
    talk.agent.memory.consolidate()
    view, _ = talk.now()
    before = view.under(evolve(view.policy, **{name: LEGACY[name] for name in OF_ZONES}))
    for ask in asked:
        inquiry, ranking = ranked_by_columns(view, ask)
        earlier, then = ranked_by_columns(before, ask)
        assert rows(ranking) == rows(then)
        limits = Limits(top_k=ask.top_k, token_budget=ask.budget or 1000, counter=COUNTER)
        assert pack(view, inquiry, ranking, limits).found.answer == (
            pack(before, earlier, then, limits).found.answer
        )


@pytest.mark.parametrize("places", [1, 2, 3, 5])
def test_untrusted_blocks_get_two_places_of_five(places: int) -> None:
    trusted = [Say(content=f"the gate opens {word} {word}", zone="trusted") for word in UNLIKE]
    flood = [Say(content=f"gate opens gate opens {n}", zone="untrusted") for n in range(30)]
    _, _, after = flooded(trusted, flood, [], policy="mnemic-1")
    inquiry, ranking = ranked_by_columns(after, Ask(query="gate opens"))
    limits = Limits(top_k=places, token_budget=10**6, counter=COUNTER)
    zones = [
        after.zone(row.block) for row in pack(after, inquiry, ranking, limits).found.answer.rows
    ]
    assert (len(zones), zones.count("untrusted")) == (places, places * 2 // 5)
