"""The end of a chunk of a consolidation, and its promotions, near-duplicates and links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve

from mnemic.kernel.decisions.promotion import Candidate, decide_promotion, decide_relink
from mnemic.kernel.events import (
    BlockLearned,
    BlocksPromoted,
    BlocksRelinked,
    EdgeConnected,
    EdgeDisconnected,
    EmbedderAdopted,
    EmbedderIdentity,
    Event,
    Link,
    NearDuplicate,
    Promotion,
)
from mnemic.kernel.model.blocks import Fresh
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import AnalysisText, BlockText, Embedding
from mnemic.kernel.model.vectors import Vector, pack, quantise
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR, NANO, nano
from mnemic.kernel.policy import CONSTITUTIONAL, Policy
from mnemic.kernel.ports import Analysis
from mnemic.kernel.timestamps import Instant
from mnemic.projections.view import View
from tests.kernel.decisions.logs import adopted, folded, promotion

SIZE = 8
NOW = Instant(active_us=0, recorded_us=0)
EMBEDDER = EmbedderIdentity(name="axes", dimension=SIZE)


def vector(along: int, across: int = 0, lean: float = 0.0) -> Vector:
    values = [0.0] * SIZE
    values[across] = lean
    values[along] = 1.0
    return quantise(values, dimension=SIZE)


def block(number: int) -> BlockId:
    return BlockId(f"{number:016x}")


def learned(number: int, *tags: str, says: int | None = None, **more: Any) -> BlockLearned:
    """Return a block with a statement of its own, or with that of another block."""
    content = f"{number}" if says is None else f"{says}."
    text = BlockText(of=(block(number),), content=content, tags=tags)
    return BlockLearned(block_id=block(number), text=text, **more)


def embedding(number: int, of: Vector) -> Embedding:
    return Embedding(of=(block(number),), packed=pack(of))


def active(number: int, of: Vector) -> BlocksPromoted:
    return BlocksPromoted(promotions=(promotion(block(number), of),))


def edge(source: int, target: int) -> EdgeConnected:
    return EdgeConnected(
        source=block(source), target=block(target), relation="supports", weight=1, action="created"
    )


def after(*events: Event, policy: Policy | None = None) -> View:
    return folded(adopted(policy or Policy()), EmbedderAdopted(embedder=EMBEDDER), *events)


OLD: tuple[Event, ...] = (
    *(learned(number) for number in range(4)),
    *(active(number, vector(number)) for number in range(4)),
)
"""Blocks 0 to 3 are active and dissimilar."""


def saying(*others: int) -> tuple[BlockLearned, ...]:
    """Return blocks 4, 5 and so on, in the inbox, with the statements of *others*."""
    return tuple(learned(number, says=other) for number, other in enumerate(others, start=4))


def waiting(*numbers: int) -> list[Candidate]:
    return [Candidate(number=number, vector=vector(number)) for number in numbers]


def chunk_of(view: View, candidates: Sequence[Candidate]) -> BlocksPromoted:
    return decide_promotion(view, candidates, NOW, embedder=EMBEDDER).result


def promoted(view: View, candidates: Sequence[Candidate]) -> list[int]:
    event = chunk_of(view, candidates)
    return [int(each.block_id, 16) for each in event.promotions]


# --- where a chunk ends ---------------------------------------------------------------------


def test_independent_supersessions_share_a_chunk() -> None:
    said = saying(0, 1, 2)
    assert promoted(after(*OLD, *said, edge(0, 3), edge(1, 3)), waiting(4)) == [4]
    assert promoted(after(*OLD, *said, edge(0, 3)), waiting(4, 5, 6)) == [4, 5, 6]


@pytest.mark.parametrize("tie", [edge(0, 1), edge(1, 0)], ids=["from", "to"])
def test_a_chunk_ends_before_a_neighbour_of_what_it_superseded(tie: EdgeConnected) -> None:
    assert promoted(after(*OLD, *saying(0, 1), tie), waiting(4, 5)) == [4]
    assert promoted(after(*OLD, *saying(0, 2, 1), tie), waiting(4, 5, 6)) == [4, 5]
    assert promoted(after(*OLD, *saying(1, 2, 0, 3), tie), waiting(4, 5, 6, 7)) == [4, 5]


def test_a_chunk_ends_before_a_block_sharing_a_neighbour_with_a_superseded_one() -> None:
    view = after(*OLD, *saying(0, 1), edge(0, 3), edge(3, 1))
    assert promoted(view, waiting(4, 5)) == [4]


def test_a_chunk_ends_before_a_supersession_of_its_own_block() -> None:
    assert promoted(after(*OLD, learned(4), learned(5, says=4)), waiting(4, 5)) == [4]
    assert promoted(after(*OLD, *saying(0, 0)), waiting(4, 5)) == [4]


def test_a_neighbour_in_the_inbox_that_superseded_ends_the_chunk_too() -> None:
    view = after(*OLD, *saying(0, 1), edge(4, 1))
    assert promoted(view, waiting(4, 5)) == [4]


def test_equal_vectors_end_no_chunk_and_supersede_nothing() -> None:
    view = after(*OLD, learned(4), learned(5), edge(0, 1))
    chunk = [Candidate(number=number, vector=vector(0)) for number in (4, 5)]
    event = chunk_of(view, chunk)
    assert [each.supersession for each in event.promotions] == [None, None]


# --- what is noted --------------------------------------------------------------------------

NOTED = Policy(near_duplicate=0.999, near_duplicate_noted=0.9, edge_candidates=2, edge_threshold=1)


def noted(event: BlocksPromoted) -> list[tuple[int, int]]:
    return [(int(each.block_id, 16), int(each.other, 16)) for each in event.near]


def test_near_duplicates_are_noted_best_first_as_many_as_there_are_candidates() -> None:
    near = [vector(0, 1, lean) for lean in (0.3, 0.1, 0.2)]
    events: tuple[Event, ...] = (
        *(learned(number) for number in range(5)),
        *(active(number, each) for number, each in enumerate(near)),
    )
    view = after(*events, policy=NOTED)
    event = chunk_of(view, [Candidate(number=3, vector=vector(0))])
    assert noted(event) == [(3, 1), (3, 2)]
    assert [each.cosine for each in event.near] == sorted(
        (each.cosine for each in event.near), reverse=True
    )


def test_blocks_of_one_chunk_are_near_duplicates_too_ties_by_id() -> None:
    events: tuple[Event, ...] = (learned(2), learned(1), learned(0), learned(3, category="message"))
    chunk = [
        Candidate(number=0, vector=vector(0, 1, 0.2)),
        Candidate(number=1, vector=vector(0, 2, 0.2)),
        Candidate(number=2, vector=vector(0)),
        Candidate(number=3, vector=vector(0)),
    ]
    event = chunk_of(after(*events, policy=NOTED), chunk)
    assert noted(event) == [(1, 2), (0, 1), (0, 2)]


def test_a_superseded_block_is_not_noted_or_matched_again() -> None:
    policy = Policy(edge_threshold=1)
    near = {0: vector(0, 1, 0.2), 1: vector(0, 2, 0.4)}
    events: tuple[Event, ...] = (
        *(learned(number) for number in range(2)),
        learned(2, says=0),
        *(active(number, each) for number, each in near.items()),
    )
    view = after(*events, policy=policy)
    event = chunk_of(view, [Candidate(number=2, vector=vector(0))])
    said = event.promotions[0].supersession
    assert said is not None
    assert (said.old, said.new, said.relation) == (block(0), block(2), "same")
    assert said.cosine is None
    assert noted(event) == [(2, 1)]


def test_a_constitutional_block_is_noted_and_stays() -> None:
    law, again = learned(0, CONSTITUTIONAL), learned(1, says=0)
    new = Candidate(number=1, vector=vector(0))
    event = chunk_of(after(law, again, active(0, vector(0))), [new])
    assert event.promotions[0].supersession is None
    assert noted(event) == [(1, 0)]
    chunk = [Candidate(number=0, vector=vector(0)), new]
    event = chunk_of(after(law, again), chunk)
    assert [each.supersession for each in event.promotions] == [None, None]
    assert noted(event) == [(1, 0)]


# --- what is promoted -----------------------------------------------------------------------


def test_a_promotion_keeps_what_an_analyst_found_as_far_as_it_fits() -> None:
    policy = Policy(tags_max=2)
    view = after(learned(0, "own"), policy=policy)
    analysis = Analysis(tags=("self/value", "zest"), summary="short", alignment=0.25)
    candidate = Candidate(number=0, vector=vector(0), analysis=analysis, analysed="done")
    assert chunk_of(view, [candidate]) == BlocksPromoted(
        promotions=(
            Promotion(
                block_id=block(0),
                vector=embedding(0, vector(0)),
                rate=nano(policy.rate_durable),
                analysis=AnalysisText(of=(block(0),), tags=("self/value",), summary="short"),
                analysed="done",
                alignment=NANO // 4,
                rarity=view.rarities([0])[0],
                typicality=NANO // 4,
            ),
        )
    )


def test_an_empty_analysis_is_not_stored() -> None:
    analysis = Analysis(tags=(), summary=None, alignment=None)
    candidate = Candidate(number=0, vector=vector(0), analysis=analysis, analysed="done")
    (promotion,) = chunk_of(after(learned(0)), [candidate]).promotions
    assert (promotion.analysis, promotion.alignment, promotion.analysed) == (None, None, "done")
    failed = Candidate(number=0, vector=vector(0), analysed="failed")
    (promotion,) = chunk_of(after(learned(0)), [failed]).promotions
    assert (promotion.analysis, promotion.alignment, promotion.analysed) == (None, None, "failed")


def test_a_tag_that_is_taken_over_changes_the_tier_even_where_two_tiers_fade_alike() -> None:
    policy = Policy(rate_durable=Policy().rate_standard)
    fleeting = learned(1, says=0, category="observation")
    valued = learned(0, "self/value", category="observation")
    view = after(valued, active(0, vector(0)), fleeting, policy=policy)
    (promotion,) = chunk_of(view, waiting(1)).promotions
    assert promotion.rate == nano(policy.rate_ephemeral)
    assert promotion.supersession is not None
    assert promotion.supersession.rate == nano(policy.rate_durable)


# --- what is linked -------------------------------------------------------------------------

EAGER = Policy(edge_threshold=0.0, cosine_guard=0.0, degree_cap=2, edge_candidates=2)


def links(event: BlocksPromoted | BlocksRelinked | None) -> list[tuple[int, int]]:
    assert event is not None
    return [(int(link.source, 16), int(link.target, 16)) for link in event.links]


def fresh(number: int) -> Fresh:
    return Fresh(number=number, vector=vector(number), category="knowledge", tags=())


def test_links_are_formed_up_to_the_cap_unless_barred() -> None:
    view = after(*OLD, policy=EAGER)
    assert links(decide_relink(view, [fresh(0)], NOW).result) == [(0, 1), (0, 2)]
    barred = EdgeDisconnected(source=block(1), target=block(0), relation="supports", weight=1)
    view = after(*OLD, edge(1, 0), barred, edge(2, 3), edge(2, 1), policy=EAGER)
    assert decide_relink(view, [fresh(0)], NOW).result is None


def test_a_pair_that_is_linked_already_is_skipped() -> None:
    view = after(*OLD, edge(1, 0), policy=EAGER)
    event = decide_relink(view, [fresh(0), fresh(2)], NOW).result
    assert links(event) == [(0, 2), (2, 1)]
    assert event is not None
    assert {type(link) for link in event.links} == {Link}


@pytest.mark.parametrize(("hours", "gone"), [(0, 3), (100, 2)])
def test_a_link_displaces_the_edge_of_lower_trust_that_is_weakest_by_now(
    hours: int, gone: int
) -> None:
    policy = evolve(EAGER, edge_candidates=3)
    zones = ("trusted", "trusted", "external", "external")
    rates = (nano(rate) for rate in (0.01, 0.01, 0.01, 0.001))
    found = ((2, nano(0.5)), (3, nano(0.4)))
    view = after(
        *(learned(number, zone=zone) for number, zone in enumerate(zones)),
        *(
            BlocksPromoted(promotions=(evolve(promotion(block(n), vector(n)), rate=rate),))
            for n, rate in enumerate(rates)
        ),
        BlocksRelinked(
            links=tuple(
                Link(source=block(0), target=block(other), weight=weight) for other, weight in found
            )
        ),
        policy=policy,
    )
    event = decide_relink(
        view, [fresh(0)], Instant(active_us=hours * MICROS_PER_HOUR, recorded_us=0)
    ).result
    assert event is not None
    assert [each.displaced for each in event.links] == [((block(0), block(gone)),)]


def test_moved_edges_count_towards_the_cap() -> None:
    policy = Policy(
        edge_threshold=0.0, cosine_guard=0.0, degree_cap=1, edge_candidates=4, near_duplicate=0.99
    )
    view = after(*OLD, *saying(0), learned(5), edge(0, 1), policy=policy)
    event = chunk_of(view, waiting(4, 5))
    said = event.promotions[0].supersession
    assert said is not None
    assert said.moved == (block(1),)
    assert links(event) == [(5, 2)]


def test_a_near_duplicate_pair_names_the_newer_block_first() -> None:
    view = after(*OLD, learned(4), policy=NOTED)
    event = chunk_of(view, [Candidate(number=4, vector=vector(0, 1, 0.2))])
    assert event.near == (
        NearDuplicate(block_id=block(4), other=block(0), cosine=event.near[0].cosine),
    )
