"""Random histories through an interface: columns equal the reference at every version."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
from attrs import frozen
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import CommandIdReused, Refused
from mnemic.kernel.events import RecallRecorded
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.ports import Embedder, Store
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from mnemic.projections.view import as_of, live
from mnemic.specs.strategies import clocks, commands, texts
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.agreement.agents import POLICIES, Agent, Call, Command, any_commands, date
from tests.agreement.log_checker import EFFECTS, LogChecker, read
from tests.agreement.prefixes import agree, answers_by_interface, cut, reader
from tests.agreement.snapshots import (
    clock_of_columns,
    clock_of_reference,
    envelopes_of_columns,
    state_of_reference,
    state_of_view,
)

pytestmark = pytest.mark.extended

EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "plane": PlaneEmbedder,
    "hash": lambda: HashEmbedder(8),
}
WHO = st.sampled_from((0, 0, 0, 1))
FEW = st.integers(min_value=0, max_value=5)
TIES = st.one_of(
    st.builds(
        commands.Connect,
        source=FEW,
        target=FEW,
        relation=st.sampled_from((None, *commands.RELATIONS)),
        weight=commands.edge_weights(),
    ),
    st.builds(
        commands.Outcome,
        blocks=st.lists(FEW, min_size=2, max_size=4).map(tuple),
        signal=st.sampled_from((0.0, 0.6, 1.0)),
    ),
)
"""Commands that connect a few blocks so densely that a low cap is reached."""
HOURS = st.sampled_from((20, 60, 120, 250)).map(lambda hours: hours * clocks.HOUR_US)
AGES = st.one_of(HOURS, clocks.steps())
QUESTIONS = st.builds(
    commands.Recall,
    query=st.one_of(st.none(), texts.contents()),
    frame=st.sampled_from(("attention", "self", "task", "short_term", "world")),
    top_k=st.sampled_from((None, 1, 3)),
)


CHANGES = ("gained", "lost", "changed")
"""Fields of a re-extraction and of its adoption."""


@frozen(kw_only=True)
class Done:
    """A command that wrote something, to be repeated."""

    id: str
    who: int
    """The agent, to which the id belongs."""
    call: Call
    result: Any
    erasures: int
    """Number of erasures by then."""


@frozen(kw_only=True)
class Kept:
    """The state of a view when it was taken, to be compared at the end."""

    tell: Callable[[], dict[str, Any]]
    told: dict[str, Any]
    erasures: int


class KernelAgainstReference(RuleBasedStateMachine):
    """Two agents write to one space; a checker folds their log into the plain reference."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.done: list[Done] = []
        self.kept: Kept | None = None
        self.asked = 0

    def store(self) -> Store:
        return MemoryStore()

    @initialize(
        policy=st.sampled_from(("mnemic-1", "tight", "tight")),
        model=st.sampled_from(sorted(EMBEDDERS)),
        first=st.lists(commands.lessons(), min_size=3, max_size=8),
    )
    def open(self, policy: str, model: str, first: list[commands.Learn]) -> None:
        self.opened = self.store()
        embedder, numbers = EMBEDDERS[model](), POLICIES[policy]
        self.agents = [
            Agent(name, self.opened, embedder=embedder, clock=self.clock, policy=numbers)
            for name in ("ann", "ben")
        ]
        self.log = self.opened.log("default")
        self.checker = LogChecker(self.log)
        self.checker.catch_up()
        learned = commands.LearnMany(lessons=tuple(first))
        self.play(0, [commands.StartSession(), learned, commands.Consolidate()])

    # --- what agents do -------------------------------------------------------------------------

    @rule(who=WHO, played=st.lists(any_commands(), min_size=1, max_size=6))
    def play(self, who: int, played: Sequence[Command]) -> None:
        for command in played:
            blocks, decisions = self.checker.plain.order, list(self.checker.seen)
            call = self.agents[who].call(command, blocks, decisions)
            if call is not None:
                self.run(who, call)

    @rule(who=WHO, ties=st.lists(TIES, min_size=2, max_size=6))
    def tie(self, who: int, ties: Sequence[Command]) -> None:
        self.play(who, ties)

    @rule(who=WHO, asked=st.lists(QUESTIONS, min_size=1, max_size=2))
    def ask(self, who: int, asked: Sequence[Command]) -> None:
        self.play(who, asked)

    @rule(who=WHO, visits=commands.visits())
    def come_back(self, who: int, visits: Sequence[Command]) -> None:
        self.play(who, visits)

    @rule(who=WHO, by_us=AGES)
    def age(self, who: int, by_us: int) -> None:
        self.play(who, [commands.MoveClock(by_us=by_us), commands.Curate()])

    @rule(model=st.sampled_from(sorted(EMBEDDERS)))
    def reembed(self, model: str) -> None:
        embedder = EMBEDDERS[model]()
        self.agents[0].memory.reembed(embedder)
        self.checker.catch_up()
        for agent in self.agents:
            agent.think_with(embedder)

    @rule(extractor=st.sampled_from(("none", "rules", "text-1")), dropped=st.booleans())
    def extract_again(self, extractor: str, dropped: bool) -> None:  # noqa: FBT001 - drawn
        memory, before = self.agents[0].memory, self.log.head()
        self.asked += 1
        shown = memory.re_extract(extractor, f"fork {self.asked}")
        assert self.log.head() == before
        if dropped:
            return
        adopted = memory.adopt_extraction(shown.space)
        assert [getattr(adopted, name) for name in CHANGES] == [
            getattr(shown, name) for name in CHANGES
        ]
        self.checker.catch_up()
        assert memory.adopt_extraction(shown.space).action == "nothing"

    def run(self, who: int, call: Call) -> None:
        """Run one command under an id of its own, and once more under the same id."""
        self.asked += 1
        name, before = f"c{self.asked}", self.log.head()
        try:
            result = call(name)
        except Refused:
            assert self.log.head() == before
            return
        self.checker.catch_up()
        if self.log.command(name) is None:  # nothing was written, or only what waited anyway
            return
        done = Done(id=name, who=who, call=call, result=result, erasures=len(self.checker.erased))
        self.done.append(done)
        self.ask_again(done)

    @precondition(lambda self: self.done)
    @rule(place=st.integers(min_value=0, max_value=30))
    def repeat(self, place: int) -> None:
        self.ask_again(self.done[place % len(self.done)])

    def ask_again(self, done: Done) -> None:
        """A repeated id gets the first result, and another request none; nothing is written.

        Once what it wrote is erased, it is unknown whether the request is the same.
        """
        before = self.log.head()
        if len(self.checker.erased) == done.erasures:
            assert without_details(done.call(done.id)) == without_details(done.result)
        else:
            with suppress(CommandIdReused):
                done.call(done.id)
        with pytest.raises(CommandIdReused):
            self.agents[done.who].memory.learn("something else", command_id=done.id)
        assert self.log.head() == before

    # --- what must hold after every command -----------------------------------------------------

    @invariant()
    def columns_tell_what_the_reference_tells(self) -> None:
        space, plain = self.agents[0].space, self.checker.plain
        space.snapshot()
        assert state_of_view(space.view()) == state_of_reference(plain)
        assert clock_of_columns(space.state) == clock_of_reference(plain)

    # --- the past -------------------------------------------------------------------------------

    @rule(
        share=st.floats(min_value=0.0, max_value=1.0),
        way=st.sampled_from(("version", "hour", "at")),
        late=st.integers(min_value=-1, max_value=1),
    )
    def look_back(self, share: float, way: str, late: int) -> None:
        events = read(self.log)
        chosen = events[int(share * (len(events) - 1))]
        if way == "version":
            self.compare_with_prefix(chosen.version, version=chosen.version)
        elif way == "hour":
            active_us = max(0, chosen.active_us + late)
            version = max(each.version for each in events if each.active_us <= active_us)
            self.compare_with_prefix(version, hour=active_us / MICROS_PER_HOUR)
        else:
            at_us = max(chosen.recorded_us + late, events[0].recorded_us)
            version = max(each.version for each in events if each.recorded_us <= at_us)
            self.compare_with_prefix(version, at=date(at_us))

    def compare_with_prefix(self, version: int, /, **point: Any) -> None:
        """Compare a view of the whole log with the log truncated there."""
        memory, space = self.agents[0].memory, self.agents[0].space
        viewed, prefix = memory.as_of(**point), rebuild(State(), read(self.log)[: version + 1])
        assert viewed.version == version
        assert state_of_view(as_of(space.state, version)) == state_of_view(as_of(prefix, version))
        # Questions as text need the embedder of that time.
        embedder = self.agents[0].embedder
        wordless = prefix.timeline.embedder not in {None, embedder.identity}
        short = reader(cut(self.log, version), embedder=None if wordless else embedder)
        tell = partial(answers_by_interface, ids=prefix.catalogue.ids, wordless=wordless)
        told = tell(viewed)
        assert agree(told, tell(short.as_of(**point)))
        if self.kept is None:
            erasures = len(self.checker.erased)
            self.kept = Kept(tell=partial(tell, viewed), told=told, erasures=erasures)

    @precondition(lambda self: self.checker.seen)
    @rule(place=st.integers(min_value=0, max_value=9))
    def look_back_at_decision(self, place: int) -> None:
        decision = list(self.checker.seen)[place % len(self.checker.seen)]
        event = read(self.log)[int(decision[1:])].event
        assert isinstance(event, RecallRecorded)
        version = event.read_version
        memory, space = self.agents[0].memory, self.agents[0].space
        prefix = rebuild(State(), read(self.log)[: version + 1])
        viewed, expected = (
            as_of(state, version, active_us=event.read_us, instant_us=event.asked_us)
            for state in (space.state, prefix)
        )
        assert state_of_view(viewed) == state_of_view(expected)
        past = memory.as_of(decision=decision)
        assert (past.version, past.hour) == (version, event.read_us / MICROS_PER_HOUR)

    # --- at the end -----------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "checker"):
            return
        memory, space = self.agents[0].memory, self.agents[0].space
        folded, now = rebuild(State(), read(self.log)), space.caller.moment(space.snapshot())
        view = live(folded, active_us=now.active_us, instant_us=now.recorded_us)
        assert state_of_view(view) == state_of_view(space.view(now))
        assert clock_of_columns(folded) == clock_of_columns(space.state)
        assert envelopes_of_columns(folded) == envelopes_of_columns(space.state)
        for decision in self.checker.seen:
            replayed = memory.replay(decision)
            assert replayed.outcome in self.checker.replays(decision)
            assert replayed.recombines
        if self.kept is not None and self.kept.erasures == len(self.checker.erased):
            assert self.kept.tell() == self.kept.told
        verified = memory.verify()
        assert (verified.sound, verified.events) == (True, self.log.head().version + 1)
        self.opened.close()


def without_details(result: Any) -> Any:
    """Return a result without the words of an extractor about what went wrong, which no log has."""
    extraction = getattr(result, "extraction", None)
    if extraction is None:
        return result
    return attrs.evolve(result, extraction=attrs.evolve(extraction, problems=()))


class KernelAgainstReferenceOnSQLite(KernelAgainstReference):
    """The same on a file."""

    def store(self) -> Store:
        self.folder = tempfile.TemporaryDirectory()
        return SQLiteStore(Path(self.folder.name) / "agent.db", synchronous="normal")

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "folder"):
            self.folder.cleanup()


def looking(share: float) -> settings:
    """Return settings with a share of the profile's examples."""
    return settings(max_examples=round(settings().max_examples * share), stateful_step_count=20)


TestOnMemory = KernelAgainstReference.TestCase
TestOnMemory.settings = looking(3.0)
TestOnSQLite = KernelAgainstReferenceOnSQLite.TestCase
TestOnSQLite.settings = looking(0.3)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_space_with_all_text_erased_still_matches_the_reference(
    policy: str,
) -> None:
    machine = KernelAgainstReference()
    lessons = [commands.Learn(content=f"angle {300 * place}: ONE", tags=("a",)) for place in (0, 1)]
    machine.open(policy, "plane", lessons)
    tie = commands.Connect(source=0, target=1, relation="supports", note="why")
    machine.play(0, [tie, commands.Recall(query="ONE"), commands.Learn(content="angle 9: two")])
    machine.agents[0].memory.erase_space("default")
    machine.checker.catch_up()
    machine.columns_tell_what_the_reference_tells()
    for version in range(machine.log.head().version + 1):
        machine.compare_with_prefix(version, version=version)
    machine.teardown()


def test_a_view_of_any_version_shows_pairs_staged_and_uses_counted_by_then() -> None:
    machine = KernelAgainstReference()
    lessons = [commands.Learn(content=f"angle {500 * place}: ONE") for place in range(6)]
    machine.open("tight", "plane", lessons)
    few, all_of_them = (commands.Recall(query=None, top_k=top_k) for top_k in (3, None))
    again = commands.StartSession()
    machine.play(0, [all_of_them, few, commands.EndSession(), again, all_of_them])
    machine.play(1, [again, few, all_of_them, commands.Forget(block=1), few])
    machine.play(0, [few, commands.EndSession(), again, all_of_them])
    machine.columns_tell_what_the_reference_tells()
    events = [recorded.event for recorded in read(machine.log)]
    recalls = [event for event in events if isinstance(event, RecallRecorded)]
    assert {name for name in EFFECTS for event in recalls if getattr(event, name)} == {*EFFECTS}
    for version in range(len(events)):
        machine.compare_with_prefix(version, version=version)
    machine.teardown()
