"""Short stories that commands drawn one by one would hardly ever tell, and histories made of them.

Each episode needs several commands in the right order, on the right blocks: a text that comes back
after it was put away, a chain of corrections, an end that fills up, a value one nano-unit beside
the threshold. An eventful history strings some of them together, with time passing in between.
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
CLOSE = 60
"""Milliradians between the links of a chain: a cosine of .998."""


class Past:
    """What was learned so far, in order: by it an episode knows how a block is named."""

    def __init__(self) -> None:
        self.lessons: list[Learn] = []
        self._known: set[str] = set()

    def learn(self, lessons: Iterable[Learn]) -> list[Command]:
        """Return commands that learn *lessons*, and remember those that are new."""
        taken = list(lessons)
        for lesson in taken:
            if _key(lesson.content) not in self._known:
                self._known.add(_key(lesson.content))
                self.lessons.append(lesson)
        return list(taken)

    def places(self) -> st.SearchStrategy[int]:
        """Any block of it."""
        return st.integers(min_value=0, max_value=len(self.lessons) - 1)

    def pairs(self) -> st.SearchStrategy[tuple[int, int]]:
        """Any two blocks of it."""
        return st.lists(self.places(), min_size=2, max_size=2, unique=True).map(
            lambda places: (places[0], places[1])
        )


def _key(content: str) -> str:
    """Return what makes two texts the same block."""
    return " ".join(unicodedata.normalize("NFC", content).casefold().split())


# --- episodes -----------------------------------------------------------------------------------


@st.composite
def return_of_a_text(draw: st.DrawFn, past: Past) -> list[Command]:
    """A block is put away one way or another, and told again, perhaps twice."""
    place = draw(past.places())
    ways: tuple[Command, ...] = (commands.Forget(block=place), commands.Erase(block=place))
    away = draw(st.sampled_from(ways))
    told = past.lessons[place]
    later = draw(st.sampled_from(((), (commands.Consolidate(),), (commands.Consolidate(), told))))
    return [away, told, *later]


@st.composite
def chain_of_corrections(draw: st.DrawFn, past: Past) -> list[Command]:
    """Each text stands so close to the one before that it takes its place, edges and all."""
    start, links = draw(st.integers(4000, 6000)), draw(st.integers(2, 4))
    other = draw(past.places())
    steps: list[Command] = []
    for link in range(links):
        content = f"angle {start + CLOSE * link}: correction"
        category = draw(st.sampled_from(("knowledge", "knowledge", "observation")))
        steps += [*past.learn([Learn(content=content, category=category)]), commands.Consolidate()]
        if link < links - 1:
            latest = len(past.lessons) - 1
            steps.append(commands.Connect(source=latest, target=other, relation="supports"))
    return steps


@st.composite
def full_end(draw: st.DrawFn, past: Past) -> list[Command]:
    """One block is tied to all others, by ties that may make way and ties that may not."""
    hub = draw(past.places())
    others = [place for place in range(len(past.lessons)) if place != hub]
    relations = st.sampled_from(("similar", "co_occurs", "supports"))
    ties: list[Command] = [
        commands.Connect(source=hub, target=other, relation=draw(relations)) for other in others
    ]
    return [commands.Outcome(blocks=(hub, *others[:2]), signal=1.0), *ties, commands.Curate()]


@st.composite
def confirmation(draw: st.DrawFn, past: Past) -> list[Command]:
    """Two blocks are tied, time passes, and they are used again, and once more."""
    a, b = draw(past.pairs())
    ties: tuple[Command, ...] = (
        commands.Outcome(blocks=(a, b), signal=0.9),
        commands.Connect(source=a, target=b),
    )
    used, more = (commands.Outcome(blocks=(b, a, b), signal=draw(near(0.5))) for _ in range(2))
    pause = commands.MoveClock(by_us=draw(st.sampled_from(PAUSES)))
    return [draw(st.sampled_from(ties)), pause, used, more]


@st.composite
def hair_s_breadth(draw: st.DrawFn, past: Past) -> list[Command]:
    """A weight and a signal one nano-unit from where a sweep and an outcome turn."""
    a, b = draw(past.pairs())
    tie, again = (
        commands.Connect(source=a, target=b, weight=draw(near(0.1)), if_exists="update")
        for _ in range(2)
    )
    scored = commands.Outcome(blocks=(a,), signal=draw(near(0.2)))
    return [tie, scored, commands.Curate(), again, commands.Curate()]


@st.composite
def tie_of_equals(draw: st.DrawFn, past: Past) -> list[Command]:
    """More equally good candidates than places: the same direction, and both sides of it."""
    turn = draw(st.integers(0, 3000))
    turns = [turn, *[turn + 600] * 4, *[turn + 5683] * 3]  # 5683 is 600 back, round the plane
    told = [
        Learn(content=f"angle {each}: equal {place}", category="message", tags=("a",))
        for place, each in enumerate(turns)
    ]
    first, rest = told[:1], told[1:]
    return [*past.learn(rest), commands.Consolidate(), *past.learn(first), commands.Consolidate()]


@st.composite
def last_day(draw: st.DrawFn, past: Past) -> list[Command]:
    """A block with a date, just before it, on it and just after it."""
    content = f"angle {draw(st.integers(0, 6000))}: for an hour"
    lesson = Learn(content=content, expires_in_us=clocks.HOUR_US)
    late = draw(st.sampled_from((-1, 0, 1)))
    pause = commands.MoveClock(by_us=clocks.HOUR_US + late)
    return [*past.learn([lesson]), commands.Consolidate(), pause, commands.Curate()]


@st.composite
def taken_back(draw: st.DrawFn, past: Past) -> list[Command]:
    """A pair that was disconnected is returned together, relinked and connected again."""
    a, b = draw(past.pairs())
    untie = commands.Disconnect(source=b, target=a)
    relink = commands.Consolidate(relink=True)
    together = draw(commands.visits())
    return [commands.Connect(source=a, target=b), untie, relink, *together, untie, relink]


EPISODES: tuple[Callable[[Past], st.SearchStrategy[list[Command]]], ...] = (
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
    past = Past()
    first = draw(st.lists(commands.lessons(), min_size=4, max_size=7, unique_by=_content))
    history = [commands.StartSession(), *past.learn(first), commands.Consolidate()]
    between = st.lists(commands.commands(learning=False), max_size=2)
    for episode in draw(st.lists(st.sampled_from(EPISODES), min_size=1, max_size=most)):
        pause = commands.MoveClock(by_us=draw(st.sampled_from(PAUSES)))
        history = [*chain(history, [pause], draw(episode(past)), draw(between))]
    return history


def _content(lesson: Learn) -> str:
    return _key(lesson.content)
