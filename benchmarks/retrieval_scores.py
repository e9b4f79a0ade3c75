"""Scores of retrieval over questions with known evidence, and paired differences of two systems.

* ``R@k``: mean share of a question's evidence among the first k
* ``hit@10``: share of questions with any evidence among the first ten
* ``MRR``: mean of 1/rank of the first evidence among the first ten, else 0
* ``±``: standard error over questions; of a difference, over the differences question by question
* ``ms``: median processor time of a question, embedding included
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import process_time

from attrs import frozen
from conversations import KINDS, Conversation, Question

DEPTH = 10
ALL = "all"
"""The name of the group of all questions."""

Ask = Callable[[Question], list[str]]
"""From a question to the turns found for it, best first, each at most once."""


@frozen(kw_only=True)
class Found:
    """Result of one system on one question."""

    conversation: str
    kind: str
    recall_5: float
    recall_10: float
    hit: float
    reciprocal_rank: float
    seconds: float


@frozen(kw_only=True)
class Difference:
    """Mean difference of R@10 of two systems on the same questions."""

    other: str
    """The system that is subtracted."""
    mean: float
    """Range: [-1, 1]."""
    error: float | None
    """Its standard error; None for fewer than two questions."""


@frozen(kw_only=True)
class Scores:
    """Means of one system over a group of questions, all but the time in [0, 1]."""

    questions: int
    recall_5: float
    recall_10: float
    error: float | None
    """Standard error of *recall_10*; None for fewer than two questions."""
    hit: float
    mrr: float
    ms: float
    differences: tuple[Difference, ...] = ()


Table = dict[str, dict[str, Scores]]
"""Scores by group of questions, and in it by system."""


# --- one question ---------------------------------------------------------------------------


def judged(conversation: Conversation, ask: Ask) -> list[Found]:
    """Return how well *ask* finds the evidence of each question, in order of asking."""
    asked = sorted(conversation.questions, key=conversation.known)
    return [_judged(conversation, question, ask) for question in asked]


def _judged(conversation: Conversation, question: Question, ask: Ask) -> Found:
    start = process_time()
    turns = ask(question)
    seconds = process_time() - start
    found = ranks(turns, question.evidence)
    known = len(question.evidence)
    return Found(
        conversation=conversation.id,
        kind=question.kind,
        recall_5=sum(rank <= DEPTH // 2 for rank in found) / known,
        recall_10=len(found) / known,
        hit=float(bool(found)),
        reciprocal_rank=1 / found[0] if found else 0.0,
        seconds=seconds,
    )


def ranks(turns: Sequence[str], evidence: frozenset[str]) -> list[int]:
    """Return the ranks, from 1, of the evidence among the first ten turns, ascending.

    An answer is ordered: a system itself decides the order of equal scores. All of ours put what
    was learned first before what has the same score.
    """
    return [rank for rank, turn in enumerate(turns[:DEPTH], start=1) if turn in evidence]


# --- many questions -------------------------------------------------------------------------


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of the mean of *values*; None for fewer than two."""
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else None


def difference(name: str, ours: Sequence[Found], theirs: Sequence[Found]) -> Difference:
    """Return the mean difference of R@10, with the standard error of the pairs.

    Args:
        name: Of the other system.
        ours: Results of the one.
        theirs: Results of the other, on the same questions in the same order.
    """
    pairs = zip(ours, theirs, strict=True)
    each = [mine.recall_10 - other.recall_10 for mine, other in pairs]
    return Difference(other=name, mean=statistics.fmean(each), error=standard_error(each))


def scores(found: Sequence[Found], differences: Iterable[Difference] = ()) -> Scores:
    """Return the means over a group of questions, at least one."""
    recalls = [each.recall_10 for each in found]
    return Scores(
        questions=len(found),
        recall_5=statistics.fmean(each.recall_5 for each in found),
        recall_10=statistics.fmean(recalls),
        error=standard_error(recalls),
        hit=statistics.fmean(each.hit for each in found),
        mrr=statistics.fmean(each.reciprocal_rank for each in found),
        ms=1000 * statistics.median(each.seconds for each in found),
        differences=tuple(differences),
    )


def groups(found: Sequence[Found], *, conversations: bool = False) -> dict[str, list[Found]]:
    """Return all questions, those of each kind, and if wanted those of each conversation."""
    grouped = {ALL: list(found)}
    kinds = {each.kind for each in found}
    for kind in [*KINDS, *sorted(kinds.difference(KINDS))]:
        grouped[kind] = [each for each in found if each.kind == kind]
    for each in found if conversations else ():
        grouped.setdefault(each.conversation, []).append(each)
    return {name: members for name, members in grouped.items() if members}


def best(found: Mapping[str, Sequence[Found]], names: Iterable[str]) -> str:
    """Return the system of *names* with the greatest R@10; of equal ones the first."""
    return max(names, key=lambda name: statistics.fmean(each.recall_10 for each in found[name]))


def plain_table(results: Mapping[str, Sequence[Found]]) -> Table:
    """Return the scores of all systems over each group of questions, conversations included."""
    grouped = {system: groups(found, conversations=True) for system, found in results.items()}
    return {
        name: {system: scores(members[name]) for system, members in grouped.items()}
        for name in next(iter(grouped.values()))
    }


def paired_table(
    results: Mapping[str, Sequence[Found]], baselines: Sequence[str], recipes: Sequence[str]
) -> Table:
    """Return the scores of all systems over each group, those of recipes with differences.

    Args:
        results: By system, each over the same questions in the same order.
        baselines: The systems whose best each recipe is compared with, the best of that group.
        recipes: The other systems; all but the first are compared with the first as well.
    """
    grouped = {system: groups(found) for system, found in results.items()}
    table: Table = {}
    for name in next(iter(grouped.values())):
        found = {system: members[name] for system, members in grouped.items()}
        others = [best(found, baselines), *recipes[:1]]
        table[name] = {
            system: scores(
                mine,
                [difference(other, mine, found[other]) for other in others if other != system]
                if system in recipes
                else (),
            )
            for system, mine in found.items()
        }
    return table
