"""Campaign: agents are killed at random moments of all operations."""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from attrs import frozen

from tests.crash.writers import child
from tests.torture.figures import Effort, Figures
from tests.torture.file_faults import spread
from tests.torture.histories import (
    OPERATIONS,
    Asked,
    Nature,
    Promised,
    heard,
    life,
)
from tests.torture.invariants import Findings, Warden

KILLS = 1000
OF_ONE_FILE = 25
"""Kills per file: it grows to some hundred events, all of which are read after each."""
MOMENTS_S = (0.0003, 0.001, 0.004, 0.02)
"""A kill falls within one of these times after an operation has begun: as long as they take."""
SIGHTINGS_MAX = 8
"""How often the loved operation may have begun before the kill."""
YOUNG_S = 0.02
"""Every eighth agent is killed within so much of being raised, and may not have opened the file."""


@frozen
class Lot:
    """The kills of one file."""

    folder: Path
    seed: int
    kills: int
    operations: tuple[str, ...]
    """What its agents do."""


@frozen
class Doomed:
    """A running agent, and its output."""

    name: str
    loved: str
    process: int
    lines: TextIO

    @classmethod
    def raised(cls, path: Path, nature: Nature) -> Doomed:
        """Return a new agent that works until it is killed."""
        ear, mouth = os.pipe()
        name = f"a{nature.seed}"
        process = child(life(path, name, nature, mouth=mouth))
        os.close(mouth)
        return cls(name, nature.loved, process, os.fdopen(ear))

    def killed(self, chance: random.Random) -> tuple[list[Promised], Asked | None]:
        """Kill the agent, and return what it was promised, and what it had just asked.

        Raises:
            AssertionError: It fell by itself before.
        """
        lines: list[str] = []
        with self.lines:
            if chance.random() < 1 / 8:
                time.sleep(chance.uniform(0, YOUNG_S))
            else:
                sightings = chance.randint(1, SIGHTINGS_MAX)
                for line in self.lines:
                    lines.append(line)
                    sightings -= line.startswith('["?"') and f'"{self.loved}"' in line
                    if not sightings:
                        break
                time.sleep(chance.uniform(0, chance.choice(MOMENTS_S)))
            os.kill(self.process, signal.SIGKILL)
            _, status = os.waitpid(self.process, 0)
            lines += self.lines
        assert os.WIFSIGNALED(status), f"{self.name} fell by itself: {lines[-1:]}"
        return heard(lines)


def campaign(folder: Path, effort: Effort) -> Figures:
    """Kill agents in the middle of learning, promoting, curating, checkpoints, graphs, exports."""
    total = effort.of(KILLS)
    lots = [
        Lot(
            folder / f"lot-{number}",
            effort.seed * 10_000 + number * 100,
            kills,
            _operations(number),
        )
        for number, kills in enumerate(_shares(total))
    ]
    found = Findings()
    for each in spread(survive, lots):
        found.add(each)
    counts = found.counts
    return Figures(
        promise="An acknowledged command survives a kill, once and completely.",
        facts={
            "kills survived": counts["kills"],
            "kills inside": ", ".join(
                f"{operation} {n}" for operation, n in sorted(found.inside.items())
            ),
            "commands acknowledged": counts["acknowledged"],
            "commands lost": counts["lost"],
            "repeated after the kill, had been written": counts["repeated, had been written"],
            "repeated after the kill, written now": counts["repeated, written now"],
            "opened from a checkpoint": counts["opened from a checkpoint"],
            "decisions replayed exactly": counts["decisions replayed"],
            "decisions sealed by an erasure": counts["decisions sealed by an erasure"],
            "unfinished exports left": counts["unfinished exports"],
            "unfinished checkpoints and graphs left": counts["unfinished files beside"],
            "graphs found whole": counts["graphs"],
            "failures of other kinds": len(found.wrong),
        },
        failures=tuple(found.wrong),
    )


def _shares(total: int) -> list[int]:
    whole, rest = divmod(total, OF_ONE_FILE)
    return [OF_ONE_FILE] * whole + [rest] * (rest > 0)


def _operations(number: int) -> tuple[str, ...]:
    """Return what is done to one of the files: every other one sees no erasure.

    An erasure takes every graph and checkpoint along, and seals the decisions before it.
    """
    return tuple(operation for operation in OPERATIONS if number % 2 or operation != "erase")


def survive(lot: Lot) -> Findings:
    """Kill the agents of one file, one or two at a time, and check after each."""
    lot.folder.mkdir()
    path, found, chance = lot.folder / "agent.db", Findings(), random.Random(lot.seed)
    warden = Warden(path, found)
    number = 0
    while number < lot.kills:
        together = 2 if number % 3 == 0 and lot.kills - number > 1 else 1
        agents = [
            Doomed.raised(
                path,
                Nature(seed=seed, operations=lot.operations, loved=chance.choice(lot.operations)),
            )
            for seed in range(lot.seed + number, lot.seed + number + together)
        ]
        promised: list[Promised] = []
        asked: list[tuple[str, Asked]] = []
        place = f"after kill {number} of seed {lot.seed}"
        for agent in agents:
            try:
                kept, under_way = agent.killed(chance)
            except AssertionError as error:
                found.wrong.append(f"{place}: {error}")
                continue
            promised += kept
            asked += [(agent.name, under_way)] if under_way is not None else []
            found.inside.update([_what(kept, under_way)])
        warden.look(place, promised, asked)
        number += together
    found.counts["kills"] += number
    warden.close(f"at the end of seed {lot.seed}")
    with suppress(FileNotFoundError):
        _clear(lot.folder)
    return found


def _what(kept: list[Promised], under_way: Asked | None) -> str:
    if under_way is not None:
        return under_way.operation
    return "two commands" if kept else "opening"


def _clear(folder: Path) -> None:
    for file in folder.glob("a*.jsonl*"):
        file.unlink()
