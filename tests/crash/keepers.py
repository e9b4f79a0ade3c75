"""A program that starts agents which write checkpoints of one file, and kills or races them.

``keepers.py kill FOLDER SEED KILLS``, ``keepers.py share FOLDER ROUNDS`` and
``keepers.py erase FOLDER ROUNDS`` print one JSON object. Agents are forked as in ``writers.py``.
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
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeAlias

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import StoreBusy
from tests.adapters.checkpoints.states import restored, told, told_by_log
from tests.crash.writers import child

Results: TypeAlias = Callable[..., Iterator[tuple[str, object]]]
LIFE_MAX_S = 0.05
"""An agent is killed at a random moment within so many seconds: the moment is the test."""
HALFWAY = 5
"""Every so manieth agent is killed in the middle of writing a checkpoint, however long that takes
to happen; all others whenever it comes."""


def opened(path: Path, *, read_only: bool = False) -> SyncMemory:
    return SyncMemory.open(
        path, embedder=HashEmbedder(4), synchronous="normal", read_only=read_only
    )


def keep(path: Path, name: str, times: int | None = None, mouth: int | None = None) -> None:
    """Learn and write a checkpoint, repeatedly."""
    with opened(path) as memory:
        for number in count() if times is None else range(times):
            memory.learn(f"{name} learned {number}")
            with suppress(StoreBusy):  # too many erasures meanwhile, which it says
                memory.checkpoint()
            if mouth is not None:
                os.write(mouth, b".")


def erase(path: Path, times: int) -> None:
    """Learn a secret and erase it, repeatedly."""
    with opened(path) as memory:
        for number in range(times):
            block = memory.learn(f"secret {number}").block_id
            memory.checkpoint()
            memory.erase(block)


def unfinished(path: Path) -> int:
    folder = path.with_name(f"{path.name}.checkpoints")
    return sum(file.name.endswith(".tmp") for file in folder.glob("*"))


def is_right(memory: SyncMemory) -> bool:
    return told(memory) == told_by_log(memory)


def held_halfway(process: int, path: Path, chance: random.Random) -> None:
    """Stop an agent in the middle of writing a checkpoint: it is suspended when this returns."""
    while True:
        os.kill(process, signal.SIGSTOP)
        _, status = os.waitpid(process, os.WUNTRACED)
        assert os.WIFSTOPPED(status), "the agent fell by itself"
        if unfinished(path):
            return
        os.kill(process, signal.SIGCONT)
        time.sleep(chance.uniform(0, LIFE_MAX_S / 10))


# --- what the tests ask for ---


def kill(folder: Path, seed: int, kills: int) -> Iterator[tuple[str, object]]:
    """Kill agents during their checkpoints; after each, open the file and check the state."""
    path, chance = folder / "agent.db", random.Random(seed)
    right = from_checkpoint = left = stayed = 0
    for number in range(kills):
        ear, mouth = os.pipe()
        process = child(partial(keep, path, f"a{number}", mouth=mouth))
        os.close(mouth)
        os.read(ear, 1)  # it has kept one
        time.sleep(chance.uniform(0, LIFE_MAX_S))
        if number % HALFWAY == 0:
            held_halfway(process, path, chance)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(ear)
        left += unfinished(path)
        with opened(path, read_only=True) as memory:
            right += is_right(memory)
            from_checkpoint += restored(memory) is not None
        opened(path).close()
        stayed += unfinished(path)
    yield "right", right
    yield "from_checkpoint", from_checkpoint
    yield "left", left
    yield "stayed", stayed


def together(*work: Callable[[], None]) -> list[int]:
    """Let agents work at once, and return how they ended."""
    return [os.waitpid(process, 0)[1] for process in [child(each) for each in work]]


def share(folder: Path, rounds: int) -> Iterator[tuple[str, object]]:
    """Let two agents keep checkpoints of one file at once."""
    path = folder / "agent.db"
    opened(path).close()
    statuses = together(lambda: keep(path, "ann", rounds), lambda: keep(path, "ben", rounds))
    yield "statuses", statuses
    yield "unfinished", unfinished(path)
    with opened(path) as memory:
        yield "right", is_right(memory)
        yield "from_checkpoint", restored(memory) is not None
        memory.learn("the last")
        memory.checkpoint()
        yield "states", [each.state for each in memory.checkpoints()]


def erased(folder: Path, rounds: int) -> Iterator[tuple[str, object]]:
    """Let one agent keep checkpoints while another learns secrets and erases them."""
    path = folder / "agent.db"
    opened(path).close()
    yield "statuses", together(lambda: keep(path, "ann", 3 * rounds), lambda: erase(path, rounds))
    files = [file for file in folder.rglob("*") if file.is_file()]
    yield "secrets", sum(b"secret" in file.read_bytes() for file in files)
    with opened(path) as memory:
        yield "right", is_right(memory)


if __name__ == "__main__":
    _, operation, where, *numbers = sys.argv
    results: dict[str, Results] = {"kill": kill, "share": share, "erase": erased}
    print(json.dumps(dict(results[operation](Path(where), *map(int, numbers)))))
