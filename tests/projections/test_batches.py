"""Batches: whatever is folded together becomes what it would become one by one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import NANO
from mnemic.kernel.events import (
    BlockLearned,
    BlockSuperseded,
    EdgeConnected,
    Event,
    OutcomeRecorded,
    Recorded,
    Supersession,
)
from mnemic.kernel.identity import BlockId, CommandId
from mnemic.kernel.texts import ERASED
from mnemic.projections.batches.folding import Folding
from mnemic.projections.checkpoints import freeze, thaw
from mnemic.projections.state import State
from mnemic.projections.views import as_of
from tests.agreement.snapshots import told_by_view
from tests.projections.histories import logs

Kept = dict[str, tuple[str, tuple[int, ...], bytes]]
LENGTHS = st.lists(st.integers(min_value=1, max_value=60), min_size=1, max_size=12)
WAYS = st.lists(st.sampled_from(("together", "one by one", "thawed")), min_size=1, max_size=12)


def kept(parts: Mapping[str, NDArray[Any]]) -> Kept:
    """Return parts as values that can be compared, byte for byte."""
    return {name: (part.dtype.str, part.shape, part.tobytes()) for name, part in parts.items()}


def read_only(parts: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return parts as a file would give them: copies that nobody may write to."""
    copies = {name: part.copy() for name, part in parts.items()}
    for copy in copies.values():
        copy.flags.writeable = False
    return copies


def one_by_one(log: list[Recorded]) -> State:
    state = State()
    for recorded in log:
        state.apply(recorded)
    return state


def nearness(state: State) -> list[list[float]]:
    """Return, by embedder, how near the first vector is to all, as a recall sees it at a glance."""
    return [
        index.rough_cosines(index.vector(0), np.arange(index.rows)).tolist()
        for index in state.indexes.values()
        if index.rows
    ]


def folded_together(state: State, events: list[Recorded], *, size: int) -> None:
    """Fold events in two stretches."""
    folding, half = Folding(state, size=size), len(events) // 2
    folding.take(events[:half])
    folding.take(events[half:])
    folding.settle()


@given(log=logs(), lengths=LENGTHS, ways=WAYS)
def test_a_history_cut_anywhere_folds_to_the_same_bytes(
    log: list[Recorded], lengths: list[int], ways: list[str]
) -> None:
    state, turn = State(), 0
    while (first := state.version + 1) < len(log):
        stretch = log[first : first + lengths[turn % len(lengths)]]
        way = ways[turn % len(ways)]
        if way == "one by one":
            for recorded in stretch:
                state.apply(recorded)
        else:
            state = thaw(read_only(freeze(state))) if way == "thawed" else state
            folded_together(state, stretch, size=lengths[0])
        turn += 1
        plain = one_by_one(log[: state.version + 1])
        assert kept(freeze(state)) == kept(freeze(plain))
        assert nearness(state) == nearness(plain)


@given(log=logs())
def test_a_whole_history_in_one_batch_tells_the_same_of_every_version(log: list[Recorded]) -> None:
    state, plain = State(), one_by_one(log)
    folded_together(state, log, size=len(log))
    assert kept(freeze(state)) == kept(freeze(plain))
    for version in range(0, len(log), max(1, len(log) // 8)):
        assert told_by_view(as_of(state, version)) == told_by_view(as_of(plain, version))
    assert list(state.graph.degrees) == list(plain.graph.degrees)
    assert list(state.timeline.clock.last_us.items()) == list(plain.timeline.clock.last_us.items())


HUB, *TEXTS = [BlockId(f"{number:016x}") for number in range(6)]


def corrected_again_and_again() -> list[Recorded]:
    """A log in which an edge moves on from text to text, and is used after each move."""
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


def test_an_edge_moves_on_from_where_the_same_batch_has_moved_it() -> None:
    log, state = corrected_again_and_again(), State()
    folded_together(state, log, size=len(log))
    assert kept(freeze(state)) == kept(freeze(one_by_one(log)))
    row = state.graph.row(0, len(TEXTS))
    values = dict(zip(state.graph.rows.names, state.graph.rows.stood(row), strict=True))
    assert (values["source"], values["count"], values["anchor_us"]) == (5, 4, log[-1].version)
