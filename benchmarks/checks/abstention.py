"""Does a memory know what it does not know?

Questions that it can answer against questions that it cannot, by its own sureness. Of a memory that
does not say how sure it is, the best score is used.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import ClassVar

from attrs import frozen
from checks.facts import NOW, fact
from checks.figures import Check, Data, Figure, Row, answer, auroc, told
from checks.hand_written import books
from compare_peers import turns_of
from conversations import Conversation, Question
from peers.scripts import Outcome, Script, ask, write

ASKED = 110
"""Questions of a kind for each conversation."""
WINDOW_TURNS = 20
WINDOWS = 8
"""Windows of a conversation, with *INSIDE* and *OUTSIDE* questions each."""
INSIDE, OUTSIDE = 8, 6
QUICK = 20

OWN, OTHER, SWAPPED = "own", "other", "swapped"
IN_WINDOW, NEAR = "in the window", "near"
IN_BOOK, UNRELATED = "in the book", "unrelated"


@frozen
class Asked:
    """A question, and which kind it is."""

    kind: str
    question: str


class Abstention(Check):
    """Conversations, windows of twenty turns, and books, each in a memory of its own.

    * other: questions about another conversation
    * swapped: the same, with the speakers renamed to those of this memory
    * near: questions about this conversation whose evidence lies outside the window
    * unrelated: questions that a book does not answer
    """

    title = "abstention"
    rows: ClassVar[tuple[Row, ...]] = (
        Row("auroc_other", "AUROC, other conversations", ">=", 0.985),
        Row("auroc_swapped", "AUROC, the same with names swapped", ">=", 0.919),
        Row("auroc_near", "AUROC, evidence outside 20 turns", ">=", 0.882),
        Row("auroc_books", "AUROC, unrelated to a book", ">=", 1.0),
        Row("kept_own", "verdict not “no”, own questions", ">=", 0.99),
        Row("kept_other", "the same, other conversations", "<=", 0.16),
        Row("kept_swapped", "the same, names swapped", "<=", 0.71),
        Row("kept_window", "the same, evidence in 20 turns", ">=", 0.82),
        Row("kept_near", "the same, evidence outside", "<=", 0.29),
        Row("kept_book", "the same, own questions of books", ">=", 0.96),
        Row("kept_unrelated", "the same, unrelated to a book", "<=", 0.0),
    )

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self._memories = [*self._conversations(), *self._windows(), *self._books()]

    def scripts(self) -> list[Script]:
        return [script for script, _ in self._memories]

    def figures(self, outcomes: Sequence[Outcome]) -> dict[str, Figure]:
        sure: defaultdict[str, list[float]] = defaultdict(list)
        kept: defaultdict[str, list[bool]] = defaultdict(list)
        for (_, asked), outcome in zip(self._memories, outcomes, strict=True):
            assert outcome is not None, "it needs nothing"
            for each, plain in zip(asked, outcome, strict=True):
                found = answer(plain)
                sure[each.kind].append(found.sureness)
                if found.verdict is not None:
                    kept[each.kind].append(found.verdict != "no")

        def separated(positive: str, negative: str) -> Figure | None:
            if not (sure[positive] and sure[negative]):
                return None
            return Figure(auroc(sure[positive], sure[negative]))

        def answered(kind: str) -> Figure | None:
            return Figure(sum(kept[kind]) / len(kept[kind])) if kept[kind] else None

        return told(
            {
                "auroc_other": separated(OWN, OTHER),
                "auroc_swapped": separated(OWN, SWAPPED),
                "auroc_near": separated(IN_WINDOW, NEAR),
                "auroc_books": separated(IN_BOOK, UNRELATED),
                "kept_own": answered(OWN),
                "kept_other": answered(OTHER),
                "kept_swapped": answered(SWAPPED),
                "kept_window": answered(IN_WINDOW),
                "kept_near": answered(NEAR),
                "kept_book": answered(IN_BOOK),
                "kept_unrelated": answered(UNRELATED),
            }
        )

    # --- what is asked ----------------------------------------------------------------------

    def _conversations(self) -> list[tuple[Script, list[Asked]]]:
        return [
            _memory(talk, range(len(talk.turns)), self._about(talk))
            for talk in self._data.conversations
        ]

    def _about(self, talk: Conversation) -> list[Asked]:
        random = Random(f"questions about {talk.id}")
        count = QUICK if self._data.quick else ASKED
        strangers = [
            (other, question)
            for other in self._data.conversations
            if other is not talk
            for question in other.questions
        ]
        own = random.sample(talk.questions, min(count, len(talk.questions)))
        drawn = random.sample(strangers, min(count, len(strangers)))
        return [
            *(Asked(OWN, question.text) for question in own),
            *(Asked(OTHER, question.text) for _, question in drawn),
            *(Asked(SWAPPED, renamed(question.text, other, talk)) for other, question in drawn),
        ]

    def _windows(self) -> list[tuple[Script, list[Asked]]]:
        found = []
        for talk in self._data.conversations:
            random = Random(f"windows of {talk.id}")
            for _ in range(1 if self._data.quick else WINDOWS):
                start = random.randrange(max(1, len(talk.turns) - WINDOW_TURNS))
                places = range(start, min(start + WINDOW_TURNS, len(talk.turns)))
                there = {talk.turns[place].id for place in places}
                inside = [each for each in talk.questions if each.evidence & there]
                outside = [each for each in talk.questions if not each.evidence & there]
                asked = [
                    *(Asked(IN_WINDOW, each.text) for each in _some(random, inside, INSIDE)),
                    *(Asked(NEAR, each.text) for each in _some(random, outside, OUTSIDE)),
                ]
                found.append(_memory(talk, places, asked))
        return found

    def _books(self) -> list[tuple[Script, list[Asked]]]:
        found = []
        for book in books():
            items = [fact(f"{place}", text) for place, (text, _) in enumerate(book.facts)]
            asked = [Asked(IN_BOOK, question) for _, question in book.facts]
            asked += [Asked(UNRELATED, question) for question in book.unrelated]
            steps = [write(*items), *(ask(each.question) for each in asked)]
            found.append((Script(steps=steps, now=NOW), asked))
        return found


def renamed(question: str, other: Conversation, talk: Conversation) -> str:
    """Return *question* with the speakers of *other* renamed to those of *talk*, all at once."""
    names = dict(zip(speakers(other), speakers(talk), strict=False))
    pattern = "|".join(map(re.escape, names))
    return re.sub(rf"\b(?:{pattern})\b", lambda name: names[name[0]], question)


def speakers(talk: Conversation) -> list[str]:
    """Return the names of those who speak, sorted."""
    return sorted({turn.speaker for turn in talk.turns})


def _memory(talk: Conversation, places: range, asked: list[Asked]) -> tuple[Script, list[Asked]]:
    items = [turns_of(talk)[place] for place in places]
    steps = [write(*items), *(ask(each.question) for each in asked)]
    return Script(steps=steps, now=talk.end.isoformat()), asked


def _some(random: Random, questions: Sequence[Question], count: int) -> list[Question]:
    return random.sample(questions, min(count, len(questions)))
