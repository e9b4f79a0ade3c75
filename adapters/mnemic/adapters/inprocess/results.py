"""Translation of decisions into results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mnemic.adapters.inprocess.argument_limits import check
from mnemic.adapters.inprocess.batch_items import batch_item
from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.learning import Learned
from mnemic.kernel.decisions.restatement import CONTRADICTS
from mnemic.kernel.errors import BatchRefused, FieldRefused, Refused
from mnemic.kernel.events import (
    BlocksPromoted,
    BlockSuperseded,
    Link,
    OutcomeRecorded,
    RefusedBlock,
)
from mnemic.kernel.model import identity
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.results import (
    ContradictedPair,
    LearnManyResult,
    LearnResult,
    OutcomeResult,
    Refusal,
    Replacement,
    unit,
)
from mnemic.kernel.results.shape import plural, reasons
from mnemic.projections.view import View

if TYPE_CHECKING:
    from mnemic.kernel.decisions.connecting import Assertion, Connected
    from mnemic.kernel.decisions.feedback import Feedback
    from mnemic.kernel.results import ConnectResult, ConnectsResult, DisplacedEdge, RefusedEdge

RefusalT = TypeVar("RefusalT", bound="Refusal | RefusedEdge")

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


def learn_results(
    view: View, learned: Sequence[Learned], *, following: int
) -> tuple[LearnResult, ...]:
    """Return the results of lessons; a duplicate names the version that learned it.

    Args:
        view: The state that they were decided on.
        learned: What they did, in order.
        following: Version of their first event.
    """
    versions: dict[BlockId, int] = {}
    results = []
    for each in learned:
        if each.event_count:
            version = following + each.offset
            following += each.event_count
            if each.enters_inbox:
                versions[each.block_id] = version
        elif each.block_id in versions:
            version = versions[each.block_id]
        else:
            number = view.number(each.block_id)
            assert number is not None  # noqa: S101 - a duplicate is of a block that is known
            version = view.life.get("learned", number)
        results.append(LearnResult(block_id=each.block_id, action=each.action, version=version))
    return tuple(results)


def learn_many_result(
    view: View, decided: Decision[tuple[Learned | Refused, ...]]
) -> LearnManyResult:
    """Return the result of a batch of lessons.

    Args:
        view: The state that it was decided on.
        decided: The decision; blocks are forgotten before the lessons are learned.

    Raises:
        BatchRefused: Every lesson was refused.
    """
    learned = [each for each in decided.result if isinstance(each, Learned)]
    forgotten = len(decided.events) - sum(each.event_count for each in learned)
    refused = tuple(
        Refusal(position=position, code=each.code, detail=each.message, recovery=each.recovery)
        for position, each in enumerate(decided.result)
        if isinstance(each, Refused)
    )
    check_batch("lesson", refused, of=len(decided.result))
    return LearnManyResult(
        results=learn_results(view, learned, following=view.version + 1 + forgotten),
        refused=refused,
    )


def check_batch(noun: str, refused: Sequence[Refusal | RefusedEdge], *, of: int) -> None:
    """Refuse a batch of which every item was refused: it would write nothing, without a word.

    Args:
        noun: The name of an item in messages.
        refused: The refusals.
        of: Number of items; a batch without any is not refused.

    Raises:
        BatchRefused: There are as many refusals as items.
    """
    if not refused or len(refused) < of:
        return
    said = "" if of == 1 else "all "
    were = "was" if of == 1 else "were"
    raise BatchRefused(
        f"{said}{plural(of, noun)} {were} refused: {reasons(refused)}",
        recovery=refused[0].recovery or None,
        refused=[each.to_dict() for each in refused],
    )


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
    from mnemic.kernel.results import DisplacedEdge

    results = []
    for edge in displaced:
        low, high = identity.pair(view.id(edge.source), view.id(edge.target))
        results.append(
            DisplacedEdge(from_id=low, to_id=high, relation=edge.relation, weight=unit(edge.weight))
        )
    return tuple(results)


def refusals_in(error: BatchRefused, of: type[RefusalT]) -> tuple[RefusalT, ...]:
    """Return the refusals of the items of a batch, as values of the class that they had."""
    refused: Any = error.facts["refused"]
    return tuple(of(**each) for each in refused)


def connect_result(view: View, assertion: Assertion, connected: Connected) -> ConnectResult:
    """Return the result of one assertion.

    Args:
        view: The state that it was decided on.
        assertion: As given by the caller.
        connected: What it did.
    """
    from mnemic.kernel.results import ConnectResult

    displaced = displaced_results(view, connected.displaced)
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
    from mnemic.kernel.decisions.connecting import Assertion

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

    Raises:
        BatchRefused: Every edge was refused.
    """
    from mnemic.kernel.decisions.connecting import Assertion
    from mnemic.kernel.results import ConnectsResult, RefusedEdge

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
            results.append(connect_result(view, assertion, each))
    check_batch("edge", errors, of=len(assertions))
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
    from mnemic.kernel.decisions.feedback import ID_LENGTH_MAX

    given = getattr(assertion, name, None)
    return given[:ID_LENGTH_MAX] if isinstance(given, str) else None


def outcome_result(
    feedback: Feedback,
    event: OutcomeRecorded | None,
    refused: Iterable[RefusedBlock],
    displaced: tuple[DisplacedEdge, ...],
) -> OutcomeResult:
    """Return what one outcome changed.

    Args:
        feedback: As given by the caller.
        event: Its event; None if no block could be scored.
        refused: The blocks that could not.
        displaced: The edges that made room.

    Raises:
        BatchRefused: None of the blocks that the caller named could be scored.
    """
    from mnemic.kernel.decisions.feedback import ID_LENGTH_MAX

    places: dict[str, int] = {}
    for position, block in enumerate(feedback.block_ids):
        places.setdefault(str(block)[:ID_LENGTH_MAX], position)
    refusals = tuple(
        Refusal(
            position=places[each.block_id],
            id=each.block_id,
            code=each.code,
            detail=f"{REFUSALS[each.code]}: {each.block_id}",
        )
        for each in refused
    )
    if feedback.decision_id is None and feedback.composition_id is None:
        check_batch("block", refusals, of=len(places))  # else the caller named no block
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
        refused=refusals,
    )
