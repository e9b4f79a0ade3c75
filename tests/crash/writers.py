"""A program that starts agents which write one file, and kills them or lets them share it.

``writers.py kill FOLDER SEED KILLS`` and ``writers.py share FOLDER ROUNDS COMMANDS`` print one JSON
object. Agents are forked, so that each starts within a millisecond; the parent never has a memory
open while it forks.
"""
# ruff: noqa: S311, T201 - chance is seeded, not secret; it prints for the tests

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TextIO

from attrs import frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteLog, SQLiteStore
from mnemic.kernel.errors import Refused

COMMANDS_MAX = 24
"""An agent is killed after one of so many commands were acknowledged, however long that takes..."""
LIFE_MAX_S = 0.02
"""... and at a random moment within so many seconds of it: the moment is the test."""
WORDS = "amber birch cedar delta ember fjord grove heron inlet jetty kelp lagoon moor north".split()
TOPICS = {
    "learn": ("block-learned.1",),
    "connect": ("edge-connected.1", "edge-deferred.1"),
    "recall": ("recall-recorded.1",),
    "outcome": ("outcome-recorded.1",),
    "consolidate": ("blocks-promoted.1", "embedder-adopted.1"),
    "curate": ("curated.1",),
}
"""What the first event of each command may be."""


@frozen
class Promise:
    """One acknowledged command: its content, and the versions of its events."""

    id: str
    operation: str
    first: int
    last: int

    @classmethod
    def parse(cls, line: str) -> Promise:
        """Return what an agent reported on one whole line."""
        name, operation, first, last = line.split()
        return cls(name, operation, int(first), int(last))


class Agent:
    """Runs random commands, and reports each that is acknowledged."""

    def __init__(self, path: Path, name: str, *, seed: int, mouth: int) -> None:
        self._store = SQLiteStore(path)
        self._log = self._store.log("default")
        self._memory = SyncMemory.open(self._store, embedder=HashEmbedder(16), actor=name)
        self._name = name
        self._chance = random.Random(seed)
        self._mouth = mouth
        self._known: list[str] = [block.id for block in self._memory.blocks(limit=50).items]

    def work(self, count: int | None = None) -> None:
        """Run *count* commands, or go on for ever."""
        self._memory.start_session()
        done = 0
        while count is None or done < count:
            operation = self._chance.choice(["learn"] * 5 + ["connect"] * 3 + [*TOPICS])
            name = f"{self._name}-{done}"
            done += 1
            try:
                getattr(self, f"_{operation}")(name)
            except Refused:
                continue  # an archived end, or nothing to score yet
            row = self._log.command(name)
            if row is not None:
                os.write(self._mouth, f"{name} {operation} {row.first} {row.last}\n".encode())
        self._memory.close()
        self._store.close()

    def _some(self, count: int) -> list[str]:
        return [self._chance.choice(self._known) for _ in range(count)] or ["0" * 16]

    def _learn(self, name: str) -> None:
        content = f"{name} says {' '.join(self._chance.choices(WORDS, k=6))}"
        self._known.append(self._memory.learn(content, command_id=name).block_id)

    def _connect(self, name: str) -> None:
        if self._known:
            source, target = self._some(2)
            self._memory.connect(source, target, "supports", command_id=name)

    def _recall(self, name: str) -> None:
        self._memory.recall(" ".join(self._chance.choices(WORDS, k=2)), command_id=name)

    def _outcome(self, name: str) -> None:
        if self._known:
            self._memory.outcome(self._some(3), self._chance.random(), command_id=name)

    def _consolidate(self, name: str) -> None:
        self._memory.consolidate(command_id=name)

    def _curate(self, name: str) -> None:
        self._memory.curate(command_id=name)


def at_work(
    path: Path, name: str, *, seed: int, mouth: int, count: int | None = None
) -> Callable[[], None]:
    """Return the work of one agent, not started yet."""
    return lambda: Agent(path, name, seed=seed, mouth=mouth).work(count)


def child(work: Callable[[], None]) -> int:
    """Run *work* in a child process and return its id."""
    process = os.fork()
    if process:
        return process
    try:
        work()
    except BaseException:  # noqa: BLE001 - a forked child must never return
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def promises(lines: str) -> list[Promise]:
    """Return the promises on all whole lines."""
    return [Promise.parse(line) for line in lines.splitlines(keepends=True) if line[-1] == "\n"]


def check(log: SQLiteLog, made: list[Promise]) -> None:
    """Stop the program unless what was acknowledged is in the log, at its version."""
    for promise in made:
        row = log.command(promise.id)
        assert row is not None, promise
        assert (row.first, row.last) == (promise.first, promise.last), promise
        records = [record for record, _ in log.read(promise.first - 1, promise.last)]
        assert [record.version for record in records] == [*range(promise.first, promise.last + 1)]
        assert records[0].topic in TOPICS[promise.operation], promise


# --- killing ---


@frozen
class Doomed:
    """A running agent, and its output."""

    process: int
    lines: TextIO

    @classmethod
    def raised(cls, path: Path, seed: int) -> Doomed:
        """Return a new agent that works until it is killed."""
        mouth, ear = os.pipe()[::-1]
        process = child(at_work(path, f"a{seed}", seed=seed, mouth=mouth))
        os.close(mouth)
        return cls(process, os.fdopen(ear))

    def killed(self, seed: int) -> list[Promise]:
        """Kill the agent at a random moment and return what it promised.

        Every fifth one is young, and may not have opened the file yet.
        """
        chance = random.Random(seed)
        with self.lines:
            heard = chance.randint(1, COMMANDS_MAX) if seed % 5 else 0
            first = "".join(self.lines.readline() for _ in range(heard))
            time.sleep(chance.uniform(0, LIFE_MAX_S))
            os.kill(self.process, signal.SIGKILL)
            _, status = os.waitpid(self.process, 0)
            assert os.WIFSIGNALED(status), "the agent fell by itself"
            return promises(first + self.lines.read())


def kill_some(path: Path, seed: int) -> list[list[Promise]]:
    """Kill one agent, or every third time two that share the file; return what each promised."""
    seeds = [seed, seed + 1000][: 2 if seed % 3 == 0 else 1]
    agents = [Doomed.raised(path, each) for each in seeds]
    return [agent.killed(each) for agent, each in zip(agents, seeds, strict=True)]


def kill(folder: Path, seed: int, kills: int) -> Iterator[tuple[str, object]]:
    """Kill agents of one growing file again and again; after each, open the file and check it."""
    path, made, killed = folder / "agent.db", list[Promise](), 0
    while killed < kills:
        answer = kill_some(path, seed + killed)
        killed += len(answer)
        fresh = [promise for each in answer for promise in each]
        made += fresh
        with closing(SQLiteStore(path)) as store, SyncMemory.open(store):  # folds all there is
            check(store.log("default"), fresh)
    with closing(SQLiteStore(path)) as store, SyncMemory.open(store) as memory:
        check(store.log("default"), made)
        verified = memory.verify()
    yield "kills", killed
    yield "sound", verified.sound
    yield "events", verified.events
    yield "acknowledged", len(made)
    yield "operations", sorted({promise.operation for promise in made})


# --- sharing ---


def share(folder: Path, rounds: int, commands: int) -> Iterator[tuple[str, object]]:
    """Let two agents write one file at once, round after round."""
    path, made = folder / "agent.db", list[Promise]()
    statuses = []
    for turn in range(rounds):
        mouth, ear = os.pipe()[::-1]
        agents = [
            child(at_work(path, f"{who}{turn}", seed=2 * turn + place, mouth=mouth, count=commands))
            for place, who in enumerate(("ann", "ben"))
        ]
        os.close(mouth)
        with os.fdopen(ear) as lines:
            made += promises(lines.read())
        statuses += [os.waitpid(process, 0)[1] for process in agents]
    with closing(SQLiteStore(path)) as store, SyncMemory.open(store) as memory:
        log = store.log("default")
        check(log, made)
        versions = [record.version for record, _ in log.read()]
        verified = memory.verify()
        actors = {entry.actor for entry in memory.log(limit=1000)}
    taken = [version for each in made for version in range(each.first, each.last + 1)]
    yield "statuses", statuses
    yield "contiguous", versions == [*range(len(versions))]
    yield "sound", verified.sound
    yield "acknowledged", len(made)
    yield "told_twice", len(made) - len({promise.id for promise in made})
    yield "shared_versions", len(taken) - len(set(taken))
    yield "actors", len(actors)


if __name__ == "__main__":
    _, operation, folder, *numbers = sys.argv
    results = {"kill": kill, "share": share}[operation](Path(folder), *map(int, numbers))
    print(json.dumps(dict(results)))
