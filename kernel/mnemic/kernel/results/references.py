"""Results of ``deep_reference``."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from mnemic.kernel.model.identity import BlockId, CompositionId, short
from mnemic.kernel.rendering import cited, escaped, render_line
from mnemic.kernel.results.shape import Result, plural

_CLIENT_INTENTS = {
    "root_cause": "RootCause",
    "timeline": "Timeline",
    "comparison": "Comparison",
    "fact_check": "FactCheck",
    "synthesis": "Synthesis",
}


@frozen(kw_only=True, str=False)
class ReferencedBlock(Result):
    """One block as evidence."""

    id: BlockId
    preview: str
    """At most 200 characters of its text, on one line; 300 for the recommended one."""
    role: str
    """``primary``, ``supporting``, ``contradicting``, ``superseded`` or ``related``."""
    relevance: float
    """Relevance to the question, [0, 1]."""
    trust: float
    """[0, 1]; never more than its zone allows."""
    weight: float
    """.5 relevance + .2 trust + .3 times the share of the question's terms that it has."""
    created_at: str | None = None
    """ISO 8601, UTC."""
    zone: str
    source: str
    actor: str
    """Who wrote it: the actor that the log names, which a caller cannot choose."""
    author: str | None = None
    """The author that the writer gave."""

    @property
    def summary(self) -> str:
        line = cited(
            self.id,
            self.preview,
            zone=self.zone,
            actor=self.actor,
            author=self.author,
            created_at=self.created_at,
        )
        return f"{self.role}, trust {self.trust:.2f}: {render_line(line)}"

    def to_client(self) -> dict[str, Any]:
        """Return the names that clients of the older tool know."""
        return {
            "id": self.id,
            "preview": self.preview,
            "trust": self.trust,
            "relevanceScore": self.relevance,
            "date": self.created_at,
            "role": self.role,
        }


@frozen(kw_only=True, str=False)
class Contradiction(Result):
    """Two memories that cannot both be true."""

    stronger: ReferencedBlock
    """The more trusted one; if equal, the newer one."""
    weaker: ReferencedBlock
    kind: str
    """``edge``, ``judged``, ``amount``, ``date``, ``value``, ``order``, ``replaced``, ``opposite``
    or ``negation``."""
    detail: str
    """The two conflicting statements."""
    topic_overlap: float
    """Terms that both contain, as a share of the shorter one's."""

    @property
    def summary(self) -> str:
        return f"{short(self.stronger.id)} against {short(self.weaker.id)}: {escaped(self.detail)}"

    def to_client(self) -> dict[str, Any]:
        """Return the names that clients of the older tool know."""
        return {
            "stronger": _named(self.stronger),
            "weaker": _named(self.weaker),
            "topic_overlap": self.topic_overlap,
        }


@frozen(kw_only=True, str=False)
class ClaimConflict(Result):
    """A memory that contradicts a claim in the question."""

    block: ReferencedBlock
    kind: str
    detail: str

    @property
    def summary(self) -> str:
        return f"{short(self.block.id)}: {escaped(self.detail)}"

    def to_client(self) -> dict[str, Any]:
        """Return the names that clients of the older tool know."""
        return {**_named(self.block), "reason": self.detail}


@frozen(kw_only=True, str=False)
class Superseded(Result):
    """A memory that a newer one replaces."""

    block: ReferencedBlock
    superseded_by: BlockId

    @property
    def summary(self) -> str:
        return f"{short(self.block.id)} superseded by {short(self.superseded_by)}"

    def to_client(self) -> dict[str, Any]:
        """Return the names that clients of the older tool know."""
        return {**_named(self.block), "superseded_by": self.superseded_by}


@frozen(kw_only=True, str=False)
class DeepReference(Result):
    """Weighed evidence in memory about a question."""

    query: str
    intent: str
    """``root_cause``, ``timeline``, ``comparison``, ``fact_check`` or ``synthesis``."""
    status: str
    """``no_memories``, ``no_evidence``, ``partial_evidence``, ``resolved``, ``disputed``,
    ``contradictions_found`` or ``claim_contradicts_memory``. ``disputed``: only memories of zones
    below the floor of trust contradict one above it."""
    confidence: float
    """[0, 1]: the primary's weight, raised by supporting evidence, lowered by contradictions; at
    most the trust in the primary."""
    guidance: str
    """How to use the result, in a sentence or two."""
    reasoning: str
    """How the result was derived, line by line."""
    recommended: ReferencedBlock | None = None
    """The primary, if there is one."""
    evidence: tuple[ReferencedBlock, ...] = ()
    """At most 10, the primary first."""
    contradictions: tuple[Contradiction, ...] = ()
    claim_conflicts: tuple[ClaimConflict, ...] = ()
    superseded: tuple[Superseded, ...] = ()
    evolution: tuple[ReferencedBlock, ...] = ()
    """The evidence from old to new, at most 15; only for a timeline or a comparison."""
    memories_analyzed: int
    activation_expanded: int
    """Number of memories that were found through an edge."""
    composition_id: CompositionId | None = None
    """None unless it was recorded."""
    composition_write_status: str
    """``persisted``, ``skipped_empty`` without evidence, ``failed``, or ``not_recorded`` if
    recording was not requested."""
    version: int
    """Version at which it was computed."""
    hour: float

    @property
    def summary(self) -> str:
        lead = "" if self.recommended is None else f"; recommended {short(self.recommended.id)}"
        return (
            f"{self.status} ({self.confidence:.2f}): {plural(len(self.evidence), 'block')}, "
            f"{plural(len(self.contradictions), 'contradiction')}, "
            f"{len(self.superseded)} superseded{lead}."
        )

    def to_client(self) -> dict[str, Any]:
        """Return the form that clients of the older tool expect; what is empty is left out."""
        document: dict[str, Any] = {
            "query": self.query,
            "intent": _CLIENT_INTENTS[self.intent],
            "status": self.status,
            "confidence": round(self.confidence, 2),
            "reasoning": self.reasoning,
            "guidance": self.guidance,
            "memoriesAnalyzed": self.memories_analyzed,
            "activationExpanded": self.activation_expanded,
            "compositionWriteStatus": self.composition_write_status,
        }
        if self.recommended is not None:
            document["recommended"] = {
                "answer_preview": self.recommended.preview,
                "memory_id": self.recommended.id,
                "trust_score": self.recommended.trust,
                "date": self.recommended.created_at,
            }
        for name in ("claim_conflicts", "evidence", "contradictions", "superseded"):
            if listed := getattr(self, name):
                document[name] = [each.to_client() for each in listed]
        if self.evolution:
            document["evolution"] = [_named(each) for each in self.evolution]
        if self.composition_id is not None:
            document["composition_event_id"] = self.composition_id
        return document


def _named(block: ReferencedBlock) -> dict[str, Any]:
    return {
        "id": block.id,
        "preview": block.preview,
        "trust": block.trust,
        "date": block.created_at,
    }
