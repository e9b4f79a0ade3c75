"""Measures throughput and memory of several workers of one server.

2,000 turns of real conversations (synthetic sentences, if there are none) are served by ``mnemic
serve --workers N``, each time from a copy of the same file. Several clients at once, each over
a connection that stays open, send: a recall that only reads, a recall that is recorded inside an
open session, and a durable learn. Rounds with one worker and with several alternate, and the best
of each is shown, since other load on the machine can only make it worse.

Recalls that only read scale with the workers if each has a processor. Writes are serialised, with
any number of workers, and each worker folds the writes of the others, so more workers gain less.
The clients are threads of one process on the same machine, and use a part of it.

Finally the memory of the processes, with shared memory counted once (PSS, on Linux).
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from attrs import frozen
from conversations import DATA
from over_http import SPACE, prepared, recalls, session
from pages import machine
from recall import WARM_UP, Input, given, p95
from sockets import Connection, Interface, Reply, serving

from mnemic.adapters.access import beside

CLIENTS = (1, 8, 32)
SERVED = "served.db"
KIB = 1024


@frozen(kw_only=True)
class Round:
    """What so many clients got done."""

    rate: float
    """Requests a second."""
    seconds: list[float]
    """Seconds of each request."""


# --- what is asked --------------------------------------------------------------------------


def lessons(interface: Interface, texts: Sequence[str], headers: dict[str, str]) -> list[bytes]:
    """Return a request for each text to be learned; none is known yet."""
    answer = [f"{time.time_ns()} {place} {each}" for place, each in enumerate(texts)]
    return [interface.request(f"{SPACE}/blocks", {"content": each}, headers) for each in answer]


KINDS: Mapping[str, Callable[..., list[bytes]]] = {
    "recall, read only": partial(recalls, record=False),
    "recall, recorded": recalls,
    "learn": lessons,
}


def asked(interface: Interface, kind: str, texts: Sequence[str], clients: int) -> Round:
    """Run *clients* concurrent clients, and return their throughput and times."""
    with ExitStack() as stack, ThreadPoolExecutor(clients) as threads:
        connections = [stack.enter_context(Connection(interface)) for _ in range(clients)]
        ready = [
            KINDS[kind](interface, texts[place::clients], session(interface, connection))
            for place, connection in enumerate(connections)
        ]
        start = time.perf_counter()
        replies = [reply for one in threads.map(_all, connections, ready) for reply in one]
        seconds = time.perf_counter() - start
    assert all(reply.made for reply in replies)
    return Round(rate=len(replies) / seconds, seconds=[reply.seconds for reply in replies])


def _all(connection: Connection, requests: Sequence[bytes]) -> list[Reply]:
    return [connection.ask(request) for request in requests]


# --- who answers ----------------------------------------------------------------------------


def warmed(interface: Interface, facts: Input, workers: int) -> None:
    """Let each worker open the space, and send requests until it is warmed up."""
    with ExitStack() as stack:
        for _ in range(4 * workers):  # connections are shared out
            connection = stack.enter_context(Connection(interface))
            for request in KINDS["recall, read only"](interface, facts.questions[:WARM_UP], {}):
                assert connection.ask(request).made


def held_mib(interface: Interface) -> float:
    """Return the memory of the processes of a server; shared memory is divided among them."""
    parent = Path(f"/proc/{interface.process}")
    children = (parent / "task" / str(interface.process) / "children").read_text().split()
    rollups = [
        Path(f"/proc/{each}/smaps_rollup").read_text() for each in (interface.process, *children)
    ]
    return sum(int(rollup.partition("Pss:")[2].split()[0]) for rollup in rollups) / KIB


# --- the program ----------------------------------------------------------------------------


def compared(options: argparse.Namespace, folder: Path) -> None:
    """Run all comparisons, and print them."""
    facts = given(options.data, options.blocks, options.questions)
    token = prepared(folder, facts)
    counts = (1, *options.workers)
    print(f"{machine()}; {dt.datetime.now(tz=dt.UTC):%Y-%m-%d}")
    if hasattr(os, "getloadavg"):
        print(f"{os.getloadavg()[0]:.1f} processes at work before this began", end="\n\n")
    texts = list(itertools.islice(itertools.cycle(facts.questions), options.requests))
    best: dict[tuple[str, int, int], Round] = {}
    with ExitStack() as stack:
        interfaces = {
            count: stack.enter_context(serving(copied(folder, count), token, workers=count))
            for count in counts
        }
        for count, interface in interfaces.items():
            warmed(interface, facts, count)
        for kind, clients, _ in itertools.product(KINDS, CLIENTS, range(options.rounds)):
            for count, interface in interfaces.items():
                found = asked(interface, kind, texts, clients)
                place = (kind, clients, count)
                best[place] = max(found, best.get(place, found), key=lambda each: each.rate)
        shown(best, counts)
        if Path("/proc/self/smaps_rollup").exists():
            held = {count: held_mib(interface) for count, interface in interfaces.items()}
            print("\nMiB held  " + "".join(f"{held[count]:>14,.0f}" for count in counts))


def copied(folder: Path, workers: int) -> Path:
    """Return a copy of the store for a round with so many workers."""
    path = folder / f"served by {workers}.db"
    shutil.copy(folder / SERVED, path)
    shutil.copy(beside(folder / SERVED), beside(path))
    return path


def shown(best: dict[tuple[str, int, int], Round], counts: Sequence[int]) -> None:
    """Print requests a second, and the gain of more workers."""
    heads = "".join(f"{f'{each} workers, /s':>14}{'p50 ms':>9}{'p95':>8}" for each in counts)
    print(f"{'requests, clients':24}{heads}{'times':>8}")
    for kind, clients in itertools.product(KINDS, CLIENTS):
        rounds = [best[kind, clients, count] for count in counts]
        cells = [
            f"{each.rate:>14,.0f}{1e3 * statistics.median(each.seconds):>9.1f}"
            f"{1e3 * p95(each.seconds):>8.1f}"
            for each in rounds
        ]
        times = rounds[-1].rate / rounds[0].rate
        print(f"{f'{kind}, {clients}':24}{''.join(cells)}{times:>8.2f}", flush=True)


def main() -> None:
    """Run all comparisons in a temporary folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, default=DATA, help="conversations and their questions")
    add("--blocks", type=int, default=2000)
    add("--questions", type=int, default=300)
    add("--requests", type=int, default=960, help="for each number of clients at once")
    add("--rounds", type=int, default=3, help="of each kind, of which the best counts")
    add("--workers", type=int, nargs="*", default=[2], help="how many, besides one")
    add("--quick", action="store_true", help="a fifth of everything but the blocks")
    options = parser.parse_args()
    if options.quick:
        options.questions, options.requests, options.rounds = 60, 192, 1
    with tempfile.TemporaryDirectory() as name:
        compared(options, Path(name))


if __name__ == "__main__":
    main()
