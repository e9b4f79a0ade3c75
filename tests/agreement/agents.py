"""Who plays commands: agents that share one store, each through a door and in a session of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, assert_never

import attrs

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.entropy import SeededEntropy
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.opening import open_space
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.ports import Analysis, Embedder, Store
from mnemic.specs.strategies import commands

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
    tags_max=3,
    curate_reinforced=2,
    candidates=3,
    expansions=2,
    runners_up=3,
)
"""Everything that has a limit reaches it soon, and one step of the clock can age everything."""
POLICIES = {policy.name: policy for policy in (DEFAULT, TIGHT)}

Call = Callable[[str], Any]
"""A command, ready but for its id."""


class Reader:
    """An analyst who has something to add to some texts, and gives up at others."""

    name = "reader"

    def analyse(self, texts: Sequence[str]) -> list[Analysis]:
        """Return tags and summaries by the words in *texts*."""
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


class Agent:
    """One handle on a space, as a process of its own would have it."""

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
        self.memory = SyncMemory(self.space, embedder=embedder, analyst=Reader())
        self._clock = clock

    def call(self, command: commands.Command, ids: Sequence[str]) -> Call | None:
        """Return what *command* asks of the door; None when it only moves the clock.

        Args:
            command: What to play.
            ids: Every block learned so far, by number.
        """
        if isinstance(command, commands.MoveClock):
            self._clock.set(self._clock.now_us() + command.by_us)
            return None
        return self._block_call(command, ids) or self._other_call(command, ids)

    def _block_call(self, command: commands.Command, ids: Sequence[str]) -> Call | None:
        memory = self.memory
        match command:
            case commands.Learn(content=content):
                lesson = self._lesson(command)
                del lesson["content"]
                return lambda name: memory.learn(content, **lesson, command_id=name)
            case commands.LearnMany():
                lessons = [self._lesson(each) for each in command.lessons]
                return lambda name: memory.learn_many(lessons, command_id=name)
            case commands.Revise(content=content):
                block = commands.resolved(command.block, ids)
                return lambda name: memory.revise(block, content, "why not", command_id=name)
            case commands.Forget():
                block = commands.resolved(command.block, ids)
                return lambda name: memory.forget(block, "no use", command_id=name)
            case commands.Erase():
                block = commands.resolved(command.block, ids)
                return lambda name: memory.erase(block, command_id=name)
            case commands.Consolidate(limit=limit, relink=relink):
                return lambda name: memory.consolidate(limit, relink=relink, command_id=name)
            case _:
                return None

    def _other_call(self, command: commands.Command, ids: Sequence[str]) -> Call:
        memory = self.memory
        match command:
            case commands.Recall():
                given = attrs.asdict(command)
                return lambda name: memory.recall(**given, command_id=name)
            case commands.Outcome(signal=signal, weight=weight):
                blocks = [commands.resolved(block, ids) for block in command.blocks]
                return lambda name: memory.outcome(blocks, signal, weight=weight, command_id=name)
            case commands.Connect() | commands.Disconnect():
                given = attrs.asdict(command)
                for end in ("source", "target"):
                    given[end] = commands.resolved(given[end], ids)
                verb = (
                    memory.connect if isinstance(command, commands.Connect) else memory.disconnect
                )
                return lambda name: verb(**given, command_id=name)
            case commands.Curate():
                return lambda name: memory.curate(command_id=name)
            case commands.StartSession():
                return lambda name: memory.start_session(command_id=name)
            case commands.EndSession():
                return lambda name: memory.end_session(command_id=name)
            case _:
                raise AssertionError(command)

    def _lesson(self, lesson: commands.Learn) -> dict[str, Any]:
        given = attrs.asdict(lesson)
        lasts_us = given.pop("expires_in_us")
        if lasts_us is not None:
            given["expires_at"] = date(self._clock.now_us() + lasts_us)
        return given


def date(us: int) -> datetime:
    """Return microseconds since the epoch as a date, or the last one worth telling."""
    far_us = (FAR - EPOCH) // timedelta(microseconds=1)
    return EPOCH + timedelta(microseconds=min(us, far_us))
