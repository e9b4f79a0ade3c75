"""Formulas of the reference and of the kernel, compared over their whole domain."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.kernel.model import vectors
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import (
    MICROS_PER_HOUR,
    NANO,
    decayed,
    nano,
)
from mnemic.kernel.policy import DEFAULT, ELFMEM, Policy
from mnemic.kernel.scoring import decay
from mnemic.kernel.scoring import signals as kernel
from mnemic.specs.reference import scoring as reference
from mnemic.specs.strategies.texts import categories, tags
from mnemic.specs.strategies.vectors import at_cosine, cosines, embeddings
from tests.specs import columns

units = st.integers(min_value=0, max_value=NANO)
moments = st.integers(min_value=-(10**16), max_value=10**16)
policies = st.sampled_from((DEFAULT, ELFMEM))


@given(
    cosine=st.integers(min_value=-NANO, max_value=NANO),
    tags_a=tags(),
    tags_b=tags(),
    same_category=st.booleans(),
    delta_us=st.integers(min_value=-(10**12), max_value=10**12),
    policy=policies,
)
@example(cosine=300_000_000, tags_a=(), tags_b=(), same_category=True, delta_us=0, policy=DEFAULT)
@example(cosine=299_999_999, tags_a=(), tags_b=(), same_category=True, delta_us=0, policy=DEFAULT)
def test_an_edge_score_is_symmetric_bounded_guarded_and_the_same_on_both_sides(
    cosine: int,
    tags_a: tuple[str, ...],
    tags_b: tuple[str, ...],
    *,
    same_category: bool,
    delta_us: int,
    policy: Policy,
) -> None:
    found = columns.edge_score(
        cosine, tags_a, tags_b, same_category=same_category, delta_us=delta_us, policy=policy
    )
    assert found == reference.edge_score(
        cosine, tags_b, tags_a, same_category=same_category, delta_us=-delta_us, policy=policy
    )
    assert 0 <= found <= NANO
    assert cosine >= nano(policy.cosine_guard) or found == 0


@given(a=embeddings(), b=embeddings())
def test_cosines_agree(a: Vector, b: Vector) -> None:
    assert reference.cosine(a.tolist(), b.tolist()) == vectors.cosine(a, b)


@given(cosine=cosines())
def test_a_vector_has_the_requested_cosine(cosine: float) -> None:
    # The grid of stored vectors moves a cosine by at most 5e-4.
    assert abs(vectors.cosine(*at_cosine(cosine)) - nano(cosine)) <= 500_000


@given(rate=st.integers(min_value=0, max_value=NANO), idle_us=moments, weight=units)
def test_effective_weights_agree(rate: int, idle_us: int, weight: int) -> None:
    assert reference.what_is_left(rate, idle_us) == decayed(rate, idle_us)
    left = reference.effective_weight(weight, rate, idle_us)
    assert left == decay.effective_weight(weight, rate, idle_us)
    assert 0 <= left <= weight


@given(a=units, b=units, count=st.integers(min_value=0, max_value=20), policy=policies)
def test_edge_rates_agree(a: int, b: int, count: int, policy: Policy) -> None:
    found = reference.edge_rate(a, b, count, policy)
    assert found == decay.edge_rate(a, b, count, policy)
    assert found == reference.edge_rate(b, a, count, policy)


@given(given_tags=tags(), category=categories(), rate=units, policy=policies)
def test_tiers_and_penalties_agree(
    given_tags: tuple[str, ...], category: str, rate: int, policy: Policy
) -> None:
    tier = reference.tier_rate(given_tags, category, policy)
    assert tier == decay.tier_rate(given_tags, category, policy)
    assert reference.penalised(rate, tier, policy) == decay.penalised(rate, tier, policy)


@given(created_us=st.one_of(st.none(), moments), now_us=moments)
def test_recency_by_age_agrees(created_us: int | None, now_us: int) -> None:
    found = reference.age_recency(created_us, now_us, DEFAULT)
    assert found == columns.age_recency(created_us, now_us, DEFAULT)
    assert 0 <= found <= NANO


@given(signals=st.lists(units, min_size=7, max_size=7), more=units, place=st.integers(0, 6))
def test_scores_agree_and_never_fall_when_a_signal_rises(
    signals: list[int], more: int, place: int
) -> None:
    weights = reference.frame_weights(DEFAULT.frame("attention"), asked=True)
    named = dict(zip(reference.SIGNALS, signals, strict=True))
    score = reference.composite(weights, named)
    assert score == kernel.composite(list(weights.values()), signals)
    raised = {**named, reference.SIGNALS[place]: max(more, signals[place])}
    assert score <= reference.composite(weights, raised) <= NANO


@given(threshold=st.integers(min_value=1, max_value=NANO), rate=st.integers(10_000, 50_000_000))
def test_the_first_hour_below_a_threshold_is_exact(threshold: int, rate: int) -> None:
    def left(idle_us: int) -> int:
        return reference.what_is_left(rate, idle_us * MICROS_PER_HOUR)

    first = reference.first_below(left, threshold)
    assert left(first) < threshold <= left(first - 1)
