from __future__ import annotations

import pytest

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.numeric.arithmetic import (
    MICROS_PER_HOUR,
    NANO,
    decayed,
    nano,
)
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.scoring import decay as kernel
from mnemic.specs.reference import scoring as reference
from mnemic.specs.reference.degree_cap import strength
from mnemic.specs.reference.fold import PlainState
from mnemic.specs.reference.records import PlainBlock, PlainEdge
from mnemic.specs.rules import Row, rows

TIERS = {
    "permanent": nano(DEFAULT.rate_permanent),
    "durable": nano(DEFAULT.rate_durable),
    "standard": nano(DEFAULT.rate_standard),
    "ephemeral": nano(DEFAULT.rate_ephemeral),
}

ENDS = BlockId("a"), BlockId("b")


def in_hours(micros: int) -> int:
    """Return microseconds as nano-hours, the form in which rows are compared."""
    return micros * NANO // MICROS_PER_HOUR


def edge_rate(row: Row) -> int:
    """Return the rate of a row's edge, in which kernel and reference agree."""
    ends = TIERS[row.given["a"]], TIERS[row.given["b"]], row.given["count"]
    assert kernel.edge_rate(*ends, row.policy) == reference.edge_rate(*ends, row.policy)
    return kernel.edge_rate(*ends, row.policy)


@pytest.mark.parametrize("row", rows("decay.tier"), ids=str)
def test_a_tier_is_found_by_first_match(row: Row) -> None:
    given = row.given["tags"], row.given["category"], row.policy
    assert row.tells("rate", kernel.tier_rate(*given))
    assert reference.tier_rate(*given) == kernel.tier_rate(*given) == TIERS[row.then["tier"]]


@pytest.mark.parametrize("row", rows("decay.half-life"), ids=str)
def test_a_tier_halves_in_its_half_life(row: Row) -> None:
    rate = TIERS[row.given["tier"]]
    half = reference.first_below(lambda idle_us: decayed(rate, idle_us), NANO // 2)
    assert row.tells("hours", in_hours(half))
    assert reference.what_is_left(rate, half) == decayed(rate, half)


@pytest.mark.parametrize("row", rows("decay.recency"), ids=str)
def test_recency_fades_by_active_hours(row: Row) -> None:
    given = TIERS[row.given["tier"]], row.given["hours"] * MICROS_PER_HOUR
    assert row.tells("recency", decayed(*given))
    assert reference.what_is_left(*given) == decayed(*given)


@pytest.mark.parametrize("row", rows("decay.archive-horizon"), ids=str)
def test_an_idle_block_lasts_to_its_horizon(row: Row) -> None:
    rate, below = TIERS[row.given["tier"]], nano(row.policy.archive_below)
    end = reference.first_below(lambda idle_us: decayed(rate, idle_us), below)
    assert row.tells("hours", in_hours(end))
    assert reference.what_is_left(rate, end) < below <= reference.what_is_left(rate, end - 1)


@pytest.mark.parametrize("row", rows("decay.edge-rate"), ids=str)
def test_an_edge_takes_half_the_rate_of_its_more_stable_end(row: Row) -> None:
    assert row.tells("rate", edge_rate(row))


@pytest.mark.parametrize("row", rows("decay.edge"), ids=str)
def test_an_edge_survives_while_its_weight_is_above_the_threshold(row: Row) -> None:
    given = row.given
    weight, hours_us = nano(given["weight"]), given["hours"] * MICROS_PER_HOUR
    state = PlainState()
    for number, end in enumerate(ENDS):
        state.blocks[end] = PlainBlock(number=number, tier_rate=TIERS[given[end]])
    edge = PlainEdge(
        source=ENDS[0],
        target=ENDS[1],
        relation="similar",
        weight=weight,
        origin=given.get("origin", "similarity"),
        anchor_us=0 if given.get("anchored", True) else None,
        count=given["count"],
    )
    left = strength(state, edge, hours_us)
    assert row.tells("effective", left)
    assert (left >= nano(row.policy.edge_prune_below)) is row.then["survives"]
    fades = edge.origin != "agent" and edge.anchor_us is not None
    idle_us = hours_us if fades else 0
    assert kernel.effective_weight(weight, edge_rate(row), idle_us) == left


@pytest.mark.parametrize("row", rows("decay.edge-horizon"), ids=str)
def test_an_unused_edge_lasts_to_its_horizon(row: Row) -> None:
    edge, below = (nano(row.given["weight"]), edge_rate(row)), nano(row.policy.edge_prune_below)
    end = reference.first_below(lambda idle_us: kernel.effective_weight(*edge, idle_us), below)
    assert row.tells("hours", in_hours(end))
    assert reference.effective_weight(*edge, end) < below
    assert reference.effective_weight(*edge, end - 1) >= below


@pytest.mark.parametrize("row", rows("decay.penalty"), ids=str)
def test_a_bad_outcome_doubles_a_rate_up_to_the_ceiling(row: Row) -> None:
    given = nano(row.given["rate"]), TIERS[row.given["tier"]], row.policy
    assert row.tells("rate", kernel.penalised(*given))
    assert reference.penalised(*given) == kernel.penalised(*given)
