"""Evidence on a question: memories found by recall, each with its trust.

1. Candidates are those of our own recall in the frame ``attention``: the best *depth* of them that
   are relevant, and the neighbours by edges of the best three.
2. Blocks connected to one of them by ``contradicts`` are evidence too, and those that say almost
   the same as one of the best three.
3. The trust in a memory follows from its record (``trust``), and never exceeds its zone's ceiling.

Source: reference composed-graph section 3, stages 1 to 3; DOMAIN section 8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np
from attrs import frozen

from mnemic.kernel.model.blocks import ACTIVE
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.numeric.arithmetic import NANO, nano, share, weighted
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.kernel.values import Value
from mnemic.projections.references.claims import Statement, statement
from mnemic.projections.references.stems import Terms
from mnemic.projections.references.trust import trust
from mnemic.projections.retrieval.budget import Budget
from mnemic.projections.retrieval.filters import eligible, unexpired
from mnemic.projections.retrieval.ranking import Inquiry, Ranking, rank
from mnemic.projections.retrieval.retention import memory_of, retrievability
from mnemic.projections.view import View

DEPTH_MIN: Final = 5
DEPTH_MAX: Final = 50

RELEVANCE_MIN: Final = 250_000_000
"""Minimum relevance of evidence. Nano-units."""
RELEVANCE_BROUGHT: Final = 300_000_000
"""Minimum relevance assigned to evidence that was added by an edge. Nano-units."""
SEEDS: Final = 3
PER_SEED: Final = 3
COUNTERPOINTS_MAX: Final = 10

WEIGHTS: Final = (500_000_000, 200_000_000, 300_000_000)
"""Weights of relevance, trust and topic in choosing the primary. Nano-units; they sum to 1."""


@frozen(kw_only=True)
class Evidence(Value):
    """One weighed memory. Relevance, trust, topic and weight in nano-units, [0, 1]."""

    number: int
    id: BlockId
    content: str
    said: Statement
    relevance: int
    trust: int
    topic: int
    """Share of the question's terms that it contains."""
    weight: int
    since_us: int
    """Its time: created, or learned if that is not known."""
    since_version: int
    """The version that learned it; decides between equals."""
    created_us: int | None
    brought: bool
    """Whether it was added by an edge, not found by the question."""
    ceiling: int = NANO
    """The most trust that its zone allows. Nano-units."""

    @property
    def age(self) -> tuple[int, int, str]:
        """Sort key of memories from old to new."""
        return self.since_us, self.since_version, self.id


@frozen(kw_only=True)
class Gathered(Value):
    """All evidence on a question, highest weight first."""

    evidence: tuple[Evidence, ...]
    analysed: int
    """Number of memories considered."""
    brought: int
    """Number of them added by an edge."""


def depth_of(depth: int) -> int:
    """Return *depth* clamped to its limits."""
    return min(max(depth, DEPTH_MIN), DEPTH_MAX)


def gather(view: View, inquiry: Inquiry, *, depth: int) -> Gathered:
    """Return the evidence of *view* on a question.

    Args:
        view: The view to search.
        inquiry: The question; it must have words.
        depth: Maximum number of memories found by the question itself. Range: 5 to 50.
    """
    ranking = rank(view, inquiry)
    relevance = _found(ranking, depth)
    direct = len(relevance)
    for number in _brought(ranking, list(relevance)[:SEEDS]):
        relevance.setdefault(number, RELEVANCE_BROUGHT)
    for number in _counterpoints(view, list(relevance)):
        relevance.setdefault(number, RELEVANCE_BROUGHT)
    for number in _near_duplicates(view, inquiry, list(relevance)[:SEEDS]):
        relevance.setdefault(number, RELEVANCE_BROUGHT)
    asked = statement(inquiry.query or "").terms
    trusts = trusted(view, list(relevance))
    found = [
        _evidence(view, number, (value, trusts[number]), asked, brought=place >= direct)
        for place, (number, value) in enumerate(relevance.items())
    ]
    kept = [each for each in found if each is not None]
    kept.sort(key=lambda each: (-each.weight, each.id))
    return Gathered(
        evidence=tuple(kept),
        analysed=len(relevance),
        brought=sum(each.brought for each in kept),
    )


def trusted(view: View, numbers: list[int]) -> dict[int, int]:
    """Return the trust in each block at the view's hour. Nano-units."""
    keys = np.array(numbers, dtype=np.int64)
    ceiling, left = view.ceilings(keys).tolist(), retrievability(view, keys).tolist()
    found: dict[int, int] = {}
    for number, most, retention in zip(numbers, ceiling, left, strict=True):
        memory = memory_of(view, number)
        value = 0
        if memory is not None:
            value = trust(retention, memory.stability, memory.reps, memory.lapses)
        found[number] = min(value, most)
    return found


def _found(ranking: Ranking, depth: int) -> dict[int, int]:
    """Return the relevance of the memories found by the question itself, the best first.

    Zones are limited to their share, as in an answer.
    """
    room = Budget(ranking, places=depth, tokens=0, cost=lambda _: 0)
    found = [
        place
        for place in ranking.order()
        if ranking.table[0, place] >= RELEVANCE_MIN and room.admit(place) is None
    ]
    return {int(ranking.numbers[place]): int(ranking.table[0, place]) for place in sorted(found)}


def _brought(ranking: Ranking, seeds: list[int]) -> Iterator[int]:
    """Yield the blocks added by edges of the seeds, in the order of recall."""
    taken: Counter[int] = Counter()
    for number in ranking.numbers.tolist():
        seed = ranking.via.get(number)
        if seed in seeds and taken[seed] < PER_SEED:
            taken[seed] += 1
            yield number


def _counterpoints(view: View, numbers: list[int]) -> list[int]:
    """Return active blocks that contradict some blocks by an edge, in their order."""
    others = [
        edge.other(number) for number in numbers for edge in view.related(number, "contradicts")
    ]
    fresh = [other for other in dict.fromkeys(others) if other not in numbers]
    active = [other for other in fresh if view.status(other) == ACTIVE]
    kept = set(unexpired(view, np.array(active, dtype=np.int64)).tolist())
    return [other for other in active if other in kept][:COUNTERPOINTS_MAX]


def _near_duplicates(view: View, inquiry: Inquiry, seeds: list[int]) -> list[int]:
    """Return the blocks with almost the same vector as one of *seeds*, ascending."""
    if not seeds or view.embedder is None:
        return []
    rows = view.life.column("vector", np.array(seeds, dtype=np.int64)).tolist()
    near = view.near(
        [view.index.vector(row) for row in rows],
        [view.category(number) for number in seeds],
        nano(view.policy.near_duplicate_noted),
        most=PER_SEED + 1,
    )
    found = np.array(sorted({number for each in near for number, _ in each}), dtype=np.int64)
    eligible_too: list[int] = np.intersect1d(found, eligible(view, inquiry.eligibility)).tolist()
    return eligible_too


def _evidence(
    view: View, number: int, signals: tuple[int, int], asked: Terms, *, brought: bool
) -> Evidence | None:
    """Return one weighed memory; None if its text is erased, or its zone forbids its use."""
    text = view.text(number)
    if not isinstance(text, BlockText) or not view.policy.ceiling(view.zone(number)):
        return None
    said = statement(text.content)
    relevance, trusted_by = signals
    topic = share(len(asked & said.terms), len(asked)) if asked else NANO
    learned = view.life.get("learned", number)
    created = view.life.get("created_us", number)
    known = created != UNKNOWN
    return Evidence(
        number=number,
        id=view.id(number),
        content=text.content,
        said=said,
        relevance=relevance,
        trust=trusted_by,
        topic=topic,
        weight=weighted(WEIGHTS, (relevance, trusted_by, topic)),
        since_us=created if known else int(view.state.timeline.recorded_us.values[learned]),
        since_version=learned,
        created_us=created if known else None,
        brought=brought,
        ceiling=view.policy.ceiling(view.zone(number)),
    )
