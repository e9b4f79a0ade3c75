"""Packing of a ranking into an answer: inclusion within the limits, reasons, rendered text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, takewhile
from typing import Any

import numpy as np
from attrs import evolve, frozen

from mnemic.kernel.decisions.recalling import Asked, Found, among, propensity
from mnemic.kernel.decisions.restatement import CONTRADICTS, SUPERSEDING
from mnemic.kernel.events import Answer, AnswerRow, Exploration
from mnemic.kernel.model.blocks import ARCHIVED
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.filters import Where
from mnemic.kernel.model.identity import BlockId, DecisionId, short
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.model.tokens import EstimatedTokens
from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.policy import Frame, Policy
from mnemic.kernel.ports import TokenCounter
from mnemic.kernel.rendering import Dispute, render_line
from mnemic.kernel.results import (
    ContradictedPair,
    Dropped,
    RecallResult,
    Replacement,
    plural,
    unit,
)
from mnemic.kernel.scoring.probability import NO
from mnemic.kernel.statements import relation
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.values import Value
from mnemic.projections.retrieval.abstention import (
    HEADINGS,
    NOTHING,
    Judgment,
    doubtful,
    judged,
)
from mnemic.projections.retrieval.answer_blocks import Weighing, answer_blocks
from mnemic.projections.retrieval.budget import Budget
from mnemic.projections.retrieval.filters import eligible, obstacle
from mnemic.projections.retrieval.lines import (
    Line,
    contested_blocks,
    is_live,
    lines,
    live_ends,
)
from mnemic.projections.retrieval.ranking import Inquiry, Ranking, digest
from mnemic.projections.retrieval.recipes import Recipe
from mnemic.projections.storage.array_bundle import Lazy
from mnemic.projections.view import View
from mnemic.projections.view.block_results import block_result

COUNTER_HEADING = "But mind:"

RunnerUpRow = tuple[BlockId, int, str]
"""A block that was scored and not included, its score, and the reason."""

Replaced = dict[int, list[int]]
"""The predecessors of each chosen block, in the order of the chosen."""

Disputes = dict[int, list[EdgeFacts]]
"""The contradictions of each chosen block that has some, in the order of the chosen."""


@frozen(kw_only=True)
class Limits(Value):
    """Limits on the size of an answer."""

    top_k: int | None
    """None: the largest of the policy's, the policy's for aggregates if it is one, and the number
    of guaranteed blocks."""
    token_budget: int | None
    """As asked; None: that of the frame."""
    counter: TokenCounter
    frame_budget: int = 0
    """Applies without a ``token_budget``."""
    is_aggregate: bool = False
    """Whether many texts answer the question together (``mnemic.kernel.questions.aggregates``)."""
    heading: str = HEADINGS[""]
    """First line of the text."""
    explored: Exploration | None = None
    """The random choice for the last place; it is applied if the pool is large enough."""
    floor: int = 0
    """The frame's floor of probability, nano-units."""
    min_probability: int | None = None
    """The caller's, which takes its place; None: there is none."""

    @property
    def budget(self) -> int:
        """Most tokens of the rendered text."""
        return self.frame_budget if self.token_budget is None else self.token_budget

    def headed(self, heading: str) -> Limits:
        """Return these limits with another heading."""
        return self if heading == self.heading else evolve(self, heading=heading)

    def most(self, policy: Policy, guaranteed: int) -> int:
        """Return how many blocks may be included, given the number of guaranteed ones."""
        if self.top_k is not None:
            return self.top_k
        wide = policy.top_k_aggregate if self.is_aggregate else 0
        return max(policy.top_k, wide, guaranteed)


@frozen(kw_only=True, eq=False)
class Packed:
    """An answer, and what ``decide_recall`` records of it."""

    result: RecallResult
    """Without its decision id, which is added with the record."""
    record: Lazy[tuple[Asked, Found]]
    """Computed only if the answer is recorded."""

    @property
    def asked(self) -> Asked:
        """The question of the record."""
        return self.record.value[0]

    @property
    def found(self) -> Found:
        """The answer of the record."""
        return self.record.value[1]


def pack(view: View, inquiry: Inquiry, ranking: Ranking, limits: Limits) -> Packed:
    """Return the answer of *ranking* within *limits*.

    Guaranteed blocks go first, then the others by score, each if it still fits the budget.
    """
    shown_line, line = lines(view, inquiry.recipe, ranking.passage)
    judgment = judged(view.policy, inquiry.recipe, ranking)
    limits = limits.headed(judgment.heading)
    explored, by_chance = _settled(view, ranking, limits, line)
    places, runners_up = _choose(view, ranking, limits, line)
    chosen = ranking.answer_rows(places)
    replaced = view.predecessors_of([row.block for row in chosen])
    contested = contested_blocks(view)
    disputes = {
        row.block: view.related(row.block, CONTRADICTS) for row in chosen if row.block in contested
    }
    counter = _counterpoints(view, disputes)
    if counter and (ranking.shares == NANO).any():
        counter = _within_shares(view, counter, limits.most(view.policy, len(ranking.guaranteed)))
    against = [shown_line(number) for number in counter if number not in disputes]
    against += _disputed(view, disputes)
    shown_lines = [shown_line(row.block) for row in chosen]
    text = _text(shown_lines, against, limits)
    if not text and judgment.verdict and limits.counter.count(NOTHING) <= limits.budget:
        text = NOTHING
    blocks = answer_blocks(
        view,
        Weighing(
            recipe=inquiry.recipe,
            signals=inquiry.frame.weights(asked=inquiry.query is not None),
            parts=inquiry.recipe.weights(view.policy),
            is_doubtful=judgment.verdict == NO,
            explored=by_chance,
            instant_us=view.point.instant_us,
            counter=limits.counter,
        ),
        zip(chosen, shown_lines, strict=True),
        ranking.passage,
    )
    never_scored = tuple(_never_scored(view, inquiry, replaced))
    digest = digest_of(view, chosen)
    known = {
        "query": inquiry.query,
        "frame": inquiry.frame.name,
        "blocks": blocks,
        "counterpoints": tuple([block_result(view, number) for number in counter]),
        "text": text,
        "tokens": limits.counter.count(text),
        "token_budget": limits.budget,
        "decision_id": None,
        "version": view.point.version,
        "hour": view.point.hour,
        "digest": digest,
        "policy_id": view.policy.id,
        "retriever": "exact" if ranking.near is None else "ann",
        "answerable": _optional(judgment.answerable),
        "verdict": judgment.verdict,
        "superseded": tuple(_replaced(view, replaced)),
        "contradictions": tuple(_contradictions(view, disputes)),
        "waiting": view.waiting_count,
        "propensity": unit(propensity(explored)),
        "warnings": _not_searched(view.waiting_count),
        "suggested_connections": (),
    }
    result = RecallResult.deferred(partial(_dropped_field, runners_up, never_scored), known)

    def record() -> tuple[Asked, Found]:
        found = Found(
            answer=_answer(view, ranking, places, chosen),
            digest=digest,
            answerable=judgment.answerable,
            verdict=judgment.verdict,
            version=view.point.version,
            at=Instant(view.point.active_us, view.point.instant_us),
            policy_id=view.policy.id,
            embedder=view.embedder,
            recipe=_method_name(inquiry.recipe, limits.counter),
            near=ranking.near,
            explored=explored,
            statistics=ranking.statistics if inquiry.recipe.graded else (),
        )
        return _asked(inquiry, limits), found

    return Packed(result=result, record=Lazy(record))


def _not_searched(waiting: int) -> tuple[str, ...]:
    """Return a warning if blocks wait in the inbox: "nothing in memory" would be said too soon."""
    if not waiting:
        return ()
    return (f"not searched: {plural(waiting, 'block')} in the inbox; consolidate promotes them",)


def _method_name(recipe: Recipe, counter: TokenCounter) -> str:
    """Return the name of a recipe, with that of the token counter unless it is the default."""
    is_default = counter.name == EstimatedTokens.name
    return recipe.name if is_default else f"{recipe.name}+{counter.name}"


def _asked(inquiry: Inquiry, limits: Limits) -> Asked:
    return Asked(
        query=inquiry.query,
        vector=inquiry.vector,
        where=inquiry.eligibility.where.plain(),
        asked_by=inquiry.asked_by,
        frame=inquiry.frame.name,
        top_k=limits.top_k,
        token_budget=limits.token_budget,
        min_probability=limits.min_probability,
        session=inquiry.eligibility.session,
    )


def select(
    view: View, inquiry: Inquiry, ranking: Ranking, limits: Limits, *, line: Line | None = None
) -> tuple[Answer, Judgment]:
    """Return what ``pack`` would record, without the rendered text.

    Args:
        view: As for ``pack``.
        inquiry: As for ``pack``.
        ranking: As for ``pack``.
        limits: As for ``pack``.
        line: The second of ``lines``, which many answers to one question may share; None: its own.
    """
    line = line or lines(view, inquiry.recipe, ranking.passage)[1]
    judgment = judged(view.policy, inquiry.recipe, ranking)
    limits = limits.headed(judgment.heading)
    places, _ = _choose(view, ranking, limits, line)
    return _answer(view, ranking, places, ranking.answer_rows(places)), judgment


def _answer(view: View, ranking: Ranking, places: list[int], rows: tuple[AnswerRow, ...]) -> Answer:
    kept = set(places)
    most = view.policy.runners_up
    best = range(min(len(ranking), len(kept) + most))
    return Answer(
        rows=rows,
        runners_up=ranking.runners_up([place for place in best if place not in kept][:most]),
    )


def digest_of(view: View, rows: Sequence[AnswerRow]) -> str:
    """Return the digest of the ordered rows of an answer with their scores, 16 hex characters."""
    ids = view.state.catalogue.ids
    return digest([(ids[row.block], row.score) for row in rows])


def decided(result: RecallResult, decision: DecisionId) -> RecallResult:
    """Return *result* with the id of its record."""
    return result.with_fields(decision_id=decision)


def choices(
    policy: Policy, ranking: Ranking, limits: Limits, line: Line
) -> Iterator[tuple[int, str | None]]:
    """Yield every place in the order of admission, and what excludes it; None: it is included.

    Reasons are ``min_probability``: it hardly bears on the question, ``top_k``, ``token_budget``,
    ``zone_full``: its zone has used up its share, and ``explored``: its place was given to another
    block at random.
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
    """Yield what ``choices`` does without exploration."""
    room = _budget(policy, ranking, limits, line)
    doubts = _doubts(ranking, limits)
    for place in ranking.order():
        if place in doubts:
            yield place, "min_probability"
        elif not room.places:
            yield place, "top_k"
        else:
            yield place, room.admit(place)


def _doubts(ranking: Ranking, limits: Limits) -> frozenset[int]:
    """Return the places of blocks below the floor of probability."""
    found = doubtful(ranking, floor=limits.floor, min_probability=limits.min_probability)
    return frozenset() if found is None else frozenset(found.nonzero()[0].tolist())


def _budget(policy: Policy, ranking: Ranking, limits: Limits, line: Line) -> Budget:
    return Budget(
        ranking,
        places=limits.most(policy, len(ranking.guaranteed)),
        tokens=limits.budget - limits.counter.count(limits.heading + "\n"),
        cost=lambda number: limits.counter.count(line(number) + "\n"),
    )


def contenders(policy: Policy, ranking: Ranking, limits: Limits, line: Line) -> list[int]:
    """Return the candidates for the last place of an answer: the next block, then its runners-up.

    Runners-up are those of the next ``runners_up`` places that would fit instead of it. A
    guaranteed block is never replaced: if only such blocks are included, there is no choice.

    Source: specs/reference/recall.py, "expected_choice".
    """
    open_places = takewhile(
        lambda each: each[1] != "top_k", _in_turn(policy, ranking, limits, line)
    )
    chosen = [place for place, reason in open_places if reason is None]
    if not chosen or int(ranking.numbers[chosen[-1]]) in ranking.guaranteed:
        return []

    *before, last = chosen
    room = _budget(policy, ranking, limits, line)
    for place in before:
        room.admit(place)
    order = ranking.order()
    behind = order.index(last) + 1
    doubts = _doubts(ranking, limits)
    following = (place for place in order[behind:] if place not in doubts)
    nearest = islice(following, policy.runners_up)
    return [last, *(place for place in nearest if room.obstacle(place) is None)]


def _settled(
    view: View, ranking: Ranking, limits: Limits, line: Line
) -> tuple[Exploration | None, BlockId | None]:
    """Return the random choice among the candidates for the last place, and the block chosen."""
    pool = [] if limits.explored is None else contenders(view.policy, ranking, limits, line)
    if limits.explored is None or not pool:
        return None, None
    explored = among(limits.explored, len(pool))
    if explored.drawn == 0:
        return explored, None
    return explored, view.id(int(ranking.numbers[pool[explored.drawn]]))


def _choose(
    view: View, ranking: Ranking, limits: Limits, line: Line
) -> tuple[list[int], list[RunnerUpRow]]:
    """Return the places of the included blocks, best first, and the runners-up."""
    chosen: list[int] = []
    dropped: list[int] = []
    reasons: list[str] = []
    for place, reason in choices(view.policy, ranking, limits, line):
        if reason is None:
            chosen.append(place)
            continue
        if len(dropped) == view.policy.runners_up:
            if reason == "top_k":
                break
            continue  # top_k is reached, but not the budget: a shorter text may still fit
        dropped.append(place)
        reasons.append(reason)
    ids = view.state.catalogue.ids
    blocks = [ids[number] for number in ranking.numbers[dropped].tolist()]
    scores = ranking.scores[dropped].tolist()
    return sorted(chosen), [*zip(blocks, scores, reasons, strict=True)]


def _dropped_field(
    runners_up: Sequence[RunnerUpRow], never_scored: tuple[Dropped, ...], name: str
) -> dict[str, Any]:
    if name != "dropped":
        return {}
    scored = [
        Dropped(id=block, score=score / NANO, reason=reason) for block, score, reason in runners_up
    ]
    return {"dropped": (*scored, *never_scored)}


def _never_scored(view: View, inquiry: Inquiry, replaced: Replaced) -> Iterator[Dropped]:
    """Yield unscored blocks of interest: predecessors, and guaranteed blocks a filter excluded."""
    for number, predecessors in replaced.items():
        for old in predecessors:
            if view.status(old) == ARCHIVED:
                yield Dropped(id=view.id(old), reason="superseded", superseded_by=view.id(number))
    always = inquiry.frame.always_tags
    if always and inquiry.eligibility.where != Where():
        pool = eligible(view, evolve(inquiry.eligibility, where=Where()))
        promised = pool[view.promised(pool, always)]
        for number in promised.tolist():
            if obstacle(view, inquiry.eligibility, number) is not None:
                yield Dropped(id=view.id(number), reason="filter")


def _replaced(view: View, replaced: Replaced) -> Iterator[Replacement]:
    """Yield the supersessions by the chosen blocks."""
    for block, predecessors in replaced.items():
        for number in predecessors:
            old, new, why = view.text(number), view.text(block), "revised"
            if isinstance(old, BlockText) and isinstance(new, BlockText):
                why = relation(old.content, new.content) or why
            yield Replacement(
                old=view.id(number),
                new=view.id(block),
                why=why if why in SUPERSEDING else "revised",
                by=view.retired_by(number, block),
            )


def _contradictions(view: View, disputes: Disputes) -> Iterator[ContradictedPair]:
    """Yield the contradictions of chosen blocks with unexpired ones, each pair once."""
    seen: set[tuple[int, int]] = set()
    for number, edges in disputes.items():
        for other in live_ends(view, number, edges):
            pair = np.array([number, other], dtype=np.int64)
            older, newer = pair[view.said_order(pair).argsort(kind="stable")].tolist()
            if (older, newer) not in seen:
                seen.add((older, newer))
                yield ContradictedPair(older=view.id(older), newer=view.id(newer))


def _counterpoints(view: View, disputes: Disputes) -> list[int]:
    """Return unexpired blocks that contradict a chosen one, in the order of the chosen."""
    others = (edge.other(number) for number, edges in disputes.items() for edge in edges)
    return [other for other in dict.fromkeys(others) if is_live(view, other)]


def _within_shares(view: View, numbers: list[int], places: int) -> list[int]:
    """Return *numbers* with those of zones that exceed their share of *places* moved to the end."""
    shares = view.shares(np.array(numbers, dtype=np.int64)).tolist()
    found = [number for number, share in zip(numbers, shares, strict=True) if share == NANO]
    free = len(found)
    for number, share in zip(numbers, shares, strict=True):
        if share < NANO and (len(found) - free + 1) * NANO <= share * places:
            found.append(number)
    return found


def _text(chosen: list[str], against: list[str], limits: Limits) -> str:
    """Return the prompt-ready text within the budget: chosen blocks, then counterpoints."""
    lines = [limits.heading, *chosen] if chosen else []
    for line in [COUNTER_HEADING, *against] if against else []:
        if limits.counter.count("\n".join([*lines, line])) > limits.budget:
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
        render_line(Dispute(one=short(view.id(source)), other=short(view.id(target))))
        for source, target in found
    ]


def _optional(value: int) -> float | None:
    return None if value < 0 else unit(value)


def contested(view: View, frame: Frame, answer: Answer) -> int | None:
    """Return the block that exploration may replace: the last that is not guaranteed."""
    numbers = np.array([row.block for row in answer.rows], dtype=np.int64)
    if not len(numbers):
        return None
    guaranteed = view.promised(numbers, frame.always_tags)
    open_places = numbers[~guaranteed]
    return int(open_places[-1]) if len(open_places) else None
