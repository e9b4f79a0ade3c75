"""Policy search where the best policy is known: what it finds, and how often it claims too much.

A world holds notes in topics. In each session an agent asks for one topic, gets a few notes, and
scores each as useful or not. Which notes are useful is up to the world:

* ``known``    as a rule if the note's confidence is high, while the policy in force returns the
               newest, which are the least sure: the best policy ranks by confidence.
* ``learned``  with a probability of its own for each note: no signal but the outcomes tells, and
               the best policy ranks by usefulness. A bound that no policy reaches at the start.
* ``null``     each with probability 1/2, and a place costs 1/2: all policies are worth the same.
* ``silent``   as ``known``, but no recall explores: nothing is known of what was not returned.

For each seed a world is played anew, and ``tune`` proposes a policy. Its true worth is computed
from the probabilities, which ``tune`` never sees, in useful notes per answer less the cost of the
places, on the memory as it is at the end. ``closed`` is the share of the way from the policy in
force to the best notes of each topic; ``claimed`` the share of seeds with the verdict ``better``,
and ``wrong`` the share in which the claimed policy is in truth no better. A one-sided interval of
97.5 % allows wrong claims in 2.5 of 100 null worlds; the last column holds the 95 % interval of the
share that was found (Wilson).

    python benchmarks/tuning_worlds.py --seeds 100 --runner processes
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from functools import partial
from math import sqrt
from statistics import mean
from time import process_time
from typing import Any, Final

from attrs import evolve, frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.replay.policy_search import PARAMETERS
from mnemic.adapters.runners import NAMES, runner_named
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.policy import DEFAULT, Frame, Policy
from mnemic.kernel.ports import Store
from mnemic.kernel.results import Tuning

HORIZON_HOURS: Final = 0.05
"""Shorter than the time between two sessions, so that outcomes judge one recall each."""
FRAME: Final = "attention"
PLACES: Final = 3
"""``top_k`` of the policy in force."""
SURE: Final = 0.6
"""Confidence above which a note is useful as a rule, in worlds that go by it."""


@frozen(kw_only=True)
class Kind:
    """How useful notes are, and how the agent asks."""

    worth: Callable[[random.Random, float], float]
    """From a random generator and the confidence of a note: the probability that it is useful."""
    explore: float = 1.0
    place_cost: float = 0.4
    surest_oldest: bool = True
    """Whether what is sure is old, so that the policy in force returns the worst."""


def by_confidence(_: random.Random, confidence: float) -> float:
    """Return a probability that is high for the surer notes, and low for the others."""
    return 0.9 if confidence > SURE else 0.1


def by_chance(luck: random.Random, _: float) -> float:
    """Return a probability that no signal shows before there are outcomes."""
    return luck.random()


def equally(_: random.Random, __: float) -> float:
    """Return the same probability for every note."""
    return 0.5


KINDS: Final = {
    "known": Kind(worth=by_confidence),
    "learned": Kind(worth=by_chance, surest_oldest=False),
    "null": Kind(worth=equally, place_cost=0.5, surest_oldest=False),
    "silent": Kind(worth=by_confidence, explore=0.0),
}


@frozen(kw_only=True)
class Size:
    """How large a world is."""

    topics: int = 8
    notes: int = 8
    """Of each topic."""
    sessions: int = 240
    evaluations: int = 80
    parameters: tuple[str, ...] = ("weights", "top_k")


def newest_first() -> Policy:
    """Return the policy in force: it returns the newest notes."""
    others = [frame for frame in DEFAULT.frames if frame.name != FRAME]
    frames = (Frame(name=FRAME, recency=0.9, confidence=0.05, usefulness=0.05), *others)
    return evolve(DEFAULT, name="newest", default_frame=FRAME, frames=frames, top_k=PLACES)


class World:
    """A memory with a history of recalls and outcomes, and the truth about its notes."""

    def __init__(self, kind: Kind, size: Size, seed: int, *, store: Store | None = None) -> None:
        self.kind = kind
        self._size = size
        luck = random.Random(seed)
        self._clock = ManualClock()
        self.memory = SyncMemory.open(
            store or MemoryStore(),
            embedder=HashEmbedder(),
            clock=self._clock,
            entropy=SeededEntropy(f"world {seed}"),
            policy=newest_first(),
        )
        self.worth: dict[str, float] = {}
        self._learn(luck)
        for _ in range(size.sessions):
            self._play(luck)

    def _learn(self, luck: random.Random) -> None:
        lessons: list[Any] = []
        for topic in range(self._size.topics):
            for note in range(self._size.notes):
                confidence = round(luck.random(), 3)
                day = date(2025, luck.randint(1, 12), luck.randint(1, 28))
                if self.kind.surest_oldest:
                    day = date(2025, 12, 31) - timedelta(days=round(30 * confidence))
                lessons.append(
                    {
                        "content": f"note {note} of topic {topic}",
                        "tags": [f"topic/{topic}"],
                        "confidence": confidence,
                        "created_at": day.isoformat(),
                    }
                )
        learned = self.memory.learn_many(lessons)
        for lesson, result in zip(lessons, learned.results, strict=True):
            self.worth[result.block_id] = self.kind.worth(luck, lesson["confidence"])
        self.memory.consolidate()

    def _play(self, luck: random.Random) -> None:
        with self.memory.session():
            topic = luck.randrange(self._size.topics)
            where = {"tags": [f"topic/{topic}"]}
            found = self.memory.recall(where=where, explore=self.kind.explore).block_ids
            useful = {block for block in found if luck.random() < self.worth[block]}
            for signal in (1.0, 0.0):
                blocks = [block for block in found if (block in useful) == bool(signal)]
                if blocks:
                    self.memory.outcome(blocks, signal)
            self._clock.advance(minutes=6)

    def tune(self, **options: Any) -> Tuning:
        """Return what ``tune`` proposes."""
        given: dict[str, Any] = {
            "place_cost": self.kind.place_cost,
            "horizon_hours": HORIZON_HOURS,
            "evaluations": self._size.evaluations,
            "parameters": self._size.parameters,
        }
        return self.memory.tune(**(given | options))

    def value(self, policy: Policy) -> float:
        """Return the true value of a policy: useful notes per answer, less the cost of places."""
        before = self.memory.policy
        self.memory.adopt_policy(policy)
        answers = [
            self.memory.recall(where={"tags": [f"topic/{topic}"]}, record=False).block_ids
            for topic in range(self._size.topics)
        ]
        self.memory.adopt_policy(before)
        return mean(sum(self._net(block) for block in found) for found in answers)

    def best_value(self, places: int) -> float:
        """Return the value of the best notes of each topic, as many as pay, up to *places*."""
        blocks, size = list(self.worth), self._size.notes
        topics = [blocks[first : first + size] for first in range(0, len(blocks), size)]
        return mean(
            sum(sorted((max(0.0, self._net(block)) for block in topic), reverse=True)[:places])
            for topic in topics
        )

    def _net(self, block: str) -> float:
        return self.worth[block] - self.kind.place_cost


# --- many worlds ----------------------------------------------------------------------------


@frozen
class Worlds:
    """The work of a runner: one world per task."""

    kind: str
    size: Size

    @contextmanager
    def begin(self) -> Generator[Callable[[int], Any]]:
        """Return the function that plays the world of a seed, for a ``with`` block."""
        yield partial(outcome, self.kind, self.size)


def outcome(kind: str, size: Size, seed: int) -> dict[str, Any]:
    """Return what became of the world of a seed."""
    world = World(KINDS[kind], size, seed)
    began = process_time()
    found = world.tune(seed=seed)
    spent = process_time() - began
    before = world.value(world.memory.policy)
    row: dict[str, Any] = {
        "verdict": found.verdict,
        "before": before,
        "after": before,
        "gap": 0.0,
        "seconds": spent,
    }
    if found.policy is not None and found.gap is not None:
        policy = Policy(**found.policy)
        row |= {"after": world.value(policy), "gap": found.gap.mean, "top_k": policy.top_k}
    row["best"] = world.best_value(row.get("top_k", PLACES))
    world.memory.close()
    return row


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share."""
    z, share = 1.96, hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return middle - half, middle + half


def line(kind: str, rows: Sequence[dict[str, Any]]) -> str:
    """Return one line of the table."""
    claimed = [row for row in rows if row["verdict"] == "better"]
    wrong = [row for row in claimed if row["after"] <= row["before"] + 1e-9]
    low, high = wilson(len(claimed), len(rows))
    closed = [
        (row["after"] - row["before"]) / (row["best"] - row["before"])
        for row in claimed
        if row["best"] > row["before"]
    ]
    share = f"{mean(closed):.0%}" if closed and kind != "null" else "-"
    gap = mean(row["gap"] for row in rows)
    return (
        f"{kind:8} {len(rows):5} {len(claimed) / len(rows):8.1%} {len(wrong) / len(rows):6.1%} "
        f"{mean(row['before'] for row in rows):7.3f} {mean(row['after'] for row in rows):7.3f} "
        f"{mean(row['best'] for row in rows):7.3f} {share:>7} {gap:7.3f} "
        f"{mean(row['seconds'] for row in rows):6.1f}s  [{low:.1%}, {high:.1%}]"
    )


def main() -> None:
    """Play worlds, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", nargs="+", choices=sorted(KINDS), default=list(KINDS))
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--sessions", type=int, default=Size().sessions)
    parser.add_argument("--evaluations", type=int, default=Size().evaluations)
    parser.add_argument("--parameters", nargs="+", choices=PARAMETERS, default=Size().parameters)
    parser.add_argument("--runner", choices=NAMES, default="inprocess")
    given = parser.parse_args()
    size = Size(
        sessions=given.sessions,
        evaluations=given.evaluations,
        parameters=tuple(given.parameters),
    )
    print(
        "world    seeds  claimed  wrong  before   after    best  closed     gap    CPU  "
        "claimed, 95 %"
    )
    for kind in given.kinds:
        with runner_named(given.runner)(Worlds(kind, size)) as runner:
            seeds = range(given.first, given.first + given.seeds)
            rows = dict(runner.run(seeds))
        print(line(kind, [rows[place] for place in range(given.seeds)]), flush=True)


if __name__ == "__main__":
    main()
