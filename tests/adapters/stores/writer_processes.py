"""A program that starts writers of one store, and kills them or lets them race.

``writer_processes.py kill STORE SEED KILLS`` and ``writer_processes.py race STORE WRITERS APPENDS``
print one JSON object. STORE is a path or an address, and ``{}`` in it is replaced by the name of
one of several. Children are forked, so that each starts in a millisecond; the parent never has a
store open while it forks.
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
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import pairwise
from typing import NoReturn

from mnemic.adapters.stores.opening import open_store
from mnemic.kernel.ports import CommandRow, Log, PayloadRow, Record
from tests.torture.crowds.start_barrier import Barrier, together

LIFE_MAX_S = 0.03
"""A writer is killed at a random moment within so many seconds: the moment is the test."""
STORES = 10
"""Kills are spread over so many, for the making of a store must survive them too."""


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


def named(stores: str, name: str) -> str:
    """Return one of several stores."""
    return stores.replace("{}", name)


# --- killing ---


def append_for_ever(address: str, seed: int, acknowledged: int) -> NoReturn:
    """Append commands of 1 to 50 records; tell the version of each that is acknowledged."""
    chance = random.Random(seed)
    log = open_store(address).log("home")
    while True:
        with log.write_lock():
            first = log.head().version + 1
            last = first + chance.choice([0, 0, 0, 2, 49])
            versions = range(first, last + 1)
            log.append(
                [Record(version, "thing-noted.1", b"{%d}" % version) for version in versions],
                [PayloadRow(v, 0, f"p{v}", bytes(32), ("o",), b"%d" % v) for v in versions],
                after=log.head(),
                commands=(CommandRow(f"until {last}", b"", first, last),),
            )
        os.write(acknowledged, b"%d\n" % last)


def kill_one(address: str, seed: int) -> int:
    """Kill a writer at a random moment; return the last version it was promised.

    Every third one is young, and may not have opened the store yet.
    """
    mouth, ear = os.pipe()[::-1]
    process = child(lambda: append_for_ever(address, seed, mouth))
    os.close(mouth)
    with os.fdopen(ear, "rb") as lines:
        promised = int(lines.readline()) if seed % 3 else -1
        time.sleep(random.Random(seed).uniform(0, LIFE_MAX_S))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        return max((int(line) for line in lines), default=promised)


def check(log: Log, promised: int) -> None:
    """Stop the program unless everything up to *promised* is there, and all of it is whole."""
    entries = list(log.read())  # checks the chain up to the head
    versions = [record.version for record, _ in entries]
    assert versions == list(range(len(versions)))
    assert log.head().version == len(versions) - 1 >= promised
    assert all(
        (record.body, [row.data for row in rows])
        == (b"{%d}" % record.version, [b"%d" % record.version])
        for record, rows in entries
    )
    assert promised < 0 or log.command(f"until {promised}") is not None


def kill(stores: str, seed: int, kills: int) -> Iterator[tuple[str, object]]:
    """Kill writers again and again; after each, open the store and check it."""
    promises = dict.fromkeys(range(STORES), -1)
    for number in range(kills):
        address = named(stores, str(number % STORES))
        promised = kill_one(address, seed + number)
        promises[number % STORES] = max(promised, promises[number % STORES])
        with closing(open_store(address)) as store:
            check(store.log("home"), promises[number % STORES])
    yield "kills", kills
    yield "acknowledged", sum(promises.values()) + STORES


# --- racing ---


def race_along(address: str, appends: int, gate: Barrier) -> None:
    """Append without a pause, as soon as all others can too."""
    with closing(open_store(address)) as store:
        log = store.log("home")
        gate.wait()
        for _ in range(appends):
            with log.write_lock():
                version = log.head().version + 1
                log.append(
                    [Record(version, "thing-noted.1", b"{%d}" % os.getpid())], (), after=log.head()
                )


def race(stores: str, writers: int, appends: int) -> Iterator[tuple[str, object]]:
    """Let *writers* processes append to one new space at once."""
    address = named(stores, "race")
    statuses = together([partial(race_along, address, appends)] * writers)
    with closing(open_store(address)) as store:
        authors = [record.body for record, _ in store.log("home").read()]
    yield "statuses", statuses
    yield "shares", sorted(Counter(authors).values())
    yield "turns", 1 + sum(one != next_one for one, next_one in pairwise(authors))


if __name__ == "__main__":
    _, operation, stores, *numbers = sys.argv
    results = {"kill": kill, "race": race}[operation](stores, *map(int, numbers))
    print(json.dumps(dict(results)))
