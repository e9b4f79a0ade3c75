"""Episodes: command sequences that independent draws would rarely produce, and their histories.

Each episode needs several commands in the right order, on the right blocks: a text that returns
after it was archived, a chain of corrections, a block that reaches the degree cap, a value one
nano-unit from a threshold. An eventful history combines some of them, with time passing in between.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from itertools import chain

from hypothesis import strategies as st

from mnemic.specs.strategies import clocks, commands
from mnemic.specs.strategies.commands import Command, Learn

NANO_UNIT = 1e-9
PAUSES = (0, 1, clocks.HOUR_US - 1, clocks.HOUR_US, clocks.HOUR_US + 1, 30 * clocks.HOUR_US)


class LearnedBlocks:
    """The blocks learned so far, in order, by which an episode refers to a block."""

    def __init__(self) -> None:
        self.lessons: list[Learn] = []
        self._known: set[str] = set()

    def learn(self, lessons: Iterable[Learn]) -> list[Command]:
        """Return commands that learn *lessons*, and record the new ones."""
        taken = list(lessons)
        for lesson in taken:
            if _key(lesson.content) not in self._known:
                self._known.add(_key(lesson.content))
                self.lessons.append(lesson)
        return list(taken)

    def places(self) -> st.SearchStrategy[int]:
        """Any one of the blocks."""
        return st.integers(min_value=0, max_value=len(self.lessons) - 1)

    def pairs(self) -> st.SearchStrategy[tuple[int, int]]:
        """Any two of the blocks."""
        return st.lists(self.places(), min_size=2, max_size=2, unique=True).map(
            lambda places: (places[0], places[1])
        )


def _key(content: str) -> str:
    """Return the normalised text that identifies a block."""
    return " ".join(unicodedata.normalize("NFC", content).casefold().split())


# --- episodes -----------------------------------------------------------------------------------


@st.composite
def return_of_a_text(draw: st.DrawFn, past: LearnedBlocks) -> list[Command]:
    """A block is archived in one of several ways, and learned again, perhaps twice."""
    place = draw(past.places())
    ways: tuple[Command, ...] = (commands.Forget(block=place), commands.Erase(block=place))
    away = draw(st.sampled_from(ways))
    answer = past.lessons[place]
    later = draw(st.sampled_from(((), (commands.Consolidate(),), (commands.Consolidate(), answer))))
    return [away, answer, *later]


@st.composite
def chain_of_corrections(draw: st.DrawFn, past: LearnedBlocks) -> list[Command]:
    """Each text adds a sentence to the previous one and supersedes it, edges included."""
    start, links = draw(st.integers(4000, 6000)), draw(st.integers(3, 4))
    category = draw(st.sampled_from(("knowledge", "knowledge", "observation")))
    other = draw(past.places())
    steps: list[Command] = []
    for link in range(links):
        content = f"angle {start}: correction." + " And more." * link
        steps += [*past.learn([Learn(content=content, category=category)]), commands.Consolidate()]
        if link < links - 1:
            latest = len(past.lessons) - 1
            steps.append(commands.Connect(source=latest, target=other, relation="supports"))
    return steps


@st.composite
def full_end(draw: st.DrawFn, past: LearnedBlocks) -> list[Command]:
    """One block is connected to all others, by displaceable edges and others."""
    hub = draw(past.places())
    others = [place for place in range(len(past.lessons)) if place != hub]
    relations = st.sampled_from(("similar", "co_occurs", "supports"))
    ties: list[Command] = [
        commands.Connect(source=hub, target=other, relation=draw(relations)) for other in others
    ]
    return [commands.Outcome(blocks=(hub, *others[:2]), signal=1.0), *ties, commands.Curate()]


@st.composite
def confirmation(draw: st.DrawFn, past: LearnedBlocks) -> list[Command]:
    """Two blocks are connected, time passes, and they are used again twice."""
    a, b = draw(past.pairs())
    ties: tuple[Command, ...] = (
        commands.Outcome(blocks=(a, b), signal=0.9),
        commands.Connect(source=a, target=b),
    )
    used, more = (commands.Outcome(blocks=(b, a, b), signal=draw(near(0.5))) for _ in range(2))
    pause = commands.MoveClock(by_us=draw(st.sampled_from(PAUSES)))
    return [draw(st.sampled_from(ties)), pause, used, more]


@st.composite
def hair_s_breadth(draw: st.DrawFn, past: LearnedBlocks) -> list[Command]:
    """A weight and a signal one nano-unit from the thresholds of a sweep and an outcome."""
    a, b = draw(past.pairs())
    tie, again = (
        commands.Connect(source=a, target=b, weight=draw(near(0.1)), if_exists="update")
        for _ in range(2)
    )
    scored = commands.Outcome(blocks=(a,), signal=draw(near(0.2)))
    return [tie, scored, commands.Curate(), again, commands.Curate()]


@st.composite
def tie_of_equals(draw: st.DrawFn, past: LearnedBlocks) -> list[Command]:
    """More equally good candidates than places: in the same direction, and on both sides of it."""
    turn = draw(st.integers(0, 3000))
    turns = [turn, *[turn + 600] * 4, *[turn + 5683] * 3]  # 5683 is 600 back, round the plane
    answer = [
        Learn(content=f"angle {each}: equal {place}", category="message", tags=("a",))
        for place, each in enumerate(turns)
    ]
    first, rest = answer[:1], answer[1:]
    return [*past.learn(rest), commands.Consolidate(), *past.learn(first), commands.Consolidate()]


@st.composite
def last_day(draw: st.DrawFn, past: LearnedBlocks) -> list[Command]:
    """A block with an expiry date, just before it, at it and just after it."""
    content = f"angle {draw(st.integers(0, 6000))}: for an hour"
    lesson = Learn(content=content, expires_in_us=clocks.HOUR_US)
    late = draw(st.sampled_from((-1, 0, 1)))
    pause = commands.MoveClock(by_us=clocks.HOUR_US + late)
    return [*past.learn([lesson]), commands.Consolidate(), pause, commands.Curate()]


@st.composite
def taken_back(draw: st.DrawFn, past: LearnedBlocks) -> list[Command]:
    """A disconnected pair is returned together, relinked and connected again."""
    a, b = draw(past.pairs())
    untie = commands.Disconnect(source=b, target=a)
    relink = commands.Consolidate(relink=True)
    together = draw(commands.visits())
    return [commands.Connect(source=a, target=b), untie, relink, *together, untie, relink]


EPISODES: tuple[Callable[[LearnedBlocks], st.SearchStrategy[list[Command]]], ...] = (
    return_of_a_text,
    chain_of_corrections,
    full_end,
    confirmation,
    hair_s_breadth,
    tie_of_equals,
    last_day,
    taken_back,
)


def near(threshold: float) -> st.SearchStrategy[float]:
    """A threshold, and the nano-units on both sides of it."""
    beside = (threshold - NANO_UNIT, threshold, threshold + NANO_UNIT)
    return st.sampled_from(tuple(round(value, 9) for value in beside))


@st.composite
def eventful_histories(draw: st.DrawFn, *, most: int = 5) -> list[Command]:
    """Histories of one to *most* episodes, with pauses and other commands in between."""
    past = LearnedBlocks()
    first = draw(st.lists(commands.lessons(), min_size=4, max_size=7, unique_by=_content))
    history = [commands.StartSession(), *past.learn(first), commands.Consolidate()]
    between = st.lists(commands.commands(learning=False), max_size=2)
    for episode in draw(st.lists(st.sampled_from(EPISODES), min_size=1, max_size=most)):
        pause = commands.MoveClock(by_us=draw(st.sampled_from(PAUSES)))
        history = [*chain(history, [pause], draw(episode(past)), draw(between))]
    return history


def _content(lesson: Learn) -> str:
    return _key(lesson.content)
