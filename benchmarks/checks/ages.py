"""Does an answer depend on how old it is?

The same conversations with other dates. R@k is the mean share of a question's evidence among the
first k. R@1 leaves out the questions that name a date: other dates change what they ask for.
"""

from __future__ import annotations

import calendar
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random
from statistics import fmean
from typing import ClassVar

from attrs import evolve, frozen
from checks.figures import Check, Data, Figure, Row, answer
from compare_peers import turns_of
from conversations import Conversation, Question
from peers.port import TOP_K, Ability, Item
from peers.scripts import Outcome, Script, ask, pass_time, write

SPREAD_DAYS = 60
OLDER_DAYS = 21
YEARS_DAYS = 1000
GROUP = 10
"""Questions whose evidence is older at a time: some 15 turns of 600."""
QUICK_TALKS, QUICK_QUESTIONS = 2, 20
DATE = re.compile(rf"\b(?:{'|'.join(calendar.month_name[1:])}|(?:19|20)\d\d)\b")


@frozen(kw_only=True)
class Asked:
    """A question, and the rows that the answer counts for."""

    evidence: frozenset[str]
    rows: tuple[tuple[str, int], ...]
    """Each with the number of items that are looked at."""


@frozen(kw_only=True)
class Trial:
    """One memory, and what is asked of it, in order."""

    script: Script
    asked: Sequence[Asked]


class Ages(Check):
    """Dates as they are, spread at random, and the evidence older than all else.

    Evidence older by date: the order of learning is kept. Learned earlier: the evidence first, then
    three weeks in which the memory is in use around the clock, then all else.

    Other dates and another order have effects besides recency. With the weight of recency at 0,
    recipe recall-2 reaches .428, .410, .352 and .434 in the rows of R@1, and .821 in both of R@10.
    The goals leave recency up to 5 points of R@1.
    """

    title = "ages"
    rows: ClassVar[tuple[Row, ...]] = (
        Row("r1_dated", "R@1, as dated, asked at the end", ">=", 0.42),
        Row("r1_spread", "R@1, ages uniform over 60 days", ">=", 0.39),
        Row("r1_older", "R@1, evidence dated 21 days before all else", ">=", 0.30),
        Row("r1_earlier", "R@1, evidence learned 21 days of use earlier", ">=", 0.38),
        Row("r10_dated", "R@10, as dated, asked at the end", ">=", 0.82),
        Row("r10_years", "R@10, asked years later", ">=", 0.82),
    )

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self._trials = [
            trial
            for talk in data.part(data.conversations, QUICK_TALKS)
            for trial in self._of(talk, data.part(talk.questions, QUICK_QUESTIONS))
        ]

    def scripts(self) -> list[Script]:
        return [trial.script for trial in self._trials]

    def figures(self, outcomes: Sequence[Outcome]) -> dict[str, Figure]:
        found: defaultdict[str, list[float]] = defaultdict(list)
        for trial, outcome in zip(self._trials, outcomes, strict=True):
            for asked, plain in zip(trial.asked, outcome or (), strict=outcome is not None):
                ids = answer(plain).ids
                for row, depth in asked.rows:
                    there = asked.evidence.intersection(ids[:depth])
                    found[row].append(len(there) / len(asked.evidence))
        return {row: Figure(fmean(shares)) for row, shares in found.items()}

    # --- what is learned --------------------------------------------------------------------

    def _of(self, talk: Conversation, questions: Sequence[Question]) -> Iterator[Trial]:
        yield from _as_dated(talk, questions)
        undated = [each for each in questions if not DATE.search(each.text)]
        yield _spread(talk, undated)
        for place in range(0, len(undated), GROUP):
            group = undated[place : place + GROUP]
            yield _older(talk, group)
            yield _earlier(talk, group)


def _as_dated(talk: Conversation, questions: Sequence[Question]) -> Iterator[Trial]:
    """Yield the conversation as it was, asked an hour after its end, and asked years later."""
    items, asks = turns_of(talk), [ask(each.text) for each in questions]
    yield Trial(
        script=Script(steps=[write(*items), *asks], now=talk.end.isoformat()),
        asked=[
            _asked(talk, each, ("r10_dated", TOP_K))
            if DATE.search(each.text)
            else _asked(talk, each, ("r1_dated", 1), ("r10_dated", TOP_K))
            for each in questions
        ],
    )
    yield Trial(
        script=Script(
            steps=[write(*items), pass_time(YEARS_DAYS), *asks],
            now=talk.end.isoformat(),
            needs={Ability.CLOCK},
        ),
        asked=[_asked(talk, each, ("r10_years", TOP_K)) for each in questions],
    )


def _spread(talk: Conversation, questions: Sequence[Question]) -> Trial:
    random = Random(f"ages of {talk.id}")
    items = [_at(talk, item, random.uniform(0, SPREAD_DAYS)) for item in turns_of(talk)]
    return Trial(
        script=Script(
            steps=[write(*items), *(ask(each.text) for each in questions)],
            now=talk.end.isoformat(),
            needs={Ability.DATES},
        ),
        asked=[_asked(talk, each, ("r1_spread", 1)) for each in questions],
    )


def _older(talk: Conversation, questions: Sequence[Question]) -> Trial:
    old = _evidence(talk, questions)
    items = [_at(talk, item, OLDER_DAYS * (item.id in old)) for item in turns_of(talk)]
    return Trial(
        script=Script(
            steps=[write(*items), *(ask(each.text) for each in questions)],
            now=talk.end.isoformat(),
            needs={Ability.DATES},
        ),
        asked=[_asked(talk, each, ("r1_older", 1)) for each in questions],
    )


def _earlier(talk: Conversation, questions: Sequence[Question]) -> Trial:
    old = _evidence(talk, questions)
    items = [_at(talk, item, OLDER_DAYS * (item.id in old)) for item in turns_of(talk)]
    steps = [
        write(*(item for item in items if item.id in old)),
        pass_time(OLDER_DAYS, in_use=True),
        write(*(item for item in items if item.id not in old)),
        *(ask(each.text) for each in questions),
    ]
    begin = talk.end - timedelta(days=OLDER_DAYS)
    return Trial(
        script=Script(steps=steps, now=begin.isoformat(), needs={Ability.DATES, Ability.CLOCK}),
        asked=[_asked(talk, each, ("r1_earlier", 1)) for each in questions],
    )


def _at(talk: Conversation, item: Item, days: float) -> Item:
    """Return *item*, said *days* before the end."""
    at: datetime = talk.end.replace(tzinfo=None) - timedelta(days=days)
    return evolve(item, at=at.isoformat(timespec="seconds"))


def _asked(talk: Conversation, question: Question, *rows: tuple[str, int]) -> Asked:
    return Asked(evidence=_evidence(talk, [question]), rows=rows)


def _evidence(talk: Conversation, questions: Sequence[Question]) -> frozenset[str]:
    return frozenset(f"{talk.id}/{turn}" for each in questions for turn in each.evidence)
