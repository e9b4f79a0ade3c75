"""Campaign: waits of commits for a standby are ended early, and then the standby takes over."""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psycopg

from mnemic.adapters.inprocess import SyncMemory
from tests.adapters.stores.postgres.repeating_writers import (
    RepeatingWriter,
    acknowledged,
    learned,
    lost,
    writing,
)
from tests.adapters.stores.postgres.server_group import ServerGroup, server_group
from tests.torture.figures import Effort, Figures

FAILOVERS = 25
MEMORIES, WRITERS = 2, 3
"""Open memories, and writers of each."""
SPELLS = 4
"""Times that the standby is cut off before it takes over, the last one included."""
CONNECTED_S = (0.2, 0.6)
CUT_OFF_S = (0.1, 0.5)
PAUSE_S = (0.0, 0.01)
"""Range of the time between two waits that are ended."""
ANSWER_S = 0.3
ENDINGS = ("pg_cancel_backend", "pg_terminate_backend")
NOT_THERE = "in doubt at the end, not on the standby"
WAITING = b"SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


def campaign(folder: Path, effort: Effort) -> Figures:
    """End waits of commits, by cancelling and terminating, and let the standby take over."""
    del folder  # a server's socket needs a shorter path
    counts: Counter[str] = Counter()
    failures: list[str] = []
    for number in range(effort.of(FAILOVERS)):
        seed = effort.seed * 1_000 + number
        failures += [f"seed {seed}: {each}" for each in failed_over(seed, counts)]
        effort.tell(f"{number + 1} failovers, {counts['commands acknowledged']:,} acknowledged")
    return Figures(
        promise="What is acknowledged is on the synchronous standby, however the wait ended.",
        facts=counts,
        failures=tuple(failures),
    )


def failed_over(seed: int, counts: Counter[str]) -> list[str]:
    """Run one pair of servers to its failover; return what was lost or doubled."""
    chance = random.Random(seed)
    with server_group(synchronous=True) as pair:
        with ExitStack() as end:
            address = f"{pair.address}&answer_timeout={ANSWER_S}"
            memories = [end.enter_context(SyncMemory.open(address)) for _ in range(MEMORIES)]
            named = [
                (memory, f"w{at}-{writer}")
                for at, memory in enumerate(memories)
                for writer in range(WRITERS)
            ]
            waits = random.Random(chance.random())
            with ending_waits(pair, waits, counts), writing(named) as writers:
                for spell in range(SPELLS):
                    time.sleep(chance.uniform(*CONNECTED_S))
                    pair.cut_off()
                    counts["standby cut off"] += 1
                    time.sleep(chance.uniform(*CUT_OFF_S))
                    if spell < SPELLS - 1:
                        pair.reconnect()
        before = acknowledged(writers)
        pair.fail_over()
        counts["failovers"] += 1
        counts["commands acknowledged"] += before
        counts["failed as in doubt"] += sum(each.in_doubt for each in writers)
        return survived(pair, writers, counts)


def survived(
    pair: ServerGroup, writers: Sequence[RepeatingWriter], counts: Counter[str]
) -> list[str]:
    """Return what the server that took over has lost of the commands of *writers*, or doubled."""
    with SyncMemory.open(pair.standby) as memory:
        failures = [] if memory.verify().sound else ["the log is damaged"]
        head = memory.status().version
        missing = lost(memory, writers)
        counts["commands lost"] += len(missing)
        if not missing and memory.status().version != head:
            failures.append("a command that was acknowledged was written again")
        for each in writers:
            is_there = learned(memory, each.next_id) <= head
            counts["in doubt at the end, on the standby" if is_there else NOT_THERE] += 1
        return [*failures, *missing]


@contextmanager
def ending_waits(pair: ServerGroup, chance: random.Random, counts: Counter[str]) -> Generator[None]:
    """End waits of commits on the primary, one after the other, for a ``with`` block."""
    is_over = threading.Event()

    def run() -> None:
        with closing(psycopg.connect(pair.primary, autocommit=True)) as session:
            while not is_over.wait(chance.uniform(*PAUSE_S)):
                waiting = session.execute(WAITING).fetchall()
                if waiting:
                    ending, (pid,) = chance.choice(ENDINGS), chance.choice(waiting)
                    session.execute(f"SELECT {ending}({pid})".encode())
                    counts[f"waits ended by {ending}"] += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
