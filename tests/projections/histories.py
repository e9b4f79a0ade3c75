"""Random logs as written by two agents that share a space."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import Refused
from mnemic.kernel.events import RecallRecorded, Recorded
from mnemic.kernel.model.identity import decision_id
from mnemic.specs.strategies import clocks, commands
from mnemic.specs.strategies.commands import NAMES
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.agreement.agents import POLICIES, Agent, Command, RevertSource, any_commands
from tests.agreement.log_checker import read

HUB = st.sampled_from((0, 0, 0, 1))
SPOKE = st.integers(min_value=1, max_value=7)
TIES = st.one_of(
    *[
        st.builds(
            commands.Connect,
            source=HUB,
            target=SPOKE,
            relation=st.sampled_from(commands.RELATIONS),
            weight=commands.edge_weights(),
            note=st.sampled_from((None, "why")),
        )
    ]
    * 4,
    st.builds(commands.Disconnect, source=HUB, target=SPOKE),
)
USED: list[Command] = [
    commands.Compose(members=((0, "primary"), (1, "primary")), name=NAMES[0], query="why"),
    commands.Label(name=NAMES[0], label="helpful", notes="so it is"),
    commands.RetractLabel(label=0),
    commands.Label(name=NAMES[0], label="dead_end"),
]
SAID = [
    {"content": "ONE of two", "author": "Ann", "thread": "talk", "category": "message"},
    {"content": "angle 3: two", "author": "Ben", "category": "message", "metadata": {"a": 1}},
    {"content": "angle 4: two", "author": "Ann", "thread": "talk"},
]
"""Fields that commands lack: authors, threads and metadata."""
TURNS: st.SearchStrategy[list[Command]] = st.one_of(
    *[any_commands().map(lambda command: [command])] * 3,
    st.lists(TIES, min_size=4, max_size=9),
    commands.visits(),
    st.sampled_from(("ann", "ben")).map(lambda actor: [RevertSource(actor=actor)]),
    st.integers(min_value=2, max_value=len(USED)).map(lambda count: USED[:count]),
    clocks.steps().map(lambda by_us: [commands.MoveClock(by_us=by_us), commands.Curate()]),
    st.builds(
        lambda block, revert: [commands.Erase(block=block), revert], SPOKE, commands.reverts()
    ),
)


@st.composite
def logs(draw: st.DrawFn) -> list[Recorded]:
    """Logs of random commands, with some texts erased since.

    A re-embedding may occur somewhere in the middle, so that there are vectors of two models.
    """
    first = draw(st.lists(commands.lessons(), min_size=4, max_size=8))
    begun: list[Command] = [
        commands.StartSession(),
        commands.LearnMany(lessons=tuple(first)),
        commands.Consolidate(),
    ]
    store, clock = MemoryStore(), ManualClock()
    agents = [
        Agent(name, store, embedder=PlaneEmbedder(), clock=clock, policy=POLICIES["tight"])
        for name in ("ann", "ben")
    ]
    agents[0].memory.learn_many(SAID[: draw(st.integers(min_value=0, max_value=len(SAID)))])
    _play(agents, [begun, *draw(st.lists(TURNS, min_size=4, max_size=14))])
    if draw(st.booleans()):
        other = HashEmbedder(8)
        agents[0].memory.reembed(other)
        for agent in agents:
            agent.think_with(other)
    _play(agents, draw(st.lists(TURNS, min_size=2, max_size=8)))
    return read(store.log("default"))


def _play(agents: Sequence[Agent], turns: Sequence[Sequence[Command]]) -> None:
    """Run most turns by the first agent and every third by the other; refusals are ignored."""
    for place, turn in enumerate(turns):
        agent = agents[place % 3 == 2]
        for command in turn:
            agent.space.snapshot()
            log = read(agent.space.log)
            decisions = [
                decision_id(each.version) for each in log if isinstance(each.event, RecallRecorded)
            ]
            call = agent.call(command, agent.space.state.catalogue.ids, decisions)
            if call is None:
                continue
            try:
                call(f"after {len(log)} in turn {place}")
            except Refused:
                continue
