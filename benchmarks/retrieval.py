"""Does recall find the turns that hold the answer?

Every turn of a conversation is learned with speaker, date and session, one space for each
conversation, and every question asked through the public ``recall``. In the same run, over the
lines of the transcript ("speaker: words", without which all three do much worse): plain BM25,
vectors alone, and both fused by reciprocal rank with equal weights.

Targets, recall@10 over all questions, weights chosen on the other conversations
(``--leave-one-out``): 78 % with the bundled embedder, 80 % with MiniLM.

* ``R@k``: mean share of a question's evidence among the first k
* ``hit@10``: share of questions with any evidence among the first ten
* ``MRR``: mean of 1/rank of the first evidence among the first ten, else 0
* ``±``: standard error of R@10 over questions, in points
* ``ms``: median per question, embedding included
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import attrs
import tuning
from attrs import frozen
from baselines import BM25, Cosine, Fused
from conversations import DATA, KINDS, Conversation, Question, lessons, load
from rich.console import Console
from rich.progress import track

from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.policy import DEFAULT, RELEVANCE_WEIGHTS, Policy
from mnemic.kernel.ports import Embedder
from mnemic.kernel.results import ScoredBlock

T = TypeVar("T")

DEPTH = 10
POOL = 100
"""Candidates of a question that weights are fitted to."""
NO_BUDGET = 1_000_000
OURS = "mnemic"
PREFIX = "relevance_"
PARTS = tuple(name.removeprefix(PREFIX) for name in RELEVANCE_WEIGHTS)
"""What the policy weighs within relevance."""

Ask = Callable[[str], list[str]]
"""From a question to the turns found for it, best first."""


@frozen(kw_only=True)
class Found:
    """How one system did on one question."""

    conversation: str
    kind: str
    recall_5: float
    recall_10: float
    hit: float
    reciprocal_rank: float
    seconds: float


@frozen(kw_only=True)
class Learned:
    """A conversation in a space of its own."""

    conversation: Conversation
    memory: SyncMemory
    turns: dict[str, str]
    """Turn by block id."""

    def ask(self, question: str) -> list[str]:
        """Return the turns that a public recall returns."""
        answer = self.memory.recall(question, top_k=DEPTH, record=False)
        return [self.turns[block] for block in answer.block_ids]

    def case(self, question: Question) -> tuning.Case | None:
        """Return what the answer to *question* teaches about weights."""
        answer = self.memory.recall(question.text, top_k=POOL, token_budget=NO_BUDGET, record=False)
        candidates = [
            (part_values(block), self.turns[block.id] in question.evidence)
            for block in answer.blocks
        ]
        return tuning.case(PARTS, candidates)


# --- learning and asking --------------------------------------------------------------------


@contextmanager
def learned(
    conversation: Conversation, embedder: Embedder, options: argparse.Namespace, policy: Policy
) -> Generator[Learned]:
    """Hold a conversation learned and consolidated."""
    clock = ManualClock() if options.asked_at == "end" else None
    if clock is not None:
        clock.set(conversation.end)
    with SyncMemory.open(":memory:", embedder=embedder, policy=policy, clock=clock) as memory:
        given = lessons(conversation.id, conversation.turns, threads=not options.no_threads)
        results = memory.learn_many(given).results
        assert len(results) == len(conversation.turns)
        memory.consolidate()
        # The first of two turns with the same words stands for both.
        turns: dict[str, str] = {}
        for turn, result in zip(conversation.turns, results, strict=True):
            turns.setdefault(result.block_id, turn.id)
        yield Learned(conversation=conversation, memory=memory, turns=turns)


def baselines(conversation: Conversation, embedder: Embedder) -> dict[str, Ask]:
    """Return what recall is compared to, by name."""
    texts = [f"{turn.speaker}: {turn.text}" for turn in conversation.turns]
    words, vectors = BM25(texts), Cosine(texts, embedder)

    def asking(ranker: BM25 | Cosine | Fused) -> Ask:
        return lambda question: [
            conversation.turns[place].id for place in ranker.ranked(question)[:DEPTH]
        ]

    return {
        "BM25": asking(words),
        "vectors": asking(vectors),
        "rank fusion": asking(Fused(words, vectors)),
    }


def judged(conversation: Conversation, ask: Ask) -> list[Found]:
    """Return how well *ask* finds the evidence of each question."""
    return [_judged(conversation, question, ask) for question in conversation.questions]


def _judged(conversation: Conversation, question: Question, ask: Ask) -> Found:
    start = time.perf_counter()
    turns = ask(question.text)
    seconds = time.perf_counter() - start
    ranks = [rank for rank, turn in enumerate(turns, start=1) if turn in question.evidence]
    known = len(question.evidence)
    return Found(
        conversation=conversation.id,
        kind=question.kind,
        recall_5=sum(rank <= DEPTH // 2 for rank in ranks) / known,
        recall_10=len(ranks) / known,
        hit=float(bool(ranks)),
        reciprocal_rank=1 / ranks[0] if ranks else 0.0,
        seconds=seconds,
    )


# --- weights --------------------------------------------------------------------------------


def part_values(block: ScoredBlock) -> dict[str, float]:
    """Return the parts of a block's relevance by name."""
    return {part.signal: part.value for part in block.relevance_parts}


def cases(spaces: Iterable[Learned]) -> dict[str, list[tuning.Case]]:
    """Return what the questions of each conversation teach."""
    return {
        each.conversation.id: [
            case
            for question in progress(
                each.conversation.questions, f"parts of {each.conversation.id}"
            )
            if (case := each.case(question)) is not None
        ]
        for each in spaces
    }


def fitted(known: Sequence[tuning.Case], options: argparse.Namespace) -> tuning.Weights:
    """Return the weights that suit *known* best."""
    weights = tuning.fitted(PARTS, known)
    return tuning.searched(PARTS, known, weights) if options.fit == "recall" else weights


def others(taught: dict[str, list[tuning.Case]], left_out: str) -> list[tuning.Case]:
    """Return the cases of every conversation but one."""
    return [case for name, found in taught.items() if name != left_out for case in found]


# --- reporting ------------------------------------------------------------------------------


def summary(found: Sequence[Found]) -> dict[str, float]:
    """Return the row of a table for a group of questions."""
    recalls = [each.recall_10 for each in found]
    error = statistics.stdev(recalls) / len(recalls) ** 0.5 if len(recalls) > 1 else 0.0
    return {
        "questions": len(found),
        "recall@5": statistics.fmean(each.recall_5 for each in found),
        "recall@10": statistics.fmean(recalls),
        "error": error,
        "hit@10": statistics.fmean(each.hit for each in found),
        "mrr": statistics.fmean(each.reciprocal_rank for each in found),
        "ms": 1000 * statistics.median(each.seconds for each in found),
    }


def groups(found: Sequence[Found]) -> dict[str, list[Found]]:
    """Return all questions, then those of each kind, then those of each conversation."""
    grouped = {"all": list(found)}
    for kind in KINDS:
        grouped[kind] = [each for each in found if each.kind == kind]
    for each in found:
        grouped.setdefault(each.conversation, []).append(each)
    return {name: members for name, members in grouped.items() if members}


def table(results: dict[str, list[Found]]) -> dict[str, dict[str, dict[str, float]]]:
    """Return a summary for each group of questions and each system in it."""
    grouped = {system: groups(found) for system, found in results.items()}
    names = next(iter(grouped.values()))
    return {
        name: {system: summary(members[name]) for system, members in grouped.items()}
        for name in names
    }


def report(rows: dict[str, dict[str, dict[str, float]]]) -> None:
    """Print the table, in per cent and milliseconds."""
    print(f"{'':12} {'':12}{'n':>5}{'R@5':>8}{'R@10':>8}{'±':>6}{'hit@10':>8}{'MRR':>8}{'ms':>8}")
    for group, systems in rows.items():
        for place, (system, row) in enumerate(systems.items()):
            print(
                f"{'' if place else group:12} {system:12}{row['questions']:>5.0f}"
                f"{100 * row['recall@5']:>8.1f}{100 * row['recall@10']:>8.1f}"
                f"{100 * row['error']:>6.1f}{100 * row['hit@10']:>8.1f}"
                f"{100 * row['mrr']:>8.1f}{row['ms']:>8.2f}"
            )


def progress(items: Sequence[T], what: str) -> Iterable[T]:
    """Return *items*, with a bar on the terminal while they are worked off."""
    return track(items, what, console=Console(stderr=True), transient=True)


# --- the program ----------------------------------------------------------------------------


def compare(
    conversations: Sequence[Conversation], options: argparse.Namespace, policy: Policy
) -> dict[str, Any]:
    """Measure recall and what it is compared to."""
    embedder = chosen_embedder(options.embedder)
    results: dict[str, list[Found]] = {}
    for conversation in progress(conversations, "conversations"):
        with learned(conversation, embedder, options, policy) as space:
            systems = {OURS: space.ask, **baselines(conversation, embedder)}
            for name, ask in systems.items():
                results.setdefault(name, []).extend(judged(conversation, ask))
    rows = table(results)
    report(rows)
    return {"rows": rows}


def leave_one_out(
    conversations: Sequence[Conversation], options: argparse.Namespace, policy: Policy
) -> dict[str, Any]:
    """Measure recall on each conversation with weights fitted on all others."""
    embedder = chosen_embedder(options.embedder)
    taught: dict[str, list[tuning.Case]] = {}
    for conversation in conversations:
        with learned(conversation, embedder, options, policy) as space:
            taught |= cases([space])
    chosen: dict[str, tuning.Weights] = {}
    results: dict[str, list[Found]] = {"as shipped": [], "fitted": []}
    for conversation in progress(conversations, "conversations"):
        weights = chosen[conversation.id] = fitted(others(taught, conversation.id), options)
        with learned(conversation, embedder, options, policy) as space:
            results["as shipped"] += judged(conversation, space.ask)
            space.memory.adopt_policy(weighed(policy, weights))
            results["fitted"] += judged(conversation, space.ask)
    rows = table(results)
    report(rows)
    chosen["(none)"] = fitted(others(taught, ""), options)
    report_weights(chosen)
    return {"rows": rows, "weights": {name: dict(found) for name, found in chosen.items()}}


def weighed(policy: Policy, weights: tuning.Weights) -> Policy:
    """Return *policy* with other weights of relevance."""
    changes: dict[str, Any] = {PREFIX + name: weight for name, weight in weights}
    return attrs.evolve(policy, name="fitted", **changes)


def report_weights(chosen: dict[str, tuning.Weights]) -> None:
    """Print the weights that each conversation was measured with; they should be alike."""
    width = max(len(name) for name in PARTS) + 2
    print(f"\n{'weights without':16}" + "".join(f"{name:>{width}}" for name in PARTS))
    for left_out, weights in chosen.items():
        print(f"{left_out:16}" + "".join(f"{weight:>{width}.3f}" for _, weight in weights))


def chosen_embedder(name: str) -> Embedder:
    """Return the embedder called *name*."""
    if name == "minilm":
        from mnemic.adapters.embedders.minilm import MiniLMEmbedder  # noqa: PLC0415 - an extra

        return MiniLMEmbedder()
    return BundledEmbedder()


def parsed() -> argparse.Namespace:
    """Return the options of this run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, default=DATA, help="conversations and their questions")
    add("--conversation", action="append", default=[], help="only this one; may be repeated")
    add("--embedder", choices=("bundled", "minilm"), default="bundled")
    add("--policy", type=Path, help="JSON of the policy; fields that are missing keep defaults")
    add("--no-threads", action="store_true", help="do not say which session a turn belongs to")
    add("--asked-at", choices=("now", "end"), default="now", help="end: after the last turn")
    add("--leave-one-out", action="store_true", help="fit weights on the other conversations")
    add("--fit", choices=("likelihood", "recall"), default="likelihood", help="what to fit for")
    add("--json", type=Path, help="also write the numbers here")
    return parser.parse_args()


def main() -> None:
    """Measure, print, and write if asked to."""
    options = parsed()
    policy = (
        DEFAULT
        if options.policy is None
        else Policy.drafted(json.loads(options.policy.read_text()))
    )
    conversations = load(options.data, options.conversation)
    if options.leave_one_out and len(conversations) < 2:  # noqa: PLR2004 - one out, one in
        sys.exit("Leaving one out takes at least two conversations.")
    measured = leave_one_out if options.leave_one_out else compare
    numbers = measured(conversations, options, policy)
    if options.json is not None:
        plain = {"embedder": options.embedder, "policy": policy.id, **numbers}
        options.json.write_text(json.dumps(plain, indent=2) + "\n")


if __name__ == "__main__":
    main()
