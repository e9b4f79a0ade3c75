"""The difference of two views equals that of two folds, and counts the events in between."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.model.identity import pair
from mnemic.kernel.results import DiffResult
from mnemic.projections.listing.timeline import kind_of
from mnemic.specs.reference.difference import expected_difference
from mnemic.specs.reference.fold import fold
from tests.agreement.agents import Command, any_commands
from tests.agreement.log_checker import read
from tests.agreement.test_laws import HISTORIES, SHARES, World

MORE = st.lists(any_commands(), max_size=12)


def named(answer: DiffResult) -> dict[str, list[Any]]:
    """Return the names in each list of a difference."""
    blocks = ("learned", "reactivated", "promoted", "superseded", "archived")
    edges = ("edges_formed", "edges_removed")
    return {
        **{name: [block.id for block in getattr(answer, name)] for name in blocks},
        "rezoned": [each.block.id for each in answer.rezoned],
        "quarantined": [each.id for each in answer.quarantined],
        "released": [each.id for each in answer.released],
        "evidence": [each.block_id for each in answer.evidence],
        **{
            name: [pair(edge.source_id, edge.target_id) for edge in getattr(answer, name)]
            for name in edges
        },
        "edges_changed": [
            pair(each.after.source_id, each.after.target_id) for each in answer.edges_changed
        ],
        "compositions": list(answer.compositions),
        "labels_set": [each.label_id for each in answer.labels_set],
        "labels_retracted": [each.label_id for each in answer.labels_retracted],
    }


@given(history=HISTORIES, more=MORE, share=SHARES)
def test_a_difference_is_that_of_two_folds(
    history: list[Command], more: list[Command], share: float
) -> None:
    world = World().play([*history, *more])
    log, version = read(world.log), world.then(share)
    answer = world.memory.diff(version, len(log) - 1, limit=1000)
    assert named(answer) == expected_difference(fold(log[: version + 1]), fold(log))
    between = Counter(kind_of(type(each.event).__name__) for each in log[version + 1 :])
    assert dict(answer.events) == dict(between)
    assert {name: len(getattr(answer, name)) for name in answer.totals} == dict(answer.totals)


@given(history=HISTORIES, share=SHARES)
def test_a_revert_of_the_whole_rest_leaves_no_revertible_difference(
    history: list[Command], share: float
) -> None:
    """As nothing follows, only an erasure, the degree cap or a lost vector can prevent a revert."""
    world = World().play(history)
    version = world.then(share)
    head = world.log.head().version
    if not 0 < version < head:
        return
    left = world.memory.revert(version + 1, head).conflicts
    assert {each.why for each in left} <= {"erased", "archived", "no-room", "no-vector"}
    if left:
        return
    answer = named(world.memory.diff(version, limit=1000))
    quiet = ("promoted", "rezoned", "edges_formed", "edges_removed", "edges_changed")
    assert [answer[name] for name in (*quiet, "labels_set", "labels_retracted")] == [[]] * 7
    assert {*answer["archived"], *answer["superseded"]} == {*answer["learned"]}
