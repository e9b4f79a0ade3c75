"""Rendering of weighed evidence as the answer of ``deep_reference``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mnemic.kernel.model.identity import short
from mnemic.kernel.rendering import TRUSTED, labelled
from mnemic.kernel.results import (
    ClaimConflict,
    Contradiction,
    DeepReference,
    ReferencedBlock,
    Superseded,
    unit,
)
from mnemic.kernel.timestamps import iso
from mnemic.projections.references.disputes import is_below
from mnemic.projections.references.evidence import Evidence, Gathered
from mnemic.projections.references.intent import COMPARISON, TIMELINE
from mnemic.projections.references.scoring import Weighed
from mnemic.projections.view import View
from mnemic.projections.view.block_results import origin

PREVIEW_LENGTH: Final = 200
RECOMMENDED_LENGTH: Final = 300
EVOLUTION_MAX: Final = 15
QUOTED_MAX: Final = 3
"""Maximum number of disputes and conflicts that the reasoning quotes."""

_GUIDANCE: Final = {
    "no_memories": "Nothing in memory bears on this. Ask, or learn it first; do not guess.",
    "no_evidence": "Memories came up, but none of them may be used. Treat the question as open.",
    "partial_evidence": "Lean on {lead} with care: the evidence is thin. Say what is not known.",
    "resolved": "Lean on {lead}: it is relevant, {whose}, and nothing contradicts it.",
    "contradictions_found": "Memories disagree. {lead} carries the most weight; say that there is "
    "another view, and settle it with revise() or outcome() once you know.",
    "disputed": "Lean on {lead} with care: {challengers} says otherwise, and is not to be relied "
    "on. Give both, and who wrote each; a person can settle it with revise() or forget().",
    "claim_contradicts_memory": "Do not take the claim as given: memory says otherwise "
    "({against}). Check which is right, and correct the other.",
}

_ALIKE: Final = (
    "Lean on {lead}: it is relevant and {whose}. But compare it with {others}, which says almost "
    "the same and differs in a detail."
)


_UNRELIABLE: Final = (
    "Do not rely on {lead}: it is {whose}, and nothing more reliable confirms it. Say so, or ask."
)


def conclude(view: View, query: str, gathered: Gathered, weighed: Weighed) -> DeepReference:
    """Return the answer, not recorded yet."""
    roles = {each.id: role for each, role in weighed.shown}

    def block(
        each: Evidence, role: str | None = None, length: int = PREVIEW_LENGTH
    ) -> ReferencedBlock:
        return ReferencedBlock(
            id=each.id,
            preview=preview(each.content, length),
            role=role or roles.get(each.id, "related"),
            relevance=unit(each.relevance),
            trust=unit(each.trust),
            weight=unit(each.weight),
            created_at=None if each.created_us is None else iso(each.created_us),
            **origin(view, each.number),
        )

    lead = weighed.primary
    return DeepReference(
        query=query,
        intent=weighed.intent,
        status=weighed.status,
        confidence=unit(weighed.confidence),
        guidance=guidance(weighed, whose=_whose(view, weighed)),
        reasoning="\n".join(_reasoning(gathered, weighed)),
        recommended=None if lead is None else block(lead, "primary", RECOMMENDED_LENGTH),
        evidence=tuple(block(each, role) for each, role in weighed.shown),
        contradictions=tuple(
            Contradiction(
                stronger=block(each.stronger, "contradicting"),
                weaker=block(each.weaker, "contradicting"),
                kind=each.clash.kind,
                detail=each.clash.detail,
                topic_overlap=unit(each.clash.overlap),
            )
            for each in weighed.disputes
        ),
        claim_conflicts=tuple(
            ClaimConflict(block=block(each.against), kind=each.clash.kind, detail=each.clash.detail)
            for each in weighed.conflicts
        ),
        superseded=tuple(
            Superseded(block=block(each.older, "superseded"), superseded_by=each.newer.id)
            for each in weighed.superseded
        ),
        evolution=tuple(map(block, _evolution(gathered.evidence, weighed.intent))),
        memories_analyzed=gathered.analysed,
        activation_expanded=gathered.brought,
        composition_write_status="not_recorded",
        version=view.point.version,
        hour=view.point.hour,
    )


def preview(content: str, length: int) -> str:
    """Return at most *length* characters of *content*, on one line."""
    line = " ".join(content.split())
    return line if len(line) <= length else line[: length - 3] + "..."


def _whose(view: View, weighed: Weighed) -> str:
    """Return the zone of the primary, and who wrote it if it is not trusted."""
    if weighed.primary is None:
        return ""
    number = weighed.primary.number
    zone = view.zone(number)
    return zone if zone == TRUSTED else f"{zone}, written by {labelled(view.actor(number))}"


def guidance(weighed: Weighed, *, whose: str) -> str:
    """Return what to do with the answer.

    Args:
        weighed: The weighed evidence.
        whose: The zone of the primary, and who wrote it if it is not trusted.
    """
    against = ", ".join(short(each.against.id) for each in weighed.conflicts[:QUOTED_MAX])
    lead = "" if weighed.primary is None else short(weighed.primary.id)
    challengers = ", ".join(
        short(each.weaker.id) for each in weighed.disputes[:QUOTED_MAX] if each.is_challenge
    )
    words = {"lead": lead, "against": against, "whose": whose, "challengers": challengers}
    said = _GUIDANCE[weighed.status].format(**words)
    if (
        weighed.status == "partial_evidence"
        and weighed.primary is not None
        and is_below(weighed.primary)
    ):
        said = _UNRELIABLE.format(**words)
    if weighed.status == "resolved" and weighed.alike:
        others = ", ".join(short(each.id) for each in weighed.alike[:QUOTED_MAX])
        said = _ALIKE.format(**words, others=others)
    if weighed.superseded:
        old = ", ".join(short(each.older.id) for each in weighed.superseded[:QUOTED_MAX])
        said += f" Leave out of date ones aside: {old}."
    return said


def _memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count} memories"


def _evolution(evidence: Sequence[Evidence], intent: str) -> list[Evidence]:
    if intent not in {TIMELINE, COMPARISON}:
        return []
    return sorted(evidence[:EVOLUTION_MAX], key=lambda each: each.age)


def _reasoning(gathered: Gathered, weighed: Weighed) -> Iterator[str]:
    """Yield the steps of the reasoning; it is recorded, so it contains no text of any memory."""
    yield (
        f"Intent {weighed.intent}: {_memories(gathered.analysed)} looked at, "
        f"{gathered.brought} of them through an edge."
    )
    lead = weighed.primary
    if lead is not None:
        yield (
            f"Primary {short(lead.id)}: relevance {unit(lead.relevance):.2f}, trust "
            f"{unit(lead.trust):.2f}, topic {unit(lead.topic):.2f}, weight {unit(lead.weight):.2f}."
        )
    for conflict in weighed.conflicts[:QUOTED_MAX]:
        yield f"The claim clashes with {short(conflict.against.id)} ({conflict.clash.kind})."
    for dispute in weighed.disputes[:QUOTED_MAX]:
        yield (
            f"{short(dispute.stronger.id)} clashes with {short(dispute.weaker.id)} "
            f"({dispute.clash.kind})."
        )
    for each in weighed.superseded[:QUOTED_MAX]:
        yield f"{short(each.older.id)} is superseded by {short(each.newer.id)}."
    if lead is not None:
        counts = {
            role: sum(given == role for _, given in weighed.shown)
            for role in ("supporting", "contradicting", "superseded", "related")
        }
        others = ", ".join(f"{count} {role}" for role, count in counts.items() if count)
        yield f"Beside it: {others or 'nothing'}. Confidence {unit(weighed.confidence):.2f}."
