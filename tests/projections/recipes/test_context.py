from __future__ import annotations

import attrs
import numpy as np
import pytest

from mnemic.kernel.numeric.arithmetic import NANO, nano
from mnemic.kernel.policy import DEFAULT
from mnemic.projections.retrieval.recipes import CONTEXT, CURRENT, RECIPES, exact_scoring
from tests.projections.scripted_state import Talk

MILD = attrs.evolve(DEFAULT, name="mild", relevance_floor=0.0, relevance_rank=1)


def bees(talk: Talk) -> list[int]:
    """Return which blocks match the words of a question about bees."""
    return np.flatnonzero(talk.part("lexical", "bees")).tolist()


# --- words ------------------------------------------------------------------------------------


def test_a_reply_is_found_by_the_words_of_the_question_before_it() -> None:
    talk = Talk()
    talk.say("Where do the bees sleep?", author="Ann")
    talk.say("Under the old porch", author="Ben", minute=1)
    talk.say("Grandmother baked a cake", category="knowledge")
    own, reply, elsewhere = talk.part("lexical", "bees")
    assert own > reply > elsewhere == 0


def test_a_question_is_found_by_the_words_of_the_reply_behind_it() -> None:
    talk = Talk()
    talk.say("Where do they sleep?")
    talk.say("Bees sleep under the porch")
    assert bees(talk) == [0, 1]


def test_words_reach_four_steps_and_count_less_with_each() -> None:
    talk = Talk()
    for content in ("bees", "one", "two", "three", "four", "five"):
        talk.say(f"{content} apple")
    found = talk.part("lexical", "bees")
    assert found == sorted(found, reverse=True)
    assert [value > 0 for value in found] == [True, True, True, True, True, False]
    assert len(set(found)) == len(found)


def test_words_do_not_reach_beyond_the_end_of_a_sitting() -> None:
    talk = Talk()
    talk.say("bees", minute=0)
    talk.say("porch", minute=180)
    talk.say("cake", minute=361)
    assert bees(talk) == [0, 1]


def test_words_do_not_reach_into_another_thread() -> None:
    talk = Talk()
    talk.say("bees", thread="garden")
    talk.say("cake", thread="kitchen")
    talk.say("porch", thread="garden")
    assert bees(talk) == [0, 2]


def test_a_fact_without_a_thread_has_no_neighbours() -> None:
    talk = Talk()
    talk.say("bees", category="knowledge")
    talk.say("porch", category="knowledge")
    assert bees(talk) == [0]


def test_words_of_a_forgotten_neighbour_count_nothing() -> None:
    talk = Talk()
    talk.say("bees")
    talk.say("porch")
    version = talk.version
    talk.forget(0)
    assert talk.part("lexical", "bees") == [0]
    assert all(talk.part("lexical", "bees", version=version))


# --- authors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("What did Ann plant?", [1, 0, 0]),
        ("ANN'S bees", [1, 0, 0]),
        ("What did Ann and Ben plant?", [1, 1, 0]),
        ("What did Hale plant?", [0, 1, 0]),
        ("What was planted?", [0, 0, 0]),
        ("Annotated plants", [0, 0, 0]),
    ],
)
def test_texts_of_a_named_author_match(query: str, named: list[int]) -> None:
    talk = Talk()
    talk.say("I planted beans", author="Ann")
    talk.say("I planted peas", author="Ben Hale")
    talk.say("Somebody planted leeks")
    assert talk.part("author", query) == [one * NANO for one in named]


def test_an_author_without_a_live_text_is_not_matched() -> None:
    talk = Talk()
    talk.say("bees like Ann", author="Ann")
    talk.say("Ann likes bees", author="Ben")
    before = talk.version
    talk.forget(0)
    assert talk.part("author", "Ann") == [0]
    assert talk.part("author", "Ann", version=before) == [NANO, 0]


def test_names_of_authors_are_left_out_of_the_words_of_a_question() -> None:
    talk = Talk()
    talk.say("I keep bees", author="Ann")
    talk.say("Ann came by", author="Ben", category="knowledge")
    talk.say("Bees came by", author="Ben", category="knowledge")
    assert talk.part("lexical", "Ann bees") == talk.part("lexical", "bees")


def test_a_question_that_is_only_a_name_asks_for_the_name() -> None:
    talk = Talk()
    talk.say("I keep bees", author="Ann")
    talk.say("Ann came by", author="Ben", category="knowledge")
    silent, mentioned = talk.part("lexical", "Who is Ann?")
    assert (silent, mentioned > 0) == (0, True)


# --- rarity -----------------------------------------------------------------------------------


def test_a_later_text_never_moves_the_rarity_of_an_earlier_one() -> None:
    talk = Talk()
    rarities = []
    for content in ("bees hum", "bees hum", "an ocarina", "bees hum", "hum hum hum", "the"):
        talk.say(content)
        rarities.append(talk.part("rarity", "bees"))
    assert rarities == [rarities[-1][: place + 1] for place in range(len(rarities))]


def test_rarity_as_of_a_version_is_what_it_was() -> None:
    talk = Talk()
    talk.say("bees hum")
    version, then = talk.version, talk.part("rarity", "bees")
    talk.say("bees hum again and again")
    assert talk.part("rarity", "bees", version=version) == then


def test_repeated_words_are_less_rare_than_new_ones() -> None:
    talk = Talk()
    for content in ("bees hum", "bees hum", "ocarinas whistle", "the"):
        talk.say(content, category="knowledge")
    _, again, new, wordless = talk.part("rarity", "bees")
    assert new > again > wordless == 0


def test_rare_words_alone_do_not_match() -> None:
    talk = Talk()
    talk.say("ocarinas whistle", category="knowledge")
    match = talk.match("bees")
    assert match.strength.tolist() > [0]
    assert not match.candidates(talk.view()).any()


# --- corrections ------------------------------------------------------------------------------


def test_of_two_near_duplicates_the_newer_matches_better() -> None:
    talk = Talk()
    talk.say("the timeout is thirty seconds, thirty", category="knowledge")
    talk.say("the timeout is sixty seconds by now", category="knowledge")
    before = talk.match("timeout seconds thirty", recipe=CONTEXT).strength.tolist()
    talk.note(0, 1)
    after = talk.match("timeout seconds thirty", recipe=CONTEXT).strength.tolist()
    assert before[0] > before[1]
    assert after == [before[1] - 1_000_000, before[1]]
    assert talk.part("corrected", "timeout seconds thirty", recipe=CONTEXT) == [
        before[0] - after[0],
        0,
    ]


def test_each_of_several_versions_ranks_below_the_next() -> None:
    talk = Talk()
    for content in ("timeout ten ten", "timeout twenty ten", "timeout thirty"):
        talk.say(content, category="knowledge")
    talk.note(0, 1)
    talk.note(1, 2)
    oldest, older, newest = talk.match("timeout ten", recipe=CONTEXT).strength.tolist()
    assert (older, oldest) == (newest - 1_000_000, newest - 2_000_000)


def test_a_repeated_text_counts_as_newer_than_those_between() -> None:
    talk = Talk()
    talk.say("timeout ten ten", category="knowledge")
    talk.say("timeout twenty", category="knowledge")
    talk.note(0, 1)
    talk.forget(0)
    talk.say("timeout ten ten", category="knowledge", block=0)
    assert talk.part("corrected", "timeout ten", recipe=CONTEXT) == [0, 0]
    assert talk.part("corrected", "timeout twenty", recipe=CONTEXT)[1] > 0


# --- the sum and the curve --------------------------------------------------------------------


def test_the_strength_is_the_weighted_sum_of_the_parts() -> None:
    talk = Talk()
    talk.say("bees hum", author="Ann", vector=(1.0, 0.0))
    talk.say("a porch", minute=1, vector=(0.6, 0.8))
    match = talk.match("Ann's bees on 7 May", vector=(1.0, 0.0))
    weights = CURRENT.weights(DEFAULT)
    rows = zip(*(part.tolist() for part in match.rows(np.arange(2))), strict=True)
    sums = [sum(w * v for w, v in zip(weights, row, strict=True)) for row in rows]
    assert match.strength.tolist() == [(total + NANO // 2) // NANO for total in sums]


@pytest.mark.parametrize(
    ("eligible", "rank"), [(0, 3), (1, 3), (39, 3), (40, 4), (119, 11), (120, 12), (100_000, 12)]
)
def test_the_reference_rank_is_a_tenth_of_a_small_memory_and_twelve_in_a_large_one(
    eligible: int, rank: int
) -> None:
    assert exact_scoring.reference_rank(DEFAULT, eligible) == rank


def test_the_strength_at_the_rank_is_half_relevant() -> None:
    talk = Talk(MILD)
    talk.say("bees bees", category="knowledge")
    talk.say("bees and cake", category="knowledge")
    match = talk.match("bees")
    relevance = match.relevance(np.arange(2)).tolist()
    assert relevance[0] == NANO // 2 > relevance[1]


def test_a_weak_match_stays_weak_in_a_small_memory() -> None:
    talk = Talk()
    talk.say("bees, cakes, porches, rivers and a great many other things", category="knowledge")
    match = talk.match("who ate cake by candlelight when winter came over green hills")
    assert 0 < match.strength[0] < nano(DEFAULT.relevance_floor)
    assert match.relevance(np.arange(1))[0] < NANO // 2


# --- odd input --------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", sorted(RECIPES))
@pytest.mark.parametrize("query", ["", "the", "🧠", "May 2023", "bees", "bees " * 3000])
@pytest.mark.parametrize("said", [(), ("🧠",), ("the",), ("bees",), ("🧠", "bees", "the")])
def test_any_question_to_any_memory_has_a_match(
    recipe: str, query: str, said: tuple[str, ...]
) -> None:
    talk = Talk()
    for content in said:
        talk.say(content, minute=None)
    match = talk.match(query, vector=(1.0, 0.0), recipe=RECIPES[recipe])
    relevance = match.relevance(np.arange(len(said)))
    parts = match.rows(np.arange(len(said)))
    assert [len(part) for part in parts] == [len(said)] * len(RECIPES[recipe].parts)
    assert all(0 <= value <= NANO for part in (*parts, relevance) for value in part)


def test_nothing_matches_where_every_text_is_archived() -> None:
    talk = Talk()
    talk.say("bees")
    talk.forget(0)
    match = talk.match("bees in May", vector=(1.0, 0.0))
    assert [part.tolist() for part in match.rows(np.arange(0))] == [[]] * len(CURRENT.parts)
    assert not match.candidates(talk.view()).any()


def test_an_erased_text_does_not_match() -> None:
    talk = Talk()
    talk.say("bees", author="Ann")
    talk.say("porch", author="Ben")
    before = talk.version
    talk.erase(0)
    assert talk.part("lexical", "bees") == [0]
    assert talk.part("author", "Ann", version=before) == [0, 0]
    assert talk.part("rarity", "bees", version=before)[0] == 0
