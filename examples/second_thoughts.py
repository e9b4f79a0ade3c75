"""Analyses a bad answer, and finds a policy that would have avoided it.

An agent staffs the desk of a ferry line. It learns the house rules on the first day, and the crew's
remarks of the day every evening. Passengers ask, and the desk hears later which note was right. One
day the answer is yesterday's gossip instead of the rule. This program analyses that answer: its
receipt, why it was given, what the agent knew, what another policy would have answered from the
same memory, whether that policy would have done better in the whole month, and so whether to adopt
it.

    python examples/second_thoughts.py

Clock and entropy are seeded, so the output is always the same. The data are synthetic: the seed is
one in which the gap is clear, and the policies are evaluated on the questions that they were chosen
on. The example shows the method, not which weights are better.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from attrs import evolve, frozen

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.results import RecallResult

FIRST_EVENING = datetime(2026, 3, 2, 18, tzinfo=UTC)
EVENINGS = 24


@frozen
class Matter:
    """A topic of the passengers' questions."""

    question: str
    rule: str
    remark: str
    """The crew's remarks about it, day by day."""


MATTERS = (
    Matter(
        "Through which door do lorries board the Aurora?",
        "Lorries above twelve tonnes board through the stern door, cars through the bow door.",
        "{} lorries came late to the Aurora through the rain.",
    ),
    Matter(
        "How early must dogs be signed in for the crossing?",
        "Dogs must be signed in two hours ahead, with their vaccination card.",
        "{} dogs on the early crossing, and one must have been sick.",
    ),
    Matter(
        "Who may enter the bridge during a storm?",
        "During a storm nobody but the watch and the pilot may enter the bridge.",
        "A storm of force {} during the night; the bridge stayed calm.",
    ),
    Matter(
        "Where is lost luggage kept after the voyage?",
        "Lost luggage is kept in the customs shed for thirty days, then it goes to the town hall.",
        "{} pieces of lost luggage after the voyage, mostly umbrellas.",
    ),
    Matter(
        "Do children pay for a cabin at night?",
        "Children under six pay nothing; older ones pay half of a cabin.",
        "{} children ran from cabin to cabin at night.",
    ),
    Matter(
        "When is the kitchen open on Sundays?",
        "The kitchen is open from seven to ten, on Sundays until noon.",
        "The kitchen ran out of soup; {} guests asked when it would be open.",
    ),
)


@frozen
class Desk:
    """The agent: a memory, its clock, and the notes that hold the rules."""

    memory: SyncMemory
    clock: ManualClock
    rules: dict[str, str]
    """Id of the right note, by question."""

    def open(self) -> None:
        """Learn the rules of the house."""
        with self.memory.session():
            for matter in MATTERS:
                learned = self.memory.learn(matter.rule, category="fact", author="purser")
                self.rules[matter.question] = learned.block_id

    def right(self, answer: RecallResult) -> str:
        """Return the id of the note that answers the question."""
        return self.rules[answer.query or ""]

    def work(self, chance: Random) -> Iterator[RecallResult]:
        """Play all evenings; yield every answer."""
        for evening in range(1, EVENINGS + 1):
            self.clock.set(FIRST_EVENING + timedelta(days=evening))
            with self.memory.session():
                for matter in chance.sample(MATTERS, 3):
                    self.clock.advance(minutes=5)
                    remark = matter.remark.format(chance.randint(3, 99))
                    self.memory.learn(remark, category="message", author="crew")
                for matter in chance.sample(MATTERS, 2):
                    self.clock.advance(minutes=10)
                    yield self.answered(matter)

    def answered(self, matter: Matter) -> RecallResult:
        """Answer a passenger, and record afterwards which note was right."""
        answer = self.memory.recall(matter.question, frame="attention", top_k=1)
        self.clock.advance(minutes=20)
        right = self.rules[matter.question]
        if answer.block_ids == (right,):
            self.memory.outcome(decision_id=answer.decision_id, signal=0.9, source="passenger")
        else:
            self.memory.outcome(decision_id=answer.decision_id, signal=0.1, source="passenger")
            self.memory.outcome([right], 0.9, source="purser")
        return answer


def weighing(name: str, **weights: Any) -> Policy:
    """Return the default policy with other weights of the signals."""
    frames = tuple(
        evolve(frame, **weights) if frame.name == "attention" else frame for frame in DEFAULT.frames
    )
    return evolve(DEFAULT, name=name, frames=frames)


IDEAS = (
    weighing("patient", relevance=0.60, recency=0.05),
    weighing("seasoned", usefulness=0.40, recency=0.05),
)
"""Two policies that give less weight to recency: one more to relevance, one more to usefulness."""


def take_apart(memory: SyncMemory, decision: str, right: str) -> None:
    """Print the analysis of one answer."""
    receipt = memory.receipt(decision)
    print("\nIts receipt, to be kept elsewhere, and its verification against the log")
    print(f"  {receipt.summary}\n  {memory.verify_receipt(receipt, replay=True).summary}")

    print("\nWhy this answer, and why not the rule")
    for block in memory.explain(decision).blocks:
        print(f"  {block.summary}")
    print(f"  {memory.why_not(decision, right).summary}")

    then = memory.as_of(decision=decision)
    print("\nWhat the desk knew when it was asked")
    print(f"  {then.status().summary}")
    print(f"  The rule was in memory: {then.block(right).content}")
    for block in memory.explain(decision).blocks:
        for moment in block.history:
            print(f"  {moment.summary}")

    print("\nThe answer of other policies on the same memory")
    for idea in IDEAS:
        supposed = memory.what_if(decision, policy=idea)
        print(f"  {idea.name}: {supposed.summary}")


def think_again(memory: SyncMemory) -> None:
    """Backtest the policies on all questions, and adopt one that is significantly better."""
    backtest = memory.backtest(IDEAS, objective="reward")
    print("\nAll questions of the month again, each as of its own version")
    print(backtest.table)
    for caveat in backtest.caveats:
        print(f"  note: {caveat}")
    better = {
        score.name
        for score in backtest.scores
        if score.reward_gap is not None and score.reward_gap.sure and score.reward_gap.mean > 0
    }
    for idea in IDEAS:
        if idea.name in better:
            print(f"\nAdopted: {memory.adopt_policy(idea).name}")


def main() -> None:
    """Play the month, analyse the last bad answer, and backtest other policies."""
    clock = ManualClock()
    clock.set(FIRST_EVENING)
    with SyncMemory.open(
        ":memory:", clock=clock, entropy=SeededEntropy("the ferry desk"), actor="desk"
    ) as memory:
        desk = Desk(memory, clock, {})
        desk.open()
        answers = list(desk.work(Random(3)))  # noqa: S311 - seeded: the same story every time
        wrong = [answer for answer in answers if answer.block_ids[0] != desk.right(answer)]
        bad = wrong[-1]
        print(f"{len(answers)} questions answered, {len(wrong)} of them badly. The last of those:")
        print(f"  {bad.query}\n  {bad.blocks[0].content}")
        decision = str(bad.decision_id)
        take_apart(memory, decision, desk.right(bad))
        think_again(memory)
        again = memory.recall(bad.query, frame="attention", top_k=1)
        print(f"  {bad.query}\n  {again.blocks[0].content}")
        print(f"The old answer is still reproducible. {memory.replay(decision).summary}")


if __name__ == "__main__":
    main()
