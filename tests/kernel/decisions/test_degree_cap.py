"""Displacement under the degree cap, on a hub with edges of every class."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mnemic.kernel.decisions.degree_cap import DegreeCap, class_of
from mnemic.kernel.events import BlockLearned, EdgeConnected, PolicyAdopted, Recorded
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.identity import BlockId, CommandId
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR, NANO
from mnemic.kernel.policy import Policy
from mnemic.projections.state.apply import apply
from mnemic.projections.state.state import State
from mnemic.projections.view import View, live

HUB, NEW = 0, 9

BLOCKS = tuple(BlockId(f"{n:016x}") for n in range(10))

Spoke = tuple[str, str, float]
"""Relation, origin and weight of an edge of the hub."""


def hub(*spokes: Spoke, cap: int, blocks: Sequence[BlockId] = BLOCKS) -> View:
    """Return a view of ten blocks, of which the first has an edge to each of the next."""
    policy = Policy(degree_cap=cap)
    events: list[object] = [
        PolicyAdopted(policy_id=policy.id, body=policy.body),
        *(BlockLearned(block_id=block, text=BlockText(content=block)) for block in blocks),
        *(
            EdgeConnected(
                source=blocks[HUB],
                target=blocks[place],
                relation=relation,
                weight=round(weight * NANO),
                action="created",
                origin=origin,
            )
            for place, (relation, origin, weight) in enumerate(spokes, start=1)
        ),
    ]
    state = State()
    for version, event in enumerate(events):
        apply(
            state,
            Recorded(
                version=version,
                active_us=0,
                recorded_us=0,
                command_id=CommandId("c"),
                event=event,  # type: ignore[arg-type]
            ),
        )
    return live(state, active_us=MICROS_PER_HOUR, instant_us=0)


def others(displaced: Sequence[EdgeFacts] | None) -> list[int] | None:
    return None if displaced is None else [edge.other(HUB) for edge in displaced]


@pytest.mark.parametrize(
    ("spokes", "relation", "displaced"),
    [
        ([("similar", "similarity", 0.9), ("co_occurs", "co_retrieval", 0.1)], "supports", [1]),
        ([("similar", "similarity", 0.9), ("similar", "similarity", 0.8)], "supports", [2]),
        ([("similar", "similarity", 0.5), ("similar", "similarity", 0.5)], "supports", [1]),
        ([("co_occurs", "co_retrieval", 0.5), ("supports", "agent", 0.1)], "custom", [1]),
        ([("similar", "similarity", 0.5), ("supports", "agent", 0.1)], "co_occurs", [1]),
        ([("co_occurs", "co_retrieval", 0.5), ("supports", "agent", 0.1)], "co_occurs", None),
        ([("similar", "similarity", 0.5), ("supports", "agent", 0.1)], "similar", None),
        ([("similar", "agent", 0.1), ("co_occurs", "agent", 0.1)], "supports", None),
        ([("outcome", "outcome", 0.1), ("elaborates", "agent", 0.1)], "supports", None),
        ([("similar", "outcome", 0.2), ("caused by", "agent", 0.1)], "outcome", [1]),
        ([("supports", "agent", 0.1)], "supports", []),
    ],
)
def test_the_weakest_edge_of_the_lowest_class_is_displaced(
    spokes: list[Spoke], relation: str, displaced: list[int] | None
) -> None:
    room = DegreeCap(hub(*spokes, cap=2), MICROS_PER_HOUR)
    assert others(room.admit(HUB, NEW, relation)) == displaced
    assert room.degree(HUB) == 2
    assert room.stands(HUB, NEW) is (displaced is not None)
    assert all(not room.stands(HUB, place) for place in displaced or ())


def test_ties_go_by_the_pair_of_ids_in_whatever_order_they_were_learned() -> None:
    spokes: list[Spoke] = [("similar", "similarity", 0.5)] * 2
    room = DegreeCap(hub(*spokes, cap=2, blocks=BLOCKS[::-1]), MICROS_PER_HOUR)
    assert others(room.admit(HUB, NEW, "supports")) == [2]


def test_an_edge_is_not_displaced_by_the_command_that_formed_it() -> None:
    room = DegreeCap(hub(("similar", "similarity", 0.5), cap=2), MICROS_PER_HOUR)
    assert others(room.admit(HUB, 7, "similar")) == []
    assert others(room.admit(HUB, 8, "supports")) == [1]
    assert room.admit(HUB, NEW, "supports") is None
    assert (room.degree(HUB), room.degree(7), room.degree(1)) == (2, 1, 0)


def test_a_block_above_a_lowered_cap_gets_no_edge() -> None:
    spokes: list[Spoke] = [("similar", "similarity", 0.5)] * 3
    room = DegreeCap(hub(*spokes, cap=2), MICROS_PER_HOUR)
    assert room.admit(HUB, NEW, "supports") is None
    assert room.degree(HUB) == 3
    room.remove(HUB, 1)
    assert others(room.admit(HUB, NEW, "supports")) == [2]


def test_a_cap_of_zero_forms_no_edge() -> None:
    assert DegreeCap(hub(cap=0), 0).admit(HUB, NEW, "supports") is None


def test_an_edge_removed_twice_counts_once() -> None:
    room = DegreeCap(hub(("similar", "similarity", 0.5), cap=2), 0)
    room.remove(HUB, 1)
    room.remove(1, HUB)
    assert (room.degree(HUB), room.degree(1), room.stands(HUB, 1)) == (0, 0, False)


def test_relations_fall_into_three_classes() -> None:
    names = ("similar", "co_occurs", "supports", "outcome", "contradicts", "anything else")
    assert [class_of(name) for name in names] == [0, 1, 2, 2, 2, 2]
