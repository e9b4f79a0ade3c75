from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.decisions import recalling as exploring
from mnemic.kernel.events import Exploration
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR, NANO, nano
from mnemic.projections.evaluation import measures, relevance_judgments
from mnemic.projections.evaluation.measures import Measure, Measured
from mnemic.projections.evaluation.relevance_judgments import Evidence, RelevanceJudgments
from mnemic.projections.frontier.outcomes import CLOSED, DUPLICATE, SUCCESS
from mnemic.specs.reference import ranking
from mnemic.specs.rules import Row, rows

DECISION, HOUR, HORIZON = 10, 1.0, 24.0
GAINS = st.integers(min_value=0, max_value=NANO)
PLACES = st.lists(st.one_of(st.none(), GAINS, st.sampled_from((0, NANO))), max_size=8)


# --- exploring ----------------------------------------------------------------------------------


@pytest.mark.parametrize("row", rows("backtests.propensity"), ids=str)
def test_the_propensity_of_an_answer(row: Row) -> None:
    given: dict[str, Any] = {**row.given, "rate": nano(row.given["rate"])}
    assert row.tells("propensity", exploring.propensity(Exploration(**given)))
    assert row.tells("propensity", ranking.propensity(**given))


@pytest.mark.parametrize("row", rows("backtests.draw"), ids=str)
def test_random_bytes_determine_whether_and_which_block(row: Row) -> None:
    rate, pool = nano(row.given["rate"]), row.given["pool"]
    found = exploring.drawn(bytes.fromhex(row.given["bytes"]), rate, pool)
    assert found == Exploration(rate=rate, pool=pool, drawn=row.then["drawn"])


@given(rate=st.integers(min_value=1, max_value=NANO), pool=st.integers(min_value=1, max_value=64))
def test_propensities_sum_to_one(rate: int, pool: int) -> None:
    luck = [Exploration(rate=rate, pool=pool, drawn=drawn) for drawn in range(pool)]
    chances = [exploring.propensity(each) for each in luck]
    assert chances == [ranking.propensity(rate, pool, drawn) for drawn in range(pool)]
    assert abs(sum(chances) - NANO) <= pool
    assert min(chances) > 0


@given(
    luck=st.binary(min_size=exploring.DRAW, max_size=exploring.DRAW),
    rate=st.integers(min_value=1, max_value=NANO),
    pool=st.integers(min_value=1, max_value=64),
)
def test_a_draw_names_one_of_the_pool(luck: bytes, rate: int, pool: int) -> None:
    assert 0 <= exploring.drawn(luck, rate, pool).drawn < pool


# --- gains --------------------------------------------------------------------------------------


def said(row: dict[str, Any]) -> ranking.Said:
    signal = row.get("signal")
    return ranking.Said(
        version=row["version"],
        hour=row["hour"],
        blocks=tuple(row["blocks"]),
        signal=None if signal is None else nano(signal),
        weight=nano(row.get("weight", 1.0)),
        label=row.get("label"),
        decision=row.get("decision"),
        taken_back=row.get("taken_back", False),
    )


def evidence(one: ranking.Said, numbers: dict[str, int]) -> Evidence | None:
    """Return an event as the projection reads it: labels that count, blocks by number."""
    if one.taken_back or (
        one.label is not None and one.label not in SUCCESS | relevance_judgments.FAILURE
    ):
        return None
    by_label = NANO if one.label in SUCCESS else 0
    return Evidence(
        version=one.version,
        active_us=round(one.hour * MICROS_PER_HOUR),
        blocks=tuple(numbers[block] for block in one.blocks),
        signal=by_label if one.signal is None else one.signal,
        weight=one.weight,
        decision=one.decision,
    )


def fast_gains(all_said: list[ranking.Said]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for one in all_said:
        for block in one.blocks:
            numbers.setdefault(block, len(numbers))
    found = [each for one in all_said if (each := evidence(one, numbers)) is not None]
    asked = RelevanceJudgments(found, horizon_us=round(HORIZON * MICROS_PER_HOUR))
    gains = asked.gains(DECISION, round(HOUR * MICROS_PER_HOUR), list(numbers.values()))
    return {block: gains[number] for block, number in numbers.items() if number in gains}


@pytest.mark.parametrize("row", rows("backtests.gain"), ids=str)
def test_blocks_are_judged_by_later_outcomes_and_labels(row: Row) -> None:
    all_said = [said(each) for each in row.given["said"]]
    plain = ranking.gains(all_said, version=DECISION, hour=HOUR, horizon=HORIZON)
    assert plain == {block: nano(gain) for block, gain in row.then["gains"].items()}
    assert fast_gains(all_said) == plain


LABELS = st.sampled_from(sorted(SUCCESS | CLOSED | DUPLICATE | {"needs_poc"}))
SAID = st.builds(
    ranking.Said,
    version=st.just(0),
    hour=st.sampled_from((1.0, 2.0, 25.0, 26.0)),
    blocks=st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True).map(tuple),
    signal=GAINS,
    weight=st.integers(min_value=1, max_value=5 * NANO),
    decision=st.sampled_from((None, None, DECISION, 7)),
)
LABELLED = st.builds(
    ranking.Said,
    version=st.just(0),
    hour=st.sampled_from((1.0, 2.0, 25.0, 26.0)),
    blocks=st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True).map(tuple),
    label=LABELS,
    taken_back=st.booleans(),
)


@given(history=st.lists(st.one_of(SAID, LABELLED), max_size=8), first=st.integers(5, 12))
def test_gains_are_those_of_the_reference(history: list[ranking.Said], first: int) -> None:
    in_order = sorted(history, key=lambda one: one.hour)
    all_said = [evolve(one, version=first + place) for place, one in enumerate(in_order)]
    plain = ranking.gains(all_said, version=DECISION, hour=HOUR, horizon=HORIZON)
    assert fast_gains(all_said) == plain


# --- measures -----------------------------------------------------------------------------------


def sides(measure: Measure | None) -> list[int | None]:
    return [] if measure is None else [measure.judged, measure.floor, measure.ceiling]


def told_by(measured: Measured) -> dict[str, list[int | None]]:
    return {name: sides(getattr(measured, name)) for name in ("ndcg", "hit", "reward")}


def plainly(measured: ranking.PlainMeasured) -> dict[str, list[int | None]]:
    return {name: list(getattr(measured, name) or ()) for name in ("ndcg", "hit", "reward")}


@pytest.mark.parametrize("row", rows("backtests.measure"), ids=str)
def test_measures_of_an_answer(row: Row) -> None:
    places = [None if gain < 0 else nano(gain) for gain in row.given["places"]]
    judged = [nano(gain) for gain in row.given["judged"]]
    found = told_by(measures.measure(places, judged, k=row.given["k"]))
    assert found == {
        name: [None if each < 0 else nano(each) for each in values]
        for name, values in row.then.items()
    }
    assert plainly(ranking.measured(places, judged, row.given["k"])) == found


@given(places=PLACES, others=st.lists(GAINS, max_size=4), more=st.integers(0, 3))
def test_measures_are_those_of_the_reference_and_lie_within_their_bounds(
    places: list[int | None], others: list[int], more: int
) -> None:
    judged = [gain for gain in places if gain is not None] + others
    k = len(places) + more
    measured = measures.measure(places, judged, k=k)
    assert told_by(measured) == plainly(ranking.measured(places, judged, k))
    for each in (measured.ndcg, measured.hit, measured.reward):
        if each is not None:
            middle = each.floor if each.judged is None else each.judged
            assert 0 <= each.floor <= middle <= each.ceiling <= NANO


@given(
    places=PLACES,
    others=st.lists(GAINS, max_size=4),
    truth=st.lists(GAINS, min_size=8, max_size=8),
)
def test_the_bounds_contain_every_value_of_unjudged_blocks(
    places: list[int | None], others: list[int], truth: list[int]
) -> None:
    judged = [gain for gain in places if gain is not None] + others
    whole = [worth if gain is None else gain for gain, worth in zip(places, truth, strict=False)]
    known = measures.measure(places, judged, k=len(places))
    complete = measures.measure(whole, judged, k=len(places))
    for name in ("ndcg", "hit", "reward"):
        bounds, true = getattr(known, name), getattr(complete, name)
        assert bounds is None or bounds.floor <= min(NANO, true.judged or 0) <= bounds.ceiling


@pytest.mark.parametrize("rank", [*range(1, 101), 1000])
def test_a_discount_is_right_to_the_nano_unit(rank: int) -> None:
    assert measures.discount(rank) == ranking.discount(rank)


# --- what chance let be seen --------------------------------------------------------------------


@pytest.mark.parametrize("row", rows("backtests.self-normalised"), ids=str)
def test_improbable_blocks_weigh_more(row: Row) -> None:
    shown = [(nano(gain), nano(chance)) for gain, chance in row.given["shown"]]
    found = measures.self_normalised(shown)
    assert found is not None
    assert row.tells("mean", found.mean)
    assert row.tells("mean", ranking.corrected(shown) or 0)
    assert row.tells("effective", nano(found.effective))


@given(st.lists(st.tuples(GAINS, st.integers(min_value=1, max_value=NANO)), max_size=12))
def test_corrected_means_are_those_of_the_reference(shown: list[tuple[int, int]]) -> None:
    found = measures.self_normalised(shown)
    assert (None if found is None else found.mean) == ranking.corrected(shown)
