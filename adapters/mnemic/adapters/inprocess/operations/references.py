"""The operation deep_reference, and the record of the evidence it used.

It is not a recall: no decision is recorded, nothing counts as retrieved, staged or refreshed. It
writes one composition that consumes nothing of the frontier, and only where there is evidence.

An analyst with a method ``contradicts`` is called for the pairs that may conflict, outside of every
lock; its verdicts go into the record, so that a repeated command answers the same without it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve

from mnemic.adapters.inprocess.engine.analysis import judge
from mnemic.adapters.inprocess.engine.commands import Command, Outcome
from mnemic.adapters.inprocess.engine.embedding import question_vector
from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.operations.host import Host
from mnemic.adapters.inprocess.registry import operation
from mnemic.kernel.decision import Decision
from mnemic.kernel.errors import CommandIdReused, Conflict, HistoryReplaced, Refused, Unavailable
from mnemic.kernel.model import identity
from mnemic.kernel.model.compositions import query_hash
from mnemic.kernel.model.texts import CompositionText
from mnemic.kernel.ports import CommandRow
from mnemic.projections.ledger.ledger import Composed
from mnemic.projections.references import DEPTH
from mnemic.projections.view import View

if TYPE_CHECKING:
    from mnemic.adapters.inprocess.recall.references import Asked, Doubts
    from mnemic.kernel.decisions.composing import Composition, MemberSpec
    from mnemic.kernel.results import DeepReference, ReferencedBlock
    from mnemic.projections.references.disputes import Pair

MODE: Final = "deep_reference"
GUIDANCE_PREVIEW: Final = 280
REASONING_PREVIEW: Final = 600
JUDGED: Final = "judged"
"""Key of the analyst's verdicts in the record."""


class ReferenceOperations(Host):
    """The operation deep_reference."""

    @operation("POST ./deep-reference", "Recall", "write")
    def deep_reference(
        self,
        query: str,
        *,
        depth: int = DEPTH,
        record: bool = True,
        command_id: str | None = None,
    ) -> DeepReference:
        """Return what memory holds about a question: evidence, trust, outdated and conflicting.

        Args:
            query: A question or a claim; not blank.
            depth: Most memories that the question itself may find; clamped to 5 to 50.
            record: Whether the evidence is recorded as a composition. It is not a recall: nothing
                counts as retrieved. Without a record, too, what waits in the inbox is promoted
                first, as by ``recall``.
            command_id: See the class.

        Raises:
            FieldRefused: The query is blank or too long, or the depth is not a whole number.
            EmbedderMismatch, VectorRefused, CommandIdReused: See each.
        """
        from mnemic.adapters.inprocess.recall.references import (
            Asked,
            checked_depth,
            checked_request,
            doubts,
            reference,
        )

        space, depth = self._open(), checked_depth(depth)
        request = checked_request(query, self._scope)
        command = Command(MODE, {"query": query, "depth": depth}, command_id)
        repeated = space.remembered(command)
        space.check_not_erased()
        if repeated is None:
            with suppress(Unavailable):  # answer without the blocks that could not be promoted
                self._auto_consolidate()

        def refer(models: Models) -> DeepReference:
            adopted = self._view().embedder
            asked = Asked(
                query=query,
                depth=depth,
                request=request,
                adopted=adopted,
                vector=question_vector(adopted, request, models),
                models=models,
            )
            if repeated is not None:
                return _recorded(space, asked, command)
            doubtful = doubts(self._view(), asked)
            asked = evolve(asked, verdicts=_judged(doubtful, models))
            if not record or space.read_only:
                return reference(self._view(), asked)
            return _recorded(space, asked, command)

        return self._with_models(refer)


def _judged(doubtful: Doubts, models: Models) -> dict[Pair, bool]:
    said = judge(models.analyst, list(doubtful.values()))
    verdicts = zip(doubtful, said, strict=True)
    return {pair: verdict for pair, verdict in verdicts if verdict is not None}


# --- the record -----------------------------------------------------------------------------


def _verdicts_of(recorded: Composed | None) -> dict[Pair, bool]:
    """Return the analyst's verdicts in a recorded composition."""
    text = None if recorded is None else recorded.event.text
    if not isinstance(text, CompositionText) or text.metadata is None:
        return {}
    judged = json.loads(text.metadata).get(JUDGED, ())
    return {(one, two): verdict for one, two, verdict in judged}


def _recorded(space: SessionHandle, asked: Asked, command: Command) -> DeepReference:
    """Return the answer at the head of the log, and record its evidence.

    The answer is returned even if the record cannot be written.
    """
    from mnemic.adapters.inprocess.recall.references import reference
    from mnemic.kernel.decisions.composing import decide_compose

    answers: list[DeepReference] = []

    def decided(view: View, asked: Asked) -> Decision[DeepReference]:
        answer = reference(view, asked)
        answers.append(answer)
        members = _members(answer)
        if not members:
            return Decision((), answer)
        composition = _composition(answer, members, asked)
        return Decision(decide_compose(view, composition).events, answer)

    def again(row: CommandRow) -> Outcome:
        recorded = space.view().composition(identity.composition_id(row.last))
        result = evolve(asked, verdicts=_verdicts_of(recorded))
        return space.decided_again(row, lambda view, _: decided(view, result))

    try:
        outcome = space.prepared(command, lambda view, _: decided(view, asked), again=again)
    except (Conflict, Refused, Unavailable) as error:
        if not answers or isinstance(error, CommandIdReused | HistoryReplaced):
            raise
        return evolve(answers[-1], composition_write_status="failed")
    answer: DeepReference = outcome.result
    if not outcome.events:
        return evolve(answer, composition_write_status="skipped_empty")
    return evolve(
        answer,
        composition_id=identity.composition_id(outcome.last),
        composition_write_status="persisted",
    )


def _composition(answer: DeepReference, members: list[MemberSpec], asked: Asked) -> Composition:
    from mnemic.kernel.decisions.composing import Composition

    # No text of a memory goes in here: these payloads stay when a member is erased.
    metadata: dict[str, Any] = {
        "intent": answer.intent,
        "memoriesAnalyzed": answer.memories_analyzed,
        "activationExpanded": answer.activation_expanded,
        "reasoningPreview": answer.reasoning[:REASONING_PREVIEW],
    }
    if asked.verdicts:
        metadata[JUDGED] = [[*pair, verdict] for pair, verdict in sorted(asked.verdicts.items())]
    return Composition(
        members=members,
        tool=MODE,
        mode=MODE,
        query=answer.query,
        query_hash=query_hash(asked.query),
        confidence=answer.confidence,
        status=answer.status,
        output_preview=answer.guidance[:GUIDANCE_PREVIEW],
        metadata=metadata,
        consume="none",
    )


def _members(answer: DeepReference) -> list[MemberSpec]:
    """Return the evidence, both sides of each contradiction and superseded blocks, each once."""
    from mnemic.kernel.decisions.composing import MemberSpec

    parts = [(block, block.role, "evidence") for block in answer.evidence]
    for each in answer.contradictions:
        parts += [(side, "contradicting", "contradiction") for side in (each.stronger, each.weaker)]
    parts += [(each.block, "superseded", "superseded") for each in answer.superseded]
    first: dict[tuple[str, str], tuple[ReferencedBlock, str]] = {}
    for block, role, source in parts:
        first.setdefault((block.id, role), (block, source))
    return [
        MemberSpec(
            block_id=block.id,
            role=role,
            rank=rank,
            trust=block.trust,
            score=block.relevance,
            metadata={"roleSource": f"{MODE}_{source}"},
        )
        for rank, ((_, role), (block, source)) in enumerate(first.items())
    ]
