"""From a ranking to an answer: what fits, what is left out and why, and the text to read."""

from __future__ import annotations

from attrs import evolve, frozen

from mnemic.kernel import identity
from mnemic.kernel.arithmetic import product
from mnemic.kernel.events import PARTS, SIGNALS, Answer, AnswerRow, RunnerUp
from mnemic.kernel.identity import DecisionId
from mnemic.kernel.ports import TokenCounter
from mnemic.kernel.reading import ACTIVE
from mnemic.kernel.results import (
    Block,
    Contribution,
    Dropped,
    RecallResult,
    ScoredBlock,
    unit,
)
from mnemic.kernel.scoring import UNKNOWN
from mnemic.kernel.texts import BlockText
from mnemic.projections.blocks import block_result, iso
from mnemic.projections.retrieval import Inquiry, Ranking, digest
from mnemic.projections.views import View

HEADING = "What I remember that bears on this:"
COUNTER_HEADING = "But mind:"


@frozen(kw_only=True)
class Limits:
    """How much an answer may hold."""

    top_k: int | None
    """None: the policy's, or the number of guaranteed blocks if that is larger."""
    token_budget: int
    counter: TokenCounter


@frozen(kw_only=True)
class Packed:
    """An answer and everything that a record and a reader need of it."""

    answer: Answer
    result: RecallResult
    """Without its decision id, which comes with the record."""


def pack(view: View, inquiry: Inquiry, ranking: Ranking, limits: Limits) -> Packed:
    """Return the answer of *ranking* within *limits*.

    Guaranteed blocks go first, then the others by score, each if it still fits the budget.
    """
    chosen, dropped = _choose(view, ranking, limits)
    kept = {row.block for row in chosen}
    rest = [row for row in ranking.rows if row.block not in kept]
    runners = tuple(RunnerUp(row.block, row.score) for row in rest[: view.policy.runners_up])
    counter = _counterpoints(view, chosen)
    text, counterpoints = _text(view, chosen, counter, limits)
    result = RecallResult(
        query=inquiry.query,
        frame=inquiry.frame.name,
        blocks=tuple(_scored(view, inquiry, row, limits.counter) for row in chosen),
        dropped=tuple(dropped),
        counterpoints=counterpoints,
        text=text,
        tokens=limits.counter.count(text),
        token_budget=limits.token_budget,
        decision_id=None,
        version=view.point.version,
        hour=view.point.hour,
        digest=digest([(view.id(row.block), row.score) for row in chosen]),
        policy_id=view.policy.id,
    )
    return Packed(answer=Answer(rows=tuple(chosen), runners_up=runners), result=result)


def decided(result: RecallResult, decision: DecisionId) -> RecallResult:
    """Return *result* with the id of its record."""
    return evolve(result, decision_id=decision)


def _choose(view: View, ranking: Ranking, limits: Limits) -> tuple[list[AnswerRow], list[Dropped]]:
    """Return what goes in, best first, and what would have come next."""
    first = [row for row in ranking.rows if row.block in ranking.guaranteed]
    others = [row for row in ranking.rows if row.block not in ranking.guaranteed]
    most = max(view.policy.top_k, len(first)) if limits.top_k is None else limits.top_k
    left = limits.token_budget - limits.counter.count(HEADING + "\n")
    chosen: list[AnswerRow] = []
    dropped: list[Dropped] = []
    for row in (*first, *others):
        cost = limits.counter.count(_line(view, row.block) + "\n")
        if len(chosen) < most and cost <= left:
            left -= cost
            chosen.append(row)
            continue
        if len(dropped) == view.policy.runners_up:
            break
        dropped.append(_dropped(view, row, "top_k" if len(chosen) == most else "token_budget"))
    chosen.sort(key=lambda row: (-row.score, view.id(row.block)))
    return chosen, dropped


def _dropped(view: View, row: AnswerRow, reason: str) -> Dropped:
    return Dropped(id=view.id(row.block), score=unit(row.score), reason=reason)


def _counterpoints(view: View, chosen: list[AnswerRow]) -> list[int]:
    """Return what contradicts a chosen block and has not expired, in the order of the chosen."""
    found: dict[int, None] = {}
    for row in chosen:
        for edge in view.edges_of(row.block):
            other = edge.other(row.block)
            if edge.relation == "contradicts" and _stands(view, other):
                found[other] = None
    return list(found)


def _stands(view: View, number: int) -> bool:
    facts = view.facts(number)
    expired = facts.expires_us is not None and facts.expires_us <= view.point.instant_us
    return facts.status == ACTIVE and not expired


def _text(
    view: View, chosen: list[AnswerRow], counter: list[int], limits: Limits
) -> tuple[str, tuple[Block, ...]]:
    """Return the prompt-ready text within the budget, and every counterpoint."""
    lines = [HEADING, *(_line(view, row.block) for row in chosen)] if chosen else []
    shown = {row.block for row in chosen}
    against = [_line(view, number) for number in counter if number not in shown]
    against += _disputes(view, shown)
    for line in [COUNTER_HEADING, *against] if against else []:
        if limits.counter.count("\n".join([*lines, line])) > limits.token_budget:
            break
        lines.append(line)
    if lines and lines[-1] == COUNTER_HEADING:
        lines.pop()
    return "\n".join(lines), tuple(block_result(view, number) for number in counter)


def _disputes(view: View, shown: set[int]) -> list[str]:
    """Return a line for each pair of shown blocks that contradict each other."""
    found = [
        (edge.source, edge.target)
        for number in sorted(shown)
        for edge in view.edges_of(number)
        if edge.relation == "contradicts" and edge.source == number and edge.target in shown
    ]
    return [
        f"[{identity.short(view.id(source))}] contradicts [{identity.short(view.id(target))}]"
        for source, target in found
    ]


def _line(view: View, number: int) -> str:
    """Return one cited line: short id, words, who and when."""
    text = view.text(number)
    content = text.content if isinstance(text, BlockText) else "[erased]"
    author = text.author if isinstance(text, BlockText) else None
    created = view.life.get("created_us", number)
    when = None if created == UNKNOWN else iso(created)[:10]
    about = ", ".join(part for part in (author, when) if part)
    cited = f"[{identity.short(view.id(number))}] {' '.join(content.split())}"
    return f"{cited} ({about})" if about else cited


def _scored(view: View, inquiry: Inquiry, row: AnswerRow, counter: TokenCounter) -> ScoredBlock:
    facts = view.facts(row.block)
    text = view.text(row.block)
    created = view.life.get("created_us", row.block)
    weights = inquiry.frame.weights(asked=inquiry.query is not None)
    value = dict(zip((*SIGNALS, *PARTS), row.signals, strict=True))
    return ScoredBlock(
        id=facts.id,
        content=text.content if isinstance(text, BlockText) else "[erased]",
        category=facts.category,
        tags=facts.tags,
        author=text.author if isinstance(text, BlockText) else None,
        thread=text.thread if isinstance(text, BlockText) else None,
        created_at=None if created == UNKNOWN else iso(created),
        zone=facts.zone,
        composite_score=unit(row.score),
        relevance_score=unit(max(0, value["relevance"])),
        recency_score=unit(value["recency"]),
        usefulness_score=unit(value["usefulness"]),
        confidence_score=unit(value["confidence"]),
        frequency_score=unit(value["frequency"]),
        centrality_score=_optional(value["centrality"]),
        reinforcement_score=_optional(value["reinforcement"]),
        lexical_score=unit(max(0, value["lexical"])),
        cosine_score=unit(max(0, value["cosine"])),
        contributions=tuple(
            Contribution(
                signal=name,
                value=unit(value[name]),
                weight=unit(weight),
                contribution=unit(product(weight, value[name])),
            )
            for name, weight in zip(SIGNALS, weights, strict=True)
            if weight
        ),
        was_expanded=row.via >= 0,
        expanded_via=view.id(row.via) if row.via >= 0 else None,
        tokens=counter.count(_line(view, row.block)),
    )


def _optional(value: int) -> float | None:
    return None if value < 0 else unit(value)
