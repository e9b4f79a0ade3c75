"""Records of the ledger under the field names of ``composed_graph``.

Absent values are null, except metadata, which is an empty object.

Source: reference composed-graph 1.3.
"""

from __future__ import annotations

from typing import Any

from mnemic.kernel.results import (
    ClassicCandidate,
    ComposedNeighbour,
    Composition,
    CompositionLabel,
    FrontierCandidate,
)

Record = dict[str, Any]


def event(composition: Composition) -> Record:
    """Return a composition without its members."""
    return {
        "id": composition.id,
        "createdAt": composition.created_at,
        "tool": composition.tool,
        "mode": composition.mode,
        "query": composition.query,
        "queryHash": composition.query_hash,
        "confidence": composition.confidence,
        "status": composition.status,
        "outputPreview": composition.output_preview,
        "metadata": composition.metadata or {},
    }


def members(composition: Composition) -> list[Record]:
    """Return the members of a composition by rank, role and id."""
    return [
        {
            "eventId": composition.id,
            "memoryId": member.block_id,
            "role": member.role,
            "rank": member.rank,
            "trust": member.trust,
            "score": member.score,
            "preview": member.preview,
            "metadata": member.metadata or {},
        }
        for member in composition.members
    ]


def outcomes(composition: Composition) -> list[Record]:
    """Return the labels of a composition that are in force, the latest first."""
    return [outcome(label) for label in reversed(composition.labels)]


def outcome(label: CompositionLabel) -> Record:
    """Return one label."""
    return {
        "id": label.label_id,
        "eventId": label.composition_id,
        "outcomeType": label.label,
        "labeledAt": label.labelled_at,
        "labelSource": label.source,
        "confidenceDelta": label.confidence_delta,
        "notes": label.notes,
        "metadata": label.metadata or {},
    }


def lane(composition: Composition) -> Record:
    """Return a composition with its members and labels."""
    return {
        "event": event(composition),
        "members": members(composition),
        "outcomes": outcomes(composition),
    }


def neighbour(found: ComposedNeighbour) -> Record:
    """Return a block that was composed with another one."""
    return {
        "memoryId": found.block_id,
        "composedCount": found.composed_count,
        "latestEventAt": found.latest_at,
    }


def candidate(pair: ClassicCandidate | FrontierCandidate) -> Record:
    """Return a pair that was never composed."""
    return _classic(pair) if isinstance(pair, ClassicCandidate) else _default(pair)


def _default(pair: FrontierCandidate) -> Record:
    """Return a pair of mode ``default``: the fields of ``classic``, and what limits its score."""
    first, second = pair.block_ids
    parts = pair.components
    return {
        **_classic(
            ClassicCandidate(
                first_id=first,
                second_id=second,
                score=pair.score,
                novelty_score=parts["novelty"],
                bridge_score=parts["bridge"],
                trust_score=parts["trust"],
                outcome_score_adjustment=parts["adjustment"],
                shared_tags=pair.shared_tags,
                boundary_tags=pair.boundary_tags,
                shared_terms=pair.shared_terms,
                prior_outcomes=pair.prior_outcomes,
                outcome_signal=pair.outcome_signal,
                first_category=pair.categories[0],
                second_category=pair.categories[1],
                first_preview=pair.previews[0],
                second_preview=pair.previews[1],
                first_origin=pair.origins[0],
                second_origin=pair.origins[1],
                reason=pair.reason,
                composition_question=pair.composition_question,
            )
        ),
        "cap": pair.cap,
        "limitedBy": pair.limited_by,
    }


def _classic(pair: ClassicCandidate) -> Record:
    return {
        "firstId": pair.first_id,
        "secondId": pair.second_id,
        "score": pair.score,
        "noveltyScore": pair.novelty_score,
        "bridgeScore": pair.bridge_score,
        "trustScore": pair.trust_score,
        "outcomeScoreAdjustment": pair.outcome_score_adjustment,
        "sharedTags": list(pair.shared_tags),
        "boundaryTags": list(pair.boundary_tags),
        "sharedTerms": list(pair.shared_terms),
        "priorOutcomes": list(pair.prior_outcomes),
        "outcomeSignal": pair.outcome_signal,
        "firstNodeType": pair.first_category,
        "secondNodeType": pair.second_category,
        "firstPreview": pair.first_preview,
        "secondPreview": pair.second_preview,
        "reason": pair.reason,
        "compositionQuestion": pair.composition_question,
    }
