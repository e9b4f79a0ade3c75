"""Calibration of a past frontier: which of its sets were composed later, with success.

It is reported separately from the frontier and never mixed into it: none of it was known then.

Source: DOMAIN section 9, reference composed-graph 9.4; specs/frontier.toml, rule "calibration".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.results import Calibration, unit
from mnemic.projections.frontier.history import Evidence, Use, use_of
from mnemic.projections.frontier.outcomes import SUCCESS
from mnemic.projections.frontier.pairs import Field
from mnemic.projections.frontier.sets import Candidate
from mnemic.projections.ledger.ledger import Composed
from mnemic.projections.view import View

PAIR: Final = 2


def calibration(
    field: Field, view: View, until: View, listed: Sequence[Candidate]
) -> list[Calibration]:
    """Return what was composed successfully after a view, the best ranked first.

    Args:
        field: The field of the frontier.
        view: The view of the frontier.
        until: The later view, up to which compositions count.
        listed: The candidates that it listed; of sets larger than pairs only these count.
    """
    found: dict[tuple[str, ...], Calibration] = {}
    for composed, use, labels in _successes(view, until):
        ranked = (*_pairs(field, use), *_larger(field, use, listed))
        for block_ids, rank, score in ranked:
            answer = Calibration(
                block_ids=block_ids,
                composition_id=composed.id,
                labels=labels,
                rank=rank,
                score=score,
            )
            found.setdefault(block_ids, answer)
    missed = 1 + max((each.rank or 0 for each in found.values()), default=0)
    return sorted(found.values(), key=lambda each: (each.rank or missed, each.block_ids))


def _successes(view: View, until: View) -> Iterator[tuple[Composed, Use, tuple[str, ...]]]:
    """Yield the compositions between two views that have a good label, the first ones first."""
    later = [each for each in until.compositions() if each.version > view.point.version]
    for composed in reversed(later):
        labels = tuple(sorted({each.event.label for each in until.labels_of(composed)} & SUCCESS))
        use = use_of(composed, Evidence(), until.policy)
        if labels and use is not None:
            yield composed, use, labels


Ranked = tuple[tuple[BlockId, ...], int | None, float | None]


def _pairs(field: Field, use: Use) -> Iterator[Ranked]:
    """Yield the pairs of one composition that existed then and were new, with rank and score."""
    blocks, scored = field.blocks, field.scored
    for pair in use.pairs():
        ends = np.searchsorted(blocks.numbers, pair)
        if (ends == len(blocks.numbers)).any() or (blocks.numbers[ends] != pair).any():
            continue
        if pair in field.past.pairs:
            continue
        one, other = ends.tolist()
        ids = tuple(sorted((blocks.ids[one], blocks.ids[other])))
        place = field.place(one, other)
        if place is None or not scored.candidate[place]:
            yield ids, None, None
        else:
            yield ids, _rank(field, place), unit(int(scored.score[place]))


def _larger(field: Field, use: Use, listed: Sequence[Candidate]) -> Iterator[Ranked]:
    for rank, candidate in enumerate(listed, start=1):
        members = frozenset(int(field.blocks.numbers[place]) for place in candidate.places)
        if len(members) > PAIR and use.uses_up(members):
            ids = tuple(field.blocks.ids[place] for place in candidate.places)
            yield ids, rank, unit(candidate.score)


def _rank(field: Field, place: int) -> int:
    """Return the rank of a candidate in the whole queue, from 1; equals share one."""
    scored = field.scored
    score, total = scored.score[place], scored.total[place]
    before = (scored.score > score) | ((scored.score == score) & (scored.total > total))
    return 1 + int(np.count_nonzero(before & scored.candidate))
