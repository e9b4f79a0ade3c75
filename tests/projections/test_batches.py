"""Batches: events replayed in a batch give the same state as one by one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.kernel.events import (
    BlockLearned,
    BlockRestated,
    BlockSuperseded,
    EdgeConnected,
    Event,
    OutcomeRecorded,
    Recorded,
    Supersession,
)
from mnemic.kernel.model.identity import BlockId, CommandId
from mnemic.kernel.model.texts import ERASED
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.projections.state.apply import apply
from mnemic.projections.state.checkpoint import freeze, thaw
from mnemic.projections.state.replay import BatchReplay
from mnemic.projections.state.state import State
from mnemic.projections.view import as_of
from tests.agreement.snapshots import state_of_view
from tests.projections.histories import logs

Kept = dict[str, tuple[str, tuple[int, ...], bytes]]
LENGTHS = st.lists(st.integers(min_value=1, max_value=60), min_size=1, max_size=12)
WAYS = st.lists(st.sampled_from(("together", "one by one", "thawed")), min_size=1, max_size=12)


def kept(parts: Mapping[str, NDArray[Any]]) -> Kept:
    """Return parts as values that can be compared, byte for byte."""
    return {name: (part.dtype.str, part.shape, part.tobytes()) for name, part in parts.items()}


def read_only(parts: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return parts as a file would give them: read-only copies."""
    copies = {name: part.copy() for name, part in parts.items()}
    for copy in copies.values():
        copy.flags.writeable = False
    return copies


def one_by_one(log: list[Recorded]) -> State:
    state = State()
    for recorded in log:
        apply(state, recorded)
    return state


def nearness(state: State) -> list[list[float]]:
    """Return, by embedder, the rough cosines of the first vector to all."""
    return [
        index.rough_cosines(index.vector(0), np.arange(index.rows)).tolist()
        for index in state.indexes.values()
        if index.rows
    ]


def replayed(state: State, events: list[Recorded], *, size: int) -> None:
    """Replay events in two parts."""
    replay, half = BatchReplay(state, size=size), len(events) // 2
    replay.take(events[:half])
    replay.take(events[half:])
    replay.settle()


@given(log=logs(), lengths=LENGTHS, ways=WAYS)
def test_a_history_replayed_in_any_batches_gives_the_same_bytes(
    log: list[Recorded], lengths: list[int], ways: list[str]
) -> None:
    state, turn = State(), 0
    while (first := state.version + 1) < len(log):
        stretch = log[first : first + lengths[turn % len(lengths)]]
        way = ways[turn % len(ways)]
        if way == "one by one":
            for recorded in stretch:
                apply(state, recorded)
        else:
            state = thaw(read_only(freeze(state))) if way == "thawed" else state
            replayed(state, stretch, size=lengths[0])
        turn += 1
        plain = one_by_one(log[: state.version + 1])
        assert kept(freeze(state)) == kept(freeze(plain))
        assert nearness(state) == nearness(plain)


@given(log=logs())
def test_a_history_replayed_in_one_batch_is_equal_at_every_version(log: list[Recorded]) -> None:
    state, plain = State(), one_by_one(log)
    replayed(state, log, size=len(log))
    assert kept(freeze(state)) == kept(freeze(plain))
    for version in range(0, len(log), max(1, len(log) // 8)):
        assert state_of_view(as_of(state, version)) == state_of_view(as_of(plain, version))
    assert list(state.graph.degrees) == list(plain.graph.degrees)
    assert list(state.timeline.clock.last_us.items()) == list(plain.timeline.clock.last_us.items())


HUB, *TEXTS = [BlockId(f"{number:016x}") for number in range(6)]


def corrected_again_and_again() -> list[Recorded]:
    """A log in which an edge moves from text to text, and is used after each move."""
    events: list[Event] = [BlockLearned(block_id=block, text=ERASED) for block in (HUB, *TEXTS)]
    events.append(
        EdgeConnected(source=TEXTS[0], target=HUB, relation="r", weight=NANO, action="created")
    )
    for old, new in pairwise(TEXTS):
        events += (
            BlockSuperseded(supersession=Supersession(old=old, new=new, moved=(HUB,))),
            OutcomeRecorded(
                signal=NANO, weight=NANO, block_ids=(), reinforced=True, confirmed=((new, HUB),)
            ),
        )
    return recorded(events)


def recorded(events: list[Event]) -> list[Recorded]:
    """Return a log of *events*, one microsecond apart."""
    return [
        Recorded(
            version=version,
            active_us=version,
            recorded_us=version,
            command_id=CommandId("c"),
            event=event,
        )
        for version, event in enumerate(events)
    ]


def test_an_edge_moves_repeatedly_within_one_batch() -> None:
    log, state = corrected_again_and_again(), State()
    replayed(state, log, size=len(log))
    assert kept(freeze(state)) == kept(freeze(one_by_one(log)))
    row = state.graph.row(0, len(TEXTS))
    values = dict(zip(state.graph.rows.names, state.graph.rows.row_values(row), strict=True))
    assert (values["source"], values["count"], values["anchor_us"]) == (5, 4, log[-1].version)


def test_what_is_said_again_within_a_batch_has_its_date_at_every_version() -> None:
    running, stopped = TEXTS[:2]
    log = recorded(
        [
            BlockLearned(block_id=running, text=ERASED),
            BlockLearned(block_id=stopped, text=ERASED, created_at_us=50),
            BlockRestated(block_id=running),
            BlockRestated(block_id=running, said_us=70),
            BlockRestated(block_id=running, undated=True),
            BlockRestated(block_id=stopped, said_us=80),
        ]
    )
    expected = [[(0, 0)], *([each, (50, 1)] for each in ((0, 0), (2, 2), (70, 3), (70, 4)))]
    expected.append([(70, 4), (80, 5)])
    for size in range(1, len(log) + 1):
        state = State()
        replayed(state, log, size=size)
        for version, dates in enumerate(expected):
            life = as_of(state, version).life
            assert [
                (life.get("created_us", number), life.get("said", number))
                for number in range(len(dates))
            ] == dates
        assert kept(freeze(state)) == kept(freeze(one_by_one(log)))
