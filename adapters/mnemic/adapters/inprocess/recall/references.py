"""Weighed evidence for a question. ``operations.references`` records the evidence used."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from mnemic.adapters.inprocess.engine.analysis import can_judge
from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.kernel.decisions.space import check_embedder
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.ports import Passage
from mnemic.kernel.results import DeepReference
from mnemic.kernel.values import Value
from mnemic.projections.references import conclusion, evidence, scoring
from mnemic.projections.references.disputes import Pair, Verdicts, suspects
from mnemic.projections.references.evidence import Evidence, Gathered, depth_of
from mnemic.projections.retrieval.request import Request, asker, inquiry, within_scope
from mnemic.projections.view import View


@frozen(kw_only=True)
class Asked(Value):
    """All inputs of an answer except the view."""

    query: str
    """The query as given; the record's hash is of its bytes."""
    depth: int
    request: Request
    adopted: EmbedderIdentity | None
    """The embedder of the vector."""
    vector: Vector | None
    models: Models
    verdicts: Verdicts = field(factory=dict)
    """Verdicts of the analyst, by pair of block ids."""


def checked_request(query: object, scope: Mapping[str, str]) -> Request:
    """Return a question as a recall request in a scope.

    Raises:
        FieldRefused: It is blank, too long, or not text.
    """
    if not isinstance(query, str) or not query.strip():
        raise FieldRefused("query must be text that is not blank", field="query")
    return Request(
        query=query, where=within_scope(None, scope), asked_by=asker(None, scope)
    ).checked()


def checked_depth(depth: object) -> int:
    """Return a depth within its limits.

    Raises:
        FieldRefused: It is not a whole number.
    """
    if type(depth) is not int:
        raise FieldRefused(f"depth must be a whole number, got {depth!r}", field="depth")
    return depth_of(depth)


def reference(view: View, asked: Asked) -> DeepReference:
    """Return the answer of *view*; nothing is recorded."""
    gathered = _evidence(view, asked)
    query = asked.request.query or ""
    weighed = scoring.weigh(view, query, gathered, asked.verdicts)
    return conclusion.conclude(view, query, gathered, weighed)


def _evidence(view: View, asked: Asked) -> Gathered:
    if asked.adopted is not None:
        check_embedder(view.embedder, asked.adopted)  # the space may have been re-embedded since
    question = inquiry(view, asked.request, asked.vector, asked.models.recipe)
    return evidence.gather(view, question, depth=asked.depth)


# --- the analyst ----------------------------------------------------------------------------


Doubts = dict[Pair, tuple[Passage, Passage]]


def doubts(view: View, asked: Asked) -> Doubts:
    """Return the pairs for the host's analyst to judge; none if it cannot judge."""
    if not can_judge(asked.models.analyst):
        return {}
    return {
        (min(one.id, two.id), max(one.id, two.id)): (_passage(view, one), _passage(view, two))
        for one, two in suspects(_evidence(view, asked).evidence)
    }


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
