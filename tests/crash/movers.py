"""A program that migrates and backs up a memory in use, and kills the processes that do so.

``movers.py migrate FOLDER SEED KILLS`` and ``movers.py backup FOLDER SEED KILLS`` print one JSON
object. The mover is forked, as in ``writers.py``; between two kills the source is written to, and
words of it are erased.
"""
# ruff: noqa: S311, T201 - chance is seeded, not secret; it prints for the tests

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path

from attrs import define

from mnemic.adapters.files import temporary_folders
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.transfer.backup import backup, check
from mnemic.adapters.transfer.inventory import inventory_path
from mnemic.adapters.transfer.migration import migrate
from tests.crash.writers import child

FACTS = 1500
STEP_S = 0.02
"""The shortest life; the longest is what the work takes."""


def begin(path: Path) -> None:
    """Make the memory to migrate."""
    with SyncMemory.open(path, synchronous="normal") as memory:
        memory.learn_many([f"fact {number} {'and so on ' * 5}" for number in range(FACTS)])


def live_on(path: Path, turn: int) -> None:
    """Erase what was learned in the previous round, and learn something else."""
    with SyncMemory.open(path) as memory:
        for block in memory.blocks(tag="secret", status="inbox").items:
            memory.erase(block.id)
        memory.learn(f"the secret of turn {turn}.", tags=["secret"], command_id=f"turn {turn}")


def killed(work: Callable[[], object], life_s: float) -> bool:
    """Start a process that does *work*, kill it later, and return whether it was running."""
    process = child(lambda: _done(work))
    time.sleep(life_s)
    os.kill(process, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(process, 0)[1])


def _done(work: Callable[[], object]) -> None:
    work()


@define
class Hunt:
    """Kills movers again and again, each after a while that most of them need for longer.

    How long a mover takes is the machine's affair, and may change from one to the next. So whoever
    came to an end before they were killed has the next ones killed sooner.
    """

    chance: random.Random
    life_max_s: float
    fallen: int = 0
    """Those who were killed while they were at it."""

    def on(self, work: Callable[[], object]) -> None:
        """Start a process that does *work*, and kill it."""
        shortest_s = min(STEP_S, self.life_max_s)
        life_s = self.chance.uniform(shortest_s, self.life_max_s)
        if killed(work, life_s):
            self.fallen += 1
        else:
            self.life_max_s = life_s


def timed(work: Callable[[], object]) -> float:
    """Return how long a process takes that is not killed."""
    begun = time.perf_counter()
    os.waitpid(child(lambda: _done(work)), 0)
    return time.perf_counter() - begun


def contents(path: Path) -> list[object]:
    """Return every record with its payloads and commands."""
    with closing(SQLiteStore(path, read_only=True)) as store:
        log = store.log("default")
        return [*log.read(), log.head(), *(log.command(f"turn {turn}") for turn in range(1000))]


def hits(folder: Path, words: str) -> list[str]:
    """Return the files of a folder that hold *words*."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [file.name for file in files if words.encode() in file.read_bytes()]


def migrating(folder: Path, seed: int, kills: int) -> Iterator[tuple[str, object]]:
    """Kill migrations into a new file, and then into that file, until one may end.

    The first go on until half of *kills* came in time; the others are tried so often.
    """
    source, place = folder / "source.db", folder / "place"
    target = place / "target.db"
    place.mkdir()
    begin(source)
    whole_s = timed(partial(migrate, source, folder / "trial.db"))
    hunt, turns, seen_half = Hunt(random.Random(seed), whole_s), count(), 0

    def turn() -> None:
        nonlocal seen_half
        live_on(source, next(turns))
        hunt.on(partial(migrate, source, target))
        if target.exists():
            with closing(SQLiteStore(target, read_only=True)) as store:
                seen_half += store.log("default").head().version < FACTS

    while hunt.fallen < kills // 2:
        target.unlink(missing_ok=True)  # of one who came to an end
        turn()
    migrate(source, target)
    for _ in range(kills - kills // 2):
        turn()
    last = next(turns)
    live_on(source, last)
    result = migrate(source, target)
    yield "killed", hunt.fallen
    yield "seen_half", seen_half
    yield "equal", contents(source) == contents(target)
    yield "behind", result.spaces[0].behind
    yield "left", [folder.name for folder in temporary_folders.leftovers(place)]
    yield "erased_hits", [name for each in range(last) for name in hits(place, f"of turn {each}.")]
    with SyncMemory.open(target, read_only=True) as memory:
        yield "sound", memory.verify().sound


def backing_up(folder: Path, seed: int, kills: int) -> Iterator[tuple[str, object]]:
    """Kill backups, and check each that exists."""
    source, place = folder / "source.db", folder / "kept"
    place.mkdir()
    begin(source)
    whole_s = timed(partial(backup, source, folder / "trial.db"))
    hunt, sound, broken = Hunt(random.Random(seed), 1.2 * whole_s), 0, list[str]()
    for turn in count():
        if turn >= kills and hunt.fallen >= kills // 2:
            break
        live_on(source, turn)
        path = place / f"{turn}.db"
        hunt.on(partial(backup, source, path))
        if path.exists():
            sound += check(path).spaces[0].version >= FACTS
        elif [file for file in place.glob("*.db") if not inventory_path(file).exists()]:
            broken.append(path.name)
    backup(source, place / "last.db")
    check(place / "last.db")
    yield "killed", hunt.fallen
    yield "sound", sound
    yield "broken", broken
    yield "left", [folder.name for folder in temporary_folders.leftovers(place)]


if __name__ == "__main__":
    _, operation, folder, *numbers = sys.argv
    results = {"migrate": migrating, "backup": backing_up}[operation](
        Path(folder), *map(int, numbers)
    )
    print(json.dumps(dict(results)))
