"""From a ranking to an answer: what fits, what is left out and why, and the text to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import takewhile

import numpy as np
from attrs import evolve, frozen

from mnemic.kernel import identity
from mnemic.kernel.arithmetic import NANO, product
from mnemic.kernel.decisions import exploring
from mnemic.kernel.events import SIGNALS, Answer, AnswerRow, Exploration
from mnemic.kernel.identity import BlockId, DecisionId
from mnemic.kernel.policy import Frame, Policy
from mnemic.kernel.ports import TokenCounter
from mnemic.kernel.reading import ACTIVE, ARCHIVED, EdgeFacts
from mnemic.kernel.results import (
    Contribution,
    Dropped,
    RecallResult,
    ScoredBlock,
    unit,
)
from mnemic.kernel.scoring import UNKNOWN
from mnemic.kernel.texts import BlockText
from mnemic.projections.allotment import Allotment
from mnemic.projections.blocks import block_result, iso
from mnemic.projections.recipes import Recipe
from mnemic.projections.retrieval import Inquiry, Ranking, digest
from mnemic.projections.views import View
from mnemic.projections.where import Where, eligible, obstacle

HEADING = "What I remember that bears on this:"
COUNTER_HEADING = "But mind:"

Line = Callable[[int], str]
"""From the number of a block to the line that cites it."""

Disputes = dict[int, list[EdgeFacts]]
"""The contradictions of each chosen block, in the order of the chosen."""


@frozen(kw_only=True)
class Limits:
    """How much an answer may hold."""

    top_k: int | None
    """None: the policy's, or the number of guaranteed blocks if that is larger."""
    token_budget: int
    counter: TokenCounter
    explored: Exploration | None = None
    """What chance decided about the last place; it holds wherever the pool is large enough."""

    def most(self, policy: Policy, guaranteed: int) -> int:
        """Return how many blocks may go in, when the frame guarantees so many."""
        return max(policy.top_k, guaranteed) if self.top_k is None else self.top_k


@frozen(kw_only=True)
class Packed:
    """An answer and everything that a record and a reader need of it."""

    answer: Answer
    result: RecallResult
    """Without its decision id, which comes with the record."""
    explored: Exploration | None = None
    """What chance decided, among those that could stand in the last place."""
    near: tuple[int, ...] | None = None
    """What an approximate search found; None: every vector was looked at."""


def pack(view: View, inquiry: Inquiry, ranking: Ranking, limits: Limits) -> Packed:
    """Return the answer of *ranking* within *limits*.

    Guaranteed blocks go first, then the others by score, each if it still fits the budget.
    """
    line = lines(view)
    explored, by_chance = _settled(view, ranking, limits, line)
    places, dropped = _choose(view, ranking, limits, line)
    answer = _answer(view, ranking, places)
    chosen = answer.rows
    disputes = {row.block: view.related(row.block, "contradicts") for row in chosen}
    counter = _counterpoints(view, disputes)
    if (ranking.shares == NANO).any():
        counter = _within_shares(view, counter, limits.most(view.policy, len(ranking.guaranteed)))
    against = [line(number) for number in counter if number not in disputes]
    against += _disputed(view, disputes)
    text = _text([line(row.block) for row in chosen], against, limits)
    tokens = [limits.counter.count(line(row.block)) for row in chosen]
    blocks = map(partial(_scored, view, inquiry), chosen, tokens)
    result = RecallResult(
        query=inquiry.query,
        frame=inquiry.frame.name,
        blocks=tuple(evolve(each, was_explored=each.id == by_chance) for each in blocks),
        dropped=(*dropped, *_never_scored(view, inquiry, chosen)),
        counterpoints=tuple(block_result(view, number) for number in counter),
        text=text,
        tokens=limits.counter.count(text),
        token_budget=limits.token_budget,
        decision_id=None,
        version=view.point.version,
        hour=view.point.hour,
        digest=digest_of(view, answer),
        policy_id=view.policy.id,
        retriever="exact" if ranking.near is None else "ann",
        propensity=unit(exploring.propensity(explored)),
    )
    return Packed(answer=answer, result=result, explored=explored, near=ranking.near)


def select(view: View, ranking: Ranking, limits: Limits) -> Answer:
    """Return what ``pack`` would record, without anything that is there to be read."""
    places, _ = _choose(view, ranking, limits, lines(view))
    return _answer(view, ranking, places)


def _answer(view: View, ranking: Ranking, places: list[int]) -> Answer:
    kept = set(places)
    rest = [place for place in range(len(ranking)) if place not in kept]
    return Answer(
        rows=tuple(ranking.row(place) for place in places),
        runners_up=tuple(ranking.runner_up(place) for place in rest[: view.policy.runners_up]),
    )


def digest_of(view: View, answer: Answer) -> str:
    """Return the digest of an ordered answer with its scores, 16 hex characters."""
    return digest([(view.id(row.block), row.score) for row in answer.rows])


def decided(result: RecallResult, decision: DecisionId) -> RecallResult:
    """Return *result* with the id of its record."""
    return evolve(result, decision_id=decision)


def choices(
    policy: Policy, ranking: Ranking, limits: Limits, line: Line
) -> Iterator[tuple[int, str | None]]:
    """Yield every place in the order of letting in, and what keeps it out: None lets it in.

    Reasons are ``top_k``, ``token_budget``, ``zone_full``: its zone has taken its share, and
    ``explored``: chance gave its place to another.
    """
    in_turn = _in_turn(policy, ranking, limits, line)
    if limits.explored is None or limits.explored.drawn == 0:
        return in_turn
    pool = contenders(policy, ranking, limits, line)
    if limits.explored.drawn >= len(pool):
        return in_turn
    decided = {pool[0]: "explored", pool[limits.explored.drawn]: None}
    return ((place, decided.get(place, reason)) for place, reason in in_turn)


def _in_turn(
    policy: Policy, ranking: Ranking, limits: Limits, line: Line
) -> Iterator[tuple[int, str | None]]:
    """Yield what ``choices`` does, as it is where chance has no say."""
    room = _allotment(policy, ranking, limits, line)
    for place in ranking.order():
        reason = room.obstacle(place)
        if reason is None:
            room.take(place)
        yield place, reason


def _allotment(policy: Policy, ranking: Ranking, limits: Limits, line: Line) -> Allotment:
    return Allotment(
        ranking,
        places=limits.most(policy, len(ranking.guaranteed)),
        tokens=limits.token_budget - limits.counter.count(HEADING + "\n"),
        cost=lambda number: limits.counter.count(line(number) + "\n"),
    )


def contenders(policy: Policy, ranking: Ranking, limits: Limits, line: Line) -> list[int]:
    """Return the places that could be the last of an answer: whose turn it is, then the next ones.

    Of the next ``runners_up`` places those that would fit in its stead. A guaranteed block gives
    its place to nobody: where only such come in, there is nothing to choose.

    Source: specs/reference/recall.py, "expected_choice".
    """
    open_places = takewhile(
        lambda each: each[1] != "top_k", _in_turn(policy, ranking, limits, line)
    )
    chosen = [place for place, reason in open_places if reason is None]
    if not chosen or int(ranking.numbers[chosen[-1]]) in ranking.guaranteed:
        return []

    *before, last = chosen
    room = _allotment(policy, ranking, limits, line)
    for place in before:
        room.take(place)
    order = ranking.order()
    behind = order.index(last) + 1
    following = order[behind : behind + policy.runners_up]
    return [last, *(place for place in following if room.obstacle(place) is None)]


def _settled(
    view: View, ranking: Ranking, limits: Limits, line: Line
) -> tuple[Exploration | None, BlockId | None]:
    """Return what chance decides among those that can stand last, and the block it let in."""
    pool = [] if limits.explored is None else contenders(view.policy, ranking, limits, line)
    if limits.explored is None or not pool:
        return None, None
    explored = exploring.among(limits.explored, len(pool))
    if explored.drawn == 0:
        return explored, None
    return explored, view.id(int(ranking.numbers[pool[explored.drawn]]))


def _choose(
    view: View, ranking: Ranking, limits: Limits, line: Line
) -> tuple[list[int], list[Dropped]]:
    """Return the places of what goes in, best first, and what would have come next."""
    chosen: list[int] = []
    dropped: list[Dropped] = []
    for place, reason in choices(view.policy, ranking, limits, line):
        if reason is None:
            chosen.append(place)
            continue
        if len(dropped) == view.policy.runners_up:
            if reason == "top_k":
                break
            continue  # the list is full, the answer is not: a shorter text may still fit
        block = view.id(int(ranking.numbers[place]))
        dropped.append(Dropped(id=block, score=unit(int(ranking.scores[place])), reason=reason))
    return sorted(chosen), dropped


def _never_scored(view: View, inquiry: Inquiry, chosen: Sequence[AnswerRow]) -> Iterator[Dropped]:
    """Yield what a reader may miss: predecessors, and guaranteed blocks that a filter shut out."""
    for row in chosen:
        for old in view.predecessors(row.block):
            if view.status(old) == ARCHIVED:
                yield Dropped(
                    id=view.id(old), reason="superseded", superseded_by=view.id(row.block)
                )
    always = inquiry.frame.always_tags
    if always and inquiry.gate.where != Where():
        pool = eligible(view, evolve(inquiry.gate, where=Where()))
        promised = pool[view.promised(pool, always)]
        for number in promised.tolist():
            if obstacle(view, inquiry.gate, number) is not None:
                yield Dropped(id=view.id(number), reason="filter")


def _counterpoints(view: View, disputes: Disputes) -> list[int]:
    """Return what contradicts a chosen block and has not expired, in the order of the chosen."""
    others = (edge.other(number) for number, edges in disputes.items() for edge in edges)
    return [other for other in dict.fromkeys(others) if _stands(view, other)]


def _within_shares(view: View, numbers: list[int], places: int) -> list[int]:
    """Return *numbers*, of zones that may take a share of *places* no more, behind the others."""
    shares = view.shares(np.array(numbers, dtype=np.int64)).tolist()
    found = [number for number, share in zip(numbers, shares, strict=True) if share == NANO]
    free = len(found)
    for number, share in zip(numbers, shares, strict=True):
        if share < NANO and (len(found) - free + 1) * NANO <= share * places:
            found.append(number)
    return found


def _stands(view: View, number: int) -> bool:
    facts = view.facts(number)
    expired = facts.expires_us is not None and facts.expires_us <= view.point.instant_us
    return facts.status == ACTIVE and not expired


def _text(chosen: list[str], against: list[str], limits: Limits) -> str:
    """Return the prompt-ready text within the budget: what was chosen, and what speaks against."""
    lines = [HEADING, *chosen] if chosen else []
    for line in [COUNTER_HEADING, *against] if against else []:
        if limits.counter.count("\n".join([*lines, line])) > limits.token_budget:
            break
        lines.append(line)
    if lines and lines[-1] == COUNTER_HEADING:
        lines.pop()
    return "\n".join(lines)


def _disputed(view: View, disputes: Disputes) -> list[str]:
    """Return a line for each pair of chosen blocks that contradict each other."""
    found = [
        (edge.source, edge.target)
        for number in sorted(disputes)
        for edge in disputes[number]
        if edge.source == number and edge.target in disputes
    ]
    return [
        f"[{identity.short(view.id(source))}] contradicts [{identity.short(view.id(target))}]"
        for source, target in found
    ]


def lines(view: View) -> Line:
    """Return what cites the blocks of *view*, each block's line made once."""
    return cache(partial(_line, view))


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


def _scored(view: View, inquiry: Inquiry, row: AnswerRow, tokens: int) -> ScoredBlock:
    text = view.text(row.block)
    created = view.life.get("created_us", row.block)
    value = dict(zip((*SIGNALS, *inquiry.recipe.parts), row.signals, strict=True))
    return ScoredBlock(
        id=view.id(row.block),
        content=text.content if isinstance(text, BlockText) else "[erased]",
        category=view.category(row.block),
        tags=view.tags(row.block),
        author=text.author if isinstance(text, BlockText) else None,
        thread=text.thread if isinstance(text, BlockText) else None,
        created_at=None if created == UNKNOWN else iso(created),
        zone=view.zone(row.block),
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
        contributions=contributions(
            SIGNALS, inquiry.frame.weights(asked=inquiry.query is not None), row.signals
        ),
        relevance_parts=relevance_parts(view.policy, inquiry.recipe, row),
        was_expanded=row.via >= 0,
        expanded_via=view.id(row.via) if row.via >= 0 else None,
        tokens=tokens,
    )


def contributions(
    names: Sequence[str], weights: Sequence[int], values: Sequence[int]
) -> tuple[Contribution, ...]:
    """Return what each of *names* adds: its value, its weight and their product.

    Args:
        names: Signals or parts.
        weights: Nano-units; what weighs nothing is left out.
        values: Nano-units, at least as many as names.
    """
    return tuple(
        Contribution(
            signal=name,
            value=unit(value),
            weight=unit(weight),
            contribution=unit(product(weight, value)),
        )
        for name, weight, value in zip(names, weights, values, strict=False)
        if weight
    )


def relevance_parts(policy: Policy, recipe: Recipe, row: AnswerRow) -> tuple[Contribution, ...]:
    """Return what the strength of a block's match is made of; nothing without a question."""
    values = row.signals[len(SIGNALS) :]
    if not values or values[0] < 0:
        return ()
    return contributions(recipe.parts, recipe.weights(policy), values)


def _optional(value: int) -> float | None:
    return None if value < 0 else unit(value)


def contested(view: View, frame: Frame, answer: Answer) -> int | None:
    """Return the block in the place that chance may give away: the last that is not guaranteed."""
    numbers = np.array([row.block for row in answer.rows], dtype=np.int64)
    if not len(numbers):
        return None
    guaranteed = view.promised(numbers, frame.always_tags)
    open_places = numbers[~guaranteed]
    return int(open_places[-1]) if len(open_places) else None
