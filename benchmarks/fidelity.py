"""Measures whether past answers are reproduced exactly, and whether a date filter would do.

Conversations are learned session by session, at their own dates. Every question is asked three
times: a session before its evidence was said, directly after it, and a session later.
That makes at least 2,000 recalls in all, every one recorded. When everything is learned, each
decision is replayed from the finished log.

* ``reproduced``: replays that give the same blocks, scores and digest. Target: all.
* ``filtered``: the baseline. The finished index is queried again at the same instant, for blocks
  created by then; the share of ordered top tens that are the same.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from attrs import frozen
from conversations import DATA, Conversation, Question, Turn, lessons, load
from rich.console import Console
from rich.progress import track

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TOP_K = 10
LEAST = 2000
"""Number of questions below which the result means little."""


@frozen(kw_only=True)
class Decision:
    """One recorded answer."""

    question: str
    asked_at: datetime
    blocks: tuple[str, ...]


@frozen(kw_only=True)
class Fidelity:
    """Results of one conversation."""

    conversation: str
    decisions: int
    reproduced: int
    filtered: int
    """Number of ordered top tens that a date filter over the finished index reproduces."""
    overlap: float
    """Mean share of a recorded answer that the filter finds in any order."""
    replay_ms: float


def schedule(conversation: Conversation) -> Iterator[tuple[list[Turn], list[Question]]]:
    """Yield each session with the questions asked at its end: early, on time and late ones."""
    session_of = {turn.id: turn.session for turn in conversation.turns}
    due: dict[int, list[Question]] = {}
    for question in conversation.questions:
        last = max(session_of[turn] for turn in question.evidence)
        due.setdefault(last, []).append(question)
    sessions = conversation.sessions()
    asked = [due.get(turns[0].session, []) for turns in sessions]
    for place, turns in enumerate(sessions):
        near = asked[max(0, place - 1) : place + 2]
        yield turns, [question for questions in near for question in questions]


@contextmanager
def lived(conversation: Conversation, path: Path) -> Generator[tuple[SyncMemory, list[Decision]]]:
    """Learn a conversation session by session; yield the memory and all recorded decisions."""
    clock = ManualClock()
    decisions = []
    entropy = SeededEntropy(conversation.id)
    with SyncMemory.open(path, clock=clock, entropy=entropy, synchronous="normal") as memory:
        for turns, questions in schedule(conversation):
            clock.set(datetime.fromisoformat(turns[-1].at).replace(tzinfo=UTC))
            clock.advance(minutes=10)
            with memory.session():
                memory.learn_many(lessons(conversation.id, turns))
                for question in questions:
                    clock.advance(seconds=20)
                    decisions.append(_decided(memory, clock, question.text))
        yield memory, decisions


def _decided(memory: SyncMemory, clock: ManualClock, question: str) -> Decision:
    asked_at = EPOCH + timedelta(microseconds=clock.now_us())
    answer = memory.recall(question, top_k=TOP_K)
    return Decision(question=question, asked_at=asked_at, blocks=answer.block_ids)


def filtered(memory: SyncMemory, decision: Decision) -> tuple[str, ...]:
    """Return the answer of the finished index over blocks created by the time of *decision*."""
    view = memory.as_of(version=memory.status().version, now=decision.asked_at)
    until = {"until": decision.asked_at}
    return view.recall(decision.question, top_k=TOP_K, where=until).block_ids


def measured(conversation: Conversation, folder: Path) -> Fidelity:
    """Return how many decisions about *conversation* are reproduced exactly."""
    with lived(conversation, folder / f"{conversation.id}.db") as (memory, decisions):
        start = time.perf_counter()
        replayed = memory.replay_all()
        seconds = time.perf_counter() - start
        answers = [filtered(memory, decision) for decision in decisions]
        shares = [
            len(set(answer) & set(decision.blocks)) / max(1, len(decision.blocks))
            for answer, decision in zip(answers, decisions, strict=True)
        ]
        return Fidelity(
            conversation=conversation.id,
            decisions=replayed.decisions,
            reproduced=replayed.reproduced,
            filtered=sum(
                answer == decision.blocks
                for answer, decision in zip(answers, decisions, strict=True)
            ),
            overlap=sum(shares) / len(shares),
            replay_ms=1000 * seconds / len(decisions),
        )


def report(found: Sequence[Fidelity]) -> None:
    """Print one line for each conversation and one for all."""
    print(
        f"{'':12}{'decisions':>12}{'reproduced':>12}{'filtered':>12}{'overlap':>12}"
        f"{'ms a replay':>13}"
    )
    asked = sum(each.decisions for each in found)
    total = Fidelity(
        conversation="all",
        decisions=asked,
        reproduced=sum(each.reproduced for each in found),
        filtered=sum(each.filtered for each in found),
        overlap=sum(each.overlap * each.decisions for each in found) / asked,
        replay_ms=sum(each.replay_ms * each.decisions for each in found) / asked,
    )
    for each in (*found, total):
        print(
            f"{each.conversation:12}{each.decisions:>12}{each.reproduced / each.decisions:>12.1%}"
            f"{each.filtered / each.decisions:>12.1%}{each.overlap:>12.1%}{each.replay_ms:>13.2f}"
        )
    if asked < LEAST:
        print(f"Only {asked} decisions: measure all conversations for {LEAST} and more.")


def main() -> None:
    """Learn the conversations, replay the decisions, and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA, help="conversations and questions")
    parser.add_argument("--conversation", action="append", default=[], help="only this one")
    options = parser.parse_args()
    conversations = load(options.data, options.conversation)
    bar = Console(stderr=True)
    with tempfile.TemporaryDirectory() as name:
        found = [
            measured(each, Path(name))
            for each in track(conversations, "conversations", console=bar, transient=True)
        ]
    report(found)
    missed = sum(each.decisions - each.reproduced for each in found)
    if missed:
        raise SystemExit(f"{missed} decisions were not reproduced.")


if __name__ == "__main__":
    main()
