"""Metamorphic laws: relations between answers that hold whatever the answers are.

A law needs no oracle. It says that two histories lead to the same state, or that a step changes
nothing, and random histories search for a counterexample. Some laws are checked at every step of a
larger machine too: replay and truncation in `test_random_histories`, repetition in
`test_command_ids`.

"The same state" is the whole of `snapshots.state_of_view`: blocks, edges, staging, all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import permutations
from typing import Any

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import Refused
from mnemic.kernel.events import SIGNALS
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.policy import DEFAULT, FRAMES, Policy
from mnemic.kernel.ports import Embedder
from mnemic.kernel.results import RecallResult
from mnemic.kernel.scoring.signals import composite
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from mnemic.projections.view import as_of, live
from mnemic.specs.strategies import commands, episodes
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.agreement.agents import TIGHT, Agent, Command
from tests.agreement.log_checker import read
from tests.agreement.prefixes import answers_by_interface, cut
from tests.agreement.snapshots import StateDict, state_of_view

WAITING = evolve(TIGHT, name="waiting", consolidate_chunk=128)
"""Blocks are promoted only on request, in one chunk; time can pass in great steps."""
ROOMY = evolve(
    DEFAULT,
    name="roomy",
    degree_cap=1000,
    edge_candidates=1000,
    candidates=1000,
    expansions=1000,
)
"""No limit is ever reached, so that no choice depends on an id."""
SHARES = st.floats(min_value=0.0, max_value=1.0)
HISTORIES = st.one_of(commands.histories(max_size=15), episodes.eventful_histories(most=2))


class World:
    """One memory, the history played on it, and its state."""

    def __init__(
        self, policy: Policy = WAITING, *, embedder: Embedder | None = None, salt: str = "ann"
    ) -> None:
        self.clock, self.store = ManualClock(), MemoryStore()
        self.agent = Agent(
            salt,
            self.store,
            embedder=embedder or PlaneEmbedder(),
            clock=self.clock,
            policy=policy,
        )
        self.log = self.store.log("default")

    @property
    def memory(self) -> SyncMemory:
        memory: SyncMemory = self.agent.memory
        return memory

    @property
    def ids(self) -> list[str]:
        return list(self.agent.space.state.catalogue.ids)

    def play(self, history: Iterable[Command]) -> World:
        """Play a history; refused commands are skipped, and change nothing."""
        for command in history:
            call = self.agent.call(command, self.ids, [])
            if call is None:
                continue
            before = self.log.head(), self.now()
            try:
                call(f"c{self.log.head().version}")
            except Refused:
                assert (self.log.head(), self.now()) == before
        return self

    def now(self) -> StateDict:
        """Return the whole state, as of the last event."""
        space = self.agent.space
        space.snapshot()
        return state_of_view(live(space.state, active_us=0, instant_us=0))

    def then(self, share: float) -> int:
        """Return the version at a share of the log."""
        return round(share * self.log.head().version)


# --- what two states have in common --------------------------------------------------------------


def without(result: StateDict, *names: str) -> StateDict:
    return {name: value for name, value in result.items() if name not in names}


def undated(result: StateDict, *dates: str) -> StateDict:
    """Return a state without its version numbers, and without some dates of its blocks."""
    blocks = {
        block: {
            **without(facts, "learned_version", "said_version", *dates),
            "reviews": [review[1:] for review in facts["reviews"]],
        }
        for block, facts in result["blocks"].items()
    }
    return {**without(result, "version"), "blocks": blocks}


def unnumbered(result: StateDict) -> StateDict:
    """Return a state, undated, without the numbers of blocks, too."""
    dated = undated(result)
    blocks = {block: without(facts, "number") for block, facts in dated["blocks"].items()}
    listed = {name: sorted(result[name]) for name in ("order", "inbox")}
    return {**dated, **listed, "blocks": blocks}


def undirected(result: StateDict) -> StateDict:
    """Return a state, undated, in which automatic edges have no direction."""
    edges = {
        ends: edge if edge["origin"] == "agent" else without(edge, "source", "target")
        for ends, edge in result["edges"].items()
    }
    return {**undated(result), "edges": edges}


# --- one log, several ways to read it -----------------------------------------------------------


@given(history=HISTORIES)
def test_replaying_the_log_gives_the_live_state(history: list[Command]) -> None:
    world = World().play(history)
    replayed = rebuild(State(), read(world.log))
    assert state_of_view(live(replayed, active_us=0, instant_us=0)) == world.now()


@given(history=HISTORIES, share=SHARES)
def test_as_of_a_version_is_the_log_cut_there(history: list[Command], share: float) -> None:
    world = World().play(history)
    version = world.then(share)
    truncated = rebuild(State(), read(cut(world.log, version).log("default")))
    viewed = as_of(world.agent.space.state, version)
    assert state_of_view(viewed) == state_of_view(live(truncated, active_us=0, instant_us=0))


@given(history=HISTORIES, later=HISTORIES, share=SHARES)
def test_later_events_change_no_earlier_answer(
    history: list[Command], later: list[Command], share: float
) -> None:
    """Except for erasure, whose purpose it is."""
    world = World().play(history)
    version = world.then(share)
    known = state_of_view(as_of(world.agent.space.state, version))["order"]
    before = answers_by_interface(world.memory.as_of(version=version), known, wordless=False)
    world.play(step for step in later if not isinstance(step, commands.Erase))
    assert (
        answers_by_interface(world.memory.as_of(version=version), known, wordless=False) == before
    )


# --- commands that do not meet ------------------------------------------------------------------


PAIRS = 4
RELATIONS = st.sampled_from((None, "similar", "supports", "reminds me of"))
SIGNALS_OF_OUTCOMES = st.sampled_from((0.0, 0.5, 0.9))


def on_a_pair(a: int) -> st.SearchStrategy[Command]:
    """Draw a command on two blocks of its own that neither learns nor promotes one."""
    b = a + 1
    return st.one_of(
        st.builds(
            commands.Connect,
            source=st.just(a),
            target=st.just(b),
            relation=RELATIONS,
            weight=st.sampled_from((None, 0.2, 1.0)),
            if_exists=st.sampled_from(("reinforce", "update", "skip")),
        ),
        st.just(commands.Disconnect(source=b, target=a)),
        st.builds(commands.Outcome, blocks=st.just((a, b)), signal=SIGNALS_OF_OUTCOMES),
        st.just(commands.Forget(block=a)),
    )


@given(
    steps=st.tuples(*(on_a_pair(2 * place) for place in range(PAIRS))),
    before=st.tuples(*(on_a_pair(2 * place) for place in range(PAIRS))),
    order=st.permutations(range(PAIRS)),
)
def test_independent_commands_commute(
    steps: Sequence[Command], before: Sequence[Command], order: list[int]
) -> None:
    """Independent: on blocks that no other command touches, at one hour, and no limit is near.

    Learning is not: the first block has the lower number.
    """
    lessons = [commands.Learn(content=f"angle {400 * place}: x") for place in range(2 * PAIRS)]
    begun = [*lessons, commands.Consolidate(), *before]
    one = World(ROOMY).play([*begun, *steps])
    other = World(ROOMY).play([*begun, *(steps[place] for place in order)])
    assert undated(one.now()) == undated(other.now())


@given(
    lessons=st.lists(
        commands.lessons().filter(lambda lesson: lesson.category != "message"),
        min_size=3,
        max_size=3,
    )
)
def test_the_order_of_learning_affects_only_numbers(lessons: list[commands.Learn]) -> None:
    """For distinct texts that wait in the inbox; a message is its place in the order as well."""
    states = [unnumbered(World().play(order).now()) for order in permutations(lessons)]
    if len({lesson.content for lesson in lessons}) == len(states[0]["blocks"]) == len(lessons):
        assert all(state == states[0] for state in states)


# --- doing it twice, or piece by piece ----------------------------------------------------------


@given(history=HISTORIES)
def test_curating_twice_is_curating_once(history: list[Command]) -> None:
    world = World().play([*history, commands.MoveClock(by_us=300 * 3_600_000_000)])
    world.memory.curate()
    before = world.log.head(), world.now()
    assert "othing" in world.memory.curate().summary
    assert (world.log.head(), world.now()) == before


@given(history=HISTORIES, lesson=commands.lessons())
def test_learning_again_changes_only_when_a_text_was_said(
    history: list[Command], lesson: commands.Learn
) -> None:
    """A message is another one each time."""
    world = World().play([*history, lesson])
    head, before = world.log.head(), world.now()
    world.play([commands.MoveClock(by_us=1_000_000), lesson])
    after = world.now()
    if lesson.category == "message":
        assert len(after["blocks"]) == len(before["blocks"]) + 1
    elif world.log.head() == head:
        assert after == before
    else:
        # The period of a lesson of these histories is relative to the clock.
        dates = "created_at_us", "valid_from_us", "valid_until_us"
        assert undated(after, *dates) == undated(before, *dates)
        (again,) = (
            block
            for block, facts in after["blocks"].items()
            if facts["said_version"] == world.log.head().version
        )
        moved = [each["blocks"][again]["created_at_us"] for each in (before, after)]
        assert moved == sorted({*moved})


READABLE = commands.lessons().filter(lambda lesson: "🧠" not in lesson.content)
"""The analyst of the agents gives up at the others, and with them at their whole chunk."""


@given(lessons=st.lists(READABLE, min_size=2, max_size=8))
def test_consolidating_one_by_one_is_consolidating_at_once(lessons: list[commands.Learn]) -> None:
    """As long as no block reaches the degree cap; the direction of edges may differ."""
    one, other = World(ROOMY).play(lessons), World(ROOMY).play(lessons)
    one.memory.consolidate()
    while other.memory.consolidate(1).promoted:
        pass
    assert undirected(one.now()) == undirected(other.now())


@given(history=HISTORIES, asked=st.sampled_from((None, "angle 318: one", "alpha")))
def test_a_recall_that_is_not_recorded_changes_nothing(
    history: list[Command], asked: str | None
) -> None:
    world = World().play([*history, commands.Consolidate()])
    before = world.log.head(), world.now()
    answer = world.memory.recall(asked, record=False)
    again = world.memory.recall(asked, record=False)
    assert (world.log.head(), world.now(), again) == (*before, answer)


# --- scores and ranks ---------------------------------------------------------------------------

WEIGHTS = st.lists(st.integers(0, NANO), min_size=7, max_size=7)
VALUES = st.lists(
    st.one_of(st.sampled_from((0, 1, NANO)), st.integers(0, NANO)), min_size=7, max_size=7
)


@given(weights=WEIGHTS, factor=st.integers(1, 1000), one=VALUES, other=VALUES)
def test_scaling_all_weights_keeps_the_order(
    weights: list[int], factor: int, one: list[int], other: list[int]
) -> None:
    """No pair is ever inverted; two that rounding made equal may become different."""
    scaled = [factor * weight for weight in weights]
    before = composite(weights, one) - composite(weights, other)
    after = composite(scaled, one) - composite(scaled, other)
    assert before * after >= 0
    assert before == 0 or after != 0


@given(frame=st.sampled_from(FRAMES), one=VALUES, other=VALUES)
def test_without_a_question_the_order_is_that_of_the_other_signals(
    frame: Any, one: list[int], other: list[int]
) -> None:
    """Dropping relevance and scaling the rest to 1 is scaling: up to the rounding of weights."""
    asked, unasked = frame.weights(), frame.weights(asked=False)
    one[0] = other[0] = 0
    before = composite(asked, one) - composite(asked, other)
    after = composite(unasked, one) - composite(unasked, other)
    assert before * after >= 0 or max(abs(before), abs(after)) <= len(SIGNALS)


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TALK = "bees honey hive bloom garden wax queen drone smoke frame".split()
SENTENCES = st.lists(st.sampled_from(TALK), min_size=1, max_size=5).map(" ".join)
MESSAGES = st.lists(SENTENCES, min_size=2, max_size=10, unique=True)


def talked(messages: Sequence[str], *, salt: str = "ann", apart: bool = False) -> World:
    """Return a world with *messages*, learned one after the other.

    Args:
        messages: Contents; messages, so that none supersedes another.
        salt: Seed of the ids.
        apart: Whether each message is in a thread of its own, and no edges form.
    """
    policy = evolve(ROOMY, edge_threshold=1.0) if apart else ROOMY
    world = World(policy, embedder=HashEmbedder(32), salt=salt)
    for place, message in enumerate(messages):
        thread = f"t{place}" if apart else None
        world.memory.learn(message, category="message", thread=thread)
        world.clock.advance(minutes=1)
    world.memory.consolidate()
    return world


def asked(world: World, query: str) -> RecallResult:
    """Return an answer with every block in it, at noon."""
    world.clock.set(NOON)
    return world.memory.recall(query, top_k=1000, token_budget=100_000, record=False)


@settings(max_examples=settings().max_examples // 2)
@given(messages=MESSAGES, query=SENTENCES)
def test_other_ids_give_the_same_scores(messages: list[str], query: str) -> None:
    """As long as no limit falls inside a tie, which only ids could break."""
    one, other = (asked(talked(messages, salt=salt), query) for salt in ("ann", "ben"))
    assert not {*one.block_ids} & {*other.block_ids}
    scores = [
        {block.content: (block.composite_score, block.relevance_parts) for block in answer.blocks}
        for answer in (one, other)
    ]
    assert scores[0] == scores[1]


@settings(max_examples=settings().max_examples // 2)
@given(messages=MESSAGES, query=SENTENCES, stranger=st.sampled_from(("osmium", "the of and", "ß")))
def test_an_unrelated_block_affects_others_only_by_document_frequencies(
    messages: list[str], query: str, stranger: str
) -> None:
    """An unrelated block shares no word, thread, author, edge or date with any other.

    What the words of a question are worth hangs on how many blocks there are; all other evidence
    for a block stays as it was to the last nano-unit, and so do the other signals.
    """
    alone = asked(talked(messages, apart=True), query)
    joined = asked(talked([*messages, stranger], apart=True), query)
    result = {block.content: _evidence(block) for block in joined.blocks}
    assert {**result, **{block.content: _evidence(block) for block in alone.blocks}} == result


@settings(max_examples=settings().max_examples // 2)
@given(messages=MESSAGES, stranger=st.sampled_from(("osmium", "the of and", "ß")))
def test_an_unrelated_block_changes_no_order_without_words(
    messages: list[str], stranger: str
) -> None:
    """Relevance depends on the other candidates, but never so much as to invert a pair."""
    query = "zirconium xenon"
    alone = asked(talked(messages, apart=True), query)
    joined = asked(talked([*messages, stranger], apart=True), query)
    ranks = {block.content: block.relevance_score for block in joined.blocks}
    for first in alone.blocks:
        for second in alone.blocks:
            if first.relevance_score > second.relevance_score:
                assert ranks[first.content] >= ranks[second.content]


def _evidence(block: Any) -> dict[str, float]:
    """Return what is known of a block but for words and what hangs on them."""
    parts = {each.signal: each.value for each in block.relevance_parts}
    kept = {name: parts[name] for name in ("cosine", "author", "date", "rarity", "freshness")}
    signals = {each.signal: each.value for each in block.contributions}
    return {**signals, **kept, "relevance": 0.0}
