"""Every name in a document is described, and its constraints are correct."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from mnemic.adapters.inprocess import view
from mnemic.adapters.inprocess.operations import blocks as block_operations
from mnemic.adapters.inprocess.operations import edges as edge_operations
from mnemic.adapters.inprocess.operations.experiments import POLICIES_MAX
from mnemic.adapters.inprocess.recall import explanations
from mnemic.adapters.inprocess.replay import decision_list
from mnemic.adapters.inprocess.replay.backtest_scores import OBJECTIVES, WINDOWS_MAX
from mnemic.adapters.remote import descriptions
from mnemic.adapters.remote.examples import sample
from mnemic.adapters.remote.operations import operations
from mnemic.adapters.remote.schemas import Shapes
from mnemic.kernel.decisions import composing, connecting, feedback
from mnemic.kernel.errors import PolicyRefused
from mnemic.kernel.model import compositions as composition
from mnemic.kernel.model.blocks import STATUSES
from mnemic.kernel.model.edges import ORIGINS
from mnemic.kernel.policy import Frame, Policy
from mnemic.kernel.validation import NAME_LENGTH_MAX
from mnemic.projections.frontier import outcomes, queue
from mnemic.projections.listing import (
    analogies,
    compositions,
    differences,
    subgraphs,
    timeline,
    trajectories,
)
from mnemic.projections.references import conclusion, scoring
from mnemic.projections.retrieval import request as recall_request
from tests.adapters.remote.strictness import Check

Schema = dict[str, Any]
KEYWORDS = {
    "integer": {"minimum", "maximum", "exclusiveMinimum"},
    "number": {"minimum", "maximum", "exclusiveMinimum"},
    "string": {"pattern", "format", "minLength", "maxLength"},
    "array": {"items", "minItems", "maxItems", "prefixItems"},
    "object": {"additionalProperties", "maxProperties"},
}
ANY_NUMBER = {
    "Backtest.seed",
    "EvidenceChange.gained_against",
    "EvidenceChange.gained_for",
    "FrontierCandidate.total",
    "ReceiptRow.score",
    "backtest.seed",
    "tune.seed",
    "Tuning.seed",
    "PolicyChange.before",
    "PolicyChange.after",
    "blocks.after",
    "composed_graph.confidence_delta",
    "composed_graph.limit",
    "decisions.after",
    "deep_reference.depth",
    "diff.after",
    "descent.after",
    "diff.before",
    "log.after",
    "replay_all.after",
    "replay_all.upto",
    "timeline.after",
}
"""Unbounded numbers."""


def described() -> dict[str, Schema]:
    """Return the schema of every parameter and every field, by owner and name."""
    shapes = Shapes()
    found: dict[str, Schema] = {}
    for operation in operations().values():
        for past in (True, False):
            arguments = shapes.arguments(operation, past=past)["properties"]
            found |= {f"{operation.name}.{name}": arguments[name] for name in arguments}
        shapes.answer(operation)
    for owner, shape in shapes.components.items():
        fields = shape["properties"]
        found |= {f"{owner}.{name}": fields[name] for name in fields}
    return found


DESCRIBED = described()
COMPONENTS = Shapes()
for each in operations().values():
    COMPONENTS.arguments(each)
    COMPONENTS.answer(each)


def kinds(shape: Schema) -> set[str]:
    """Return the types that a schema names."""
    found = shape.get("type", ())
    return {found} if isinstance(found, str) else set(found)


def test_every_parameter_and_every_field_is_described() -> None:
    assert [name for name, shape in DESCRIBED.items() if not shape.get("description")] == []


def test_every_class_is_described() -> None:
    silent = [name for name, shape in COMPONENTS.components.items() if not shape["description"]]
    assert silent == []


def test_every_number_has_its_range_unless_unbounded() -> None:
    limits = {"minimum", "maximum", "exclusiveMinimum", "enum"}
    endless = {
        name
        for name, shape in DESCRIBED.items()
        if kinds(shape) & {"integer", "number"} and not limits & set(shape)
    }
    assert endless == ANY_NUMBER


def test_constraints_match_the_types() -> None:
    wrong = [
        (name, keyword)
        for name, shape in DESCRIBED.items()
        for keyword in set(shape) & set().union(*KEYWORDS.values())
        if "type" in shape and not any(keyword in KEYWORDS.get(kind, ()) for kind in kinds(shape))
    ]
    assert wrong == []


def test_no_entry_has_an_unused_name() -> None:
    names = {name.partition(".")[2] for name in DESCRIBED} | set(DESCRIBED)
    unused = set(descriptions.glossary()) - names - set(COMPONENTS.components)
    assert {name for name in unused if not name.endswith("Id")} == set()


def test_examples_and_defaults_are_values_that_the_schema_takes() -> None:
    wrong = []
    for name, shape in DESCRIBED.items():
        check = Check({**shape, "$defs": COMPONENTS.components})
        result = [*shape.get("examples", ()), *([shape["default"]] if "default" in shape else [])]
        wrong += [(name, value) for value in result if not check.is_valid(value)]
    assert wrong == []


def test_samples_of_every_class_fit_its_schema() -> None:
    components = COMPONENTS.components
    for name, shape in components.items():
        document = sample(shape, components)
        assert Check({**shape, "$defs": components}).is_valid(document), name


# --- ranges are those of the code -----------------------------------------------------------------

LIMITS: dict[str, tuple[str, float]] = {
    "learn_many.lessons": ("maxItems", block_operations.BATCH_MAX),
    "connects.edges": ("maxItems", edge_operations.BATCH_MAX),
    "compose.members": ("maxItems", composing.MEMBERS_MAX),
    "compose.query": ("maxLength", composing.QUERY_LENGTH_MAX),
    "compose.query_hash": ("maxLength", composing.ID_LENGTH_MAX),
    "compose.composition_id": ("maxLength", composing.ID_LENGTH_MAX),
    "compose.output_preview": ("maxLength", composing.PREVIEW_LENGTH_MAX),
    "Member.preview": ("maxLength", composing.PREVIEW_LENGTH_MAX),
    "Member.score": ("maximum", composing.SCORE_MAX),
    "label.notes": ("maxLength", composing.NOTES_LENGTH_MAX),
    "connect.relation": ("maxLength", connecting.RELATION_LENGTH_MAX),
    "disconnect.guard_relation": ("maxLength", connecting.RELATION_LENGTH_MAX),
    "outcome.weight": ("maximum", feedback.WEIGHT_MAX),
    "outcome.source": ("maxLength", feedback.SOURCE_LENGTH_MAX),
    "learn.category": ("maxLength", NAME_LENGTH_MAX),
    "learn.source": ("maxLength", NAME_LENGTH_MAX),
    "learn.author": ("maxLength", NAME_LENGTH_MAX),
    "learn.thread": ("maxLength", NAME_LENGTH_MAX),
    "learn.zone": ("maxLength", NAME_LENGTH_MAX),
    "fork.space": ("maxLength", NAME_LENGTH_MAX),
    "recall.query": ("maxLength", recall_request.QUERY_LENGTH_MAX),
    "recall.top_k": ("maximum", recall_request.TOP_K_MAX),
    "recall.token_budget": ("maximum", recall_request.BUDGET_MAX),
    "connect_by_query.source_query": ("maxLength", recall_request.QUERY_LENGTH_MAX),
    "backtest.policies": ("maxProperties", POLICIES_MAX),
    "backtest.to": ("maximum", view.HOURS_MAX),
    "PolicyScore.windows": ("maxItems", WINDOWS_MAX),
    "frontier.limit": ("maximum", queue.LIMIT_MAX),
    "frontier.tags": ("maxItems", queue.TAGS_MAX),
    "ledger.limit": ("maximum", compositions.LIMIT_MAX),
    "composed_with.limit": ("maximum", compositions.LIMIT_MAX),
    "diff.limit": ("maximum", differences.LIMIT_MAX),
    "analogies.limit": ("maximum", analogies.LIMIT_MAX),
    "timeline.limit": ("maximum", timeline.LIMIT_MAX),
    "timeline.bins": ("maximum", timeline.BINS_MAX),
    "decisions.limit": ("maximum", decision_list.LIMIT_MAX),
    "explain.events": ("maximum", explanations.HISTORY_MAX),
    "subgraph.limit": ("maximum", subgraphs.BLOCKS_MAX),
    "subgraph.hops": ("maximum", subgraphs.HOPS_MAX),
    "trajectory.points": ("maximum", trajectories.POINTS_MAX),
    "DeepReference.evidence": ("maxItems", scoring.EVIDENCE_MAX),
    "DeepReference.evolution": ("maxItems", conclusion.EVOLUTION_MAX),
}


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_a_limit_is_that_of_the_code(name: str) -> None:
    keyword, limit = LIMITS[name]
    assert DESCRIBED[name][keyword] == limit


WORDS: dict[str, tuple[object, ...]] = {
    "connect.if_exists": connecting.IF_EXISTS,
    "compose.consume": composition.CONSUMES,
    "label.label": composition.LABELS,
    "Member.role": composition.ROLES,
    "backtest.objective": tuple(OBJECTIVES),
    "frontier.mode": queue.MODES,
    "Block.status": STATUSES,
    "Edge.origin": ORIGINS,
}


@pytest.mark.parametrize("name", sorted(WORDS))
def test_enumerations_are_those_of_the_code(name: str) -> None:
    assert set(DESCRIBED[name]["enum"]) == set(WORDS[name])


def test_the_range_of_outcome_adjustments_is_that_of_the_code() -> None:
    shape = DESCRIBED["ClassicCandidate.outcome_score_adjustment"]
    ends = (outcomes.ADJUSTMENT_MIN / 1e9, outcomes.ADJUSTMENT_MAX / 1e9)
    assert (shape["minimum"], shape["maximum"]) == ends


@pytest.mark.parametrize("of", [Policy, Frame])
def test_a_number_of_a_policy_beyond_its_range_is_refused(of: Any) -> None:
    owner, refused, ranged = of.__name__, [], []
    given: dict[str, Any] = {} if of is Policy else {"name": "x", "relevance": 1.0}
    for each in attrs.fields(of):
        shape = DESCRIBED[f"{owner}.{each.name}"]
        if "maximum" in shape:
            ranged.append(each.name)
            with pytest.raises(PolicyRefused, match=each.name):
                of(**{**given, each.name: shape["maximum"] + 1})
            refused.append(each.name)
    assert refused == ranged
    assert ranged
