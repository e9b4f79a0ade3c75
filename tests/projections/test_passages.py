"""Long texts are searched passage by passage."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.kernel.passages import passages
from mnemic.projections.blocks.threads import NONE, STEPS
from mnemic.projections.lexical.term_counts import Matches
from mnemic.projections.retrieval.recipes import CONTEXT
from mnemic.projections.state.checkpoint import freeze, thaw
from tests.projections.scripted_state import Talk

SHORT = "the cellar is dry"


def long(*words: str) -> str:
    """Return a text with one passage for each word, which is in the middle of it."""
    return " ".join(
        " ".join(["filler"] * 29 + [word] + ["filler"] * 29 + ["stop."]) for word in words
    )


def alive(talk: Talk) -> NDArray[np.bool_]:
    return talk.view().present.alive


def links(talk: Talk) -> list[list[int]]:
    """Return the neighbours of each passage, from the furthest before to the furthest after."""
    rows = talk.state.passages.under(alive(talk)).links.tolist()
    found = [[*reversed(row[:STEPS]), *row[STEPS:]] for row in rows]
    return [[each for each in row if each != NONE] for row in found]


def test_texts_of_one_passage_are_searched_as_they_are() -> None:
    talk = Talk()
    talk.say(SHORT)
    talk.say("bees hum")
    searched = talk.state.passages.under(alive(talk))
    assert searched.lexicon is talk.state.lexicon
    assert searched.first is None
    assert searched.alive is alive(talk)


def test_a_passage_follows_the_last_one_of_the_text_before() -> None:
    talk = Talk()
    talk.say(SHORT, thread="porch")
    talk.say(long("bees", "ocarina"), thread="kitchen")
    talk.say(long("bees", "ocarina"), thread="porch")
    talk.say("bees hum", thread="porch")
    assert links(talk) == [[3, 4, 5], [2], [1], [0, 4, 5], [0, 3, 5], [0, 3, 4]]


def test_a_text_outside_of_threads_has_its_own_passages_as_neighbours_only() -> None:
    talk = Talk()
    talk.say(long("bees", "ocarina"), category="knowledge")
    talk.say(long("a", "b", "c", "d", "e", "f"), category="knowledge")
    found = links(talk)
    assert found[:2] == [[1], [0]]
    assert found[2] == [3, 4, 5, 6]
    assert found[5] == [2, 3, 4, 6, 7]


def test_a_long_text_matches_as_well_as_its_best_passage() -> None:
    talk = Talk()
    whole = talk.say(long("bees", "hives", "ocarina", "walnut"), category="knowledge")
    apart = talk.say(long("bees", "hives", "ocarina", "walnut bees ocarina"), category="knowledge")
    lexical = talk.part("lexical", "walnut bees ocarina")
    assert lexical[apart] > lexical[whole] > 0
    assert talk.part("own", "walnut bees ocarina") == [NANO, NANO]


def test_older_recipes_search_whole_texts() -> None:
    talk, plain = Talk(), Talk()
    for each in (talk, plain):
        each.say(long("bees", "hives"), category="knowledge")
        each.say(SHORT, category="knowledge")
    talk.part("lexical", "bees")
    assert talk.part("lexical", "bees", recipe=CONTEXT) == plain.part(
        "lexical", "bees", recipe=CONTEXT
    )


def test_the_past_counts_the_passages_that_it_had() -> None:
    talk = Talk()
    talk.say(long("bees", "hives"))
    version = talk.version
    before = talk.part("lexical", "bees honey", version=version)
    talk.say(long("honey", "bees", "honey"))
    assert talk.part("lexical", "bees honey") != before
    assert talk.part("lexical", "bees honey", version=version) == before


def test_an_erased_text_has_no_passages() -> None:
    talk = Talk()
    secret = talk.say(long("bees", "hives"))
    talk.say(SHORT)
    talk.erase(secret)
    assert talk.state.passages.under(alive(talk)).first is None


def test_the_best_of_no_matches_is_none() -> None:
    talk = Talk()
    talk.say(long("bees", "hives"))
    searched = talk.state.passages.under(alive(talk))
    nothing = np.zeros(0, dtype=np.int64)
    assert not len(searched.best(Matches(nothing, nothing)).documents)
    assert [each.tolist() for each in searched.of(nothing)] == [[], []]


SAYINGS = st.sampled_from((SHORT, "bees hum", long("bees", "hives"), long("hum", "dry", "bees")))


@given(st.lists(SAYINGS, min_size=1, max_size=8), st.data())
def test_what_is_added_bit_by_bit_or_thawed_is_as_what_is_added_at_once(
    contents: list[str], data: st.DataObject
) -> None:
    at_once, bit_by_bit = Talk(), Talk()
    stops = data.draw(st.sets(st.integers(0, len(contents))))
    for place, content in enumerate(contents):
        if place in stops:
            bit_by_bit.state.passages.settle()
            if place % 2:
                bit_by_bit.state = thaw(freeze(bit_by_bit.state))
        for talk in (at_once, bit_by_bit):
            talk.say(content, thread="porch")
    parts_of_each = [freeze(talk.state) for talk in (at_once, bit_by_bit)]
    first, second = (
        {name: (part.dtype, part.tolist()) for name, part in parts.items()}
        for parts in parts_of_each
    )
    assert first == second
    assert links(at_once) == links(bit_by_bit)
    parts: list[Any] = [talk.part("lexical", "bees dry") for talk in (at_once, bit_by_bit)]
    assert parts[0] == parts[1]
    assert len(links(at_once)) == sum(len(passages(content)) for content in contents)
