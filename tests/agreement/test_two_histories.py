"""Two forks of one log are exchanged under an open process: it never mixes them.

Whatever it is doing, it gives no answer that is of neither history, acknowledges nothing that the
next open refuses, and goes on once it has said that the history was replaced.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import Corrupt, HistoryReplaced, MnemicError, Unavailable
from mnemic.kernel.results import LogEntry
from tests.agreement.two_histories import (
    SPACE,
    ExchangedLog,
    ExchangedStore,
    copied,
    memory,
)

TOPICS = ("harbour gate", "crane oil", "night ferry", "stone quay", "winter ice", "pilot boat")
MIXED = (Corrupt, Unavailable)
"""Errors that would mean that two histories were mixed: no log here is damaged or unreachable."""


def sentence(number: int, who: str) -> str:
    return f"the {TOPICS[number % len(TOPICS)]} is the business of {who} {number}"


def some_block(open_memory: SyncMemory, number: int) -> str:
    blocks = open_memory.blocks(limit=50).items
    if not blocks:
        return open_memory.learn(sentence(number, "the first")).block_id
    return blocks[number % len(blocks)].id


def erase(open_memory: SyncMemory, number: int) -> None:
    open_memory.erase(some_block(open_memory, number))


def connect(open_memory: SyncMemory, number: int) -> None:
    open_memory.connect(some_block(open_memory, number), some_block(open_memory, number + 1))


def outcome(open_memory: SyncMemory, number: int) -> None:
    decision = open_memory.recall(TOPICS[number % len(TOPICS)]).decision_id
    open_memory.outcome(decision_id=decision, signal=number / 10)


def past(open_memory: SyncMemory, number: int) -> None:
    view = open_memory.as_of(version=min(number, open_memory.status().version))
    view.recall(TOPICS[number % len(TOPICS)])
    view.blocks()


def retried(open_memory: SyncMemory, number: int) -> None:
    text = sentence(number, "whoever asks twice")
    first = open_memory.learn(text, command_id=f"learn {number}")
    again = open_memory.learn(text, command_id=f"learn {number}")
    assert first.block_id == again.block_id


def receipt(open_memory: SyncMemory, number: int) -> None:
    decision = open_memory.recall(TOPICS[number % len(TOPICS)]).decision_id
    assert decision is not None
    open_memory.receipt(decision)


def contents(open_memory: SyncMemory) -> set[str]:
    items = open_memory.blocks(limit=500).items
    return {each.content for each in items if each.content is not None}


def session(open_memory: SyncMemory, number: int) -> None:
    with open_memory.session():
        open_memory.learn(sentence(number, "a session"))


STEPS: dict[str, Callable[[SyncMemory, int], object]] = {
    "learn": lambda m, n: m.learn(sentence(n, "the process")),
    "learn_many": lambda m, n: m.learn_many([sentence(each, "it") for each in range(n, n + 3)]),
    "retried": retried,
    "recall": lambda m, n: m.recall(TOPICS[n % len(TOPICS)]),
    "recall unrecorded": lambda m, n: m.recall(TOPICS[n % len(TOPICS)], record=False),
    "consolidate": lambda m, _: m.consolidate(),
    "consolidate by id": lambda m, n: m.consolidate(command_id=f"consolidate {n}"),
    "connect": connect,
    "outcome": outcome,
    "erase": erase,
    "past": past,
    "session": session,
    "curate": lambda m, _: m.curate(),
    "compose": lambda m, n: m.compose([some_block(m, n), some_block(m, n + 1)]),
    "revert": lambda m, n: m.revert(n + 2, n + 3),
    "verify": lambda m, _: m.verify(),
    "blocks": lambda m, _: contents(m),
    "log": lambda m, n: m.log(after=n, limit=500),
    "reference": lambda m, n: m.deep_reference(TOPICS[n % len(TOPICS)]),
    "replay": lambda m, _: m.replay_all(),
    "frontier": lambda m, _: m.frontier(),
    "history": lambda m, n: m.history(of=some_block(m, n)),
    "receipt": receipt,
}


class World:
    """One open memory over two histories with a common beginning."""

    def __init__(self, *, common: int, lengths: tuple[int, int]) -> None:
        self.clock = ManualClock()
        first = begun(self.clock, common)
        self.stores = (first, copied(first, events=first.log(SPACE).head().version + 1))
        for side, length in enumerate(lengths):
            self.write(side, length)
        self.log = ExchangedLog([store.log(SPACE) for store in self.stores])
        self.memory = memory(ExchangedStore(self.log), self.clock, seed="process")

    def write(self, side: int, length: int) -> None:
        """Let another process write to one of the histories."""
        with memory(self.stores[side], self.clock, seed=f"writer {side} {length}") as other:
            for number in range(length):
                other.learn(sentence(number, f"side {side}"))
            if length > 2:
                other.consolidate()
                other.recall(TOPICS[length % len(TOPICS)])

    def log_of(self, side: int, after: int) -> tuple[LogEntry, ...]:
        """Return what a process that opens one of the histories now lists of it."""
        with memory(self.stores[side], self.clock, seed="reader", read_only=True) as reader:
            return reader.log(after=after, limit=500)

    def texts(self, side: int) -> set[str]:
        """Return what a process that opens one of the histories now finds in it."""
        with memory(self.stores[side], self.clock, seed="reader", read_only=True) as reader:
            assert reader.verify().sound
            return contents(reader)


def begun(clock: ManualClock, events: int) -> MemoryStore:
    store = MemoryStore()
    with memory(store, clock, seed="common") as writer:
        for number in range(events):
            writer.learn(sentence(number, "all"))
        writer.consolidate()
    return store


steps = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9), st.none() | st.integers(0, 40)),
    min_size=1,
    max_size=8,
)


@given(
    common=st.integers(0, 5),
    lengths=st.tuples(st.integers(0, 5), st.integers(0, 5)),
    steps=steps,
)
def test_exchanged_histories_are_never_mixed(
    common: int, lengths: tuple[int, int], steps: list[tuple[str, int, int | None]]
) -> None:
    world = World(common=common, lengths=lengths)
    for place, (name, number, after) in enumerate(steps):
        world.log.calls_left = after
        world.log.appended.clear()
        try:
            answer = STEPS[name](world.memory, number)
            if name == "blocks":
                assert answer in (world.texts(0), world.texts(1))
            if name == "verify":
                assert answer.sound  # type: ignore[attr-defined]
            if name == "log":
                assert answer in (world.log_of(0, number), world.log_of(1, number))
        except MIXED as error:
            raise AssertionError(f"{name}: {error.code} {error.message}") from error
        except MnemicError:
            pass
        world.log.calls_left = None
        text = sentence(place, "the last word")
        for _ in range(3):  # each session handle is told once of each exchange
            try:
                world.log.appended.clear()
                block = world.memory.learn(text).block_id
            except HistoryReplaced:
                continue
            break
        else:
            pytest.fail("the space does not go on after it has said that its history was replaced")
        assert world.memory.block(block).content == text
        assert contents(world.memory) == world.texts(world.log.side)
    world.texts(1 - world.log.side)  # the other one opens, too
