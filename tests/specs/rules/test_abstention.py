from __future__ import annotations

import numpy as np
import pytest

from mnemic.kernel.numeric.arithmetic import NANO, nano
from mnemic.kernel.scoring import probability
from mnemic.projections.evaluation import platt
from mnemic.projections.retrieval.abstention import doubtful
from mnemic.projections.retrieval.ranking import Ranking
from mnemic.specs.reference import aged_relevance as reference
from mnemic.specs.rules import Row, rows


@pytest.mark.parametrize("row", rows("abstention.probability"), ids=str)
def test_the_probability_of_a_block(row: Row) -> None:
    given = {name: nano(row.given["parts"].get(name, 0.0)) for name in probability.PARTS}
    columns = [np.array([given[name]]) for name in probability.PARTS]
    (found,) = probability.probabilities(row.policy, columns).tolist()
    assert row.tells("probability", found)
    assert reference.probability_of(given, row.policy) == found


@pytest.mark.parametrize("row", rows("abstention.answerable"), ids=str)
def test_a_question_is_as_answerable_as_its_best_block(row: Row) -> None:
    given = [nano(odds) for odds in row.given["log_odds"]]
    found = probability.answerable(row.policy, max(given)) if given else 0
    assert row.tells("answerable", found)
    assert reference.answerable(given, row.policy) == found


@pytest.mark.parametrize("row", rows("abstention.verdict"), ids=str)
def test_a_verdict_depends_on_two_thresholds(row: Row) -> None:
    given = [nano(value) for value in row.given["answerable"]]
    assert [probability.verdict(row.policy, value) for value in given] == row.then["verdict"]
    assert [reference.verdict(value, row.policy) for value in given] == row.then["verdict"]


@pytest.mark.parametrize("row", rows("abstention.floor"), ids=str)
def test_a_floor_leaves_out_improbable_blocks(row: Row) -> None:
    chances = [nano(chance) for chance in row.given["probability"]]
    numbers = np.arange(len(chances))
    ranking = Ranking(
        numbers=numbers,
        scores=numbers,
        table=np.zeros((len(chances), 0), dtype=np.int64),
        via=dict(row.given.get("via", ())),
        guaranteed=frozenset(row.given.get("guaranteed", ())),
        match=None,
        shares=np.array([nano(each) for each in row.given.get("shares", [1.0] * len(chances))]),
        turns=numbers,
        probabilities=np.array(chances),
    )
    least = row.given.get("min_probability")
    left_out = doubtful(
        ranking,
        floor=nano(row.given["floor"]),
        min_probability=None if least is None else nano(least),
    )
    kept = numbers if left_out is None else numbers[~left_out]
    assert kept.tolist() == row.then["kept"]


@pytest.mark.parametrize("row", rows("abstention.scaling"), ids=str)
def test_a_calibration_scales_and_shifts_log_odds(row: Row) -> None:
    found = platt.scaling(row.given["log_odds"], row.given["useful"])
    assert row.tells("slope", round(found.slope * NANO))
    assert row.tells("shift", round(found.shift * NANO))
