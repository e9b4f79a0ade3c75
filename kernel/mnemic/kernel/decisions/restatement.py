"""Which block a newly promoted one supersedes, and which blocks it contradicts.

A block supersedes an older one only if it makes the same statement or contains all of it
(``statements.same``, ``statements.extends``) within one scope: the same author, metadata, zone and
category, and if it holds in the same period, or the older one does not say when it holds. Similar
vectors never supersede anything. Other statements that look alike are linked at most: as
``contradicts`` where the texts contradict each other and may hold at one time.

Source: DOMAIN section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Final

import numpy as np
from attrs import frozen

from mnemic.kernel.late import late_pattern
from mnemic.kernel.model.blocks import Fresh
from mnemic.kernel.model.periods import ALWAYS, Period
from mnemic.kernel.model.texts import Erased
from mnemic.kernel.model.vectors import cosines_among
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.policy import CONSTITUTIONAL
from mnemic.kernel.reading import Reading
from mnemic.kernel.statements import (
    Statement,
    Wording,
    contradicts,
    extends,
    same,
)
from mnemic.kernel.values import Value

SUPERSEDING: Final = ("same", "extends")
"""Relations that supersede, the stronger first."""
CONTRADICTS: Final = "contradicts"
NOTHING_SAID: Final = Statement.of("")
_WORD: Final = late_pattern("[\u3040-\u30ff\u3400-\u9fff]|[^\\W\u3040-\u30ff\u3400-\u9fff]+")


@frozen(kw_only=True)
class Predecessor(Value):
    """The block that another one supersedes, and why."""

    number: int
    relation: str
    """``same`` or ``extends``."""


@frozen(kw_only=True, eq=False, slots=False)
class _Compared:
    """What is compared of one block."""

    text: str
    read: Callable[[], Statement]
    """Returns the text as it is compared."""
    voice: tuple[str | None, str | None, str]
    """Author, metadata and zone: only blocks of one voice restate or contradict each other."""
    category: str
    period: Period

    @cached_property
    def words(self) -> frozenset[str]:
        """See ``words_of``."""
        return words_of(self.text)

    @cached_property
    def parsed(self) -> Statement:
        """The text, as it is compared."""
        return self.read()

    @cached_property
    def wording(self) -> Wording:
        """Its words, as they are compared for a contradiction."""
        return Wording.of(self.parsed)


class Chunk:
    """The blocks of a chunk with their texts, and what is near to each or says the same."""

    def __init__(self, reading: Reading, fresh: Sequence[Fresh]) -> None:
        policy = reading.policy
        self._reading = reading
        self.fresh = fresh
        self._places = {block.number: place for place, block in enumerate(fresh)}
        self._exempt = frozenset(policy.near_duplicate_exempt)
        self._known: dict[int, _Compared | None] = {}
        self._gone: set[int] = set()
        self._touched: set[int] = set()
        self._earlier = self._earlier_places()
        self._restated = reading.restated([self._said(place) for place in range(len(fresh))])
        self._cosines = cosines_among([block.vector for block in fresh])
        self._floor = nano(min(policy.near_duplicate_noted, policy.contradiction_cosine))
        # As many more as could be superseded by this chunk, and so be left out.
        going = sum(
            bool(one or two) for one, two in zip(self._earlier, self._restated, strict=True)
        )
        self._most = max(policy.contradiction_candidates, policy.edge_candidates) + going
        self._near = reading.near(
            [block.vector for block in fresh],
            [block.category for block in fresh],
            self._floor,
            most=self._most,
        )

    def _earlier_places(self) -> list[list[int]]:
        """Return, for each block, the earlier ones of the chunk that it may restate."""
        known: dict[int, list[int]] = {}
        found: list[list[int]] = []
        for place in range(len(self.fresh)):
            said = self._said(place)
            keys = {said.key, *said.sentence_keys} - {0}
            found.append(sorted({at for key in keys for at in known.get(key, ())}))
            for key in {said.key, *said.sentence_keys[:1]} - {0}:
                known.setdefault(key, []).append(place)
        return found

    def _said(self, place: int) -> Statement:
        """Return the text of a block; nothing if it is erased, or of an exempt category."""
        block = None if self._is_exempt(place) else self._compared(self.fresh[place].number)
        return NOTHING_SAID if block is None else block.parsed

    def predecessor(self, place: int) -> Predecessor | None:
        """Return what the block at *place* supersedes, among active blocks and earlier ones.

        Of several it is one that says the same rather than one that it extends, then the first
        that was learned.
        """
        own = self.fresh[place].number
        numbers = {*self._restated[place], *(self.fresh[at].number for at in self._earlier[place])}
        new = self._compared(own)
        if new is None:
            return None
        found: list[tuple[int, int]] = []
        for number in sorted(numbers - self._gone - {own}):
            old = self._compared(number)
            if old is None or (old.voice, old.category) != (new.voice, new.category):
                continue
            if old.period not in {ALWAYS, new.period}:
                continue
            if same(old.parsed, new.parsed):
                found.append((0, number))
            elif extends(old.parsed, new.parsed):
                found.append((1, number))
        if not found:
            return None
        strength, number = min(found)
        return Predecessor(number=number, relation=SUPERSEDING[strength])

    def noted(self, place: int) -> list[tuple[int, int]]:
        """Return the near-duplicates of a block that stay, best first, with their cosines."""
        floor = nano(self._reading.policy.near_duplicate_noted)
        near = [match for match in self._nearest(place) if match[1] >= floor]
        return near[: self._reading.policy.edge_candidates]

    def contradictions(self, place: int) -> list[int]:
        """Return the nearest blocks that a block contradicts, active or earlier in the chunk."""
        new, policy = self._compared(self.fresh[place].number), self._reading.policy
        if new is None:
            return []
        floor = nano(policy.contradiction_cosine)
        found = []
        for number, cosine in self._nearest(place)[: policy.contradiction_candidates]:
            old = self._compared(number) if cosine >= floor else None
            if old is None or old.voice != new.voice or not share_words(old.words, new.words):
                continue
            if not old.period.overlaps(new.period):
                continue
            one, two = old.parsed, new.parsed
            if not (same(one, two) or extends(one, two)) and contradicts(old.wording, new.wording):
                found.append(number)
        return found

    def supersede(self, place: int, old: int) -> bool:
        """Record that the block at *place* supersedes *old*; False if the chunk has to end first.

        A supersession is decided on a state that has been applied, so it may not concern what
        another one of the same chunk has changed.
        """
        around = {old, *(edge.other(old) for edge in self._reading.edges_of(old))}
        if old in self._places or not around.isdisjoint(self._touched):
            return False
        self._gone.add(old)
        self._touched |= around | {self.fresh[place].number}
        return True

    def is_constitutional(self, number: int) -> bool:
        """Whether a block is constitutional: by its tags, if its zone grants privileges."""
        facts, place = self._reading.facts(number), self._places.get(number)
        if not self._reading.policy.privileges(facts.zone):
            return False
        return CONSTITUTIONAL in (facts.tags if place is None else self.fresh[place].tags)

    def _nearest(self, place: int) -> list[tuple[int, int]]:
        """Return what is near to a block, active or earlier in the chunk, with cosines.

        Best first, ties by id.
        """
        if self._is_exempt(place):
            return []
        row = self._cosines[place, :place]
        beside = np.flatnonzero(row >= self._floor)
        if len(beside) > self._most:  # the best of them, with all that tie with the last
            least = np.partition(row[beside], len(beside) - self._most)[len(beside) - self._most]
            beside = beside[row[beside] >= least]
        matches = [
            *self._near[place],
            *(
                (self.fresh[at].number, int(row[at]))
                for at in beside.tolist()
                if not self._is_exempt(at)
            ),
        ]
        alive = [match for match in matches if match[0] not in self._gone]
        return sorted(alive, key=lambda match: (-match[1], self._reading.id(match[0])))

    def _is_exempt(self, place: int) -> bool:
        return self.fresh[place].category in self._exempt

    def _compared(self, number: int) -> _Compared | None:
        """Return what is compared of a block; None if its text is erased."""
        if number not in self._known:
            self._known[number] = _compare(self._reading, number)
        return self._known[number]


def _compare(reading: Reading, number: int) -> _Compared | None:
    text = reading.text(number)
    if isinstance(text, Erased):
        return None
    return _Compared(
        text=text.content,
        read=partial(reading.statement, number),
        voice=(text.author, text.metadata, reading.zone(number)),
        category=reading.category(number),
        period=reading.period(number),
    )


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text in lower case; each character of some scripts is a word."""
    return frozenset(_WORD.findall(text.lower()))


def share_words(one: frozenset[str], two: frozenset[str]) -> bool:
    """Whether half of the words of the text with more of them are in the other one too.

    Other texts are not compared for a contradiction: it is slow, and they never contradict by its
    rules unless most of a short text is a new value.
    """
    return 2 * len(one & two) >= max(len(one), len(two))
