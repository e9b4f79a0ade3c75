"""Every renderer of every result: no text in any field changes what a reader counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from typing import Any, TypeAlias

import attrs
import pytest
from attrs import evolve
from rich.console import Console, RenderableType
from rich.text import Text

from mnemic.adapters.cli.invocation.context import plain
from mnemic.adapters.cli.render import compositions, references, similarity, tables
from mnemic.adapters.mcp.answers import json_text, text_of
from mnemic.adapters.mcp.prompts import preview
from mnemic.adapters.remote.documents import document_of
from mnemic.kernel.model.identity import BlockId, CompositionId, DecisionId, LabelId, PolicyId
from mnemic.kernel.results import (
    Analogy,
    Block,
    ClaimConflict,
    Composition,
    CompositionLabel,
    CompositionMember,
    ConnectByQueryResult,
    ConnectResult,
    Contradiction,
    DeepReference,
    DisconnectResult,
    Edge,
    Frontier,
    FrontierCandidate,
    LogEntry,
    Origin,
    Page,
    RecallResult,
    ReferencedBlock,
    Refusal,
    ScoredBlock,
    SuggestedConnection,
)
from mnemic.kernel.results import Result as AnyResult
from tests.injection.reader import Seen, seen
from tests.injection.tricks import TEXTS

pytestmark = pytest.mark.extended

Render: TypeAlias = Callable[[Sequence[Any]], str]
"""From many results of one kind to one text."""

ONE, TWO = BlockId("0a1b2c3d" * 2), BlockId("4e5f6a7b" * 2)
DAY = "2026-03-01T00:00:00+00:00"
HARMLESS = "gate"
FIELDS = frozenset(
    "content author actor zone source thread category tags metadata summary_text note relation "
    "query tool mode status output_preview preview notes detail source_content target_content "
    "reason suggested_relation source_query removed_relation previews composition_question "
    "shared_structure text guidance".split()
)
"""Fields that hold what callers wrote, in whichever result they are."""

BLOCK = Block(
    id=ONE,
    content=HARMLESS,
    status="active",
    category=HARMLESS,
    tags=(HARMLESS,),
    author=HARMLESS,
    thread=HARMLESS,
    metadata={HARMLESS: HARMLESS},
    summary_text=HARMLESS,
    source=HARMLESS,
    zone="untrusted",
    actor=HARMLESS,
    confidence=0.8,
    created_at=DAY,
    learned_version=2,
    said_version=2,
    last_reinforced_hour=0.0,
    decay_rate=0.01,
    recency=1.0,
    usefulness=0.5,
    evidence=0.0,
)
SCORED = ScoredBlock(
    id=ONE,
    content=HARMLESS,
    category=HARMLESS,
    tags=(HARMLESS,),
    author=HARMLESS,
    thread=HARMLESS,
    created_at=DAY,
    zone="untrusted",
    source=HARMLESS,
    actor=HARMLESS,
    composite_score=0.5,
    relevance_score=0.5,
    recency_score=0.5,
    usefulness_score=0.5,
    confidence_score=0.5,
    frequency_score=0.5,
    lexical_score=0.5,
    cosine_score=0.5,
    tokens=9,
)
EDGE = Edge(
    source_id=ONE,
    target_id=TWO,
    relation=HARMLESS,
    weight=0.5,
    effective_weight=0.5,
    origin="agent",
    anchor_hour=0.0,
    reinforcement_count=0,
    note=HARMLESS,
)
CONNECTED = ConnectResult(
    source_id=ONE,
    target_id=TWO,
    relation=HARMLESS,
    weight=0.5,
    action="created",
    note=HARMLESS,
)
ORIGIN = Origin(zone="untrusted", source=HARMLESS, actor=HARMLESS, author=HARMLESS)
MATCHED = ConnectByQueryResult(
    source_query=HARMLESS,
    target_query=HARMLESS,
    source_id=ONE,
    target_id=TWO,
    source_content=HARMLESS,
    target_content=HARMLESS,
    source_origin=ORIGIN,
    target_origin=ORIGIN,
    source_confidence=0.5,
    target_confidence=0.5,
    min_confidence=0.4,
    connect_result=None,
    action="insufficient_confidence",
    reason=HARMLESS,
)
MEMBER = CompositionMember(block_id=ONE, role="primary", rank=0, preview=HARMLESS)
LABEL = CompositionLabel(
    label_id=LabelId("l9"),
    composition_id=CompositionId("c8"),
    label="helpful",
    source=HARMLESS,
    labelled_at=DAY,
    hour=0.0,
    notes=HARMLESS,
)
LANE = Composition(
    id=CompositionId("c8"),
    version=8,
    hour=0.0,
    created_at=DAY,
    tool=HARMLESS,
    mode=HARMLESS,
    query=HARMLESS,
    query_hash=None,
    confidence=0.5,
    status=HARMLESS,
    output_preview=HARMLESS,
    consume="all",
    members=(MEMBER,),
    labels=(LABEL,),
)
REFERENCED = ReferencedBlock(
    id=ONE,
    preview=HARMLESS,
    role="primary",
    relevance=0.5,
    trust=0.2,
    weight=0.5,
    created_at=DAY,
    zone="untrusted",
    source=HARMLESS,
    actor=HARMLESS,
    author=HARMLESS,
)
DISPUTE = Contradiction(
    stronger=REFERENCED,
    weaker=evolve(REFERENCED, id=TWO),
    kind="negation",
    detail=HARMLESS,
    topic_overlap=0.5,
)
AGAINST = ClaimConflict(block=REFERENCED, kind="date", detail=HARMLESS)
ANALOGY = Analogy(
    block_id=ONE,
    content=HARMLESS,
    zone="untrusted",
    source=HARMLESS,
    actor=HARMLESS,
    author=HARMLESS,
    structural_fit=0.5,
    surface_similarity=0.5,
    quadrant="analogy",
    score=0.25,
    shared_structure=(HARMLESS,),
)
CANDIDATE = FrontierCandidate(
    block_ids=(ONE, TWO),
    kind="pair",
    score=0.5,
    total=0.5,
    components={},
    cap=1.0,
    previews=(HARMLESS, HARMLESS),
    origins=(ORIGIN, ORIGIN),
    reason=HARMLESS,
    composition_question=HARMLESS,
)
ENTRY = LogEntry(version=2, hour=0.0, recorded_at=DAY, kind="block-learned", detail=HARMLESS)
IDEA = SuggestedConnection(
    source_id=ONE,
    target_id=TWO,
    source_content=HARMLESS,
    target_content=HARMLESS,
    source_origin=ORIGIN,
    target_origin=ORIGIN,
    reason=HARMLESS,
    suggested_relation=HARMLESS,
    confidence=0.5,
)
REFUSAL = Refusal(position=0, code="field-refused", detail=HARMLESS)
CUT = DisconnectResult(
    source_id=ONE, target_id=TWO, action="removed", removed_relation=HARMLESS, removed_weight=0.5
)
SAMPLES: tuple[AnyResult, ...] = (
    *(BLOCK, SCORED, EDGE, CONNECTED, MATCHED, MEMBER, LABEL, LANE, REFERENCED, DISPUTE, AGAINST),
    *(ORIGIN, ANALOGY, CANDIDATE, ENTRY, IDEA, REFUSAL, CUT),
)


# --- renderers ------------------------------------------------------------------------------


def recalled(blocks: Sequence[Any], **more: Any) -> RecallResult:
    return RecallResult(
        query=None,
        frame="answer",
        blocks=tuple(blocks),
        text="",
        tokens=0,
        token_budget=2000,
        decision_id=DecisionId("d7"),
        version=9,
        hour=0.0,
        digest="",
        policy_id=PolicyId(""),
        **more,
    )


def referenced(**more: Any) -> DeepReference:
    return DeepReference(
        query="",
        intent="synthesis",
        status="disputed",
        confidence=0.2,
        guidance="",
        reasoning="",
        memories_analyzed=1,
        activation_expanded=0,
        composition_write_status="not_recorded",
        version=9,
        hour=0.0,
        **more,
    )


def frontier(candidates: Sequence[Any]) -> Frontier:
    return Frontier(mode="default", size=2, version=9, hour=0.0, candidates=tuple(candidates))


def drawn(*parts: RenderableType) -> str:
    """Return what a wide terminal shows."""
    console = Console(file=StringIO(), width=700, highlight=False, no_color=True)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text))
    assert isinstance(console.file, StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def each(draw: Callable[[Any], Iterable[RenderableType]]) -> Render:
    """Return a renderer of one result after another; a repeated one is drawn once."""

    def render(found: Sequence[Any]) -> str:
        different = list({id(result): result for result in found}.values())
        text = drawn(*(part for result in different for part in draw(result)))
        return "\n".join([text] * (len(found) // len(different)))

    return render


def summaries(found: Sequence[Any]) -> str:
    return "\n".join(map(str, found))


def documents(found: Sequence[Any]) -> str:
    return "\n".join(json_text(document_of(result)) for result in found)


def tool_list(found: Sequence[Any]) -> str:
    return text_of("edges", tuple(found), {})


TOOLS: dict[type, Render] = {
    Block: lambda found: text_of("blocks", Page(items=tuple(found), next_after=7), {}),
    ScoredBlock: lambda found: text_of("recall", recalled(found), {}),
    SuggestedConnection: lambda found: text_of(
        "recall", recalled((), suggested_connections=tuple(found)), {}
    ),
}
PROMPTS: dict[type, Render] = {Block: lambda found: "\n".join(map(preview, found))}
TERMINAL: dict[type, tuple[Render, ...]] = {
    Block: (
        lambda found: drawn(*tables.page(Page(items=tuple(found)))),
        lambda found: drawn(*tables.recalled(recalled((), counterpoints=tuple(found)))),
        lambda found: drawn(similarity.near_duplicates((one, one, 0.9) for one in found)),
        each(tables.facts),
    ),
    ScoredBlock: (lambda found: drawn(*tables.recalled(recalled(found))),),
    Edge: (
        lambda found: drawn(tables.edges(found, ONE)),
        lambda found: drawn(similarity.pending(found)),
    ),
    ConnectByQueryResult: (each(tables.found),),
    Composition: (lambda found: drawn(compositions.listed(found)), each(compositions.one)),
    ReferencedBlock: (
        lambda found: drawn(*references.referenced(referenced(evidence=tuple(found)))),
        lambda found: drawn(*references.referenced(referenced(evolution=tuple(found)))),
    ),
    Contradiction: (
        lambda found: drawn(*references.referenced(referenced(contradictions=tuple(found)))),
    ),
    ClaimConflict: (
        lambda found: drawn(*references.referenced(referenced(claim_conflicts=tuple(found)))),
    ),
    Analogy: (lambda found: drawn(similarity.analogies(found)),),
    FrontierCandidate: (
        lambda found: drawn(*compositions.frontier(frontier(found), explained=True)),
    ),
    LogEntry: (lambda found: drawn(tables.log(found)),),
    SuggestedConnection: (
        lambda found: drawn(*tables.recalled(recalled((), suggested_connections=tuple(found)))),
    ),
}


def renderers(sample: AnyResult) -> Iterator[Render]:
    yield summaries
    yield documents
    yield tool_list
    yield lambda found: drawn(*(Text(plain(result.summary)) for result in found))
    yield from (table[type(sample)] for table in (TOOLS, PROMPTS) if type(sample) in table)
    yield from TERMINAL.get(type(sample), ())


# --- what is put into a field ---------------------------------------------------------------


def fields(sample: AnyResult) -> list[str]:
    """Return the fields of a result that hold what callers wrote."""
    names = (entry.name for entry in attrs.fields(type(sample)))
    found = [each for each in names if each in FIELDS and getattr(sample, each) is not None]
    return [each for each in found if (type(sample), each) != (Block, "status")]


def filled(sample: AnyResult, names: Iterable[str], text: str) -> AnyResult:
    """Return a result with a text in some fields."""
    values: dict[str, Any] = {}
    for name in names:
        match getattr(sample, name):
            case tuple() as items:
                values[name] = (text,) * len(items)
            case dict():
                values[name] = {text: text}
            case _:
                values[name] = text
    return evolve(sample, **values)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample).__name__)
def test_no_text_in_any_field_changes_what_a_reader_counts(sample: AnyResult) -> None:
    names = fields(sample)
    attacked = [filled(sample, names, text) for text in TEXTS.values()]
    harmless = [filled(sample, names, HARMLESS)] * len(TEXTS)
    for render in renderers(sample):
        expected = seen(render(harmless))
        if seen(render(attacked)) != expected:
            assert guilty(sample, render) == {}
            raise AssertionError("only several fields together change what a reader counts")


def guilty(sample: AnyResult, render: Render) -> dict[tuple[str, str], Seen]:
    """Return which texts in which fields change what a reader counts, and what he counts then."""
    one = seen(render([sample]))
    found = {
        (field, name): seen(render([filled(sample, [field], text)]))
        for field in fields(sample)
        for name, text in TEXTS.items()
    }
    return {case: view for case, view in found.items() if view != one}


def test_every_field_of_every_sample_is_attacked() -> None:
    assert sum(len(fields(sample)) for sample in SAMPLES) >= 55
