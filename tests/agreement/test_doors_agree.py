"""Every store behind every door: one history, the same answers and refusals, the same log.

The sites differ in nothing but store and door: same clocks, same entropy, same models. So even the
stored bytes must be equal, keys and ciphers of payloads included.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest
from anyio.from_thread import start_blocking_portal
from attrs import frozen
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.entropy import SeededEntropy
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.ports import Log, Store
from mnemic.specs.contracts import plain
from mnemic.specs.contracts.wishes import LONG_AGO
from mnemic.specs.strategies import commands, texts
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.agreement.agents import POLICIES, Command, Player, Reader, ScoreDecision, any_commands
from tests.agreement.commandline import CommandLine
from tests.agreement.doors import DOORS, Door

STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda _: MemoryStore(),
    "file": lambda folder: SQLiteStore(folder / "agent.db", synchronous="normal"),
}
WHO = st.sampled_from((0, 0, 0, 1))
SHARES = st.floats(min_value=0.0, max_value=1.0)
FRAMES = st.sampled_from(("attention", "self", "task", "short_term", "world"))
QUERIES: dict[str, Callable[[Door, str], Any]] = {
    "block": lambda door, block: door.block(block),
    "blocks": lambda door, _: door.blocks(status="active", limit=3),
    "edges": lambda door, block: door.edges(block),
    "history": lambda door, _: door.history(limit=20),
    "history of one": lambda door, block: door.history(of=block),
    "ledger": lambda door, _: door.ledger(limit=20),
    "ledger of one": lambda door, block: (door.ledger(of=block), door.composed_with(block)),
    "log": lambda door, _: door.log(after=4, limit=20),
    "near duplicates": lambda door, _: door.near_duplicates(),
    "pending": lambda door, _: door.pending_connections(),
    "status": lambda door, _: door.status(),
}


@frozen(kw_only=True)
class Site:
    """One store behind one make of door, with two who use it."""

    name: str
    log: Log
    players: tuple[Player, ...]


Ask = Callable[[Player], Any]


class DoorsAgree(RuleBasedStateMachine):
    """Two players do the same at every site."""

    doors: ClassVar = DOORS

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.sites: list[Site] = []
        self.decisions: list[Any] = []
        self.done: list[tuple[int, Command, list[str]]] = []
        """Who asked for what, when which blocks were known; its place is its command id."""

    @initialize(
        policy=st.sampled_from(("mnemic-1", "tight", "tight")),
        first=st.lists(commands.lessons(), min_size=3, max_size=8),
    )
    def open(self, policy: str, first: list[commands.Learn]) -> None:
        portal = self.stack.enter_context(start_blocking_portal())
        for store_name, make in STORES.items():
            for door_name, door in self.doors.items():
                folder = self.stack.enter_context(tempfile.TemporaryDirectory())
                store, clock = make(Path(folder)), ManualClock()
                self.stack.callback(store.close)
                players = []
                for actor in ("ann", "ben"):
                    given = {
                        "path": store,
                        "actor": actor,
                        "embedder": PlaneEmbedder(),
                        "analyst": Reader(),
                        "clock": clock,
                        "entropy": SeededEntropy(actor),
                        "policy": POLICIES[policy],
                    }
                    memory = self.stack.enter_context(door(given, portal))
                    players.append(Player(memory, clock))
                site = f"{store_name} store, {door_name} door"
                self.sites.append(Site(name=site, log=store.log("default"), players=tuple(players)))
        learned = commands.LearnMany(lessons=tuple(first))
        self.play(0, [commands.StartSession(), learned, commands.Consolidate()])

    # --- what players do ------------------------------------------------------------------------

    @rule(who=WHO, played=st.lists(any_commands(), min_size=2, max_size=8))
    def play(self, who: int, played: Sequence[Command]) -> None:
        for command in played:
            if isinstance(command, commands.MoveClock):
                for site in self.sites:
                    site.players[0].call(command, [], [])
                continue
            self.done.append((who, command, self.blocks()))
            self.repeat(len(self.done) - 1)

    @rule(who=WHO, visits=commands.visits())
    def come_back(self, who: int, visits: Sequence[Command]) -> None:
        self.play(who, visits)

    @rule(place=st.integers(min_value=0, max_value=40))
    def repeat(self, place: int) -> None:
        """Send a command, or send it again under the same id."""
        number = place % len(self.done)
        who, command, blocks = self.done[number]
        decisions = [*self.decisions]

        def ask(player: Player) -> Any:
            call = player.call(command, blocks, decisions)
            return None if call is None else call(f"c{number}")

        told = self.everywhere(who, ask)
        decision = told.get("decision_id") if isinstance(told, dict) else None
        if decision is not None and decision not in self.decisions:
            self.decisions.append(decision)

    @rule(who=WHO, ties=st.lists(commands.connections(), min_size=1, max_size=4))
    def connect_many(self, who: int, ties: Sequence[commands.Connect]) -> None:
        blocks = self.blocks()
        edges = [
            attrs.asdict(tie)
            | {end: commands.resolved(getattr(tie, end), blocks) for end in ("source", "target")}
            for tie in ties
        ]
        self.everywhere(who, lambda player: player.memory.connects(edges))

    @rule(who=WHO, words=st.tuples(texts.contents(), texts.contents()), dry_run=st.booleans())
    def connect_what_is_described(self, who: int, words: tuple[str, str], *, dry_run: bool) -> None:
        self.everywhere(
            who,
            lambda player: player.memory.connect_by_query(
                *words, min_confidence=0.4, dry_run=dry_run
            ),
        )

    @rule(who=WHO, query=texts.contents(), frame=FRAMES)
    def ask_for_suggestions(self, who: int, query: str, frame: str) -> None:
        self.everywhere(
            who,
            lambda player: player.memory.recall(query, frame=frame, suggest=True, record=False),
        )

    # --- what they look at ----------------------------------------------------------------------

    @rule(who=WHO, name=st.sampled_from(sorted(QUERIES)), place=commands.blocks())
    def look(self, who: int, name: str, place: int) -> None:
        block = commands.resolved(place, self.blocks())
        self.everywhere(who, lambda player: QUERIES[name](player.memory, block))

    @rule(share=SHARES, name=st.sampled_from(sorted(QUERIES)), place=commands.blocks())
    def look_back(self, share: float, name: str, place: int) -> None:
        version = int(share * (self.sites[0].log.head().version + 1))  # one too far, now and then
        block = commands.resolved(place, self.blocks())
        self.everywhere(
            0, lambda player: QUERIES[name](player.memory.as_of(version=version), block)
        )

    @rule(share=SHARES, query=texts.contents(), frame=FRAMES)
    def ask_the_past(self, share: float, query: str, frame: str) -> None:
        version = int(share * self.sites[0].log.head().version)
        self.everywhere(
            0, lambda player: player.memory.as_of(version=version).recall(query, frame=frame)
        )

    @precondition(lambda self: self.decisions)
    @rule(
        place=st.integers(min_value=0, max_value=9),
        verb=st.sampled_from(("replay", "explain", "why_not")),
        block=commands.blocks(),
    )
    def look_into_a_decision(self, place: int, verb: str, block: int) -> None:
        decision = self.decisions[place % len(self.decisions)]
        about = [commands.resolved(block, self.blocks())] if verb == "why_not" else []
        self.everywhere(0, asking(verb, decision, *about))

    # --- that they agree ------------------------------------------------------------------------

    def everywhere(self, who: int, ask: Ask) -> Any:
        """Let one player ask at every site, and return what each of them must be told."""
        told = {site.name: heard(ask, site.players[who]) for site in self.sites}
        first = told[self.sites[0].name]
        assert told == dict.fromkeys(told, first)
        heads = {site.name: site.log.head() for site in self.sites}
        assert heads == dict.fromkeys(heads, self.sites[0].log.head())
        return first

    def blocks(self) -> list[str]:
        """Return all blocks in the order of learning.

        The second player looks, at every site: what a door has read by itself decides whether its
        next command meets a conflict, and so how much entropy that takes.
        """
        page = self.everywhere(1, lambda player: player.memory.blocks(limit=1000))
        return [block["id"] for block in page["items"]]

    def teardown(self) -> None:
        with self.stack:
            if not self.sites:
                return
            for decision in self.decisions:
                self.everywhere(1, asking("replay", decision))
            assert self.everywhere(0, lambda player: player.memory.verify())["sound"]
            first, *others = ([*site.log.read()] for site in self.sites)
            for other in others:
                assert other == first


def asking(verb: str, *about: str) -> Ask:
    """Return how a player asks *verb* about something."""
    return lambda player: getattr(player.memory, verb)(*about)


def heard(ask: Ask, player: Player) -> Any:
    """Return what a player is told, a refusal too, in a form that can be compared."""
    try:
        return plain(ask(player))
    except MnemicError as refusal:
        return {"raised": plain(refusal.to_dict())}


TestDoorsAgree = DoorsAgree.TestCase
TestDoorsAgree.settings = settings(
    max_examples=round(settings().max_examples * 0.75), stateful_step_count=25
)


# --- that a disagreement would be seen ----------------------------------------------------------


class Forgetful(SyncMemory):
    """A door that loses the tags of what is learned."""

    def learn(self, content: str, **lesson: Any) -> Any:
        lesson.pop("tags")
        return super().learn(content, **lesson)


class WithOneForgetfulDoor(DoorsAgree):
    doors: ClassVar = {"sync": DOORS["sync"], "forgetful": lambda given, _: Forgetful.open(**given)}


def test_a_door_that_does_otherwise_is_found_out() -> None:
    machine = WithOneForgetfulDoor()
    lesson = commands.Learn(content="angle 0: one", tags=("a",))
    machine.open("tight", [commands.Learn(content="angle 450: two")])
    with machine.stack, pytest.raises(AssertionError, match="digest"):
        machine.play(0, [lesson])


# --- the command line: fewer verbs, a process at a time, the wall clock of the machine ----------


class Elder(Player):
    """A player whose lessons are so old that it does not matter what time it is."""

    def _lesson(self, lesson: commands.Learn) -> dict[str, Any]:
        told = super()._lesson(attrs.evolve(lesson, expires_in_us=None))
        return {name: value for name, value in told.items() if name != "expires_at"} | {
            "created_at": LONG_AGO
        }


SPOKEN = (
    commands.Learn,
    commands.Consolidate,
    commands.Recall,
    commands.Outcome,
    commands.Connect,
    commands.Disconnect,
    commands.Curate,
    commands.Forget,
    commands.Erase,
    ScoreDecision,
)
"""What both faces can be told; a revision is as old as the moment it is made."""


@settings(
    max_examples=max(3, settings().max_examples // 8),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # a shorter history takes long to find
)
@given(
    first=st.lists(commands.lessons(), min_size=2, max_size=5),
    rest=st.lists(any_commands().filter(lambda one: isinstance(one, SPOKEN)), max_size=8),
)
def test_the_command_line_tells_what_the_door_in_this_process_tells(
    first: list[Command], rest: list[Command]
) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ends = []
        for name in ("shell.db", "process.db"):
            path = Path(folder) / name
            entropy = SeededEntropy("the same salt")
            memory = SyncMemory.open(path, entropy=entropy, actor="cli", synchronous="normal")
            ends.append(stack.enter_context(memory))
        by_shell = Elder(CommandLine(Path(folder) / "shell.db"), ManualClock())
        by_verb = Elder(ends[1], ManualClock())
        decisions: list[Any] = []
        for command in (*first, commands.Consolidate(), *rest):
            blocks = [block.id for block in ends[1].blocks(limit=1000).items]

            def ask(player: Player, command: Command = command, blocks: Any = blocks) -> Any:
                call = player.call(command, blocks, decisions)
                return None if call is None else call(None)  # type: ignore[arg-type]

            told = [heard(ask, player) for player in (by_shell, by_verb)]
            assert without_chain(told[0]) == without_chain(told[1])
            if told[1] and told[1].get("decision_id"):
                decisions.append(told[1]["decision_id"])
        told = [plain(memory.blocks(limit=1000)) for memory in ends]
        assert told[0] == told[1]
        kinds = [[moment.kind for moment in memory.log(limit=1000)] for memory in ends]
        assert kinds[0] == kinds[1]


def without_chain(told: Any) -> Any:
    """Return an answer without the digest of a log in which the times differ."""
    return {**told, "chain": None} if isinstance(told, dict) else told
