"""Agents that execute commands on one store, each with an interface and a session of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
from attrs import frozen
from hypothesis import strategies as st

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.opening import open_space
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.model.identity import DecisionId
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.ports import Analysis, Embedder, Passage, Store
from mnemic.specs.strategies import commands
from mnemic.specs.strategies.messages import Add, Said, TextExtractor

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FAR = datetime(9000, 1, 1, tzinfo=UTC)

TIGHT = attrs.evolve(
    DEFAULT,
    name="tight",
    idle_gap_hours=400.0,
    auto_consolidate=False,
    consolidate_chunk=4,
    degree_cap=3,
    edge_candidates=3,
    edge_prune_below=0.5,
    tags_max=3,
    curate_reinforced=2,
    co_retrieval_sessions=2,
    staging_pairs_max=4,
    candidates=3,
    expansions=2,
    runners_up=3,
)
"""All limits are reached soon, and one step of the clock can age all blocks."""
POLICIES = {policy.name: policy for policy in (DEFAULT, TIGHT)}

# --- commands that only a whole interface has
# --------------------------------------------------------


@frozen(kw_only=True)
class Rezone:
    """``rezone``."""

    block: int
    zone: str


@frozen(kw_only=True)
class Quarantine:
    """``quarantine`` of one block."""

    block: int
    release: bool


@frozen(kw_only=True)
class RevertSource:
    """``revert_source`` of one block, or of everything that an actor wrote."""

    block: int = 0
    actor: str | None = None


@frozen(kw_only=True)
class AdoptPolicy:
    """``adopt_policy``."""

    name: str


@frozen(kw_only=True)
class ScoreDecision:
    """``outcome`` for all blocks that a recall returned."""

    decision: int
    """Index among all decisions, modulo their number."""
    signal: float


Command = (
    commands.Command
    | commands.LedgerCommand
    | Rezone
    | Quarantine
    | RevertSource
    | AdoptPolicy
    | ScoreDecision
)


ZONES = st.sampled_from(("trusted", "external", " "))
PLACES = st.integers(min_value=0, max_value=9)
USUAL = commands.commands()
OF_THE_INTERFACE: st.SearchStrategy[Command] = st.one_of(
    st.builds(Rezone, block=commands.blocks(), zone=ZONES),
    st.builds(Quarantine, block=commands.blocks(), release=st.sampled_from((False, False, True))),
    st.builds(RevertSource, block=commands.blocks()),
    st.builds(AdoptPolicy, name=st.sampled_from(sorted(POLICIES))),
    st.builds(ScoreDecision, decision=PLACES, signal=commands.signals()),
    commands.ledger_commands(),
    commands.ledger_commands(),
    commands.ledger_commands(),
)


@st.composite
def any_commands(draw: st.DrawFn) -> Command:
    """Draw any command; the operations of the interface alone are less frequent."""
    is_usual = draw(st.integers(min_value=0, max_value=5)) > 0
    command: Command = draw(USUAL if is_usual else OF_THE_INTERFACE)
    return command


# --- who plays them -----------------------------------------------------------------------------

Call = Callable[[str], Any]
"""A command without its id."""


class Reader:
    """Analyst that adds something to some texts, and fails at others."""

    name = "reader"

    def analyse(self, passages: Sequence[Passage]) -> list[Analysis]:
        """Return tags and summaries by the words in *passages*."""
        texts = [passage.content for passage in passages]
        if any("🧠" in text for text in texts):
            raise ValueError("this is beyond me")
        return [
            Analysis(
                tags=("inferred",) if "two" in text else (),
                alignment=0.5,
                summary=f"about {text[:9]}" if "ONE" in text else None,
            )
            for text in texts
        ]


class Player:
    """Executes commands through an interface.

    Args:
        memory: An interface: an object with the operations of ``SyncMemory``.
        clock: The clock of the interface.
    """

    def __init__(self, memory: Any, clock: ManualClock) -> None:
        self.memory = memory
        self._clock = clock

    def call(
        self, command: Command, blocks: Sequence[str], decisions: Sequence[DecisionId]
    ) -> Call | None:
        """Return the call of the interface for *command*; None when there is none.

        Args:
            command: The command. One that moves the clock does so at once.
            blocks: Every block learned so far, by number.
            decisions: Every decision so far.
        """
        memory = self.memory
        match command:
            case commands.MoveClock(by_us=by_us):
                self._clock.set(self._clock.now_us() + by_us)
                return None
            case ScoreDecision(decision=place, signal=signal):
                if not decisions:
                    return None
                decision = decisions[place % len(decisions)]
                return lambda name: memory.outcome(
                    decision_id=decision, signal=signal, command_id=name
                )
            case AdoptPolicy(name=policy):
                return lambda name: memory.adopt_policy(POLICIES[policy], command_id=name)
            case commands.RetractLabel(label=place):
                return self._retraction(place)
            case _:
                operation, given = self._asked(command, blocks)
                return lambda name: operation(**given, command_id=name)

    def _retraction(self, place: int) -> Call | None:
        """Return the call that retracts a label that counts; None when there is none."""
        memory = self.memory
        existing = [each for one in memory.ledger(limit=1000) for each in one.labels]
        if not existing:
            return None
        label = existing[place % len(existing)].label_id
        return lambda name: memory.retract_label(label, command_id=name)

    def _asked(  # noqa: C901 - a case per operation
        self, command: Command, blocks: Sequence[str]
    ) -> tuple[Callable[..., Any], dict[str, Any]]:
        """Return the operation of a command and its arguments; blocks by id."""
        memory, given = self.memory, attrs.asdict(command)
        for field in ("block", "source", "target"):
            if isinstance(given.get(field), int):
                given[field] = commands.resolved(given[field], blocks)
        match command:
            case commands.Learn():
                return memory.learn, self._lesson(command)
            case commands.Revert():
                first, last = commands.stretch(command, self._head())
                return memory.revert, {"from_version": first, "to_version": last}
            case Add(messages=messages, user=user):
                return memory.add, {
                    "messages": [self._message(each) for each in messages],
                    "scope": None if user is None else {"user": user},
                }
            case commands.LearnMany(lessons=lessons):
                return memory.learn_many, {"lessons": [self._lesson(each) for each in lessons]}
            case commands.Outcome():
                given["block_ids"] = [commands.resolved(one, blocks) for one in command.blocks]
                del given["blocks"]
            case commands.Compose(members=members):
                given["composition_id"] = given.pop("name")
                given["members"] = [
                    {"block_id": commands.resolved(block, blocks), "role": role}
                    for block, role in members
                ]
            case commands.Label() | commands.ScoreComposition():
                given["composition_id"] = given.pop("name")
            case commands.Erase() | commands.Revise() | commands.Forget() | Rezone():
                block = given.pop("block")
                is_list = isinstance(command, commands.Erase)
                given |= {"block_ids": [block]} if is_list else {"block_id": block}
            case _:
                pass
        given |= _selector(command, given)
        return getattr(memory, OPERATIONS[type(command)]), given

    def _head(self) -> int:
        status = self.memory.status()
        return int(status["version"] if isinstance(status, dict) else status.version)

    def _message(self, said: Said) -> dict[str, Any]:
        given = attrs.asdict(said)
        after_us = given.pop("said_in_us")
        if after_us is not None:
            given["created_at"] = date(self._clock.now_us() + after_us)
        return {name: value for name, value in given.items() if value is not None}

    def _lesson(self, lesson: commands.Learn) -> dict[str, Any]:
        given = attrs.asdict(lesson)
        ends_us = {
            "expires_at": given.pop("expires_in_us"),
            **dict(zip(("valid_from", "valid_until"), given.pop("holds_in_us"), strict=True)),
        }
        return given | {
            name: date(self._clock.now_us() + after_us)
            for name, after_us in ends_us.items()
            if after_us is not None
        }


class Agent(Player):
    """One handle on a space, like that of a separate process."""

    def __init__(
        self, name: str, store: Store, *, embedder: Embedder, clock: ManualClock, policy: Policy
    ) -> None:
        _, self.space = open_space(
            store,
            space="default",
            policy=policy,
            clock=clock,
            entropy=SeededEntropy(name),
            actor=name,
            synchronous="normal",
            read_only=False,
        )
        self.embedder = embedder
        super().__init__(self._opened(), clock)

    def _opened(self) -> SyncMemory:
        return SyncMemory(
            self.space, embedder=self.embedder, analyst=Reader(), extractor=TextExtractor()
        )

    def think_with(self, embedder: Embedder) -> None:
        """Use *embedder* from now on."""
        self.space.snapshot()
        self.embedder = embedder
        self.memory = self._opened()


OPERATIONS: dict[type, str] = {
    commands.Revise: "revise",
    commands.Forget: "forget",
    commands.Erase: "erase",
    commands.Consolidate: "consolidate",
    commands.Recall: "recall",
    commands.Outcome: "outcome",
    commands.Compose: "compose",
    commands.Label: "label",
    commands.ScoreComposition: "outcome",
    commands.Connect: "connect",
    commands.Disconnect: "disconnect",
    commands.Curate: "curate",
    commands.StartSession: "start_session",
    commands.EndSession: "end_session",
    Rezone: "rezone",
    Quarantine: "quarantine",
    RevertSource: "revert_source",
}


def _selector(command: Command, given: dict[str, Any]) -> dict[str, Any]:
    """Return the selector of a command that has one, and remove what it is made of."""
    if not isinstance(command, Quarantine | RevertSource):
        return {}
    block, actor = given.pop("block"), given.pop("actor", None)
    return {"selector": {"block": block} if actor is None else {"actor": actor}}


def date(us: int) -> datetime:
    """Return microseconds since the epoch as a date, limited to the last representable one."""
    far_us = (FAR - EPOCH) // timedelta(microseconds=1)
    return EPOCH + timedelta(microseconds=min(us, far_us))
