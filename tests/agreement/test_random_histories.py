"""Random histories at the door: what the columns tell, what the reference tells, and the past."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.errors import CommandIdReused, Refused
from mnemic.kernel.ports import Embedder, Store
from mnemic.projections.state import State
from mnemic.projections.views import View, as_of, live
from mnemic.specs.strategies import clocks, commands
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.agreement.agents import POLICIES, Agent, Call, date
from tests.agreement.prefixes import cut, reader, told_by_door
from tests.agreement.snapshots import (
    clock_told_by_columns,
    clock_told_by_reference,
    envelopes_told_by_columns,
    told_by_reference,
    told_by_view,
)
from tests.agreement.witnesses import Witness, read

EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "plane": PlaneEmbedder,
    "hash": lambda: HashEmbedder(8),
}
WHO = st.sampled_from((0, 0, 0, 1))
FEW = st.integers(min_value=0, max_value=5)
TIES = st.builds(
    commands.Connect,
    source=FEW,
    target=FEW,
    relation=st.sampled_from((None, *commands.RELATIONS)),
    weight=commands.edge_weights(),
)
"""Connections among so few blocks that a low cap is reached."""
SHARE = st.floats(min_value=0.0, max_value=1.0)


@frozen(kw_only=True)
class Done:
    """A command that wrote something, to be asked again."""

    id: str
    call: Call
    result: Any
    erasures: int
    """How often something had been erased by then."""


class KernelAgainstReference(RuleBasedStateMachine):
    """Two agents and one space; a witness folds their log into the reference."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.done: list[Done] = []
        self.commands = 0

    def store(self) -> Store:
        return MemoryStore()

    @initialize(
        policy=st.sampled_from(sorted(POLICIES)),
        model=st.sampled_from(sorted(EMBEDDERS)),
        first=st.lists(commands.lessons(), min_size=3, max_size=8),
    )
    def open(self, policy: str, model: str, first: list[commands.Learn]) -> None:
        self.embedder = EMBEDDERS[model]()
        self.opened = self.store()
        self.agents = [
            Agent(
                name,
                self.opened,
                embedder=self.embedder,
                clock=self.clock,
                policy=POLICIES[policy],
            )
            for name in ("ann", "ben")
        ]
        self.log = self.opened.log("default")
        self.witness = Witness(self.log)
        self.witness.catch_up()
        learned = commands.LearnMany(lessons=tuple(first))
        self.play(0, [commands.StartSession(), learned, commands.Consolidate()])

    # --- what agents do -------------------------------------------------------------------------

    @rule(who=WHO, played=st.lists(commands.commands(), min_size=1, max_size=6))
    def play(self, who: int, played: Sequence[commands.Command]) -> None:
        for command in played:
            call = self.agents[who].call(command, self.witness.plain.order)
            if call is not None:
                self.run(call)

    @rule(who=WHO, ties=st.lists(TIES, min_size=2, max_size=6))
    def tie(self, who: int, ties: Sequence[commands.Connect]) -> None:
        self.play(who, ties)

    @rule(who=WHO, by_us=clocks.steps())
    def age(self, who: int, by_us: int) -> None:
        self.play(who, [commands.MoveClock(by_us=by_us), commands.Curate()])

    @rule(who=WHO, block=commands.blocks(), zone=st.sampled_from(("trusted", "external", " ")))
    def rezone(self, who: int, block: int, zone: str) -> None:
        memory, named = self.agents[who].memory, commands.resolved(block, self.witness.plain.order)
        self.run(lambda name: memory.rezone(named, zone, command_id=name))

    @rule(who=WHO, policy=st.sampled_from(sorted(POLICIES)))
    def adopt_policy(self, who: int, policy: str) -> None:
        memory = self.agents[who].memory
        self.run(lambda name: memory.adopt_policy(POLICIES[policy], command_id=name))

    @precondition(lambda self: self.witness.seen)
    @rule(who=WHO, place=st.integers(min_value=0, max_value=9), signal=commands.signals())
    def score_decision(self, who: int, place: int, signal: float) -> None:
        memory, made = self.agents[who].memory, list(self.witness.seen)
        decision = made[place % len(made)]
        self.run(lambda name: memory.outcome(decision_id=decision, signal=signal, command_id=name))

    def run(self, call: Call) -> None:
        """Let one command run under an id of its own, and once more under the same."""
        self.commands += 1
        name, before = f"c{self.commands}", self.log.head()
        try:
            result = call(name)
        except Refused:
            assert self.log.head() == before
            return
        self.witness.catch_up()
        if self.log.command(name) is None:  # nothing was written, or only what waited anyway
            return
        done = Done(id=name, call=call, result=result, erasures=len(self.witness.erased))
        self.done.append(done)
        self.ask_again(done)

    @precondition(lambda self: self.done)
    @rule(place=st.integers(min_value=0, max_value=30))
    def repeat(self, place: int) -> None:
        self.ask_again(self.done[place % len(self.done)])

    def ask_again(self, done: Done) -> None:
        """A repeated id gets the first result, and another request none; nothing is written."""
        before = self.log.head()
        result = done.call(done.id)
        if len(self.witness.erased) == done.erasures:
            assert result == done.result
        with pytest.raises(CommandIdReused):
            self.agents[0].memory.learn("something else", command_id=done.id)
        assert self.log.head() == before

    # --- what must hold after every command -----------------------------------------------------

    @invariant()
    def columns_tell_what_the_reference_tells(self) -> None:
        space = self.agents[0].space
        space.catch_up()
        plain = self.witness.plain
        assert told_by_view(space.live()) == told_by_reference(plain)
        assert clock_told_by_columns(space.state) == clock_told_by_reference(plain)

    # --- the past -------------------------------------------------------------------------------

    @rule(share=SHARE, way=st.sampled_from(("version", "hour", "at")), late=st.integers(-1, 1))
    def look_back(self, share: float, way: str, late: int) -> None:
        events = read(self.log)
        chosen = events[int(share * (len(events) - 1))]
        match way:
            case "version":
                version, point = chosen.version, {"version": chosen.version}
            case "hour":
                active_us = max(0, chosen.active_us + late)
                version = max(each.version for each in events if each.active_us <= active_us)
                point = {"hour": active_us / MICROS_PER_HOUR}
            case _:
                at_us = max(chosen.recorded_us + late, events[0].recorded_us)
                version = max(each.version for each in events if each.recorded_us <= at_us)
                point = {"at": date(at_us)}
        self.compare_with_prefix(version, point)

    @precondition(lambda self: self.witness.seen)
    @rule(place=st.integers(min_value=0, max_value=9))
    def look_back_at_decision(self, place: int) -> None:
        decision = list(self.witness.seen)[place % len(self.witness.seen)]
        event = read(self.log)[int(decision[1:])].event
        self.compare_with_prefix(event.read_version, {"decision": decision})

    def compare_with_prefix(self, version: int, point: dict[str, Any]) -> None:
        """A view of the whole log tells what the log cut there tells."""
        memory, space = self.agents[0].memory, self.agents[0].space
        viewed = memory.as_of(**point)
        assert viewed.version == version
        short = reader(cut(self.log, version), embedder=self.embedder, clock=self.clock)
        again = point if "decision" not in point else {"version": version}
        prefix = State().rebuild(read(self.log)[: version + 1])
        ids = prefix.catalogue.ids
        assert told_by_view(as_of(space.state, version)) == told_by_view(as_of(prefix, version))
        if "decision" not in point:
            assert told_by_door(viewed, ids) == told_by_door(short.as_of(**again), ids)

    # --- at the end -----------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "witness"):
            return
        memory, space = self.agents[0].memory, self.agents[0].space
        space.catch_up()
        folded = State().rebuild(read(self.log))
        now = space.moment()
        view = live(folded, active_us=now.active_us, instant_us=now.recorded_us)
        assert told_by_view(view) == told_by_view(space.live(now))
        assert clock_told_by_columns(folded) == clock_told_by_columns(space.state)
        assert envelopes_told_by_columns(folded) == envelopes_told_by_columns(space.state)
        for decision in self.witness.seen:
            replayed = memory.replay(decision)
            assert replayed.outcome in self.witness.replays(decision)
            assert replayed.recombines
        verified = memory.verify()
        assert (verified.sound, verified.events) == (True, self.log.head().version + 1)
        self.opened.close()


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
    """Return settings that look as hard as a share of the profile's."""
    examples = max(1, round(settings.default.max_examples * share))
    return settings(max_examples=examples, stateful_step_count=25)


TestOnMemory = KernelAgainstReference.TestCase
TestOnMemory.settings = looking(1.0)
TestOnSQLite = KernelAgainstReferenceOnSQLite.TestCase
TestOnSQLite.settings = looking(0.15)
