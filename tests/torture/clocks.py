"""Campaign: clocks go back, ahead, stop or jump, each process with its own."""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeAlias

from attrs import frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import Refused
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.policy import DEFAULT
from tests.adapters.checkpoints.states import restored, space_of, told, told_by_log
from tests.crash.writers import child
from tests.torture.figures import Effort, Figures
from tests.torture.file_faults import spread
from tests.torture.histories import WORDS
from tests.torture.invariants import Findings

PROCESSES: Final = 240
"""Each with a clock of its own, two at a time."""
OF_ONE_FILE: Final = 40
COMMANDS: Final = 12
DAY_US: Final = 24 * MICROS_PER_HOUR
YEAR_US: Final = 365 * DAY_US
EMBEDDER: Final = HashEmbedder(8)
QUESTION: Final = "amber grove lagoon"

Ticks: TypeAlias = Callable[[random.Random], int]
"""By how many microseconds a clock moves before it is read."""
CLOCKS: Final[Mapping[str, Ticks]] = {
    "true": lambda chance: chance.randrange(60_000_000),
    "frozen": lambda _: 0,
    "set back": lambda chance: -chance.randrange(3 * MICROS_PER_HOUR),
    "hasty": lambda chance: chance.randrange(3 * MICROS_PER_HOUR),
    "changing": lambda chance: chance.randrange(-DAY_US, DAY_US),
    "wild": lambda chance: chance.randrange(-60 * YEAR_US, 60 * YEAR_US),
    "mad": lambda chance: chance.choice([0, 1, -1]) * chance.randrange(2**61),
}


class TrickClock:
    """A clock that moves as its kind does."""

    def __init__(self, kind: str, chance: random.Random) -> None:
        self._ticks, self._chance = CLOCKS[kind], chance
        self._now_us = time.time_ns() // 1000

    def now_us(self) -> int:
        """Return microseconds since the epoch by this clock."""
        moved = self._now_us + self._ticks(self._chance)
        self._now_us = max(-(2**61), min(moved, 2**61))
        return self._now_us


@frozen
class Lot:
    """The processes of one file."""

    folder: Path
    seed: int
    processes: int


@frozen
class Answer:
    """What a memory answered as of a closed hour."""

    hour: float
    told: str

    @classmethod
    def of(cls, memory: SyncMemory, hour: float) -> Answer:
        """Ask as of an hour."""
        view = memory.as_of(hour=hour)
        ids = [block.id for block in view.blocks(limit=1000).items]
        recalled = view.recall(QUESTION)
        return cls(hour, f"{view.status().to_dict()} {ids} {recalled.digest}")


def campaign(folder: Path, effort: Effort) -> Figures:
    """Let processes with different clocks write one memory, and check its time."""
    total = effort.of(PROCESSES, least=8)
    size = min(OF_ONE_FILE, -(-total // 2))
    lots = [
        Lot(folder / f"lot-{start}", effort.seed * 100_000 + start, min(size, total - start))
        for start in range(0, total, size)
    ]
    found, longest_us = Findings(), 0
    for each in spread(confuse, lots):
        longest_us = max(longest_us, each.counts.pop("longest us", 0))
        found.add(each)
    counts = found.counts
    return Figures(
        promise="Active time never steps back, and past hours do not change, for any clock.",
        facts={
            "processes with clocks of their own": counts["processes"],
            "kinds of clocks": ", ".join(CLOCKS),
            "events": counts["events"],
            "steps back of the machines' clocks in the log": counts["steps back"],
            "steps back of active time": counts["active steps back"],
            "longest active step, min": round(longest_us / 60_000_000, 1),
            "closed hours asked again, answered alike": counts["hours"],
            "decisions replayed exactly": counts["decisions"],
            "opened from a checkpoint": counts["opened from a checkpoint"],
        },
        failures=tuple(found.wrong),
    )


def confuse(lot: Lot) -> Findings:
    """Let processes with their own clocks write a file, two at a time."""
    lot.folder.mkdir()
    path, found, chance = lot.folder / "agent.db", Findings(), random.Random(lot.seed)
    answers: list[Answer] = []
    for number in range(0, lot.processes, 2):
        kinds = chance.choices([*CLOCKS], k=min(2, lot.processes - number))
        place = f"seed {lot.seed}, process {number}, clocks {kinds}"
        processes = [
            child(_life(path, kind, lot.seed + number + each)) for each, kind in enumerate(kinds)
        ]
        for process in processes:
            found.expect(right=os.waitpid(process, 0)[1] == 0, otherwise=f"{place}: it fell")
        found.counts["processes"] += len(kinds)
        try:
            answers = _checked(path, answers, chance, found)
        except Exception as error:  # noqa: BLE001 - any of them is a finding
            found.wrong.append(f"{place}: {error!r}")
    with SyncMemory.open(path, embedder=EMBEDDER) as memory:
        _count(memory, found)
    return found


def _life(path: Path, kind: str, seed: int) -> Callable[[], None]:
    def lived() -> None:
        chance = random.Random(seed)
        clock = TrickClock(kind, chance)
        with SyncMemory.open(path, embedder=EMBEDDER, clock=clock, synchronous="normal") as memory:
            for number in range(COMMANDS):
                with suppress(Refused):  # a session is open, or none; there is nothing to score
                    _do(memory, chance, f"{kind} {seed} {number}")

    return lived


def _do(memory: SyncMemory, chance: random.Random, name: str) -> None:
    match chance.randrange(9):
        case 0 | 1:
            memory.start_session()
        case 2:
            memory.end_session()
        case 3 | 4:
            memory.learn(f"{name} {' '.join(chance.choices(WORDS, k=5))}")
        case 5 | 6:
            memory.recall(" ".join(chance.choices(WORDS, k=2)))
        case 7:
            memory.outcome(memory.session_block_ids[-2:], chance.random())
        case _:
            memory.curate()


def _checked(
    path: Path, answers: list[Answer], chance: random.Random, found: Findings
) -> list[Answer]:
    """Check the memory against itself and against earlier answers; return one more of these."""
    with SyncMemory.open(path, embedder=EMBEDDER) as memory:
        found.counts["opened from a checkpoint"] += restored(memory) is not None
        assert memory.verify().sound
        assert told(memory) == told_by_log(memory), "a checkpoint and the log tell two states"
        for tell in (memory.log, memory.timeline, memory.status, memory.history):
            assert tell() is not None
        for each in chance.sample(answers, min(3, len(answers))):
            assert Answer.of(memory, each.hour) == each, f"as of hour {each.hour}"
            found.counts["hours"] += 1
        if chance.random() < 0.5:
            memory.checkpoint()
        closed = sorted({each.active_us for each in space_of(memory).recorded(-1)})[:-1]
        fresh = [chance.choice(closed) / MICROS_PER_HOUR] if closed else []
        return [*answers, *(Answer.of(memory, hour) for hour in fresh)]


def _count(memory: SyncMemory, found: Findings) -> None:
    """Read the whole log and count how time advanced."""
    every = memory.replay_all()
    found.expect(right=every.is_exact, otherwise=every.summary)
    found.counts["decisions"] += every.reproduced
    recorded = list(space_of(memory).recorded(-1))
    found.counts["events"] += len(recorded)
    for before, after in pairwise(recorded):
        step_us = after.active_us - before.active_us
        found.counts["steps back"] += after.recorded_us < before.recorded_us
        found.counts["active steps back"] += step_us < 0
        found.counts["longest us"] = max(step_us, found.counts["longest us"])
        within = 0 <= step_us <= DEFAULT.gap_us
        found.expect(right=within, otherwise=f"a step of {step_us} us to v{after.version}")
