"""A recall ranks and returns the same blocks as the plain reference, now and at any version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import Refused
from mnemic.kernel.events import SIGNALS, BlocksPromoted, Exploration
from mnemic.kernel.model.filters import Where
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.tokens import EstimatedTokens
from mnemic.kernel.model.vectors import Vector, quantise
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.questions.aggregates import aggregate
from mnemic.projections.lexical.analysis import terms
from mnemic.projections.lexical.languages import words
from mnemic.projections.retrieval.abstention import HEADINGS, Judgment
from mnemic.projections.retrieval.filters import Eligibility
from mnemic.projections.retrieval.lines import lines
from mnemic.projections.retrieval.packing import (
    Limits,
    pack,
    select,
)
from mnemic.projections.retrieval.ranking import (
    NOT_COMPUTED,
    Inquiry,
    Ranking,
    rank,
)
from mnemic.projections.retrieval.recipes import recipe
from mnemic.projections.view import View, as_of
from mnemic.specs.reference.fold import PlainState, fold
from mnemic.specs.reference.recall import (
    Asked,
    PlainScored,
    expected_choice,
    expected_judgment,
    expected_ranking,
    expected_turns,
)
from mnemic.specs.reference.relevance import Question, rarities
from mnemic.specs.reference.threads import everything_said
from mnemic.specs.strategies import commands
from tests.agreement.agents import Agent
from tests.agreement.conversations import Ask, Say, histories, questions
from tests.agreement.log_checker import read

EMBEDDER = HashEmbedder(8)
COUNTER = EstimatedTokens()
DATED = evolve(DEFAULT, name="dated", relevance_recency_clock="created", rarity_trust=3)
SPARING = evolve(
    DEFAULT,
    name="sparing",
    candidates=2,
    expansions=2,
    runners_up=1,
    relevance_rank=2,
    relevance_floor=0.05,
    relevance_width=0.1,
    edge_threshold=0.9,
    near_duplicate=0.99,
    near_duplicate_noted=0.6,
    degree_cap=3,
    top_k=3,
    relevance_recency=0.3,
)
"""Few candidates, so that edges add others, and a gentle curve, so that relevance differs."""

Step = Say | commands.Command


class Talk:
    """A memory in which a conversation takes place."""

    def __init__(self, policy: str) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore()
        self.agent = Agent(
            "ann",
            self.store,
            embedder=EMBEDDER,
            clock=self.clock,
            policy={"sparing": SPARING, "dated": DATED, "mnemic-1": DEFAULT}[policy],
        )
        self.agent.memory.start_session()

    def play(self, steps: Sequence[Step]) -> None:
        """Play all steps; refused ones are skipped."""
        for step in steps:
            try:
                self._take(step)
            except Refused:
                continue

    def _take(self, step: Step) -> None:
        if isinstance(step, Say):
            self.clock.advance(minutes=1)
            self.agent.memory.learn(**step.given())
            return
        blocks = fold(read(self.store.log("default"))).order
        call = self.agent.call(step, blocks, [])
        if call is not None:
            call(f"c{self.agent.space.state.version}")

    def now(self) -> tuple[View, PlainState]:
        """Return the live view, and the reference at the same point."""
        self.agent.space.snapshot()
        return self.agent.space.view(), fold(read(self.store.log("default")))

    def then(self, version: int) -> tuple[View, PlainState]:
        """Return the view as of a version of the whole log, and the log folded so far."""
        self.agent.space.snapshot()
        cut = fold(read(self.store.log("default"))[: version + 1])
        return as_of(self.agent.space.state, version), cut


def stored(query: str | None) -> Vector | None:
    if query is None:
        return None
    return quantise(EMBEDDER.embed([query])[0], dimension=EMBEDDER.identity.dimension)


def ranked_by_columns(view: View, ask: Ask) -> tuple[Inquiry, Ranking]:
    eligibility = Eligibility(frame=view.policy.frame(ask.frame), where=Where.parse(ask.where))
    vector = None if view.embedder is None else stored(ask.query)
    inquiry = Inquiry(
        query=ask.query,
        vector=vector,
        eligibility=eligibility,
        recipe=recipe(ask.recipe),
        asked_by=ask.asked_by,
    )
    return inquiry, rank(view, inquiry)


def state_of_columns(view: View, inquiry: Inquiry, ranking: Ranking) -> list[dict[str, Any]]:
    rows = [ranking.row(place) for place in range(len(ranking))]
    names = (*SIGNALS, *inquiry.recipe.parts)
    return [
        {
            "block": view.id(row.block),
            "score": row.score,
            "via": view.id(row.via) if row.via >= 0 else None,
            "guaranteed": row.block in ranking.guaranteed,
            **dict(zip(names, row.signals, strict=True)),
        }
        for row in rows
    ]


def others(text: str) -> list[str]:
    """Return the terms that *text* has in its language."""
    return words.analysed(text).others


def asked_of_reference(view: View, plain: PlainState, ask: Ask) -> Asked:
    vector = None if plain.embedder is None else stored(ask.query)
    return Asked(
        question=None
        if ask.query is None
        else Question(
            words=ask.query,
            vector=None if vector is None else tuple(vector.tolist()),
            analyse=terms,
            others=others,
            asked=words.asked,
            language=words.language,
            asked_by=ask.asked_by,
        ),
        frame=plain.policy.frame(ask.frame),
        where=ask.where,
        recipe=ask.recipe,
        active_us=view.point.active_us,
        instant_us=view.point.instant_us,
    )


def state_of_reference(ranking: list[PlainScored]) -> list[dict[str, Any]]:
    return [
        {
            "block": row.block,
            "score": row.score,
            "via": row.via,
            "guaranteed": row.guaranteed,
            **{
                name: NOT_COMPUTED if value is None else value
                for name, value in {**row.signals, **row.parts}.items()
            },
        }
        for row in ranking
    ]


def costs(view: View, inquiry: Inquiry, ranking: Ranking) -> Callable[[BlockId], int]:
    """Return the tokens of the line of a block."""
    _, line = lines(view, inquiry.recipe, ranking.passage)
    by_block = {
        view.id(number): COUNTER.count(f"{line(number)}\n") for number in ranking.numbers.tolist()
    }
    return by_block.__getitem__


def agree(view: View, plain: PlainState, ask: Ask) -> None:
    """Query both, and compare whole rankings and the answers packed from them."""
    inquiry, ranking = ranked_by_columns(view, ask)
    asked = asked_of_reference(view, plain, ask)
    expected = expected_ranking(plain, asked)
    turns = expected_turns(plain, asked)
    assert state_of_columns(view, inquiry, ranking) == state_of_reference(expected)
    budget = inquiry.frame.token_budget if ask.budget is None else ask.budget
    answerable, verdict = expected_judgment(plain, expected) if ask.query else (-1, "")
    if not inquiry.recipe.graded:
        answerable, verdict = -1, ""
    is_aggregate = inquiry.recipe.graded and aggregate(ask.query or "") is not None
    cost = costs(view, inquiry, ranking)
    for drawn in (0, 1, 3):
        # As if twenty could stand in the last place, and chance had named one of them.
        luck = Exploration(rate=NANO, pool=20, drawn=drawn)
        limits = Limits(
            top_k=ask.top_k,
            token_budget=budget,
            counter=COUNTER,
            explored=luck,
            floor=ask.floor,
            min_probability=ask.min_probability,
            is_aggregate=is_aggregate,
        )
        packed = pack(view, inquiry, ranking, limits)
        choice = expected_choice(
            plain,
            expected,
            turns,
            top_k=ask.top_k,
            budget=budget - COUNTER.count(f"{HEADINGS[verdict]}\n"),
            cost=cost,
            drawn=drawn,
            floor=ask.floor,
            min_probability=ask.min_probability,
            is_aggregate=is_aggregate,
        )
        scored = [
            (each.id, each.reason) for each in packed.result.dropped if each.score is not None
        ]
        assert (list(packed.result.block_ids), scored) == (choice.chosen, choice.dropped)
        found = packed.found
        assert (found.answerable, found.verdict) == (answerable, verdict)
        selected = (found.answer, Judgment(answerable, verdict))
        assert select(view, inquiry, ranking, limits) == selected
        assert (0 if found.explored is None else found.explored.pool) == len(choice.pool)


ASKED = st.lists(questions(), min_size=3, max_size=6)
POLICIES = st.sampled_from(("sparing", "sparing", "dated", "mnemic-1"))


@settings(max_examples=settings().max_examples * 2)
@given(policy=POLICIES, steps=histories(), asked=ASKED)
def test_a_recall_ranks_and_returns_the_same_as_the_reference(
    policy: str, steps: list[Step], asked: list[Ask]
) -> None:
    talk = Talk(policy)
    talk.play(steps)
    view, plain = talk.now()
    for ask in asked:
        agree(view, plain, ask)


@given(steps=histories())
def test_a_promotion_records_the_rarity_that_the_text_had_when_it_was_learned(
    steps: list[Step],
) -> None:
    talk = Talk("sparing")
    talk.play([step for step in steps if not isinstance(step, commands.Erase)])
    talk.agent.memory.consolidate()
    log = read(talk.store.log("default"))
    promoted = 0
    for recorded in log:
        if isinstance(recorded.event, BlocksPromoted):
            said = everything_said(fold(log[: recorded.version]), terms)
            last = {text.block: text.number for text in said}
            unusual = rarities(said)
            for promotion in recorded.event.promotions:
                assert promotion.rarity == unusual[last[promotion.block_id]]
                promoted += 1
    assert promoted or not any(isinstance(step, Say) for step in steps)


@given(
    policy=POLICIES,
    steps=histories(),
    asked=ASKED,
    shares=st.lists(st.floats(min_value=0.0, max_value=1.0), min_size=3, max_size=3),
)
def test_as_of_a_version_it_matches_the_reference_on_the_log_prefix(
    policy: str, steps: list[Step], asked: list[Ask], shares: list[float]
) -> None:
    talk = Talk(policy)
    talk.play(steps)
    last = talk.agent.space.state.version
    for share in shares:
        view, plain = talk.then(round(share * last))
        for ask in asked:
            agree(view, plain, ask)
