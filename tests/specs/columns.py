"""Single values of formulas that are computed in columns, to compare them with single rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from attrs import evolve, frozen

from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import Integers, nearness_each
from mnemic.kernel.numeric.retention import Memory, retrievabilities
from mnemic.kernel.policy import Policy
from mnemic.kernel.scoring.signals import UNKNOWN, age_recencies
from mnemic.projections.vectors.nearby_pairs import Pairs
from mnemic.projections.view.linking import LinkRule, link_candidates


def whole(*values: int) -> Integers:
    return np.array(values, dtype=np.int64)


@frozen
class OnePair:
    """An index of two vectors, of which only the cosine is known. A ``Neighbourhood``."""

    cosine: int

    @property
    def block_of(self) -> Integers:
        return whole(0, 1)

    def vector(self, row: int) -> Vector:
        return np.zeros(row + 1, dtype=np.int16)

    def pairs(self, queries: Sequence[Vector], rows: Integers, *, floor: int) -> Iterator[Pairs]:
        assert (len(queries), rows.tolist()) == (1, [1])
        if self.cosine >= floor:
            yield Pairs(queries=whole(0), rows=rows, cosines=whole(self.cosine))


def edge_score(
    cosine: int,
    tags_a: Collection[str],
    tags_b: Collection[str],
    *,
    same_category: bool,
    delta_us: int,
    policy: Policy,
) -> int:
    """Return the score of a similarity edge between two blocks; 0 below the guard."""
    ((*found,),) = link_candidates(
        OnePair(cosine),
        whole(0),
        whole(1),
        row_of=whole(0, 1),
        category_of=whole(0, 0 if same_category else 1),
        reinforced_us=whole(delta_us, 0),
        tag_set_of=whole(0, 1),
        tags_in=lambda number: frozenset((tags_a, tags_b)[number]),
        ids=["a", "b"],
        rule=evolve(LinkRule.of(policy), threshold=0),
    )
    return found[0][1] if found else 0


def nearness(delta_us: int, sigma_us: int) -> int:
    return int(nearness_each(whole(delta_us), sigma_us)[0])


def age_recency(created_us: int | None, now_us: int, policy: Policy) -> int:
    created = UNKNOWN if created_us is None else created_us
    return int(age_recencies(whole(created), now_us, policy)[0])


def retrievability(memory: Memory, active_us: int) -> int:
    left = retrievabilities(np.array([memory.stability]), whole(active_us - memory.reviewed_us))
    return int(left[0])
