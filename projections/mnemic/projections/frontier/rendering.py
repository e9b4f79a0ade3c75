"""Rendering of a candidate: what its members share, prior outcomes, and a question to ask."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.results import FrontierCandidate, unit
from mnemic.projections.frontier import wording
from mnemic.projections.frontier.outcomes import signal
from mnemic.projections.frontier.pairs import UNKNOWN, Field
from mnemic.projections.frontier.sets import Candidate
from mnemic.projections.frontier.terms import is_boundary, most_specific
from mnemic.projections.lexical import analysis
from mnemic.projections.view import View
from mnemic.projections.view.block_results import origin_of

PAIR: Final = 2
_WORD: Final = re.compile(r"[^\W_]+(?:['.-][^\W_]+)*")
_KINDS: Final = {
    "open": "Every two of them were composed, the whole never",
    "wedge": "Some of them were composed, the whole never",
}


def shown(view: View, field: Field, candidate: Candidate) -> FrontierCandidate:
    """Return a candidate as a result object."""
    blocks, places = field.blocks, candidate.places
    numbers = [int(blocks.numbers[place]) for place in places]
    limit = candidate.weakest.limited_by
    tags = _held_twice(blocks.tags[place] for place in places)
    boundaries = sorted({tag for place in places for tag in blocks.tags[place] if is_boundary(tag)})
    terms = most_specific(_shared_words(view, numbers))
    outcomes = prior_outcomes(view, numbers)
    categories = tuple(view.category(number) for number in numbers)
    held_by = wording.anchor(tags, terms) if tags or terms else _otherwise(view, numbers)
    return FrontierCandidate(
        block_ids=tuple(blocks.ids[place] for place in places),
        kind=candidate.kind,
        score=unit(candidate.score),
        total=unit(candidate.total),
        components={name: unit(value) for name, value in candidate.components.items()},
        cosine=_cosine(field, places),
        cap=unit(candidate.weakest.cap),
        limited_by=None if limit is None else blocks.ids[limit],
        shared_terms=terms,
        shared_tags=tags,
        boundary_tags=tuple(boundaries),
        prior_outcomes=outcomes,
        outcome_signal=signal(outcomes),
        categories=categories,
        previews=tuple(wording.preview(view, number) for number in numbers),
        origins=tuple(origin_of(view, number) for number in numbers),
        reason=_reason(candidate.kind, categories, boundaries, held_by),
        composition_question=_question(
            categories, ", ".join(boundaries or tags or terms[:3]) or held_by
        ),
    )


def prior_outcomes(view: View, numbers: Iterable[int]) -> tuple[str, ...]:
    """Return the kinds of labels that count on compositions of any of the blocks, sorted."""
    composed = {one.number: one for number in numbers for one in view.composed_with(number)}
    said = {label.event.label for one in composed.values() for label in view.labels_of(one)}
    return tuple(sorted(said))


def _cosine(field: Field, places: Sequence[int]) -> float | None:
    place = field.place(*places) if len(places) == PAIR else None
    cosine = UNKNOWN if place is None else int(field.scored.cosine[place])
    return None if cosine == UNKNOWN else unit(cosine)


def _held_twice(bags: Iterable[Iterable[str]]) -> tuple[str, ...]:
    counts = Counter(word for bag in bags for word in set(bag))
    return tuple(sorted(word for word, count in counts.items() if count > 1))


def _shared_words(view: View, numbers: Sequence[int]) -> set[str]:
    """Return the words, as the first of two texts spells them, whose stems two blocks share."""
    words = [_words(view, number) for number in numbers]
    return {
        one[stem] for one, other in combinations(words, PAIR) for stem in one.keys() & other.keys()
    }


def _words(view: View, number: int) -> dict[str, str]:
    """Return the words of a block by their stems."""
    text = view.text(number)
    found: dict[str, str] = {}
    for word in _WORD.findall(text.content.lower()) if isinstance(text, BlockText) else ():
        for stem in analysis.terms(word):
            found.setdefault(stem, word)
    return found


def _otherwise(view: View, numbers: Sequence[int]) -> str:
    """Return what ties blocks that share neither tag nor word."""
    for one, other in combinations(numbers, PAIR):
        edge = view.edge(one, other)
        if edge is not None and edge.relation not in {"similar", "co_occurs"}:
            return f"an edge ({edge.relation})"
    around = [{edge.other(number) for edge in view.edges_of(number)} for number in numbers]
    if set.intersection(*around):
        return "a common neighbour"
    return wording.ALIKE


def _reason(kind: str, categories: Sequence[str], boundaries: Sequence[str], held_by: str) -> str:
    if kind in _KINDS:
        return f"{_KINDS[kind]}; {held_by}"
    if boundaries:
        return f"Untried bridge across {', '.join(boundaries)} with {held_by}"
    if len(set(categories)) > 1:
        return f"Untried {' -> '.join(categories)} composition with {held_by}"
    return f"Never composed despite {held_by}"


def _question(categories: Sequence[str], through: str) -> str:
    *most, last = (
        f"{'an' if category[0] in 'aeiou' else 'a'} {category} memory" for category in categories
    )
    return f"What changes if {', '.join(most)} and {last} are composed through {through}?"
