from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.projections.blocks.threads import NONE, STEPS
from mnemic.projections.lexical.lexicon import Lexicon
from mnemic.projections.lexical.term_counts import SPARSE, TermCounts, summed

SHARES = (600, 360, 216, 130)
ALONE = np.full((0, 2 * STEPS), NONE, dtype=np.int32)


def numbers(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def in_a_row(documents: int) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """Return the links of one long sitting."""
    links = np.full((documents, 2 * STEPS), NONE, dtype=np.int32)
    for step in range(1, STEPS + 1):
        links[step:, step - 1] = np.arange(documents)[:-step]
        links[:-step, STEPS + step - 1] = np.arange(documents)[step:]
    return links


def table(counts: TermCounts) -> list[dict[int, int]]:
    """Return, by term, the thousandths in each document that has any."""
    return [
        dict(zip(documents.tolist(), found.tolist(), strict=True))
        for documents, found in zip(counts.documents, counts.counts, strict=True)
    ]


def lexicon_of(*texts: str | None) -> Lexicon:
    lexicon = Lexicon()
    for text in texts:
        lexicon.add(text)
    return lexicon


def all_alive(lexicon: Lexicon) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.ones(len(lexicon), dtype=np.bool_)


def test_a_word_counts_in_thousandths_in_its_own_text() -> None:
    lexicon = lexicon_of("bees and bees", "honey", None, "bees")
    counts = lexicon.counts(["bee", "honey", "wax"], all_alive(lexicon))
    assert table(counts) == [{0: 2000, 3: 1000}, {1: 1000}, {}]


def test_a_dead_text_neither_counts_nor_spreads() -> None:
    lexicon = lexicon_of("bees", "bees", "honey")
    counts = lexicon.counts(["bee"], np.array([True, False, True]))
    assert table(counts) == [{0: 1000}]
    assert table(counts.spread(in_a_row(3), SHARES)) == [{0: 1000, 1: 600, 2: 360}]


def test_words_spread_by_their_steps_in_both_directions() -> None:
    lexicon = lexicon_of(*["honey"] * 5, "bees", *["honey"] * 5)
    counts = lexicon.counts(["bee"], all_alive(lexicon)).spread(in_a_row(11), SHARES)
    expected = {1: 130, 2: 216, 3: 360, 4: 600, 5: 1000, 6: 600, 7: 360, 8: 216, 9: 130}
    assert table(counts) == [expected]


def test_what_comes_from_both_sides_adds_up() -> None:
    lexicon = lexicon_of("bees bees", "bees", "honey")
    counts = lexicon.counts(["bee"], all_alive(lexicon)).spread(in_a_row(3), SHARES)
    assert table(counts) == [{0: 2600, 1: 2200, 2: 600 + 720}]


def test_without_neighbours_nothing_spreads() -> None:
    lexicon = lexicon_of("bees", "honey")
    alone = np.full((2, 2 * STEPS), NONE, dtype=np.int32)
    counts = lexicon.counts(["bee", "honey"], all_alive(lexicon))
    assert table(counts.spread(alone, SHARES)) == table(counts) == [{0: 1000}, {1: 1000}]


def test_fewer_shares_reach_fewer_steps() -> None:
    lexicon = lexicon_of("bees", "honey", "honey")
    counts = lexicon.counts(["bee"], all_alive(lexicon)).spread(in_a_row(3), (500,))
    assert table(counts) == [{0: 1000, 1: 500}]


def test_without_terms_every_strength_is_zero() -> None:
    lexicon = lexicon_of("bees", "honey")
    counts = lexicon.counts([], all_alive(lexicon)).spread(in_a_row(2), SHARES)
    assert counts.strengths(numbers(0, 1, 0)).tolist() == [0, 0, 0]


def test_without_documents_there_are_no_strengths() -> None:
    counts = Lexicon().counts(["bee"], np.zeros(0, dtype=np.bool_)).spread(ALONE, SHARES)
    assert counts.strengths(numbers()).tolist() == []


def test_texts_without_a_word_match_nothing() -> None:
    lexicon = lexicon_of("the", None, "🧠")
    counts = lexicon.counts(["bee"], all_alive(lexicon))
    assert counts.strengths(numbers(0, 1, 2)).tolist() == [0, 0, 0]


def test_the_rarest_words_are_selected_and_at_least_one() -> None:
    lexicon = lexicon_of("bees", "bees honey", "bees honey wax", "bees honey")
    counts = lexicon.counts(["bee", "wax", "honey"], all_alive(lexicon))
    rare, common = {2: 1000}, {1: 1000, 2: 1000, 3: 1000}
    assert table(counts.telling(0)) == table(counts.telling(3)) == [{}, rare, {}]
    assert table(counts.telling(4)) == table(counts.telling(7)) == [{}, rare, common]
    assert table(counts.telling(8)) == table(counts)


def test_the_rarest_words_keep_the_reach_of_the_whole_question() -> None:
    lexicon = lexicon_of("bees", "honey wax")
    counts = lexicon.counts(["bee", "honey", "wax"], all_alive(lexicon))
    one = counts.telling(0).strengths(numbers(0, 1)).tolist()
    assert one == [counts.strengths(numbers(0))[0], 0]


@pytest.mark.parametrize("limit", [4, 4 * SPARSE * 4])
def test_values_are_summed_by_key(limit: int) -> None:
    keys, sums = summed(numbers(3, 1, 3, 2), numbers(5, 7, 1, 0), limit)
    assert (keys.tolist(), sums.tolist()) == ([1, 3], [7.0, 6.0])


WORDS = st.lists(st.sampled_from(("bees", "honey", "wax", "the")), max_size=6).map(" ".join)


@given(st.lists(st.tuples(WORDS, st.booleans()), max_size=9), WORDS)
def test_unspread_strengths_are_those_of_a_search(
    said: list[tuple[str, bool]], question: str
) -> None:
    lexicon = lexicon_of(*(text for text, _ in said))
    alive = np.array([lives for _, lives in said], dtype=np.bool_)
    documents = np.arange(len(said))
    counts = lexicon.counts(lexicon.terms(question), alive)
    expected = lexicon.strengths(question, alive, documents).tolist()
    assert counts.strengths(documents).tolist() == expected


@given(
    st.lists(st.tuples(WORDS, st.booleans()), min_size=1, max_size=12),
    WORDS,
    st.sets(st.integers(0, 11)),
    st.sampled_from((None, 1, 2)),
)
def test_looking_up_documents_equals_spreading(
    said: list[tuple[str, bool]], question: str, wanted: set[int], full_length: int | None
) -> None:
    lexicon = lexicon_of(*(text for text, _ in said))
    alive = np.array([lives for _, lives in said], dtype=np.bool_)
    documents = numbers(*sorted(each for each in wanted if each < len(said)))
    counts = lexicon.counts(lexicon.terms(question), alive)
    spread = counts.spread(in_a_row(len(said)), SHARES, full_length)
    around = counts.around(documents, in_a_row(len(said)), SHARES, full_length)
    expected = [
        {document: count for document, count in each.items() if document in wanted}
        for each in table(spread)
    ]
    assert table(around) == expected
    assert around.strengths(documents).tolist() == spread.strengths(documents).tolist()


def test_a_long_document_takes_fewer_words_from_its_neighbours() -> None:
    lexicon = lexicon_of("bee", "hive honey wax comb")
    counts = lexicon.counts(["bee", "wax"], all_alive(lexicon))
    links = in_a_row(2)
    assert table(counts.spread(links, SHARES)) == [{0: 1000, 1: 600}, {0: 600, 1: 1000}]
    assert table(counts.spread(links, SHARES, 3)) == [{0: 1000, 1: 450}, {0: 600, 1: 1000}]


@given(st.lists(WORDS, min_size=1, max_size=12), WORDS)
def test_context_only_ever_adds_to_a_match(said: list[str], question: str) -> None:
    lexicon = lexicon_of(*said)
    documents = np.arange(len(said))
    counts = lexicon.counts(lexicon.terms(question), all_alive(lexicon))
    alone = counts.strengths(documents)
    together = counts.spread(in_a_row(len(said)), SHARES).strengths(documents)
    assert (alone <= together).all()
    assert (together <= NANO).all()
