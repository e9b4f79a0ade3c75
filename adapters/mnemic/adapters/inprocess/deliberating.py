"""deep_reference: what memory holds about a question, weighed, and a record of what was used.

It is no recall: no decision is recorded, nothing counts as retrieved, staged or refreshed. What it
leaves is one composition that consumes nothing of the frontier, and only where there is evidence.

An analyst with a method ``contradicts`` is asked about the pairs that might clash, outside of every
lock; what it says goes into the record, so that a repeated command answers the same without it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Final

from attrs import evolve, field, frozen

from mnemic.adapters.inprocess.analysing import can_judge, judge
from mnemic.adapters.inprocess.asking import Request, inquiry, question_vector
from mnemic.adapters.inprocess.commands import Command, Outcome, Written
from mnemic.adapters.inprocess.host import Host
from mnemic.adapters.inprocess.opening import Models, check_embedder
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel import identity
from mnemic.kernel.decisions.composing import Composition, MemberSpec, decide_compose
from mnemic.kernel.errors import CommandIdReused, Conflict, FieldRefused, Refused, Unavailable
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.ports import CommandRow, Passage
from mnemic.kernel.results import DeepReference, ReferencedBlock
from mnemic.kernel.texts import BlockText, CompositionText
from mnemic.kernel.vectors import Vector
from mnemic.projections.deliberation import conclusion, evidence, weighing
from mnemic.projections.deliberation.disputes import Pair, Verdicts, suspects
from mnemic.projections.deliberation.evidence import DEPTH, Evidence, Gathered, depth_of
from mnemic.projections.ledger import Composed
from mnemic.projections.views import View

MODE: Final = "deep_reference"
GUIDANCE_PREVIEW: Final = 280
REASONING_PREVIEW: Final = 600
JUDGED: Final = "judged"
"""Under this name the record keeps what an analyst said."""
FNV_OFFSET, FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


@frozen(kw_only=True)
class Asked:
    """Everything besides the view that decides an answer."""

    query: str
    """As it was given; its bytes are what the record's hash is of."""
    depth: int
    request: Request
    adopted: EmbedderIdentity | None
    """Whose the vector is."""
    vector: Vector | None
    models: Models
    verdicts: Verdicts = field(factory=dict)
    """Of the analyst, by pair of block ids."""


class ReferenceVerbs(Host):
    """Weigh what is known before leaning on it."""

    def deep_reference(
        self,
        query: str,
        *,
        depth: int = DEPTH,
        record: bool = True,
        command_id: str | None = None,
    ) -> DeepReference:
        """Return what memory holds about a question: evidence, trust, what is outdated or clashes.

        Args:
            query: What is asked, or claimed; not blank.
            depth: Most memories that the question itself may find; kept within 5 to 50.
            record: Whether the evidence is recorded as a composition. It is no recall: nothing
                counts as retrieved.
            command_id: See the class.

        Raises:
            FieldRefused: The query is blank or too long, or the depth no whole number.
            EmbedderMismatch, VectorRefused, CommandIdReused: See each.
        """
        space, depth = self._open(), checked_depth(depth)
        request = checked_request(query)
        command = Command(MODE, {"query": query, "depth": depth}, command_id)
        with space.guard:
            space.catch_up()
            repeated = space.remembered(command)
            space.check_kept()
        if repeated is None:
            with suppress(Unavailable):  # the answer stands without what could not be promoted
                self._auto_consolidate()

        def refer(models: Models) -> DeepReference:
            with space.guard:
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
            with space.guard:
                doubtful = doubts(self._view(), asked)
            asked = evolve(asked, verdicts=_judged(doubtful, models))
            if not record or space.read_only:
                with space.guard:
                    return reference(self._view(), asked)
            return _recorded(space, asked, command)

        return self._asking(refer)


def checked_request(query: object) -> Request:
    """Return a question as recall takes it.

    Raises:
        FieldRefused: It is blank, too long, or no text.
    """
    if not isinstance(query, str) or not query.strip():
        raise FieldRefused("query must be text that is not blank", field="query")
    return Request(query=query).checked()


def checked_depth(depth: object) -> int:
    """Return a depth within its limits.

    Raises:
        FieldRefused: It is no whole number.
    """
    if type(depth) is not int:
        raise FieldRefused(f"depth must be a whole number, got {depth!r}", field="depth")
    return depth_of(depth)


def reference(view: View, asked: Asked) -> DeepReference:
    """Return the answer of *view*, not recorded."""
    gathered = _gathered(view, asked)
    query = asked.request.query or ""
    weighed = weighing.weigh(view, query, gathered, asked.verdicts)
    return conclusion.conclude(view, query, gathered, weighed)


def _gathered(view: View, asked: Asked) -> Gathered:
    if asked.adopted is not None:
        check_embedder(view.embedder, asked.adopted)  # the space may have moved on meanwhile
    question = inquiry(view, asked.request, asked.vector, asked.models.recipe)
    return evidence.gather(view, question, depth=asked.depth)


# --- the analyst ----------------------------------------------------------------------------


Doubts = dict[Pair, tuple[Passage, Passage]]


def doubts(view: View, asked: Asked) -> Doubts:
    """Return the pairs that the host's analyst should be asked about; none if it cannot judge."""
    if not can_judge(asked.models.analyst):
        return {}
    return {
        (min(one.id, two.id), max(one.id, two.id)): (_passage(view, one), _passage(view, two))
        for one, two in suspects(_gathered(view, asked).evidence)
    }


def _judged(doubtful: Doubts, models: Models) -> dict[Pair, bool]:
    said = judge(models.analyst, list(doubtful.values()))
    verdicts = zip(doubtful, said, strict=True)
    return {pair: verdict for pair, verdict in verdicts if verdict is not None}


def _passage(view: View, each: Evidence) -> Passage:
    text = view.text(each.number)
    facts = view.facts(each.number)
    return Passage(
        content=each.content,
        category=facts.category,
        tags=facts.tags,
        author=text.author if isinstance(text, BlockText) else None,
        source=facts.source,
    )


def _verdicts_of(recorded: Composed | None) -> dict[Pair, bool]:
    """Return what an analyst had said when this was recorded."""
    text = None if recorded is None else recorded.event.text
    if not isinstance(text, CompositionText) or text.metadata is None:
        return {}
    judged = json.loads(text.metadata).get(JUDGED, ())
    return {(one, two): verdict for one, two, verdict in judged}


# --- the record -----------------------------------------------------------------------------


def _recorded(space: Space, asked: Asked, command: Command) -> DeepReference:
    """Return the answer of the head, and record what it leans on.

    Whatever keeps the record from being written, the answer stands.
    """
    answers: list[DeepReference] = []

    def decided(view: View, asked: Asked) -> Written:
        answer = reference(view, asked)
        answers.append(answer)
        members = _members(answer)
        if not members:
            return Written((), extra=answer)
        event = decide_compose(view, _composition(answer, members, asked))
        return Written(() if event is None else (event,), extra=answer)

    def again(row: CommandRow) -> Outcome:
        recorded = space.live().composition(identity.composition_id(row.last))
        told = evolve(asked, verdicts=_verdicts_of(recorded))
        return space.decided_again(row, lambda view, _: decided(view, told))

    try:
        outcome = space.prepared(command, lambda view, _: decided(view, asked), again=again)
    except (Conflict, Refused, Unavailable) as error:
        if not answers or isinstance(error, CommandIdReused):
            raise
        return evolve(answers[-1], composition_write_status="failed")
    answer: DeepReference = outcome.extra
    if not outcome.events:
        return evolve(answer, composition_write_status="skipped_empty")
    return evolve(
        answer,
        composition_id=identity.composition_id(outcome.last),
        composition_write_status="persisted",
    )


def _composition(answer: DeepReference, members: list[MemberSpec], asked: Asked) -> Composition:
    # No word of a memory goes in here: these payloads stay when a member is erased.
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
    """Return the evidence, both sides of each contradiction and what is superseded, each once."""
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


def query_hash(query: str) -> str:
    """Return the 64-bit FNV-1a digest of a question's bytes, as clients of the older tool know it.

    >>> query_hash("")
    'fnv1a64:cbf29ce484222325'
    """
    digest = FNV_OFFSET
    for byte in query.encode():
        digest = (digest ^ byte) * FNV_PRIME % 2**64
    return f"fnv1a64:{digest:016x}"
