from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.errors import RecipeRetired
from mnemic.kernel.numeric.arithmetic import NANO, ln, nano, share
from mnemic.projections.lexical.analysis import terms
from mnemic.projections.lexical.lexicon import Lexicon
from mnemic.projections.lexical.postings import Mask
from mnemic.projections.lexical.term_counts import K1, B

WORDS = st.sampled_from("the bees bee tea teas 3.11 walked walking café night nights mist".split())
SENTENCES = st.lists(WORDS, max_size=8).map(" ".join)
DOCUMENTS = st.lists(st.tuples(st.none() | SENTENCES, st.booleans()), max_size=12)
"""Texts in the order in which they were added, each with whether it is alive."""
SNOW = ["snow fell", "snow, snow and more snow", "rain fell on the sea", "nothing to say"]


def lexicon_of(texts: Sequence[str | None]) -> Lexicon:
    lexicon = Lexicon()
    for text in texts:
        lexicon.add(text)
    return lexicon


def living(documents: list[tuple[str | None, bool]]) -> Mask:
    return np.array([lives for _, lives in documents], dtype=np.bool_)


def all_alive(size: int) -> Mask:
    return np.ones(size, dtype=np.bool_)


def found(lexicon: Lexicon, query: str, alive: Mask | None = None) -> dict[int, int]:
    """Search among all documents, or those alive."""
    documents, strengths = lexicon.search(
        query, all_alive(len(lexicon)) if alive is None else alive
    )
    assert documents.dtype == strengths.dtype == np.int64
    return dict(zip(documents.tolist(), strengths.tolist(), strict=True))


def plain_search(texts: list[str | None], query: str) -> dict[int, int]:
    """BM25 over *texts* by the plain formula: counters, loops and no caches."""
    documents = [Counter(terms(text or "")) for text in texts]
    mean_length = sum(document.total() for document in documents) / max(len(documents), 1)
    matches: dict[int, int] = {}
    reach = 0
    for term in sorted(set(terms(query))):
        df = sum(term in document for document in documents)
        bound = ln(1.0 + (len(documents) - df + 0.5) / (df + 0.5)) * (K1 + 1.0)
        reach += round(bound * 2**30)
        for number, document in enumerate(documents):
            if tf := document[term]:
                drag = K1 * ((1.0 - B) + B * (document.total() / mean_length))
                match = round(bound * tf / (tf + drag) * 2**30)
                matches[number] = matches.get(number, 0) + match
    return {number: nano(match / reach) for number, match in sorted(matches.items())}


@given(DOCUMENTS, SENTENCES)
def test_a_search_is_the_formula_over_the_live_documents_alone(
    documents: list[tuple[str | None, bool]], query: str
) -> None:
    lexicon = lexicon_of([text for text, _ in documents])
    alive = living(documents)
    numbers = np.flatnonzero(alive).tolist()
    expected = plain_search([documents[number][0] for number in numbers], query)
    assert found(lexicon, query, alive) == {numbers[n]: s for n, s in expected.items()}


@given(DOCUMENTS, SENTENCES)
def test_a_search_under_a_mask_is_a_search_in_a_lexicon_of_the_live_documents(
    documents: list[tuple[str | None, bool]], query: str
) -> None:
    whole = lexicon_of([text for text, _ in documents])
    alive = living(documents)
    live_alone = lexicon_of([text for text, lives in documents if lives])
    in_whole = whole.search(query, alive)
    in_live = live_alone.search(query, all_alive(len(live_alone)))
    assert in_whole[0].tolist() == np.flatnonzero(alive)[in_live[0]].tolist()
    assert in_whole[1].tolist() == in_live[1].tolist()


@given(DOCUMENTS, SENTENCES, st.integers(min_value=0, max_value=12))
def test_searching_between_additions_changes_nothing(
    documents: list[tuple[str | None, bool]], query: str, pause: int
) -> None:
    texts = [text for text, _ in documents]
    paused = lexicon_of(texts[:pause])
    paused.settle()
    for text in texts[pause:]:
        paused.add(text)
    alive = living(documents)
    assert found(paused, query, alive) == found(lexicon_of(texts), query, alive)


@given(DOCUMENTS, SENTENCES, st.lists(st.integers(min_value=0, max_value=15)))
def test_strengths_of_given_documents_are_those_of_the_search(
    documents: list[tuple[str | None, bool]], query: str, asked: list[int]
) -> None:
    lexicon = lexicon_of([text for text, _ in documents])
    alive = living(documents)
    strengths = lexicon.strengths(query, alive, np.array(asked, dtype=np.int64))
    hits = found(lexicon, query, alive)
    assert strengths.dtype == np.int64
    assert strengths.tolist() == [hits.get(number, 0) for number in asked]


def test_a_rare_word_counts_more_and_each_repetition_counts_less() -> None:
    # A mean length of 2.5, so tf / (tf + .9 * (.7 + .3 * length / 2.5)) is 1/1.846 and 3/3.954.
    assert found(lexicon_of([*SNOW]), "snow") == {0: 541_711_809, 1: 758_725_342}
    # idf is ln 2 for snow and ln 10/3 for rain: .3654 and .6346 of what can be reached.
    assert found(lexicon_of([*SNOW]), "the rain, or snow") == {
        0: 197_924_231,
        1: 277_214_059,
        2: 324_786_014,
    }


def test_an_unknown_word_lowers_every_strength() -> None:
    known = found(lexicon_of([*SNOW]), "snow")
    wider = found(lexicon_of([*SNOW]), "snow zebra")
    assert {document: known[document] > wider[document] for document in known} == {
        0: True,
        1: True,
    }


def test_no_document_answers_more_than_the_whole_question() -> None:
    lexicon = lexicon_of(["snow " * 5_000, "sea"])
    assert found(lexicon, "snow")[0] in range(NANO * 99 // 100, NANO + 1)


def test_repeating_a_word_of_the_question_changes_nothing() -> None:
    lexicon = lexicon_of([*SNOW])
    assert found(lexicon, "snow snowing SNOW fell") == found(lexicon, "fell snow")


def test_documents_beyond_the_mask_are_not_alive() -> None:
    assert list(found(lexicon_of([*SNOW]), "fell", all_alive(1))) == [0]


@pytest.mark.parametrize("query", ["", "who is it?", "zebra", "🙂"])
def test_a_question_without_a_known_word_finds_nothing(query: str) -> None:
    assert found(lexicon_of([*SNOW]), query) == {}


def test_an_empty_lexicon_finds_nothing() -> None:
    assert found(Lexicon(), "snow") == {}


def test_a_mask_longer_than_the_documents_is_refused() -> None:
    with pytest.raises(ValueError, match="a mask of 2 for 1 documents"):
        lexicon_of(["snow"]).search("snow", all_alive(2))


def test_documents_are_numbered_in_order() -> None:
    lexicon = Lexicon()
    assert [lexicon.add("snow"), lexicon.add(None), lexicon.add("rain")] == [0, 1, 2]
    assert len(lexicon) == 3


def content(lexicon: Lexicon) -> bytes:
    """Return everything that a lexicon holds, as bytes."""
    return pickle.dumps(
        {name: part for name, part in vars(lexicon).items() if "lock" not in repr(part)}
    )


def test_an_analysed_text_is_kept_only_as_terms() -> None:
    lexicon = lexicon_of(["snow fell", "they were whispering in Zanzibar"])
    assert b"whispering" in content(lexicon)
    lexicon.settle()
    assert b"whispering" not in content(lexicon)
    assert lexicon.terms("whispering") == ["whisper"]


def test_a_search_result_is_not_modified_later() -> None:
    lexicon = lexicon_of([*SNOW])
    documents, strengths = lexicon.search("snow", all_alive(4))
    before = documents.tolist(), strengths.tolist()
    lexicon.add("snow again")
    lexicon.search("snow", all_alive(5))
    assert (documents.tolist(), strengths.tolist()) == before


def test_a_retired_recipe_is_refused() -> None:
    with pytest.raises(RecipeRetired):
        Lexicon("klingon-1")


# --- rarity -----------------------------------------------------------------------------------


def plain_rarity(texts: list[str | None], number: int) -> int:
    """The formula of rarity, computed from the texts before *number*."""
    held = [set(terms(text or "")) for text in texts]
    if not held[number]:
        return 0

    def log(value: float) -> int:
        return round(ln(value) * 2**30)

    frequencies = [sum(term in other for other in held[:number]) for term in held[number]]
    total = sum(log(number + 1.0) - log(df + 0.5) for df in frequencies)
    whole = (len(frequencies) + 3) * log(2.0 * number + 2.0)
    return (total * NANO + whole // 2) // whole


@given(DOCUMENTS, st.integers(min_value=0, max_value=12))
def test_rarity_is_the_formula_over_the_documents_before(
    documents: list[tuple[str | None, bool]], pause: int
) -> None:
    texts = [text for text, _ in documents]
    lexicon = lexicon_of(texts[:pause])
    lexicon.settle()
    for text in texts[pause:]:
        lexicon.add(text)
    expected = [plain_rarity(texts, number) for number in range(len(texts))]
    assert lexicon.rarity.tolist() == expected
    assert all(0 <= value <= NANO for value in expected)


def test_the_first_text_is_as_unusual_as_its_number_of_terms_allows() -> None:
    assert lexicon_of(["bees"]).rarity.tolist() == [NANO // 4]
    assert lexicon_of(["bees hum softly"]).rarity.tolist() == [NANO // 2]


def test_a_later_document_does_not_change_earlier_rarity() -> None:
    texts: list[str | None] = ["bees hum", "bees sleep", None, "an ocarina hums", "bees, bees"]
    found = [lexicon_of(texts[:count]).rarity.tolist() for count in range(6)]
    assert found == [found[-1][:count] for count in range(6)]


def test_common_words_are_not_rare() -> None:
    *_, usual, unusual = lexicon_of(["bees hum"] * 50 + ["bees hum", "ocarinas whistle"]).rarity
    assert usual < 10_000_000
    assert unusual > 390_000_000


def test_terms_are_returned_once_in_order() -> None:
    assert Lexicon().terms("The bees, the honey; bees!") == ["bee", "honey"]


# --- incidences -----------------------------------------------------------------------------


@given(texts=st.lists(st.none() | SENTENCES, max_size=10), later=st.lists(SENTENCES, max_size=3))
def test_incidences_say_which_document_holds_which_term(
    texts: list[str | None], later: list[str]
) -> None:
    lexicon = lexicon_of(texts)
    lexicon.incidences()
    for text in later:
        lexicon.add(text)
    documents, numbers = lexicon.incidences()
    groups: dict[int, list[int]] = {}
    for document, number in zip(documents.tolist(), numbers.tolist(), strict=True):
        groups.setdefault(number, []).append(document)
    expected: dict[str, list[int]] = {}
    for document, said in enumerate([*texts, *later]):
        for term in dict.fromkeys(terms(said or "")):
            expected.setdefault(term, []).append(document)
    # Terms are numbered in the order of their first use.
    assert groups == dict(enumerate(expected.values()))


def test_phrases_need_the_order_of_terms() -> None:
    lexicon = Lexicon(ordered=False)
    lexicon.add("bees hum")
    with pytest.raises(ValueError, match="order"):
        lexicon.phrases(lexicon.wording("bees hum"))


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=6), max_size=8), st.data())
def test_phrases_are_found_in_whatever_was_added_when(
    texts: list[list[str]], data: st.DataObject
) -> None:
    query = data.draw(st.lists(st.sampled_from("abcd"), max_size=5))
    words = {"a": "ant", "b": "bee", "c": "cat", "d": "dog"}
    lexicon = Lexicon()
    for text in texts:
        lexicon.add(" ".join(map(words.__getitem__, text)))
        if data.draw(st.booleans()):
            lexicon.settle()
        if data.draw(st.booleans()):
            lexicon = Lexicon.thawed(lexicon.frozen())
    pairs = set(pairwise(query))
    held = [len(pairs & set(pairwise(text))) for text in texts]
    found = lexicon.phrases(lexicon.wording(" ".join(map(words.__getitem__, query))))
    documents = np.arange(len(texts), dtype=np.int64)
    assert found.of(documents).tolist() == [share(each, len(pairs)) for each in held]


def test_rarity_without_some_documents_is_that_of_a_lexicon_without_them() -> None:
    texts = ["a red boat", "the red boat sails", "a blue boat", "red and blue"]
    every, kept = Lexicon(), Lexicon()
    for text in texts:
        every.add(text)
    for text in (texts[0], texts[3]):
        kept.add(text)
    found = every.rarity_without(np.array([1, 2]), 3, texts[3])
    assert found == kept.rarity[1]
