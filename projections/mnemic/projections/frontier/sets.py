"""Sets of up to four blocks that were never composed as a whole.

A set that contains a never composed pair was never composed either, so nearly every set is new,
and listing them all is useless. Three kinds are candidates:

* open    every pair of it was composed, the whole never: a simplex whose inside is empty. Its
          strength is the harmonic mean h of the weights of its pairs, so the weakest dominates, and
          its score h / (1 + h), times its novelty: 1 - the greatest overlap with any
          composition.
* wedge   some of its pairs were composed.
* cold    none was.

Wedges and cold sets grow from the best pairs, one block at a time, in a bounded beam. Such a set
is as strong as the weakest tie of its best spanning tree, of ties that were never
composed, and is worth more the more its members bring that the others do not:

    total = weakest tie · (1 + synergy bonus · mean of the members' own share)

A set with a member whose own share is less than ``frontier_marginal`` is dropped. A pair has no
bonus, so that for two blocks all of this equals the score of ``pairs``.

Source: Benson et al., Simplicial closure and higher-order link prediction (2018); reference
composed-graph 9.1; specs/frontier.toml, rules "closure", "sets-*".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Final

from attrs import Factory, define, frozen

from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.numeric.arithmetic import (
    NANO,
    nano,
    product,
    share,
)
from mnemic.kernel.values import Value
from mnemic.projections.frontier import pairs, zones
from mnemic.projections.frontier.pairs import Field, Mask
from mnemic.projections.frontier.zones import Weakest
from mnemic.projections.lexical import analysis
from mnemic.projections.view import View

SIZES: Final = (2, 3, 4)
OPEN_PAIRS_MAX: Final = 1024
"""Maximum number of composed pairs from which open sets grow, the heaviest."""
PARTNERS_MAX: Final = 16
"""Maximum number of partners by which one member extends a set, its best ones."""

COMPONENTS: Final = (
    *("terms", "tags", "paths", "forms", "edges", "meaning"),
    *("room", "anchor", "bridge", "novelty", "trust", "adjustment"),
)
"""Components of a pair. The first six and the room make up the anchor."""

Places = tuple[int, ...]


@frozen(kw_only=True)
class Candidate(Value):
    """Blocks that were never composed as a whole. Numbers are nano-units."""

    places: Places
    """Positions in the order of ids."""
    kind: str
    """``pair``, ``open``, ``wedge`` or ``cold``."""
    total: int
    """For a pair or a set grown from pairs, the sum as in `pairs`; for an open set, its closure."""
    strength: int
    """Total as a share of its maximum."""
    score: int
    """Never above the ceiling of any member's zone."""
    weakest: Weakest
    components: dict[str, int]


def of_pairs(field: Field, limit: int) -> list[Candidate]:
    """Return the best pairs, best first."""
    scored = field.scored
    found = []
    for place in pairs.best(field, scored.candidate, limit).tolist():
        ends = _ordered(field, (int(scored.low[place]), int(scored.high[place])))
        found.append(
            Candidate(
                places=ends,
                kind="pair",
                total=int(scored.total[place]),
                strength=int(scored.strength[place]),
                score=int(scored.score[place]),
                weakest=_weakest(field, ends),
                components={name: int(getattr(scored, name)[place]) for name in COMPONENTS},
            )
        )
    return found


def of_size(view: View, field: Field, size: int, limit: int) -> list[Candidate]:
    """Return the best sets of three or four, best first: by score, total and ids."""
    found = {each.places: each for each in (*_open(field, size), *_Beam(view, field).grown(size))}
    return ranked(field, found.values())[:limit]


def ranked(field: Field, found: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates best first: by score, total and ids."""
    return sorted(
        found,
        key=lambda each: (
            -each.score,
            -each.total,
            [field.blocks.ids[place] for place in each.places],
        ),
    )


# --- open sets ------------------------------------------------------------------------------


def closure(weights: Sequence[int]) -> int:
    """Return the harmonic mean of the weights of a set's pairs, nano-units; 0 if one is 0."""
    if not weights or min(weights) <= 0:
        return 0
    mean = len(weights) / sum(Fraction(1, weight) for weight in weights)
    return int(mean + Fraction(1, 2))


def _open(field: Field, size: int) -> Iterator[Candidate]:
    """Yield the sets of which all pairs were composed and the whole never."""
    weights = _composed(field)
    partners: defaultdict[int, set[int]] = defaultdict(set)
    for a, b in weights:
        partners[a].add(b)
        partners[b].add(a)
    ids = field.blocks.ids
    heaviest = sorted(weights, key=lambda ends: (-weights[ends], sorted(ids[end] for end in ends)))
    grown: dict[Places, int] = {ends: weights[ends] for ends in heaviest[:OPEN_PAIRS_MAX]}
    for _ in range(size - 2):
        larger: dict[Places, int] = {}
        for places in grown:
            for further in set.intersection(*(partners[place] for place in places)):
                wider = tuple(sorted((*places, further)))
                if wider not in larger:
                    larger[wider] = closure([weights[ends] for ends in combinations(wider, 2)])
        kept = sorted(larger, key=lambda each: (-larger[each], sorted(ids[one] for one in each)))
        grown = {each: larger[each] for each in kept[:OPEN_PAIRS_MAX]}
    for places, weight in grown.items():
        if _is_wanted(field, places) and not _is_used_up(field, places):
            yield _opened(field, _ordered(field, places), weight)


def _composed(field: Field) -> dict[Places, int]:
    """Return the weight of every composed pair, by positions, the lower one first."""
    place_of = {number: place for place, number in enumerate(field.blocks.numbers.tolist())}
    return {
        (place_of[a], place_of[b]): weight
        for (a, b), weight in field.past.pairs.items()
        if a in place_of and b in place_of
    }


def _opened(field: Field, places: Places, weight: int) -> Candidate:
    weakest = _weakest(field, places)
    novelty = _novelty(field, places)
    strength = product(share(weight, weight + NANO), novelty)
    return Candidate(
        places=places,
        kind="open",
        total=weight,
        strength=strength,
        score=min(strength, weakest.cap),
        weakest=weakest,
        components={
            "closure": weight,
            "novelty": novelty,
            "trust": weakest.trust,
        },
    )


# --- wedges and cold sets -------------------------------------------------------------------


@define
class _Beam:
    """Sets that grow from the best pairs."""

    view: View
    field: Field
    _bags: dict[int, frozenset[str]] = Factory(dict)

    def grown(self, size: int) -> list[Candidate]:
        """Return the sets of *size* that were never composed, preferably not even in part.

        Sets without any composed pair grow in a separate beam: the strongest ties are those
        that were composed first, and would crowd them out.
        """
        scored = self.field.scored
        return [*self._grown(size, scored.tie), *self._grown(size, scored.candidate)]

    def _grown(self, size: int, ties: Mask) -> list[Candidate]:
        """Return the sets grown along some of the pairs."""
        width = self.field.policy.frontier_beam
        scored = self.field.scored
        seeds = pairs.best(self.field, ties, width * width).tolist()
        partners: defaultdict[int, list[int]] = defaultdict(list)
        for seed in seeds:
            a, b = int(scored.low[seed]), int(scored.high[seed])
            for one, other in ((a, b), (b, a)):
                if len(partners[one]) < PARTNERS_MAX:
                    partners[one].append(other)
        ends = zip(
            scored.low[seeds[:width]].tolist(), scored.high[seeds[:width]].tolist(), strict=True
        )
        beam: list[Places] = list(ends)
        found: list[Candidate] = []
        for _ in range(size - 2):
            wider = {
                tuple(sorted((*places, further)))
                for places in beam
                for place in places
                for further in partners[place]
                if further not in places
            }
            weighed = (self.weigh(places) for places in sorted(wider))
            found = ranked(self.field, [each for each in weighed if each is not None])
            beam = [tuple(sorted(each.places)) for each in found[:width]]
        return [each for each in found if each.kind != "open" and self._is_new(each)]

    def weigh(self, places: Sequence[int]) -> Candidate | None:
        """Return the value of a set; None if it is not connected or a member adds nothing.

        Args:
            places: Three members or more, in any order.
        """
        members = _ordered(self.field, places)
        tie = self._weakest_tie(members)
        own = self._own_shares(members)
        if tie is None or min(own) < nano(self.field.policy.frontier_marginal):
            return None
        synergy = sum(own) // len(own)
        total = tie + product(tie, product(nano(self.field.policy.frontier_synergy), synergy))
        strength = min(NANO, share(total, pairs.reach(self.field.policy)))
        weakest = _weakest(self.field, members)
        return Candidate(
            places=members,
            kind=self._kind(members),
            total=total,
            strength=strength,
            score=min(strength, weakest.cap),
            weakest=weakest,
            components={
                "weakest_tie": tie,
                "synergy": synergy,
                "novelty": _novelty(self.field, members),
                "trust": weakest.trust,
            },
        )

    def _weakest_tie(self, members: Places) -> int | None:
        """Return the least total along the best spanning tree; None without such a tree.

        A composed pair does not count as a tie: it would lend its strength to anything
        combined with either, and such sets would fill the queue.
        """
        scored, ties = self.field.scored, []
        for a, b in combinations(members, 2):
            place = self.field.place(a, b)
            if place is None:
                continue
            if scored.redundant[place]:
                return None
            if scored.candidate[place]:
                ties.append((max(0, int(scored.total[place])), a, b))
        ties.sort(key=lambda tie: -tie[0])
        group = {member: member for member in members}
        weakest: int | None = None
        for total, a, b in ties:
            if group[a] != group[b]:
                gone, weakest = group[b], total
                group = {each: group[a] if of == gone else of for each, of in group.items()}
        return weakest if len(set(group.values())) == 1 else None

    def _own_shares(self, members: Places) -> list[int]:
        """Return which share of what each member brings no other member does, nano-units."""
        bags = [self._bag(member) for member in members]
        shares = []
        for place, bag in enumerate(bags):
            others = frozenset().union(*bags[:place], *bags[place + 1 :])
            shares.append(share(len(bag - others), len(bag)))
        return shares

    def _bag(self, place: int) -> frozenset[str]:
        """Return the terms, tags and neighbours of a block."""
        found = self._bags.get(place)
        if found is None:
            number = int(self.field.blocks.numbers[place])
            text = self.view.text(number)
            words = analysis.terms(text.content) if isinstance(text, BlockText) else []
            tags = (f"#{tag}" for tag in self.field.blocks.tags[place])
            edges = self.view.edges_of(number)
            neighbours = (f"@{self.view.id(edge.other(number))}" for edge in edges)
            found = self._bags[place] = frozenset((*words, *tags, *neighbours))
        return found

    def _kind(self, members: Places) -> str:
        numbers = sorted(int(self.field.blocks.numbers[member]) for member in members)
        composed = [pair in self.field.past.pairs for pair in combinations(numbers, 2)]
        return "open" if all(composed) else "wedge" if any(composed) else "cold"

    def _is_new(self, candidate: Candidate) -> bool:
        places = candidate.places
        return _is_wanted(self.field, places) and not _is_used_up(self.field, places)


def weigh(view: View, field: Field, places: Sequence[int]) -> Candidate | None:
    """Return the value of one set of three or more as a wedge or a cold set."""
    return _Beam(view, field).weigh(places)


# --- of any set -----------------------------------------------------------------------------


def _ordered(field: Field, places: Iterable[int]) -> Places:
    return tuple(sorted(places, key=lambda place: field.blocks.ids[place]))


def _weakest(field: Field, places: Places) -> Weakest:
    return zones.weakest(field.blocks.trust, places, [field.blocks.ids[one] for one in places])


def _numbers(field: Field, places: Places) -> list[int]:
    return [int(field.blocks.numbers[place]) for place in places]


def _novelty(field: Field, places: Places) -> int:
    return field.past.novelty(_numbers(field, places))


def _is_used_up(field: Field, places: Places) -> bool:
    return field.past.is_used_up(_numbers(field, places))


def _is_wanted(field: Field, places: Places) -> bool:
    return any(field.blocks.wanted[place] for place in places)
