from __future__ import annotations

import numpy as np
import pytest

from mnemic.kernel.arithmetic import nano, weighted_each
from mnemic.kernel.scoring import UNKNOWN
from mnemic.projections.analysis import terms
from mnemic.projections.lexicon import Lexicon
from mnemic.projections.recipes import context, dates
from mnemic.projections.recipes.match import Curve, nth_best
from mnemic.specs.reference import dates as plain_dates
from mnemic.specs.reference import relevance as reference
from mnemic.specs.reference.scoring import instant_us
from mnemic.specs.rules import Row, rows


@pytest.mark.parametrize("row", rows("recall.relevance"), ids=str)
def test_relevance_is_a_strength_beside_the_others(row: Row) -> None:
    policy = row.policy
    given = [
        {name: nano(parts.get(name, 0.0)) for name in context.PARTS} for parts in row.given["parts"]
    ]
    columns = [np.array([parts[name] for parts in given]) for name in context.PARTS]
    strengths = weighted_each(context.weights(policy), columns)
    rank, floor = policy.relevance_rank, nano(policy.relevance_floor)
    curve = Curve(reference=nth_best(strengths, rank, floor), width=nano(policy.relevance_width))
    assert strengths.tolist() == [nano(said) for said in row.then["strength"]]
    assert curve(strengths).tolist() == [nano(said) for said in row.then["relevance"]]
    plain = [
        reference.strength_of({name: parts[name] for name in reference.WEIGHED}, policy)
        for parts in given
    ]
    middle = reference.reference_of(plain, policy)
    assert plain == strengths.tolist()
    assert [reference.relevance_of(strength, middle, policy) for strength in plain] == curve(
        strengths
    ).tolist()


@pytest.mark.parametrize("row", rows("recall.closeness"), ids=str)
def test_a_text_is_close_to_the_dates_that_a_question_names(row: Row) -> None:
    question = row.given["question"]
    said = row.given["created_at"]
    created = [None if text == "$none" else instant_us(text) for text in said]
    column = np.array([UNKNOWN if us is None else us for us in created], dtype=np.int64)
    found = dates.closeness(question, column).tolist()
    assert found == [nano(close) for close in row.then["closeness"]]
    assert [plain_dates.closeness(question, us) for us in created] == found


@pytest.mark.parametrize("row", rows("recall.rarity"), ids=str)
def test_a_text_is_as_unusual_as_its_words_were_before_it(row: Row) -> None:
    lexicon = Lexicon()
    for text in row.given["texts"]:
        lexicon.add(text)
    *before, last = [set(terms(text)) for text in row.given["texts"]]
    held = [sum(term in text for text in before) for term in last]
    assert row.tells("rarity", int(lexicon.rarity[-1]))
    assert reference.rarity(len(before), held) == lexicon.rarity[-1]
