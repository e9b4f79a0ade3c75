"""Translation of decisions into results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from mnemic.adapters.inprocess.argument_limits import check
from mnemic.adapters.inprocess.batch_items import batch_item
from mnemic.kernel.decisions.connecting import Assertion, Connected
from mnemic.kernel.decisions.feedback import ID_LENGTH_MAX, Feedback, Scored
from mnemic.kernel.decisions.learning import Learned
from mnemic.kernel.decisions.restatement import CONTRADICTS
from mnemic.kernel.errors import FieldRefused, Refused
from mnemic.kernel.events import BlockLearned, BlocksPromoted, BlockSuperseded, Link
from mnemic.kernel.model import identity
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.results import (
    ConnectResult,
    ConnectsResult,
    ContradictedPair,
    DisplacedEdge,
    LearnResult,
    OutcomeResult,
    Refusal,
    RefusedEdge,
    Replacement,
    unit,
)
from mnemic.projections.view import View

DEFERRED = (
    "Both ends or one are full and nothing may make way. The connection waits; curate() admits it "
    "when room appears, or raise degree_cap."
)
REFUSALS = {
    "block-not-found": "no block has this id",
    "block-not-active": "the block is archived",
    "forbidden": "the block is above the zone of this session handle",
    "block-in-inbox": "the block waits in the inbox; consolidate first",
}


def learn_results(view: View, learned: Iterable[Learned], first: int) -> tuple[LearnResult, ...]:
    """Return the results of lessons; a duplicate names the version that learned it.

    Args:
        view: The state that they were decided on.
        learned: The decisions, in order.
        first: The version of the first event among them.
    """
    versions: dict[BlockId, int] = {}
    results = []
    for each in learned:
        if each.event is not None:
            version = first
            first += 1
            if isinstance(each.event, BlockLearned):
                versions[each.block_id] = version
        elif each.block_id in versions:
            version = versions[each.block_id]
        else:
            number = view.number(each.block_id)
            assert number is not None  # noqa: S101 - a duplicate is of a block that is known
            version = view.life.get("learned", number)
        results.append(LearnResult(block_id=each.block_id, action=each.action, version=version))
    return tuple(results)


def replacements(event: BlocksPromoted | BlockSuperseded) -> list[Replacement]:
    """Return the supersessions."""
    if isinstance(event, BlockSuperseded):
        changes = [event.supersession]
    else:
        changes = [each.supersession for each in event.promotions if each.supersession is not None]
    return [
        Replacement(
            old=each.old,
            new=each.new,
            why=each.relation or ("revised" if each.cosine is None else "similar"),
        )
        for each in changes
    ]


def contradictions(links: Iterable[Link]) -> list[ContradictedPair]:
    """Return the pairs that were linked as contradicting each other."""
    return [
        ContradictedPair(older=link.target, newer=link.source)
        for link in links
        if link.relation == CONTRADICTS
    ]


def displaced_results(view: View, displaced: Iterable[EdgeFacts]) -> tuple[DisplacedEdge, ...]:
    """Return displaced edges with the ids they had."""
    results = []
    for edge in displaced:
        low, high = identity.pair(view.id(edge.source), view.id(edge.target))
        results.append(
            DisplacedEdge(from_id=low, to_id=high, relation=edge.relation, weight=unit(edge.weight))
        )
    return tuple(results)


def connect_result(
    assertion: Assertion, connected: Connected, displaced: tuple[DisplacedEdge, ...]
) -> ConnectResult:
    """Return the result of one assertion."""
    return ConnectResult(
        source_id=BlockId(assertion.source),
        target_id=BlockId(assertion.target),
        relation=connected.relation,
        weight=unit(connected.weight),
        action=connected.action,
        note=connected.note,
        displaced_edge=displaced[0] if displaced else None,
        displaced_edges=displaced,
        deferred_note=DEFERRED if connected.action == "deferred" else None,
        warnings=connected.warnings,
    )


def asserted(given: object) -> Assertion | Refused:
    """Return one item of a batch as an assertion, or the refusal if it is invalid."""
    try:
        if isinstance(given, Assertion):
            check("an edge", given)
            return given
        return batch_item(Assertion, given, "an edge")
    except FieldRefused as refusal:
        return refusal


def connects_result(
    view: View, assertions: Sequence[Assertion | Refused], decided: Sequence[Connected | Refused]
) -> ConnectsResult:
    """Return the result of each edge of a batch.

    Args:
        view: The state that the batch was decided on.
        assertions: As given, or the refusal of an invalid item.
        decided: One decision or refusal for each.
    """
    results, errors = [], []
    for position, (assertion, each) in enumerate(zip(assertions, decided, strict=True)):
        if isinstance(each, Refused):
            errors.append(
                RefusedEdge(
                    position=position,
                    source_id=_end(assertion, "source"),
                    target_id=_end(assertion, "target"),
                    code=each.code,
                    detail=each.message,
                    recovery=each.recovery,
                )
            )
        elif isinstance(assertion, Assertion):
            displaced = displaced_results(view, each.displaced)
            results.append(connect_result(assertion, each, displaced))
    actions = Counter(result.action for result in results)
    return ConnectsResult(
        results=tuple(results),
        created=actions["created"],
        reinforced=actions["reinforced"],
        updated=actions["updated"],
        skipped=actions["skipped"],
        deferred=actions["deferred"],
        errors=tuple(errors),
    )


def _end(assertion: Assertion | Refused, name: str) -> str | None:
    given = getattr(assertion, name, None)
    return given[:ID_LENGTH_MAX] if isinstance(given, str) else None


def outcome_result(
    feedback: Feedback, scored: Scored, displaced: tuple[DisplacedEdge, ...]
) -> OutcomeResult:
    """Return what one outcome changed."""
    event = scored.event
    places: dict[str, int] = {}
    for position, block in enumerate(feedback.block_ids):
        places.setdefault(str(block)[:ID_LENGTH_MAX], position)
    return OutcomeResult(
        updated=event.block_ids if event else (),
        signal=float(feedback.signal),
        weight=float(feedback.weight),
        reinforced=len(event.block_ids) if event and event.reinforced else 0,
        penalised=len(event.penalties) if event else 0,
        edges_created=len(event.links) if event else 0,
        edges_confirmed=len(event.confirmed) if event else 0,
        edges_without_room=event.unlinked if event else (),
        displaced_edges=displaced,
        refused=tuple(
            Refusal(
                position=places[refused.block_id],
                id=refused.block_id,
                code=refused.code,
                detail=f"{REFUSALS[refused.code]}: {refused.block_id}",
            )
            for refused in scored.refused
        ),
    )
