"""Every store behind every interface: one history, the same answers and refusals, the same log.

The sites differ only in store and interface: same clocks, same entropy, same models. So
even the stored bytes must be equal, keys and ciphers of payloads included.
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

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.ports import Log, Store
from mnemic.specs.contracts import plain
from mnemic.specs.contracts.interface.sample_requests import LONG_AGO
from mnemic.specs.strategies import commands, texts
from mnemic.specs.strategies.messages import TextExtractor
from mnemic.specs.strategies.vectors import PlaneEmbedder
from tests.agreement.agents import POLICIES, Command, Player, Reader, ScoreDecision, any_commands
from tests.agreement.interfaces.command_line import CommandLine
from tests.agreement.interfaces.interfaces import INTERFACES, Interface

pytestmark = pytest.mark.extended

STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda _: MemoryStore(),
    "file": lambda folder: SQLiteStore(folder / "agent.db", synchronous="normal"),
}
WHO = st.sampled_from((0, 0, 0, 1))
SHARES = st.floats(min_value=0.0, max_value=1.0)
FRAMES = st.sampled_from(("attention", "self", "task", "short_term", "world"))
QUERIES: dict[str, Callable[[Interface, str], Any]] = {
    "block": lambda interface, block: interface.block(block),
    "blocks": lambda interface, _: interface.blocks(status="active", limit=3),
    "edges": lambda interface, block: interface.edges(block),
    "history": lambda interface, _: interface.history(limit=20),
    "history of one": lambda interface, block: interface.history(of=block),
    "ledger": lambda interface, _: interface.ledger(limit=20),
    "ledger of one": lambda interface, block: (
        interface.ledger(of=block),
        interface.composed_with(block),
    ),
    "log": lambda interface, _: interface.log(after=4, limit=20),
    "near duplicates": lambda interface, _: interface.near_duplicates(),
    "pending": lambda interface, _: interface.pending_connections(),
    "status": lambda interface, _: interface.status(),
}


@frozen(kw_only=True)
class Site:
    """One store behind one kind of interface, with two players."""

    name: str
    log: Log
    players: tuple[Player, ...]


Ask = Callable[[Player], Any]


class InterfacesAgree(RuleBasedStateMachine):
    """Two players do the same at every site."""

    interfaces: ClassVar = INTERFACES

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.sites: list[Site] = []
        self.decisions: list[Any] = []
        self.done: list[tuple[int, Command, list[str]]] = []
        """Player, command, and the blocks known at its time; the index is its command id."""

    @initialize(
        policy=st.sampled_from(("mnemic-1", "tight", "tight")),
        first=st.lists(commands.lessons(), min_size=3, max_size=8),
    )
    def open(self, policy: str, first: list[commands.Learn]) -> None:
        portal = self.stack.enter_context(start_blocking_portal())
        for store_name, make in STORES.items():
            for interface_name, interface in self.interfaces.items():
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
                        "extractor": TextExtractor(),
                        "clock": clock,
                        "entropy": SeededEntropy(actor),
                        "policy": POLICIES[policy],
                    }
                    memory = self.stack.enter_context(interface(given, portal))
                    players.append(Player(memory, clock))
                site = f"{store_name} store, {interface_name} door"
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

        answer = self.everywhere(who, ask)
        decision = answer.get("decision_id") if isinstance(answer, dict) else None
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
        operation=st.sampled_from(("replay", "explain", "why_not")),
        block=commands.blocks(),
    )
    def look_into_a_decision(self, place: int, operation: str, block: int) -> None:
        decision = self.decisions[place % len(self.decisions)]
        about = [commands.resolved(block, self.blocks())] if operation == "why_not" else []
        self.everywhere(0, asking(operation, decision, *about))

    # --- that they agree ------------------------------------------------------------------------

    def everywhere(self, who: int, ask: Ask) -> Any:
        """Let one player call at every site, and return the answer that must be equal at each."""
        answer = {site.name: heard(ask, site.players[who]) for site in self.sites}
        first = answer[self.sites[0].name]
        assert answer == dict.fromkeys(answer, first)
        heads = {site.name: site.log.head() for site in self.sites}
        assert heads == dict.fromkeys(heads, self.sites[0].log.head())
        return first

    def blocks(self) -> list[str]:
        """Return all blocks in the order of learning.

        The second player reads, at every site: the version that an interface has read decides
        whether its next command has a conflict, and so how much entropy it takes.
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


def asking(operation: str, *about: str) -> Ask:
    """Return a function with which a player calls *operation* with arguments."""
    return lambda player: getattr(player.memory, operation)(*about)


def heard(ask: Ask, player: Player) -> Any:
    """Return the answer or the refusal that a player gets, in a comparable form."""
    try:
        return plain(ask(player))
    except MnemicError as refusal:
        return {"raised": plain(refusal.to_dict())}


TestInterfacesAgree = InterfacesAgree.TestCase
TestInterfacesAgree.settings = settings(
    max_examples=round(settings().max_examples * 0.75), stateful_step_count=25
)


# --- that a disagreement would be seen ----------------------------------------------------------


class Forgetful(SyncMemory):
    """Faulty interface that loses the tags of learned blocks."""

    def learn(self, content: str, **lesson: Any) -> Any:
        lesson.pop("tags")
        return super().learn(content, **lesson)


class WithOneForgetfulInterface(InterfacesAgree):
    interfaces: ClassVar = {
        "sync": INTERFACES["sync"],
        "forgetful": lambda given, _: Forgetful.open(**given),
    }


def test_a_deviating_interface_is_detected() -> None:
    machine = WithOneForgetfulInterface()
    lesson = commands.Learn(content="angle 0: one", tags=("a",))
    machine.open("tight", [commands.Learn(content="angle 450: two")])
    with machine.stack, pytest.raises(AssertionError, match="digest"):
        machine.play(0, [lesson])


# --- the command line: fewer operations, a process at a time, the wall clock of the machine
# ----------


class Elder(Player):
    """Player whose lessons are so old that the current time does not matter."""

    def _lesson(self, lesson: commands.Learn) -> dict[str, Any]:
        answer = super()._lesson(attrs.evolve(lesson, expires_in_us=None, holds_in_us=(None, None)))
        return {name: value for name, value in answer.items() if name != "expires_at"} | {
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
"""Commands that both interfaces support; a revision has the time at which it is made."""


@settings(
    max_examples=max(3, settings().max_examples // 8),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # a shorter history takes long to find
)
@given(
    first=st.lists(commands.lessons(), min_size=2, max_size=5),
    rest=st.lists(any_commands().filter(lambda one: isinstance(one, SPOKEN)), max_size=8),
)
def test_the_command_line_answers_like_the_in_process_interface(
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
        by_operation = Elder(ends[1], ManualClock())
        decisions: list[Any] = []
        for command in (*first, commands.Consolidate(), *rest):
            blocks = [block.id for block in ends[1].blocks(limit=1000).items]

            def ask(player: Player, command: Command = command, blocks: Any = blocks) -> Any:
                call = player.call(command, blocks, decisions)
                return None if call is None else call(None)  # type: ignore[arg-type]

            answer = [heard(ask, player) for player in (by_shell, by_operation)]
            assert without_chain(answer[0]) == without_chain(answer[1])
            if answer[1] and answer[1].get("decision_id"):
                decisions.append(answer[1]["decision_id"])
        answer = [plain(memory.blocks(limit=1000)) for memory in ends]
        assert answer[0] == answer[1]
        kinds = [[moment.kind for moment in memory.log(limit=1000)] for memory in ends]
        assert kinds[0] == kinds[1]


def without_chain(answer: Any) -> Any:
    """Return an answer without the digest of a log in which the times differ."""
    return {**answer, "chain": None} if isinstance(answer, dict) else answer
