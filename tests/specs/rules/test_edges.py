from __future__ import annotations

import pytest

from mnemic.kernel.numeric.arithmetic import (
    MICROS_PER_HOUR,
    NANO,
    nano,
)
from mnemic.kernel.scoring import signals as kernel
from mnemic.specs.reference import scoring as reference
from mnemic.specs.rules import Row, rows
from tests.specs import columns


def score(row: Row, *, cosine: int, same_category: bool) -> int:
    """Return the edge score of a row, in which kernel and reference agree."""
    given = row.given
    tags = given.get("tags_a", ()), given.get("tags_b", ())
    delta_us = given["hours_apart"] * MICROS_PER_HOUR
    found = columns.edge_score(
        cosine, *tags, same_category=same_category, delta_us=delta_us, policy=row.policy
    )
    plain = reference.edge_score(
        cosine, *tags, same_category=same_category, delta_us=delta_us, policy=row.policy
    )
    assert found == plain
    return found


@pytest.mark.parametrize("row", rows("edges.jaccard"), ids=str)
def test_shared_tags_are_a_share_of_all_tags(row: Row) -> None:
    a, b = row.given["a"], row.given["b"]
    assert row.tells("jaccard", kernel.jaccard(a, b))
    assert kernel.jaccard(b, a) == kernel.jaccard(a, b) == reference.jaccard(a, b)


@pytest.mark.parametrize("row", rows("edges.temporal"), ids=str)
def test_nearness_in_time_is_a_bell(row: Row) -> None:
    delta_us = row.given["hours_apart"] * MICROS_PER_HOUR
    sigma_us = round(row.policy.temporal_sigma_hours * MICROS_PER_HOUR)
    assert row.tells("temporal", columns.nearness(delta_us, sigma_us))
    assert reference.temporal(delta_us, row.policy) == columns.nearness(delta_us, sigma_us)


@pytest.mark.parametrize("row", rows("edges.edge-score"), ids=str)
def test_an_edge_forms_from_the_threshold_on(row: Row) -> None:
    found = score(row, cosine=nano(row.given["cosine"]), same_category=row.given["same_category"])
    assert row.tells("score", found)
    assert (found >= nano(row.policy.edge_threshold)) is row.then["edge"]


@pytest.mark.parametrize("row", rows("edges.category"), ids=str)
def test_an_equal_category_is_worth_a_fixed_amount(row: Row) -> None:
    same, other = (
        score(row, cosine=nano(row.given["cosine"]), same_category=same) for same in (True, False)
    )
    assert row.tells("difference", same - other)


@pytest.mark.parametrize("row", rows("edges.cosine-needed"), ids=str)
def test_the_minimum_cosine_of_an_edge_is_exact(row: Row) -> None:
    def lacking(short_of_one: int) -> int:
        return score(row, cosine=NANO - short_of_one, same_category=row.given["same_category"])

    least = NANO - reference.first_below(lacking, nano(row.policy.edge_threshold)) + 1
    assert row.tells("cosine", least)
