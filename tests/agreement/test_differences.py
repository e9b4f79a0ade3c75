"""A difference read off two views is the one between two folds, and counts the events between."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.identity import pair
from mnemic.kernel.results import DiffResult
from mnemic.projections.chronicle import kind_of
from mnemic.specs.reference.difference import expected_difference
from mnemic.specs.reference.fold import fold
from tests.agreement.agents import Command, any_commands
from tests.agreement.test_laws import HISTORIES, SHARES, World
from tests.agreement.witnesses import read

MORE = st.lists(any_commands(), max_size=12)


def named(told: DiffResult) -> dict[str, list[Any]]:
    """Return what each list of a difference names."""
    blocks = ("learned", "reactivated", "promoted", "superseded", "archived")
    edges = ("edges_formed", "edges_removed")
    return {
        **{name: [block.id for block in getattr(told, name)] for name in blocks},
        "rezoned": [each.block.id for each in told.rezoned],
        "evidence": [each.block_id for each in told.evidence],
        **{
            name: [pair(edge.source_id, edge.target_id) for edge in getattr(told, name)]
            for name in edges
        },
        "edges_changed": [
            pair(each.after.source_id, each.after.target_id) for each in told.edges_changed
        ],
        "compositions": list(told.compositions),
        "labels_set": [each.label_id for each in told.labels_set],
        "labels_retracted": [each.label_id for each in told.labels_retracted],
    }


@given(history=HISTORIES, more=MORE, share=SHARES)
def test_a_difference_is_that_of_two_folds(
    history: list[Command], more: list[Command], share: float
) -> None:
    world = World().play([*history, *more])
    log, version = read(world.log), world.then(share)
    told = world.memory.diff(version, len(log) - 1, limit=1000)
    assert named(told) == expected_difference(fold(log[: version + 1]), fold(log))
    between = Counter(kind_of(type(each.event).__name__) for each in log[version + 1 :])
    assert dict(told.events) == dict(between)
    assert {name: len(getattr(told, name)) for name in told.totals} == dict(told.totals)


@given(history=HISTORIES, share=SHARES)
def test_a_revert_of_the_whole_rest_leaves_no_difference_it_could_undo(
    history: list[Command], share: float
) -> None:
    """Nothing came after, so nothing stands in the way but erasure, a full end or a lost vector."""
    world = World().play(history)
    version = world.then(share)
    head = world.log.head().version
    if not 0 < version < head:
        return
    left = world.memory.revert(version + 1, head).conflicts
    assert {each.why for each in left} <= {"erased", "archived", "no-room", "no-vector"}
    if left:
        return
    told = named(world.memory.diff(version, limit=1000))
    quiet = ("promoted", "rezoned", "edges_formed", "edges_removed", "edges_changed")
    assert [told[name] for name in (*quiet, "labels_set", "labels_retracted")] == [[]] * 7
    assert {*told["archived"], *told["superseded"]} == {*told["learned"]}
