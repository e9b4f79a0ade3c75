"""Synthetic memories in which some sets of notes answer a question that no part of them answers.

A memory holds *fillers*: notes composed at random from a stock of phrases, now and then with a
common project, two people named nowhere else, the state of something, or a tag of their own; all
with common tags; and typed edges at random. Added to them are sets of two or three notes, made from
the same stock, that are connected by one of four kinds of ties:

* ``term``: a person whom no other note names; in a set of three each note leads to the next. The
  question follows a chain of hand-overs.
* ``tag``: a tag that no other note has. Here, and below, each note states whether one thing is on,
  and the question is whether an odd number of them is.
* ``structure``: typed edges alone; either all lead to one and the same filler, or each note starts
  a path of the same two relations to fillers of its own.
* ``meaning``: only their topic: written by hand, hardly with a word in common.

Each question is solved by rule: all notes of a set must answer it, and no fewer, not even with
every other note of the memory; otherwise planting fails.

Sets have one of three fates, and are made by the same steps for each, so that the text does not
reveal the fate. *Done* ones were composed. *Left* ones never were, yet they lead nowhere. *Planted*
ones never were either, and hold the answers. Other compositions are of notes that a recall returns
together: a program that executes a plan recalls every note once and composes it with the results,
except with the rest of a set that is never composed, and then composes members with fillers
until they were used as often as others. The labels of these compositions are the only hint at fate:
`LABELLED` of them have one, which is a dead end for left sets, helpful for planted ones, and
anything for all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from random import Random

from attrs import Factory, define, frozen
from vocabulary import (
    CATEGORIES,
    COMMON_TAGS,
    GIVEN_NAMES,
    HANDING,
    OBJECTS,
    PROJECT,
    PROJECTS,
    RELATIONS,
    STATES,
    SUBJECTS,
    SYLLABLES,
    TIMES,
    TOPICS,
    VERBS,
)

TIES = ("term", "tag", "structure", "meaning")
FATES = {"planted": 2, "left": 2, "done": 8}
"""Sets of each fate and tie."""
LABELLED = 0.7
LABELS = {
    "planted": ("helpful",),
    "left": ("dead_end",),
    "done": ("helpful", "dead_end", "accepted", "rejected"),
}
NAMED = 0.5
"""Probability that a note made from phrases names a project."""
TAGGED = 0.25
"""Probability that a filler has a tag that no other note has."""
EDGES_EACH = 0.3
"""Random typed edges per filler."""


@frozen(kw_only=True)
class Note:
    """One thing to learn."""

    text: str
    tags: tuple[str, ...]
    category: str
    fact: tuple[str, str] | None = None
    """The fact that it states for the question: a key and a value."""


@frozen(kw_only=True)
class Edge:
    """A typed edge between two notes, by number."""

    source: int
    target: int
    relation: str


@frozen(kw_only=True)
class Question:
    """A question that needs every note of a set.

    With a start: who has the thing at the end of the chain of facts. Without: whether an odd number
    of these keys is on.
    """

    keys: tuple[str, ...]
    start: str | None = None

    def answer(self, facts: Mapping[str, str]) -> str | None:
        """Return the answer; None where *facts* leave it open."""
        if any(key not in facts for key in self.keys):
            return None
        if self.start is None:
            return str(sum(facts[key] == "on" for key in self.keys) % 2)
        holder = self.start
        for _ in self.keys:
            holder = facts[holder]
        return holder


@frozen(kw_only=True)
class Family:
    """A set of notes, and its fate."""

    tie: str
    fate: str
    notes: tuple[int, ...]
    """Numbers of notes, as everywhere here."""
    question: Question


@define
class Plan:
    """A whole memory, as numbers of notes. Everything is drawn from one seed."""

    notes: list[Note] = Factory(list)
    edges: list[Edge] = Factory(list)
    families: list[Family] = Factory(list)
    labels: list[str | None] = Factory(list)
    """By note: the label of its composition with the results of a recall, if it has one."""

    def of(self, *fates: str) -> list[Family]:
        """Return the families of some fates."""
        return [family for family in self.families if family.fate in fates]

    def check(self) -> None:
        """Raise unless each question takes all notes of its family."""
        for family in self.families:
            rest = [note for number, note in enumerate(self.notes) if number not in family.notes]
            for size in range(len(family.notes) + 1):
                for some in combinations(family.notes, size):
                    facts = _facts((*rest, *(self.notes[number] for number in some)))
                    answered = family.question.answer(facts) is not None
                    if answered != (size == len(family.notes)):
                        raise AssertionError(f"{family} is answered by {some}")


def _key(note: Note) -> str:
    assert note.fact is not None
    return note.fact[0]


def _facts(notes: Sequence[Note]) -> dict[str, str]:
    return dict(note.fact for note in notes if note.fact is not None)


def planted(seed: int, *, size: int, fillers: int) -> Plan:
    """Return a memory.

    Args:
        seed: What everything is drawn from.
        size: Notes of a set: 2 or 3.
        fillers: Notes that belong to no set.
    """
    plan = _Planter(random=Random(seed), size=size, fillers=fillers).plan()
    plan.check()
    return plan


@define(kw_only=True)
class _Planter:
    random: Random
    size: int
    fillers: int
    made: Plan = Factory(Plan)
    _known: set[str] = Factory(set)

    def plan(self) -> Plan:
        self._fill()
        topics = iter(self.random.sample(TOPICS, k=len(TOPICS)))
        kinds = [(tie, fate) for tie in TIES for fate, count in FATES.items() for _ in range(count)]
        self.random.shuffle(kinds)
        for place, (tie, fate) in enumerate(kinds):
            self._family(tie, fate, topics, place)
        fates = {note: family.fate for family in self.made.families for note in family.notes}
        self.made.labels += [
            self._label(fates.get(note, "done")) for note in range(len(self.made.notes))
        ]
        return self.made

    # --- notes ------------------------------------------------------------------------------

    def _fill(self) -> None:
        draw = self.random
        for number in range(self.fillers):
            tag = f"case-{1000 + number}" if draw.random() < TAGGED else None
            match draw.randrange(3):
                case 0:
                    self._handing(self._person(), self._person(), draw.choice(HANDING), tag=tag)
                case 1:
                    self._standing(draw.choice(STATES), tag=tag)
                case _:
                    self._note(f"{self._story()}.", tag=tag)
        for _ in range(int(EDGES_EACH * self.fillers)):
            source, target = draw.sample(range(self.fillers), k=2)
            self._edge(source, target, draw.choice(RELATIONS))

    def _story(self) -> str:
        draw = self.random
        words = " ".join(map(draw.choice, (SUBJECTS, VERBS, OBJECTS, TIMES)))
        if draw.random() < NAMED:
            words += f" {draw.choice(PROJECT).format(draw.choice(PROJECTS))}"
        return words[0].upper() + words[1:]

    def _note(
        self, text: str, *, tag: str | None = None, fact: tuple[str, str] | None = None
    ) -> int:
        draw = self.random
        tags = draw.sample(COMMON_TAGS, k=draw.randint(1, 2))
        note = Note(
            text=text,
            tags=(*tags, *(() if tag is None else (tag,))),
            category=draw.choice(CATEGORIES),
            fact=fact,
        )
        self.made.notes.append(note)
        return len(self.made.notes) - 1

    def _person(self) -> str:
        """Return a common given name and a surname that is used once."""
        while True:
            name = "".join(self.random.sample(SYLLABLES, k=3)).capitalize()
            if name not in self._known:
                self._known.add(name)
                return f"{self.random.choice(GIVEN_NAMES)} {name}"

    def _edge(self, source: int, target: int, relation: str) -> None:
        self.made.edges.append(Edge(source=source, target=target, relation=relation))

    # --- families ---------------------------------------------------------------------------

    def _family(self, tie: str, fate: str, topics: Iterator[tuple[str, ...]], place: int) -> None:
        match tie:
            case "term":
                notes, question = self._chain()
            case "meaning":
                notes, question = self._states(next(topics)[: self.size])
            case "tag":
                notes, question = self._states(tag=f"case-{place:03}")
            case _:
                notes, question = self._states()
                (self._meet if place % 2 else self._mirror)(notes)
        self.made.families.append(
            Family(
                tie=tie,
                fate=fate,
                notes=notes,
                question=question,
            )
        )

    def _chain(self) -> tuple[tuple[int, ...], Question]:
        """Return notes that hand a thing on, each from the taker of the previous one."""
        names = [self._person() for _ in range(self.size + 1)]
        ways = self.random.sample(HANDING, k=self.size)
        notes = tuple(
            self._handing(giver, taker, way)
            for giver, taker, way in zip(names, names[1:], ways, strict=False)
        )
        return notes, Question(keys=tuple(names[:-1]), start=names[0])

    def _states(
        self, texts: Sequence[str] = (), tag: str | None = None
    ) -> tuple[tuple[int, ...], Question]:
        """Return notes that each state whether one thing is on."""
        things = self.random.sample(STATES, k=self.size)
        notes = tuple(
            self._standing(thing, text=texts[place] if texts else None, tag=tag)
            for place, thing in enumerate(things)
        )
        return notes, Question(keys=tuple(_key(self.made.notes[note]) for note in notes))

    def _handing(self, giver: str, taker: str, way: str, tag: str | None = None) -> int:
        """Make a note that one person hands something to another."""
        text = f"{self._story()}; {way.format(giver, taker)}."
        return self._note(text, tag=tag, fact=(giver, taker))

    def _standing(
        self,
        thing: tuple[str, str, str],
        *,
        text: str | None = None,
        tag: str | None = None,
    ) -> int:
        """Make a note of the state of something."""
        name, on, off = thing
        state = self.random.choice(("on", "off"))
        told = f"{self._story()}; its {name} is {on if state == 'on' else off}."
        fact = f"{name} of {len(self.made.notes)}", state
        return self._note(told if text is None else text, tag=tag, fact=fact)

    def _meet(self, notes: Sequence[int]) -> None:
        """Connect all notes to one filler."""
        hub = self.random.randrange(self.fillers)
        for note in notes:
            self._edge(note, hub, self.random.choice(RELATIONS))

    def _mirror(self, notes: Sequence[int]) -> None:
        """Give each note a path of the same two relations."""
        first, second = self.random.sample(RELATIONS, k=2)
        for note in notes:
            near, far = self.random.sample(range(self.fillers), k=2)
            self._edge(note, near, first)
            self._edge(near, far, second)

    def _label(self, fate: str) -> str | None:
        return self.random.choice(LABELS[fate]) if self.random.random() < LABELLED else None
