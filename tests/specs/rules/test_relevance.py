from __future__ import annotations

import numpy as np
import pytest

from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.vectors import quantise
from mnemic.kernel.numeric.arithmetic import NANO, nano, weighted_each
from mnemic.kernel.questions.aggregates import aggregate
from mnemic.kernel.questions.pronouns import person
from mnemic.kernel.roles import role_of
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.kernel.scoring.typicality import typicalities
from mnemic.projections.lexical.analysis import terms
from mnemic.projections.lexical.languages import words
from mnemic.projections.lexical.languages.stop_words import LATIN
from mnemic.projections.lexical.lexicon import Lexicon, trusted
from mnemic.projections.retrieval.ranking import best_first
from mnemic.projections.retrieval.recipes import aged_context, context, dates, question
from mnemic.projections.retrieval.recipes.match import Curve, nth_best
from mnemic.specs.reference import aged_relevance
from mnemic.specs.reference import dates as plain_dates
from mnemic.specs.reference import relevance as reference
from mnemic.specs.reference.scoring import instant_us
from mnemic.specs.reference.threads import Said
from mnemic.specs.rules import Row, rows
from tests.projections.scripted_state import BEGUN_US, MINUTE_US, Talk


@pytest.mark.parametrize("row", rows("recall.relevance"), ids=str)
def test_relevance_is_relative_to_the_strength_of_others(row: Row) -> None:
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


@pytest.mark.parametrize("row", rows("recall.age"), ids=str)
def test_age_costs_a_match_little(row: Row) -> None:
    names = (*question.PARTS, "freshness", "asker", "phrase", "nearby", "distinct")
    given = [{name: nano(parts.get(name, 0.0)) for name in names} for parts in row.given["parts"]]
    columns = [np.array([parts[name] for parts in given]) for name in names]
    weights = aged_context.weights(row.policy)[: len(names)]
    strengths = weighted_each(weights, columns).tolist()
    assert strengths == [nano(said) for said in row.then["strength"]]
    assert [aged_relevance.strength_of(parts, row.policy) for parts in given] == strengths


@pytest.mark.parametrize("row", rows("recall.person"), ids=str)
def test_pronouns_say_which_side_a_question_means(row: Row) -> None:
    asked, expected = row.given["question"], row.then["person"] or None
    assert person(asked) == expected
    assert aged_relevance.person(asked) == expected


@pytest.mark.parametrize("row", rows("recall.asker"), ids=str)
def test_what_the_side_that_is_meant_said_counts_for_more(row: Row) -> None:
    asked, asked_by = row.given["question"], row.given.get("asked_by")
    talk, plain = Talk(), []
    for number, text in enumerate(row.given["texts"]):
        author, role = text.get("author"), text.get("role")
        talk.say(f"text {number}", author=author, role=role)
        metadata = None if role is None else f'{{"role":"{role}"}}'
        said = Said(
            number=number,
            block=BlockId(str(number)),
            words=(),
            author=author,
            names=frozenset(),
            role=role_of(author, metadata),
            thread=None,
            created_us=None,
        )
        plain.append(aged_relevance.is_meant(said, aged_relevance.person(asked), asked_by))
    expected = [bool(each) for each in row.then["asker"]]
    assert talk.part("asker", asked, asked_by=asked_by) == [NANO * each for each in expected]
    assert plain == expected


@pytest.mark.parametrize("row", rows("recall.phrase"), ids=str)
def test_the_wording_of_the_question_counts(row: Row) -> None:
    asked, texts = row.given["question"], row.given["texts"]
    talk = Talk()
    for text in texts:
        talk.say(text, category="knowledge")
    expected = [nano(share) for share in row.then["phrase"]]
    assert talk.part("phrase", asked) == expected
    assert [aged_relevance.phrase(terms(asked), terms(text)) for text in texts] == expected


@pytest.mark.parametrize("row", rows("recall.nearby"), ids=str)
def test_a_short_text_is_understood_by_what_is_around_it(row: Row) -> None:
    cosines = [nano(each) for each in row.given["cosines"]]
    length = row.given["length"]
    assert row.tells("nearby", aged_relevance.nearby(cosines, length))
    found = aged_context.damped_context(np.array([sum(cosines)]), np.array([length]))
    assert row.tells("nearby", int(found[0]))


@pytest.mark.parametrize("row", rows("recall.typicality"), ids=str)
def test_a_vector_is_typical_of_those_before_it(row: Row) -> None:
    vector = quantise(row.given["vector"], dimension=2)
    before = [
        quantise(each, dimension=2)
        for each in row.given["before"]
        for _ in range(row.given.get("times", 1))
    ]
    known = [each.tolist() for each in before]
    assert row.tells("typicality", aged_relevance.typicality(known, vector.tolist()))
    assert row.tells("typicality", typicalities(before, [vector])[0])
    # Those promoted together with it are before it too.
    assert row.tells("typicality", typicalities([], [*before, vector])[-1])


@pytest.mark.parametrize("row", rows("recall.aggregate"), ids=str)
def test_some_questions_want_a_summary_or_a_list(row: Row) -> None:
    for asked in row.given["questions"]:
        assert (aggregate(asked) or "") == row.then["aggregate"], asked


@pytest.mark.parametrize("row", rows("recall.trusted-rarity"), ids=str)
def test_rarity_is_trusted_as_far_as_there_is_something_to_compare(row: Row) -> None:
    rarity, before = nano(row.given["rarity"]), row.given["before"]
    found = trusted(np.array([rarity]), np.array([before]), row.policy.rarity_trust)
    assert row.tells("rarity", int(found[0]))
    assert aged_relevance.trusted(rarity, before, row.policy) == found[0]


@pytest.mark.parametrize("row", rows("recall.tie"), ids=str)
def test_equal_scores_come_by_strength_and_then_by_id(row: Row) -> None:
    ids = row.given["id"]
    scores = np.array([nano(score) for score in row.given["score"]])
    given = row.given.get("strength")
    strengths = None if given is None else np.array([nano(each) for each in given])
    order = best_first(ids, np.arange(len(ids)), scores, strengths)
    assert [ids[place] for place in order] == row.then["order"]
    plain = sorted(
        range(len(ids)),
        key=lambda at: (-scores[at], -(0 if strengths is None else strengths[at]), ids[at]),
    )
    assert order.tolist() == plain


@pytest.mark.parametrize("row", rows("recall.closeness"), ids=str)
def test_a_text_is_close_to_the_dates_that_a_question_names(row: Row) -> None:
    asked = row.given["question"]
    said = row.given["created_at"]
    created = [None if text == "$none" else instant_us(text) for text in said]
    column = np.array([UNKNOWN if us is None else us for us in created], dtype=np.int64)
    found = dates.closeness(dates.named(asked), column).tolist()
    assert found == [nano(close) for close in row.then["closeness"]]
    assert [plain_dates.closeness(asked, us) for us in created] == found


@pytest.mark.parametrize("row", rows("recall.closeness-abroad"), ids=str)
def test_a_text_is_close_to_dates_in_other_languages(row: Row) -> None:
    asked = row.given["question"]
    language = words.language(asked)
    created = [instant_us(text) for text in row.given["created_at"]]
    named = dates.named_in(asked, language)
    found = dates.closeness(named, np.array(created, dtype=np.int64)).tolist()
    assert found == [nano(close) for close in row.then["closeness"]]
    assert [plain_dates.closeness(asked, us, language) for us in created] == found
    talk = Talk()
    for us in created:
        talk.say("a text", minute=(us - BEGUN_US) // MINUTE_US)
    assert talk.part("date", asked) == found


@pytest.mark.parametrize("row", rows("recall.language"), ids=str)
def test_a_text_is_found_in_its_language(row: Row) -> None:
    asked, texts = row.given["question"], row.given["texts"]
    talk = Talk()
    for text in texts:
        talk.say(text, category="knowledge")
    expected = [bool(each) for each in row.then["found"]]
    assert [match > 0 for match in talk.part("lexical", asked)] == expected
    plain = [
        Said(
            number=number,
            block=BlockId(str(number)),
            words=tuple(terms(text)),
            others=tuple(words.analysed(text).others),
            author=None,
            names=frozenset(),
            role=None,
            thread=None,
            created_us=None,
        )
        for number, text in enumerate(texts)
    ]
    everywhere = words.asked(asked, LATIN)
    assert [any(map(said.count, everywhere)) for said in plain] == expected


@pytest.mark.parametrize("row", rows("recall.rarity"), ids=str)
def test_the_rarity_of_a_text_depends_on_earlier_texts(row: Row) -> None:
    lexicon = Lexicon()
    for text in row.given["texts"]:
        lexicon.add(text)
    *before, last = [set(terms(text)) for text in row.given["texts"]]
    held = [sum(term in text for text in before) for term in last]
    assert row.tells("rarity", int(lexicon.rarity[-1]))
    assert reference.rarity(len(before), held) == lexicon.rarity[-1]
