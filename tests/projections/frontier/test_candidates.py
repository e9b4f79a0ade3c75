from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from random import Random

import numpy as np
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.policy import DEFAULT
from mnemic.projections.frontier.candidates import Holdings, frequency_weights, tied

COUNT = 12

held = st.sets(st.tuples(st.integers(0, COUNT - 1), st.integers(0, 8)), max_size=60)


def plainly(holdings: set[tuple[int, int]], most_holders: int) -> dict[int, int]:
    """Return the weight of every pair, by its key, computed thing by thing."""
    holders = defaultdict(list)
    for holder, thing in sorted(holdings):
        holders[thing].append(holder)
    weights = frequency_weights(COUNT, COUNT)
    found: Counter[int] = Counter()
    for group in holders.values():
        if 2 <= len(group) <= most_holders:
            for low, high in combinations(group, 2):
                found[low * COUNT + high] += int(weights[len(group)])
    return dict(sorted(found.items()))


@given(holdings=held, most_holders=st.integers(2, COUNT), seed=st.randoms())
def test_ties_are_those_of_counting_thing_by_thing_in_any_order(
    holdings: set[tuple[int, int]], most_holders: int, seed: Random
) -> None:
    listed = sorted(holdings)
    seed.shuffle(listed)
    columns = np.array(listed, dtype=np.int64).reshape(-1, 2)
    policy = evolve(DEFAULT, frontier_postings=most_holders)
    found = tied(Holdings(columns[:, 0], columns[:, 1]), count=COUNT, policy=policy)
    answer = dict(zip(found.keys.tolist(), found.weights.tolist(), strict=True))
    assert answer == plainly(holdings, most_holders)


def test_the_rarer_the_tie_the_more_it_weighs() -> None:
    weights = frequency_weights(COUNT, COUNT)[2:]
    assert (np.diff(weights) < 0).all()
    assert weights[-1] > 0


def test_the_limit_of_pairs_is_filled_from_the_rarest_things() -> None:
    count, strides = 3000, (1, 7, 11, 13, 17, 19)
    places = np.arange(count)
    common = [(places * stride % count) // 60 + 10_000 * stride for stride in strides]
    things = np.concatenate((places // 2, *common))
    holders = np.tile(places, 1 + len(strides))
    found = tied(Holdings(holders, things), count=count, policy=DEFAULT)
    assert len(found.keys) == count // 2
