"""Measures how long readers wait for writers.

Threads of one process share a space: some learn without a pause, some query and recall and record
nothing. Meanwhile other processes learn in the same file, or one holds the write lock and does
nothing with it. The baseline is the same readers without writers.

A reader should never wait for another process. So while another process holds the write lock, the
worst wait should be the same as without writers; it is marked if it is above ``HELD`` times that.
The waits of readers for writers of their own process are shown; they come from sharing the
interpreter lock.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

from attrs import frozen
from pages import machine

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore

BLOCKS = 500
DIMENSION = 64
HELD = 5
"""Tolerance for other load; a reader that waited for the write lock would wait a whole round."""


@frozen(kw_only=True)
class Setting:
    """The writers of a round."""

    name: str
    writers: int = 0
    """Threads of the readers' process."""
    others: int = 0
    """Processes that learn."""
    is_held: bool = False
    """Whether another process holds the write lock during the whole round."""


SETTINGS = (
    Setting(name="no writers"),
    Setting(name="8 threads write", writers=8),
    Setting(name="4 processes write, 4 threads too", writers=4, others=4),
    Setting(name="a process keeps the turn, 2 threads wait for it", writers=2, is_held=True),
)


# --- who is there ---------------------------------------------------------------------------


def opened(path: Path) -> SyncMemory:
    """Open the space."""
    return SyncMemory.open(path, embedder=HashEmbedder(DIMENSION))


def repeated(task: Callable[[int], object], until_s: float) -> list[float]:
    """Repeat *task*, and return how long it took each time."""
    waits_s: list[float] = []
    while (begun := time.monotonic()) < until_s:
        task(len(waits_s))
        waits_s.append(time.monotonic() - begun)
    return waits_s


def learns(memory: SyncMemory, who: str, number: int) -> None:
    """Learn something new."""
    memory.learn(f"{who} saw bee {number}")


def looks(memory: SyncMemory, number: int) -> None:
    """Query and recall, and record nothing."""
    if number % 2:
        memory.recall(f"bee {number % BLOCKS}", record=False)
    else:
        memory.status()


def other(path: Path, number: int, until_s: float) -> None:
    """Write in a loop, in another process."""
    with opened(path) as memory:
        repeated(partial(learns, memory, f"process {number}"), until_s)


def holder(path: Path, until_s: float) -> None:
    """Hold the write lock, in another process, and do nothing with it."""
    with closing(SQLiteStore(path)) as store, store.log("default").write_lock():
        time.sleep(max(0.0, until_s - time.monotonic()))


def forked(life: Callable[[], None]) -> int:
    """Run *life* in a forked process, and return its id."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        life()
        status = 0
    finally:
        os._exit(status)


# --- what they wait -------------------------------------------------------------------------


def played(setting: Setting, folder: Path, *, readers: int, seconds: float) -> list[float]:
    """Return how long readers waited."""
    path = folder / "agent.db"
    with opened(path) as memory:
        memory.learn_many([f"bee {number} sleeps" for number in range(BLOCKS)])
        memory.consolidate()
    until_s = time.monotonic() + 1.0 + seconds
    lives = [partial(other, path, number, until_s) for number in range(setting.others)]
    processes = [forked(life) for life in lives]
    if setting.is_held:
        processes.append(forked(partial(holder, path, until_s)))
    time.sleep(1.0)  # until all are there
    with opened(path) as memory, ThreadPoolExecutor(setting.writers + readers) as threads:
        for number in range(setting.writers):
            session_handle = memory.session_handle(actor=f"writer {number}")
            threads.submit(repeated, partial(learns, session_handle, f"thread {number}"), until_s)
        running = [
            threads.submit(
                repeated,
                partial(looks, memory.session_handle(actor=f"reader {number}", read_only=True)),
                until_s,
            )
            for number in range(readers)
        ]
    for process in processes:
        os.waitpid(process, 0)
    return sorted(wait_s for each in running for wait_s in each.result())


def line(name: str, waits_s: Sequence[float], alone_s: float) -> str:
    """Return the line of a setting."""
    median, late, worst = (
        1000 * waits_s[min(len(waits_s) - 1, int(share * len(waits_s)))] for share in (0.5, 0.99, 1)
    )
    ratio = waits_s[-1] / alone_s
    return (
        f"{name:50}{len(waits_s):8,}{median:9.1f}{late:9.1f}{worst:9.1f}{ratio:8.1f}"
        f"{'  above' if ratio > HELD else ''}"
    )


def main() -> None:
    """Measure all settings, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each setting")
    parser.add_argument("--readers", type=int, default=4)
    given = parser.parse_args()
    print(machine())
    print(f"{'':50}{'answers':>8}{'p50 ms':>9}{'p99 ms':>9}{'worst':>9}{'times':>8}")
    alone_s = None
    for setting in SETTINGS:
        with tempfile.TemporaryDirectory() as folder:
            waits_s = played(setting, Path(folder), readers=given.readers, seconds=given.seconds)
        alone_s = alone_s or waits_s[-1]
        print(line(setting.name, waits_s, alone_s), flush=True)


if __name__ == "__main__":
    main()
