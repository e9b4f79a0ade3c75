"""Complete events of outcome."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from mnemic.kernel.decision import Decision, first_of
from mnemic.kernel.decisions.feedback import Feedback, Scored, decide_outcome
from mnemic.kernel.events import (
    BlockForgotten,
    BlocksPromoted,
    BlocksRelinked,
    EdgeConnected,
    EdgeDisconnected,
    EmbedderAdopted,
    EmbedderIdentity,
    Event,
    Link,
    OutcomeRecorded,
    Penalty,
    RefusedBlock,
)
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.identity import BlockId, CompositionId, DecisionId
from mnemic.kernel.model.vectors import quantise
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR, NANO, nano
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.timestamps import Instant
from mnemic.projections.view import View
from tests.kernel.decisions.logs import adopted, folded, learned, promotion

EMBEDDER = EmbedderIdentity(name="axes", dimension=2)
VECTOR = quantise([1.0, 0.0], dimension=2)
BLOCKS = A, B, C, WAITING, GONE = tuple(BlockId(f"{n:016x}") for n in range(5))
NOW = Instant(active_us=MICROS_PER_HOUR, recorded_us=0)
RATE = nano(DEFAULT.rate_standard)


def after(*events: Event, **policy: Any) -> View:
    """Return the view of three active, one inbox and one forgotten block, after *events*."""
    return folded(
        adopted(Policy(**policy)),
        EmbedderAdopted(embedder=EMBEDDER),
        *(learned(block) for block in BLOCKS),
        BlocksPromoted(promotions=tuple(promotion(block, VECTOR) for block in (A, B, C))),
        BlockForgotten(block_id=GONE),
        *events,
        now_us=MICROS_PER_HOUR,
    )


def scored(view: View, *blocks: str, signal: float, **more: Any) -> Decision[Scored]:
    return decide_outcome(view, Feedback(block_ids=blocks, signal=signal, **more), NOW)


def made(event: OutcomeRecorded | None, **fields: Any) -> Decision[Scored]:
    return Decision(() if event is None else (event,), Scored(**fields))


def test_an_outcome_is_recorded_as_given_and_each_block_once() -> None:
    given: dict[str, Any] = {
        "source": "tests",
        "decision_id": DecisionId("d7"),
        "composition_id": CompositionId("lane"),
    }
    unknown = "x" * 70
    refused = (
        RefusedBlock(block_id=WAITING, code="block-in-inbox"),
        RefusedBlock(block_id=GONE, code="block-not-active"),
        RefusedBlock(block_id="x" * 64, code="block-not-found"),
    )
    blocks = (B, unknown, A, WAITING, B, GONE)
    assert scored(after(), *blocks, signal=0.5, weight=2.5, **given) == made(
        event=OutcomeRecorded(
            block_ids=(A, B), signal=NANO // 2, weight=nano(2.5), refused=refused, **given
        ),
        refused=refused,
    )
    assert scored(after(), WAITING, GONE, unknown, signal=1.0) == made(event=None, refused=refused)


@pytest.mark.parametrize(
    ("weight", "stored"), [(1e-12, 1), (1e-9, 1), (2e-9, 2), (1000, 1000 * NANO)]
)
def test_an_outcome_counts_at_least_one_unit(weight: float, stored: int) -> None:
    event = first_of(scored(after(), A, signal=0.5, weight=weight).events, OutcomeRecorded)
    assert event is not None
    assert event.weight == stored


def test_a_success_links_its_blocks_and_confirms_existing_edges() -> None:
    stands = EdgeConnected(source=B, target=A, relation="custom", weight=1, action="created")
    apart = EdgeDisconnected(source=C, target=A)
    assert scored(after(stands, apart), C, B, A, signal=0.75) == made(
        event=OutcomeRecorded(
            block_ids=(A, B, C),
            signal=nano(0.75),
            reinforced=True,
            links=(Link(source=B, target=C, weight=nano(0.75 * DEFAULT.outcome_edge_weight)),),
            confirmed=((A, B),),
            unlinked=((A, C),),
        ),
        refused=(),
    )


def test_a_displaced_edge_is_not_confirmed() -> None:
    found = BlocksRelinked(links=(Link(source=C, target=A, weight=nano(0.5)),))
    scoring = scored(after(found, degree_cap=1), A, B, C, signal=1.0)
    assert scoring == made(
        event=OutcomeRecorded(
            block_ids=(A, B, C),
            signal=NANO,
            reinforced=True,
            links=(
                Link(
                    source=A,
                    target=B,
                    weight=nano(DEFAULT.outcome_edge_weight),
                    displaced=((A, C),),
                ),
            ),
            unlinked=((B, C), (A, C)),
        ),
        refused=(),
        displaced=scoring.result.displaced,
    )
    assert [evolve(edge, source=0, target=2) for edge in scoring.result.displaced] == [
        EdgeFacts(0, 2, "similar", "similarity", nano(0.5), 0, 0)
    ]


def test_a_failure_doubles_the_decay_unless_it_is_at_the_ceiling() -> None:
    ceiling = nano(DEFAULT.penalty_ceiling)
    worn = OutcomeRecorded(block_ids=(B,), signal=0, penalties=(Penalty(block_id=B, rate=ceiling),))
    assert scored(after(worn), A, B, signal=0.1).events == (
        OutcomeRecorded(
            block_ids=(A, B),
            signal=nano(0.1),
            penalties=(Penalty(block_id=A, rate=2 * RATE),),
        ),
    )
    below = DEFAULT.outcome_penalises_below
    outcome = OutcomeRecorded(block_ids=(A,), signal=nano(below))
    assert scored(after(), A, signal=below).events == (outcome,)
