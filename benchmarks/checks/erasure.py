"""What one erasure does to the record of past answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from checks.figures import Check, Figure, Row
from compare_peers import turns_of
from peers.port import Ability
from peers.scripts import ERASE_ONE, REPLAY, Outcome, Script, ask, write

ANSWERS = 33


class Erasure(Check):
    """Recorded answers about all conversations, of which exactly one contains the erased block.

    An answer may be sealed too if the block was among its candidates and not returned: with some
    hundred candidates among thousands of blocks, that is the case for one or two.
    """

    title = "an erasure"
    rows: ClassVar[tuple[Row, ...]] = (
        Row("replay_reproduced", "answers reproduced after an erasure that concerns one", ">=", 30),
        Row("replay_sealed", "the same, sealed", "<=", 3),
        Row("replay_differs", "the same, that differ", "=", 0),
    )

    def scripts(self) -> list[Script]:
        if not self._data.conversations:
            return []
        questions = [
            question.text for talk in self._data.conversations for question in talk.questions
        ]
        asked = [questions[place * len(questions) // ANSWERS] for place in range(ANSWERS)]
        steps = [
            *(write(*turns_of(talk)) for talk in self._data.conversations),
            *(ask(each, record=True) for each in asked),
            ERASE_ONE,
            REPLAY,
        ]
        end = max(talk.end for talk in self._data.conversations)
        return [Script(steps=steps, now=end.isoformat(), needs={Ability.REPLAYS})]

    def figures(self, outcomes: Sequence[Outcome]) -> dict[str, Figure]:
        counts = [outcome[-1] for outcome in outcomes if outcome is not None]
        return {
            f"replay_{name}": Figure(each[name], sum(each.values()))
            for each in counts
            for name in ("reproduced", "sealed", "differs")
        }
