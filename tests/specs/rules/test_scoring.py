from __future__ import annotations

import numpy as np
import pytest

from mnemic.kernel.numeric.arithmetic import MICROS_PER_DAY, NANO, nano
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.scoring import signals as kernel
from mnemic.kernel.timestamps import instant
from mnemic.specs.reference import scoring as reference
from mnemic.specs.rules import Row, rows
from tests.specs import columns


def column(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize("row", rows("scoring.weights"), ids=str)
def test_weights_sum_to_one_and_rescale_without_a_question(row: Row) -> None:
    frame, asked = row.policy.frame(row.given["frame"]), row.given["asked"]
    weights = dict(zip(reference.SIGNALS, frame.weights(asked=asked), strict=True))
    assert reference.frame_weights(frame, asked=asked) == weights
    assert {name for name, weight in weights.items() if weight} == set(row.then)
    assert all(row.tells(name, weights[name]) for name in row.then)
    assert abs(sum(weights.values()) - NANO) <= 2


@pytest.mark.parametrize("row", rows("scoring.composite"), ids=str)
def test_a_score_is_the_weighted_sum_of_signals(row: Row) -> None:
    frame = row.policy.frame(row.given["frame"])
    signals = {name: nano(row.given.get(name, 0.0)) for name in reference.SIGNALS}
    found = kernel.composite(frame.weights(), list(signals.values()))
    assert row.tells("score", found)
    assert reference.composite(reference.frame_weights(frame, asked=True), signals) == found


@pytest.mark.parametrize("row", rows("scoring.order"), ids=str)
def test_answers_are_sorted_by_score_and_ties_by_id(row: Row) -> None:
    scores = {block: nano(score) for block, score in row.given["scores"].items()}
    assert reference.ranked(scores) == row.then["order"]


@pytest.mark.parametrize("row", rows("scoring.age-recency"), ids=str)
def test_recency_by_age_fades_from_the_date_of_creation(row: Row) -> None:
    now_us = instant("now", row.given.get("now", "2026-03-01"))
    assert now_us is not None
    created_us = instant("created_at", row.given.get("created_at"))
    if "age_days" in row.given:
        created_us = now_us - row.given["age_days"] * MICROS_PER_DAY
    found = columns.age_recency(created_us, now_us, row.policy)
    assert row.tells("recency", found)
    assert reference.age_recency(created_us, now_us, row.policy) == found


@pytest.mark.parametrize("row", rows("scoring.age-half-life"), ids=str)
def test_recency_by_age_halves_in_its_half_life(row: Row) -> None:
    age_us = reference.first_below(
        lambda age_us: columns.age_recency(-age_us, 0, DEFAULT), NANO // 2
    )
    assert row.tells("days", age_us * NANO // MICROS_PER_DAY)
    assert reference.age_recency(-age_us, 0, DEFAULT) == columns.age_recency(-age_us, 0, DEFAULT)


@pytest.mark.parametrize("row", rows("scoring.usefulness"), ids=str)
def test_usefulness_is_the_mean_of_the_posterior(row: Row) -> None:
    alpha = beta = nano(row.policy.outcome_prior)
    for signal, weight in row.given["outcomes"]:
        alpha += reference.times(nano(signal), nano(weight))
        beta += reference.times(NANO - nano(signal), nano(weight))
    assert row.tells("alpha", alpha)
    assert row.tells("beta", beta)
    assert row.tells("usefulness", reference.usefulness(alpha, beta))
    assert kernel.usefulness(column(alpha), column(beta)) == reference.usefulness(alpha, beta)


@pytest.mark.parametrize("row", rows("scoring.frequency"), ids=str)
def test_retrievals_count_up_to_the_cap(row: Row) -> None:
    found = reference.frequency(row.given["retrievals"], row.policy)
    assert row.tells("frequency", found)
    assert kernel.frequency(column(row.given["retrievals"]), row.policy) == found


@pytest.mark.parametrize("row", rows("scoring.reinforcement"), ids=str)
def test_reinforcements_count_by_their_logarithm(row: Row) -> None:
    counts = row.given["counts"]
    found = [reference.reinforcement(count, max(counts)) for count in counts]
    assert found == [nano(said) for said in row.then["reinforcement"]]
    assert kernel.reinforcement(column(*counts)).tolist() == found


@pytest.mark.parametrize("row", rows("scoring.centrality"), ids=str)
def test_centrality_is_a_share_of_the_greatest_degree(row: Row) -> None:
    edges = row.given["edges"]
    weights = [nano(weight) for _, _, weight, _ in edges]
    counts = [count for _, _, _, count in edges]
    pulls = [reference.pull(*edge, row.policy) for edge in zip(weights, counts, strict=True)]
    assert kernel.edge_pull(column(*weights), column(*counts), row.policy).tolist() == pulls
    degrees = [0] * row.given["blocks"]
    for (a, b, _, _), pull in zip(edges, pulls, strict=True):
        degrees[a] += pull
        degrees[b] += pull
    found = [reference.fraction(degree, max(degrees)) for degree in degrees]
    assert found == [nano(said) for said in row.then["centrality"]]
    assert kernel.centrality(column(*degrees)).tolist() == found
