from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemic.projections.blocks.threads import NOBODY, NONE, STEPS
from mnemic.specs.reference.fold import fold
from mnemic.specs.reference.threads import everything_said, neighbours
from tests.projections.scripted_state import Talk


def nearby(talk: Talk) -> list[list[int]]:
    """Return the neighbours of each document, from the furthest before to the furthest after."""
    links = talk.state.sequence.links.tolist()
    found = [[*reversed(row[:STEPS]), *row[STEPS:]] for row in links]
    return [[each for each in row if each != NONE] for row in found]


def test_a_thread_is_in_the_order_of_learning_four_steps_each_way() -> None:
    talk = Talk()
    for place in range(7):
        talk.say(f"text {place}", minute=7 - place)
    assert nearby(talk) == [
        [1, 2, 3, 4],
        [0, 2, 3, 4, 5],
        [0, 1, 3, 4, 5, 6],
        [0, 1, 2, 4, 5, 6],
        [0, 1, 2, 3, 5, 6],
        [1, 2, 3, 4, 6],
        [2, 3, 4, 5],
    ]


def test_interleaved_threads_are_separate() -> None:
    talk = Talk()
    for place, thread in enumerate(("porch", None, "porch", "kitchen", None, "kitchen")):
        talk.say(f"text {place}", thread=thread)
    assert nearby(talk) == [[2], [4], [0], [5], [1], [3]]


def test_only_messages_share_the_unnamed_thread() -> None:
    talk = Talk()
    for place, category in enumerate(("message", "knowledge", "message", "knowledge")):
        talk.say(f"text {place}", category=category)
    talk.say("text 4", category="knowledge", thread="book")
    talk.say("text 5", category="knowledge", thread="book")
    assert nearby(talk) == [[2], [], [0], [], [5], [4]]


def test_a_gap_of_more_than_three_hours_ends_a_sitting() -> None:
    talk = Talk()
    for minute in (0, 180, 361, 180, 0):
        talk.say(f"at {minute}", minute=minute)
    talk.say("half an hour before", minute=-30)
    assert nearby(talk) == [[1], [0], [], [4, 5], [3, 5], [3, 4]]


def test_a_text_of_unknown_age_belongs_to_the_sitting_before() -> None:
    talk = Talk()
    for minute in (None, 0, None, 200, None, None, 380):
        talk.say(f"at {minute}", minute=minute)
    assert nearby(talk) == [[1, 2], [0, 2], [0, 1], [4, 5, 6], [3, 5, 6], [3, 4, 6], [3, 4, 5]]


def test_a_forgotten_text_keeps_its_place() -> None:
    talk = Talk()
    for content in ("one", "two", "three"):
        talk.say(content)
    talk.forget(1)
    assert nearby(talk) == [[1, 2], [0, 2], [0, 1]]


def test_an_erased_text_leaves_its_thread() -> None:
    talk = Talk()
    for content in ("one", "two", "three"):
        talk.say(content, author="Ann")
    talk.erase(1)
    assert nearby(talk) == [[2], [], [0]]
    assert talk.state.sequence.author.tolist() == [0, NOBODY, 0]


def test_a_text_repeated_in_another_thread_belongs_to_that_thread() -> None:
    talk = Talk()
    talk.say("one", thread="porch", author="Ann")
    talk.say("two", thread="kitchen")
    talk.forget(0)
    talk.say("one", thread="kitchen", author="Ben", block=0)
    assert nearby(talk) == [[], [2], [1]]
    names = talk.state.sequence.name_terms
    authors = talk.state.sequence.author.tolist()
    assert [set(names(each)) if each >= 0 else None for each in authors] == [{"ann"}, None, {"ben"}]


def test_authors_of_one_name_are_one() -> None:
    talk = Talk()
    for author in ("Ann", "Ben Hale", None, "Ann", "ann"):
        talk.say(f"said by {author}", author=author)
    assert talk.state.sequence.author.tolist() == [0, 1, NOBODY, 0, 2]


SAID = st.tuples(
    st.sampled_from((None, "porch", "kitchen")),
    st.sampled_from((None, 0, 10, 180, 181, 300, 500)),
    st.sampled_from(("message", "message", "knowledge")),
    st.booleans(),
)


@given(st.lists(SAID, max_size=14))
def test_neighbours_equal_the_reference_at_any_time_of_query(
    said: list[tuple[str | None, int | None, str, bool]],
) -> None:
    talk = Talk()
    for place, (thread, minute, category, asks) in enumerate(said):
        talk.say(f"text {place}", thread=thread, minute=minute, category=category)
        if asks:
            talk.state.sequence.settle()
    texts = everything_said(fold(talk.log), str.split)
    expected = [[number for number, _ in near] for near in neighbours(texts, STEPS).values()]
    assert nearby(talk) == expected
