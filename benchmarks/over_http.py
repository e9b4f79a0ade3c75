"""Measures the overhead of operations over HTTP, and that no command is lost or written twice.

2,000 turns of real conversations (synthetic sentences, if there are none) in two equal files: one
is open in this process, the other is served by ``mnemic serve``, one worker with its defaults. Both
get the same operations alternately, 25 at a time: a recorded recall inside an open session, and a
durable learn. (Alternating after each one, each side would find the processor's caches filled with
the other's data, which costs about a millisecond.) ``above`` is the median of the differences, pair
by pair. The client is a plain socket that stays open; the time of the socket, the loopback device
and uvicorn is shown as ``floor``: the same requests to the same server around an application that
only answers with as many bytes.

Then several clients at once, each over a connection of its own: requests a second, and the time of
one. Finally 32 clients learn, recall and score with Idempotency-Keys while their connections
break, before a request is complete, before its answer, or after it; each retries until it has one.
Every acknowledged command has to be in the log, exactly once.

Targets: at most 1 ms above; 500 recalls a second by one worker, 7 kB each.
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any

from attrs import asdict, frozen
from conversations import DATA
from pages import machine
from recall import TOP_K, WARM_UP, Input, given, p95
from replay import Found
from sockets import Connection, Interface, Reply, floor, serving

from mnemic.adapters.access import Keyring, beside
from mnemic.adapters.inprocess import SyncMemory

SPACE = "/v1/spaces/default"
NAME = "bench"
MINE, SERVED = "mine.db", "served.db"
CLIENTS = (1, 8, 32)
ABOVE_MS = 1.0
PARTS = ("uvicorn", "litestar", "orjson", "numpy")
"""Packages whose versions are printed."""
KINDS = {"learn": "block-learned", "recall": "recall-recorded", "outcome": "outcome-recorded"}
"""Events in the log for each command of a client whose connections break."""
BREAKS = 0.3
"""Share of requests whose connection breaks, each of three ways equally likely."""
PAGE = 1000
IN_A_ROW = 25
"""Calls or requests of one side before the next continues."""


@frozen(kw_only=True)
class Pairs:
    """Seconds of the same operations in-process and over HTTP, in the same order."""

    ours: list[float]
    """In this process."""
    there: list[float]
    """Over HTTP."""
    nothing: list[float]
    """Over HTTP, to an application that does nothing."""

    @property
    def above_ms(self) -> float:
        """Median overhead of a request relative to a call."""
        pairs = zip(self.there, self.ours, strict=True)
        return 1e3 * statistics.median(there - ours for there, ours in pairs)

    def row(self, what: str) -> str:
        """Return its line of the table."""
        cells = [f"{1e3 * statistics.median(self.ours):>11.2f}{1e3 * p95(self.ours):>8.2f}"]
        cells += [f"{1e3 * statistics.median(self.there):>9.2f}{1e3 * p95(self.there):>8.2f}"]
        cells += [f"{self.above_ms:>9.2f}{1e3 * statistics.median(self.nothing):>9.2f}"]
        return f"{what:24}" + "".join(cells)


# --- one client -----------------------------------------------------------------------------


def session(interface: Interface, connection: Connection) -> dict[str, str]:
    """Begin a session, and return the header that continues it."""
    begun = connection.ask(interface.request(f"{SPACE}/sessions", {})).made
    return {"Mnemic-Session": begun["session_id"]}


def recalls(
    interface: Interface,
    questions: Sequence[str],
    headers: dict[str, str],
    *,
    record: bool = True,
) -> list[bytes]:
    """Return a request for each question."""
    return [
        interface.request(
            f"{SPACE}/recall", {"query": each, "top_k": TOP_K, "record": record}, headers
        )
        for each in questions
    ]


def lessons(interface: Interface, texts: Sequence[str], headers: dict[str, str]) -> list[bytes]:
    """Return a request for each text to be learned."""
    return [interface.request(f"{SPACE}/blocks", {"content": each}, headers) for each in texts]


def paired(
    calls: Sequence[Callable[[], object]],
    requests: Sequence[bytes],
    connections: tuple[Connection, Connection],
) -> Pairs:
    """Run the same operations in-process, over HTTP, and against the floor, alternately."""
    there, nowhere = connections
    pairs = Pairs(ours=[], there=[], nothing=[])
    for begin in range(0, len(calls), IN_A_ROW):
        for call in calls[begin : begin + IN_A_ROW]:
            start = time.perf_counter()
            call()
            pairs.ours.append(time.perf_counter() - start)
        asked = requests[begin : begin + IN_A_ROW]
        replies = [there.ask(request) for request in asked]
        assert all(reply.made for reply in replies)
        pairs.there.extend(reply.seconds for reply in replies)
        pairs.nothing.extend(nowhere.ask(request).seconds for request in asked)
    return pairs


def alone(memory: SyncMemory, interface: Interface, questions: Sequence[str]) -> Iterator[Found]:
    """Compare call and request, one at a time."""
    texts = [f"{number} {text}" for number, text in enumerate(questions)]
    with Connection(interface) as there:
        headers = session(interface, there)
        asked = recalls(interface, questions, headers)
        for question in questions[:WARM_UP]:
            memory.recall(question, top_k=TOP_K)
        back = {"recall": [len(there.ask(each).body) for each in asked[:WARM_UP]][-1], "learn": 80}
        calls: dict[str, tuple[Sequence[Callable[[], object]], list[bytes]]] = {
            "recall": ([partial(memory.recall, each, top_k=TOP_K) for each in questions], asked),
            "learn": (
                [partial(memory.learn, each) for each in texts],
                lessons(interface, texts, headers),
            ),
        }
        print(f"{'ms':24}{'in process':>11}{'p95':>8}{'HTTP':>9}{'p95':>8}{'above':>9}{'floor':>9}")
        for what, (ours, requests) in calls.items():
            with floor(back[what]) as nothing, Connection(nothing) as nowhere:
                pairs = paired(ours, requests, (there, nowhere))
            print(pairs.row(f"{what}, {back[what]:,} bytes back"), flush=True)
            yield Found(
                what=f"{what} over HTTP, above", value=pairs.above_ms, unit="ms", limit=ABOVE_MS
            )


# --- many clients ---------------------------------------------------------------------------


def together(interface: Interface, texts: Sequence[str]) -> Iterator[Found]:
    """Print the throughput of many clients, and yield that of recalls that are not recorded."""
    asked = [f"{place} {text}" for place, text in enumerate(texts)]
    rate, replies = pace(interface, "unrecorded", asked, CLIENTS[1])
    size = statistics.median(len(reply.body) for reply in replies)
    yield Found(what="recalls by one worker", value=rate, unit="a second", at_least=500)
    yield Found(what="an answer over HTTP", value=size / 1000, unit="kB", limit=7)
    nothing = {"recall": 20_000, "learn": 80}
    print(f"\n{'clients at once':24}{'requests/s':>11}{'p50 ms':>9}{'p95 ms':>9}{'floor/s':>10}")
    for what, number in ((what, number) for what in nothing for number in CLIENTS):
        told = [f"{what} {number} {place} {text}" for place, text in enumerate(texts)]
        with floor(nothing[what]) as idle:
            bare = pace(idle, what, told, number)[0]
        rate, replies = pace(interface, what, told, number)
        seconds = [reply.seconds for reply in replies]
        figures = (
            f"{rate:>11,.0f}{1e3 * statistics.median(seconds):>9.2f}{1e3 * p95(seconds):>9.2f}"
        )
        print(f"{what + ', ' + str(number):24}{figures}{bare:>10,.0f}", flush=True)


def pace(
    interface: Interface, what: str, told: Sequence[str], number: int
) -> tuple[float, list[Reply]]:
    """Return the requests a second of *clients* concurrent clients, and the answers."""
    requests_of: dict[str, Callable[..., list[bytes]]] = {
        "recall": recalls,
        "unrecorded": partial(recalls, record=False),
        "learn": lessons,
    }

    def requests(connection: Connection, client: int) -> list[bytes]:
        mine = [text for place, text in enumerate(told) if place % number == client]
        headers = session(interface, connection) if interface.token else {}
        return requests_of[what](interface, mine, headers)

    with ExitStack() as stack, ThreadPoolExecutor(number) as threads:
        connections = [stack.enter_context(Connection(interface)) for _ in range(number)]
        if interface.token:  # the first recall promotes what was learned before
            assert connections[0].ask(recalls(interface, told[:1], {})[0]).made
        ready = [requests(connection, place) for place, connection in enumerate(connections)]
        start = time.perf_counter()
        done = threads.map(_asked, connections, ready)
        replies = [reply for one in done for reply in one]
        seconds = time.perf_counter() - start
    for reply in replies:
        assert reply.status < 300, reply.body  # noqa: PLR2004 - RFC 9110, section 15
    return len(replies) / seconds, replies


def _asked(connection: Connection, requests: list[bytes]) -> list[Reply]:
    return [connection.ask(request) for request in requests]


# --- nothing lost ---------------------------------------------------------------------------


class Restless:
    """Client whose connections break, and which retries until it is answered."""

    def __init__(self, interface: Interface, number: int) -> None:
        self._interface = interface
        self._name = f"client-{number}"
        self._chance = Random(number)
        self._connection = Connection(interface)
        self.promised: dict[str, str] = {}
        """The kind of every acknowledged command, by its Idempotency-Key."""
        self.sent = 0
        """Requests, the broken ones included."""

    def work(self, rounds: int) -> None:
        """Learn, recall and score so many times."""
        headers = session(self._interface, self._connection)
        for number in range(rounds):
            text = f"{self._name} found {number} of its own things"
            lesson = {"content": text, "category": "message"}  # that nothing like it supersedes
            self._do("learn", "/blocks", lesson, headers)
            answer = self._do("recall", "/recall", {"query": text, "top_k": 3}, headers)
            block = answer["blocks"][0]["id"]  # what was learned last may not be promoted yet
            self._do("outcome", "/outcomes", {"block_ids": [block], "signal": 0.9}, headers)
        self._connection.close()

    def _do(
        self, operation: str, path: str, document: dict[str, Any], headers: dict[str, str]
    ) -> dict[str, Any]:
        key = f"{self._name}-{len(self.promised)}"
        told = {**headers, "Idempotency-Key": key}
        request = self._interface.request(SPACE + path, document, told)
        while self._chance.random() < BREAKS:
            self._break(request)
        self.sent += 1
        reply = self._connection.ask(request)
        self.promised[key] = operation
        return reply.made

    def _break(self, request: bytes) -> None:
        """Send a request, and lose the connection at one of three places."""
        self.sent += 1
        match self._chance.randrange(3):
            case 0:
                self._connection.send(request[: self._chance.randrange(len(request))])
            case 1:
                self._connection.send(request)
            case _:
                self._connection.ask(request)
        self._connection.close()
        self._connection = Connection(self._interface)


def nothing_lost(interface: Interface, store: Path, rounds: int) -> Iterator[Found]:
    """Run clients whose connections break, and check the events in the log afterwards."""
    with SyncMemory.open(store, read_only=True) as memory:
        before = memory.status().version
    with Connection(interface) as connection:  # so that what is learned now is promoted at once
        assert connection.ask(interface.request(f"{SPACE}/consolidate", {})).made
    clients = [Restless(interface, number) for number in range(CLIENTS[-1])]
    with ThreadPoolExecutor(len(clients)) as threads:
        list(threads.map(lambda client: client.work(rounds), clients))
    promised = Counter(operation for client in clients for operation in client.promised.values())
    with SyncMemory.open(store, read_only=True) as memory:
        stands = Counter(kinds(memory, before))
        assert memory.verify().sound
    print(f"\n{'clients that hang up, 32':24}{'answered':>11}{'in the log':>12}")
    for operation, kind in KINDS.items():
        print(f"{operation:24}{promised[operation]:>11,}{stands[kind]:>12,}")
    sent = sum(client.sent for client in clients)
    print(f"{sent:,} requests for {promised.total():,} commands", flush=True)
    lost = sum(abs(promised[operation] - stands[kind]) for operation, kind in KINDS.items())
    yield Found(what="commands lost or doubled", value=lost, unit="commands", limit=0)


def kinds(memory: SyncMemory, after: int) -> Iterator[str]:
    """Yield the kind of every event behind a version."""
    while page := memory.log(after=after, limit=PAGE):
        yield from (moment.kind for moment in page)
        after = page[-1].version


# --- the program ----------------------------------------------------------------------------


def prepared(folder: Path, facts: Input) -> str:
    """Make two equal memories and a token for one of them, and return its secret."""
    with SyncMemory.open(folder / MINE) as memory:
        memory.learn_many(facts.lessons)
        memory.consolidate()
    shutil.copy(folder / MINE, folder / SERVED)
    _, secret = Keyring.open(beside(folder / SERVED)).create(NAME, {"default": "write"})
    return secret


def compared(options: argparse.Namespace, folder: Path) -> list[Found]:
    """Run all comparisons."""
    facts = given(options.data, options.blocks, options.questions)
    token = prepared(folder, facts)
    print(f"{machine()}; {dt.datetime.now(tz=dt.UTC):%Y-%m-%d}")
    if hasattr(os, "getloadavg"):
        print(f"{os.getloadavg()[0]:.1f} processes at work before this began")
    print(", ".join(f"{part} {version(part)}" for part in ("mnemic", *PARTS)), end="\n\n")
    with serving(folder / SERVED, token) as interface:
        with SyncMemory.open(folder / MINE, actor=NAME) as memory, memory.session():
            found = list(alone(memory, interface, facts.questions))
        several = itertools.islice(itertools.cycle(facts.questions), options.requests)
        found += together(interface, list(several))
        found += nothing_lost(interface, folder / SERVED, options.rounds)
    return found


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
    add("--rounds", type=int, default=10, help="of each client that hangs up")
    add("--quick", action="store_true", help="a fifth of everything but the blocks")
    add("--json", type=Path, help="write what was found here, too")
    add("--check", action="store_true", help="fail where a goal is missed")
    options = parser.parse_args()
    if options.quick:
        options.questions, options.requests, options.rounds = 60, 192, 2
    with tempfile.TemporaryDirectory() as name:
        lines = compared(options, Path(name))
    print()
    for found in lines:
        print(f"{found.what:34}{found.value:>12,.3f} {found.unit:12}{found.goal}")
    if options.json is not None:
        options.json.write_text(json.dumps({"found": [asdict(each) for each in lines]}, indent=2))
    missed = [each.what for each in lines if each.missed]
    if options.check and missed:
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
