"""Fits and measures abstention: does memory answer the question, and which blocks bear on it?

Every conversation is asked its own questions, and questions that it cannot answer:

* ``other``    those of another conversation
* ``swapped``  the same, with its speakers renamed to those of this one: only the facts are foreign
* ``near``     its own questions in windows of 7, 20 or 60 turns that do not hold the evidence
* ``books``    questions about anything else, put to short hand-written memories of plain facts

``AUROC`` is the probability that an answerable question gets a higher ``answerable`` than another;
``kept`` and ``passed`` are the shares of either kind at or above a threshold.

``--fit`` fits the weights of the policy anew and reports them, as fitted and rounded. A block is
positive if it is evidence; all blocks of an unanswerable question are negative; other blocks of an
answerable one are left out, since many of them bear on it too. Both classes count alike, as do the
groups within a class. Then slope and bias of ``answerable`` are fitted to the best block of each
question in the same manner.

Targets (development conversations): AUROC other .98, swapped .91, near (20 turns) .87, books .99;
kept at the threshold of ``no`` .97 in whole conversations.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from attrs import define, field, frozen
from conversations import Conversation, Turn, data_sets, lessons, load
from numpy.typing import NDArray

from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.embedding import question_vector
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.ports import Embedder
from mnemic.kernel.scoring.probability import PARTS, answerable, log_odds
from mnemic.projections.retrieval.abstention import BEST
from mnemic.projections.retrieval.ranking import rank
from mnemic.projections.retrieval.recipes import CURRENT
from mnemic.projections.retrieval.request import Request, inquiry

Floats = NDArray[np.float64]

WINDOWS = {7: 6, 20: 5, 60: 4}
"""Turns of a window, and how many of them each conversation gives."""
RIDGE = 1e-3
STEPS = 60
STEP_LEAST = 1e-9
THRESHOLDS = (0.15, 0.25, 0.35, 0.5)
FLOORS = (0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2)

BOOK = """
F The boiler in the cellar was serviced on 3 March.
Q when was the boiler serviced?
F Tomasz keeps the spare fuses in the blue drawer.
Q where are the spare fuses?
F The night shift starts at 21:30 and ends at 05:30.
Q when does the night shift start?
F Orders above 2,000 EUR are approved by two managers.
Q who approves large orders?
F Our supplier for seals is Havel & Sons in Brno.
Q which supplier do we buy seals from?
F Valve 12 leaks when the pressure exceeds 6 bar.
Q what is wrong with valve 12?
F Lena is on parental leave until September.
Q how long is Lena on leave?
F The forklift may be driven with a licence of class B only.
Q which licence does the forklift need?
N How do I knit a scarf?
N Who painted the Mona Lisa?
N What is the population of Peru?
N Which song won last night?
N Is the moon made of cheese?
N How many strings does a cello have?
"""
"""A memory of plain facts: lines with F are facts, with Q questions that the fact above answers,
with N questions that none answers, and B begins another memory."""


@define
class Asked:
    """Everything measured about questions."""

    groups: list[str] = field(factory=list)
    """One per question: what it was put to, and its kind."""
    yes: list[bool] = field(factory=list)
    """Whether the memory answers it."""
    blocks: list[list[tuple[tuple[int, ...], bool, int]]] = field(factory=list)
    """Best blocks of each question: evidence, whether it is the answer, and number of blocks."""
    embedder: Embedder = field(factory=BundledEmbedder)
    chance: random.Random = field(factory=lambda: random.Random(1))
    of: str = ""
    """Prefix of the names of groups: which data set is asked."""

    def put(self, space: Space, question: str, group: str, wanted: Iterable[str] = ()) -> None:
        """Ask a question, and keep the best blocks; without any, there is nothing to learn from."""
        blocks = space.ask(question, wanted)
        if not blocks:
            return
        self.blocks.append(blocks)
        self.groups.append(f"{self.of}{group}")
        self.yes.append(group.endswith("own"))


@frozen(kw_only=True)
class Space:
    """Texts in a memory of their own."""

    memory: SyncMemory
    names: dict[str, frozenset[str]]
    """What each block stands for, such as the ids of its turns."""

    def ask(self, question: str, wanted: Iterable[str], top: int = BEST) -> Any:
        """Return evidence, whether it is wanted, and the rank of the best blocks."""
        # The evidence of every block, recorded or not, is in the parts of the memory alone.
        models = self.memory._models  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        request = Request(query=question).checked()
        view = self.memory._view()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        vector = question_vector(view.embedder, request, models)
        ranking = rank(view, inquiry(view, request, vector, CURRENT))
        evidence = ranking.evidence(CURRENT)[:, :top].T
        sought = frozenset(wanted)
        return [
            (tuple(parts), bool(self.names[view.id(number)] & sought), len(ranking))
            for parts, number in zip(evidence.tolist(), ranking.numbers[:top].tolist(), strict=True)
        ]


def opened(
    items: Sequence[dict[str, Any]], names: Sequence[str], at: Any, embedder: Embedder
) -> Space:
    """Return a memory of *items*, consolidated."""
    clock = ManualClock()
    if at is not None:
        clock.set(at)
    memory = SyncMemory.open(":memory:", embedder=embedder, clock=clock)
    found: dict[str, set[str]] = {}
    for result, name in zip(memory.learn_many(items).results, names, strict=True):
        found.setdefault(result.block_id, set()).add(name)
    memory.consolidate()
    return Space(memory=memory, names={key: frozenset(held) for key, held in found.items()})


# --- questions --------------------------------------------------------------------------------


def collect(data: Mapping[str, Sequence[Conversation]], books: Sequence[str], count: int) -> Asked:
    """Ask everything, and return the best blocks of each question.

    Args:
        data: The conversations of each data set.
        books: Memories of plain facts.
        count: Questions of each kind for each whole conversation.
    """
    asked = Asked()
    for name, conversations in data.items():
        asked.of = f"{name}/" if len(data) > 1 else ""
        _collect(asked, conversations, count)
    asked.of = ""
    for book in books:
        _book(asked, book)
    return asked


def _collect(asked: Asked, conversations: Sequence[Conversation], count: int) -> None:
    for conversation in conversations:
        others = [
            (other, question.text)
            for other in conversations
            if other is not conversation
            for question in other.questions
        ]
        _whole(asked, conversation, others, count)
        for size, times in WINDOWS.items():
            for _ in range(times):
                start = asked.chance.randrange(max(1, len(conversation.turns) - size))
                part = conversation.turns[start : start + size]
                _window(asked, conversation, part)


def _whole(
    asked: Asked,
    conversation: Conversation,
    others: Sequence[tuple[Conversation, str]],
    count: int,
) -> None:
    space = _learned(conversation, conversation.turns, asked.embedder)
    with closing(space.memory):
        own = conversation.questions
        for question in asked.chance.sample(own, min(count, len(own))):
            asked.put(space, question.text, "whole own", question.evidence)
        for other, text in asked.chance.sample(others, min(count, len(others))):
            asked.put(space, text, "whole other")
            swapped = renamed(text, speakers(other), speakers(conversation))
            asked.put(space, swapped, "whole swapped")


def _window(
    asked: Asked,
    conversation: Conversation,
    part: Sequence[Turn],
) -> None:
    space, held = _learned(conversation, part, asked.embedder), {turn.id for turn in part}
    with closing(space.memory):
        own = [each for each in conversation.questions if each.evidence & held]
        near = [each for each in conversation.questions if not each.evidence & held]
        for question in asked.chance.sample(own, min(8, len(own))):
            asked.put(space, question.text, f"{len(part)} own", question.evidence)
        for question in asked.chance.sample(near, min(6, len(near))):
            asked.put(space, question.text, f"{len(part)} near")


def _book(asked: Asked, book: str) -> None:
    lines = [line for line in book.strip().splitlines() if line]
    facts = [line[2:] for line in lines if line.startswith("F")]
    items = [{"content": fact} for fact in facts]
    space = opened(items, [str(place) for place in range(len(facts))], None, asked.embedder)
    place = -1
    with closing(space.memory):
        for line in lines:
            place += line.startswith("F")
            if line.startswith("Q"):
                asked.put(space, line[2:], "book own", (str(place),))
            elif line.startswith("N"):
                asked.put(space, line[2:], "book unrelated")


def _learned(conversation: Conversation, turns: Sequence[Turn], embedder: Embedder) -> Space:
    names = [turn.id for turn in turns]
    return opened(lessons(conversation.id, turns), names, conversation.end, embedder)


def speakers(conversation: Conversation) -> list[str]:
    """Return who speaks in a conversation, sorted."""
    return sorted({turn.speaker for turn in conversation.turns})


def renamed(text: str, old: Sequence[str], new: Sequence[str]) -> str:
    """Return *text* with names replaced."""
    for before, after in zip(old, new, strict=False):
        text = re.sub(rf"\b{re.escape(before)}\b", after, text)
    return text


# --- fitting ----------------------------------------------------------------------------------


def fitted(rows: Floats, labels: Floats, shares: Floats) -> Floats:
    """Return the weights of a logistic regression, bias last, by Newton steps."""
    spread = rows.std(axis=0) + 1e-9
    scaled = np.c_[(rows - rows.mean(axis=0)) / spread, np.ones(len(rows))]
    shares = shares / shares.mean()
    penalty = RIDGE * len(rows) * np.r_[np.ones(rows.shape[1]), 1e-9]
    weights = np.zeros(scaled.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(scaled @ weights, -30, 30)))
        slope = scaled.T @ (shares * (chance - labels)) + penalty * weights
        bend = (scaled * (shares * chance * (1 - chance))[:, None]).T @ scaled
        step = np.linalg.solve(bend + np.diag(penalty), slope)
        weights -= step
        if np.abs(step).max() < STEP_LEAST:
            break
    plain = weights[:-1] / spread
    found: Floats = np.r_[plain, weights[-1] - plain @ rows.mean(axis=0)]
    return found


def alike(groups: Sequence[str], labels: Floats) -> Floats:
    """Return shares by which both labels, and within each of them all groups, count alike."""
    shares = np.zeros(len(labels))
    for label in (0.0, 1.0):
        of_label = labels == label
        for group in {name for name, wanted in zip(groups, of_label, strict=True) if wanted}:
            among = of_label & np.array([name == group for name in groups])
            shares[among] = 1 / among.sum()
        shares[of_label] /= shares[of_label].sum()
    return shares


def fit(asked: Asked, policy: Policy) -> Policy:
    """Return *policy* with weights fitted to what was asked."""
    rows, labels, groups = [], [], []
    for group, yes, blocks in zip(asked.groups, asked.yes, asked.blocks, strict=True):
        for parts, wanted, _ in blocks:
            if wanted or not yes:
                rows.append(parts)
                labels.append(float(wanted))
                groups.append(group)
    known = np.array(labels)
    weights = fitted(np.array(rows, dtype=np.float64) / 1e9, known, alike(groups, known))
    names = [f"probability_{name}" for name in (*PARTS, "bias")]
    changes: dict[str, Any] = {
        name: round(float(weight), 3) for name, weight in zip(names, weights, strict=True)
    }
    policy = attrs.evolve(policy, **changes)
    best = best_odds(asked, policy)
    known = np.array(asked.yes, dtype=np.float64)
    slope, bias = fitted(best[:, None], known, alike(asked.groups, known))
    return attrs.evolve(
        policy, answerable_slope=round(float(slope), 3), answerable_bias=round(float(bias), 3)
    )


def odds(policy: Policy, blocks: Sequence[tuple[tuple[int, ...], bool, int]]) -> Any:
    """Return the log-odds of each block, nano-units."""
    columns = np.array([parts for parts, *_ in blocks], dtype=np.int64).T
    return log_odds(policy, tuple(columns))


def best_odds(asked: Asked, policy: Policy) -> Floats:
    """Return the greatest log-odds of each question."""
    return np.array([odds(policy, blocks).max() / 1e9 for blocks in asked.blocks])


# --- reporting --------------------------------------------------------------------------------


def auroc(above: Floats, below: Floats) -> float:
    """Return how often one of *above* exceeds one of *below*; ties count half."""
    both = above[:, None] - below[None, :]
    return float(((both > 0) + 0.5 * (both == 0)).mean())


def report(asked: Asked, policy: Policy) -> None:
    """Print how well questions are told apart."""
    values = np.array(
        [answerable(policy, int(odds(policy, blocks).max())) / 1e9 for blocks in asked.blocks]
    )
    groups = np.array(asked.groups)
    print(f"{'':24}{'n':>5}{'AUROC':>8}   kept / passed at " + ", ".join(map(str, THRESHOLDS)))
    for name in dict.fromkeys(asked.groups):
        own = f"{name.split()[0]} own"
        if name == own or own not in asked.groups:
            continue
        above, below = values[groups == own], values[groups == name]
        shares = "  ".join(
            f"{np.mean(above >= least):.3f}/{np.mean(below >= least):.3f}" for least in THRESHOLDS
        )
        print(f"{name:24}{len(below):>5}{auroc(above, below):>8.3f}   {shares}")
    truly = np.array(asked.yes)
    bins = [(low, (values >= low) & (values < low + 0.2)) for low in (0.0, 0.2, 0.4, 0.6, 0.8)]
    print("answered, by answerable: " + calibration(bins, truly))


def calibration(bins: Sequence[tuple[float, Any]], truly: Any) -> str:
    """Return the share of true ones in each bin."""
    return ", ".join(
        f"{low:.1f} to {low + 0.2:.1f}: {truly[among].mean():.2f} of {among.sum()}"
        for low, among in bins
        if among.any()
    )


def report_floors(asked: Asked, policy: Policy) -> None:
    """Print how much evidence a floor loses, and how many of the best five blocks it leaves."""
    print("\nfloor     evidence kept   of five blocks left, by group of answerable questions")
    names = [name for name in dict.fromkeys(asked.groups) if name.endswith("own")]
    for floor in FLOORS:
        line = ""
        for name in names:
            kept = held = left = count = 0
            for group, blocks in zip(asked.groups, asked.blocks, strict=True):
                if group != name:
                    continue
                chances = 1 / (1 + np.exp(-odds(policy, blocks) / 1e9))
                above = chances >= min(floor, chances.max())
                wanted = np.array([each[1] for each in blocks])
                kept, held = kept + int((above & wanted).sum()), held + int(wanted.sum())
                left, count = left + min(5, int(above.sum())), count + 1
            line += f"   {name}: {kept / max(held, 1):.3f}, {left / count:.2f}"
        print(f"{floor:<6}{line}")


def main() -> None:
    """Measure, and fit if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, nargs="+", metavar="FILE", help="default: all beside the checkout")
    add("--conversation", action="append", default=[], help="only this one; may be repeated")
    add("--books", type=Path, help="memories of plain facts, in the form of BOOK")
    add("--questions", type=int, default=110, help="of each kind, for each whole conversation")
    add("--fit", action="store_true", help="fit the weights anew and report with them")
    options = parser.parse_args()
    files = options.data or data_sets()
    data = {path.stem.removesuffix("-dev"): load(path, options.conversation) for path in files}
    text = BOOK if options.books is None else options.books.read_text(encoding="utf-8")
    books = [book for book in re.split(r"^B\s*$", text, flags=re.MULTILINE) if book.strip()]
    asked = collect(data, books, options.questions)
    policy = DEFAULT
    if options.fit:
        policy = fit(asked, policy)
        for name in (*(f"probability_{each}" for each in (*PARTS, "bias")),):
            print(f"{name:24}{getattr(policy, name):>8.3f}")
        print(f"answerable_slope {policy.answerable_slope}, bias {policy.answerable_bias}\n")
    report(asked, policy)
    report_floors(asked, policy)


if __name__ == "__main__":
    main()
