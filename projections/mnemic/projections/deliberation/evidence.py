"""What memory holds about a question: found by recall, each with how far it can be trusted.

1. Candidates are those of our own recall in the frame ``attention``: the best *depth* of them that
   are relevant, and what the edges of the best three bring along.
2. What somebody connected to one of them by ``contradicts`` is evidence too.
3. A memory is trusted as its record says (``trust``), and never more than its zone allows.

Source: reference composed-graph section 3, stages 1 to 3; DOMAIN section 8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np
from attrs import frozen

from mnemic.kernel.arithmetic import NANO, share, weighted
from mnemic.kernel.identity import BlockId
from mnemic.kernel.reading import ACTIVE
from mnemic.kernel.scoring import UNKNOWN
from mnemic.kernel.texts import BlockText
from mnemic.projections.allotment import Allotment
from mnemic.projections.deliberation.claims import Statement, statement
from mnemic.projections.deliberation.stems import Terms
from mnemic.projections.deliberation.trust import trust
from mnemic.projections.retention import memory_of, retrievability
from mnemic.projections.retrieval import Inquiry, Ranking, rank
from mnemic.projections.views import View
from mnemic.projections.where import unexpired

DEPTH: Final = 20
DEPTH_MIN: Final = 5
DEPTH_MAX: Final = 50

RELEVANCE_MIN: Final = 250_000_000
"""What bears on a question less than this is not evidence. Nano-units."""
RELEVANCE_BROUGHT: Final = 300_000_000
"""What an edge brings along bears on it at least as much. Nano-units."""
SEEDS: Final = 3
PER_SEED: Final = 3
COUNTERPOINTS_MAX: Final = 10

WEIGHTS: Final = (500_000_000, 200_000_000, 300_000_000)
"""Of relevance, trust and topic in what decides the primary. Nano-units; they sum to 1."""


@frozen(kw_only=True)
class Evidence:
    """One memory, weighed. Relevance, trust, topic and weight in nano-units, [0, 1]."""

    number: int
    id: BlockId
    content: str
    said: Statement
    relevance: int
    trust: int
    topic: int
    """Terms of the question that it has, as a share of them."""
    weight: int
    since_us: int
    """When it came about: created, or learned where that is not known."""
    since_version: int
    """When it was learned; decides between equals."""
    created_us: int | None
    brought: bool
    """Whether an edge brought it, and not the question."""

    @property
    def age(self) -> tuple[int, int, str]:
        """What orders memories from old to new."""
        return self.since_us, self.since_version, self.id


@frozen(kw_only=True)
class Gathered:
    """All evidence on a question, the weightiest first."""

    evidence: tuple[Evidence, ...]
    analysed: int
    """Memories that were looked at."""
    brought: int
    """How many an edge brought."""


def depth_of(depth: int) -> int:
    """Return *depth* within its limits."""
    return min(max(depth, DEPTH_MIN), DEPTH_MAX)


def gather(view: View, inquiry: Inquiry, *, depth: int) -> Gathered:
    """Return the evidence of *view* on a question.

    Args:
        view: Where to look.
        inquiry: The question; it has words.
        depth: Memories that the question itself may find. Range: 5 to 50.
    """
    ranking = rank(view, inquiry)
    relevance = _found(ranking, depth)
    direct = len(relevance)
    for number in _brought(ranking, list(relevance)[:SEEDS]):
        relevance.setdefault(number, RELEVANCE_BROUGHT)
    for number in _counterpoints(view, list(relevance)):
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
    """Return how far each block can be trusted, at the view's hour. Nano-units."""
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
    """Return the relevance of what the question itself finds, the best first.

    Zones have their share of it, as they have of an answer.
    """
    room = Allotment(ranking, places=depth, tokens=0, cost=lambda _: 0)
    found: list[int] = []
    for place in ranking.order():
        if ranking.table[place][0] >= RELEVANCE_MIN and room.obstacle(place) is None:
            room.take(place)
            found.append(place)
    return {int(ranking.numbers[place]): int(ranking.table[place][0]) for place in sorted(found)}


def _brought(ranking: Ranking, seeds: list[int]) -> Iterator[int]:
    """Yield what the edges of the seeds bring along, in the order of recall."""
    taken: Counter[int] = Counter()
    for number in ranking.numbers.tolist():
        seed = ranking.via.get(number)
        if seed in seeds and taken[seed] < PER_SEED:
            taken[seed] += 1
            yield number


def _counterpoints(view: View, numbers: list[int]) -> list[int]:
    """Return what was said to contradict some blocks and still stands, in their order."""
    others = [
        edge.other(number) for number in numbers for edge in view.related(number, "contradicts")
    ]
    fresh = [other for other in dict.fromkeys(others) if other not in numbers]
    standing = [other for other in fresh if view.status(other) == ACTIVE]
    kept = set(unexpired(view, np.array(standing, dtype=np.int64)).tolist())
    return [other for other in standing if other in kept][:COUNTERPOINTS_MAX]


def _evidence(
    view: View, number: int, signals: tuple[int, int], asked: Terms, *, brought: bool
) -> Evidence | None:
    """Return one memory weighed; None where its words are gone, or its zone forbids its use."""
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
    )
