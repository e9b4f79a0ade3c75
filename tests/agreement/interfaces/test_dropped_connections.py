"""Clients over HTTP whose connections break, and which retry: nothing is lost or written twice."""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random

import httpx
import pytest
from attrs import frozen

from mnemic.adapters.client import SyncMemory as Client
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from tests.adapters.http.servers import Served, served

pytestmark = pytest.mark.extended

CLIENTS = 32
ROUNDS = 3
KINDS = {"learn": "block-learned", "recall": "recall-recorded", "outcome": "outcome-recorded"}
WAYS = ("before all of it is sent", "before the answer", "after the answer", "not", "not")
"""When a connection breaks, each as likely as the others."""


class Breaking(httpx.BaseTransport):
    """Transport whose connections break at random."""

    def __init__(self, server: Served, chance: Random) -> None:
        self._server = server
        self._chance = chance
        self._way = httpx.HTTPTransport()
        self.broken: Counter[str] = Counter()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return its answer, unless the connection breaks."""
        way = self._chance.choice(WAYS)
        self.broken[way] += 1
        if way == "not":
            return self._way.handle_request(request)
        if way == "after the answer":
            self._way.handle_request(request).read()
        else:
            sent = written(request)
            length = self._chance.randrange(len(sent)) if way == WAYS[0] else len(sent)
            with self._server.connect() as connection:
                connection.sendall(sent[:length])
        raise httpx.ReadError(f"broken {way}")

    def close(self) -> None:
        """Close what is still open."""
        self._way.close()


def written(request: httpx.Request) -> bytes:
    """Return the bytes of a request."""
    head = [f"{request.method} ".encode() + request.url.raw_path + b" HTTP/1.1"]
    head += [name + b": " + value for name, value in request.headers.raw]
    return b"\r\n".join([*head, b"", request.read()])


@frozen(kw_only=True)
class Afterwards:
    """The store after all clients were answered and the server has ended."""

    store: Path
    promised: Counter[str]
    """Operations that were answered."""
    ids: tuple[str, ...]
    broken: Counter[str]


def work(server: Served, number: int) -> tuple[list[tuple[str, str]], Counter[str]]:
    """Learn, recall and score with breaking connections; return the answers, and the breaks."""
    promised: list[tuple[str, str]] = []
    way = Breaking(server, Random(number))
    with Client.open(
        server.url, token=server.secret, transport=way, retries=100, backoff_s=0.0
    ) as memory:
        for each in range(ROUNDS):
            names = {operation: f"{number}-{each}-{operation}" for operation in KINDS}
            words = f"Client {number} brings thing {each}."
            learned = memory.learn(words, category="message", command_id=names["learn"])
            memory.recall(words, command_id=names["recall"])
            # A recall leaves what another one is promoting at the moment.
            memory.consolidate(command_id=f"{number}-{each}-consolidate")
            memory.outcome([learned.block_id], 0.9, command_id=names["outcome"])
            promised += ((name, operation) for operation, name in names.items())
    return promised, way.broken


@pytest.fixture(scope="module")
def afterwards(tmp_path_factory: pytest.TempPathFactory) -> Afterwards:
    folder = tmp_path_factory.mktemp("clients")
    with served(folder) as server, ThreadPoolExecutor(CLIENTS) as threads:
        with server.client() as admin:
            admin.put("/v1/spaces/default").raise_for_status()
        done = list(threads.map(lambda number: work(server, number), range(CLIENTS)))
    promised = dict(pair for answered, _ in done for pair in answered)
    return Afterwards(
        store=server.store,
        promised=Counter(promised.values()),
        ids=tuple(promised),
        broken=sum((broken for _, broken in done), Counter()),
    )


def test_connections_broke_in_every_way(afterwards: Afterwards) -> None:
    assert min(afterwards.broken[way] for way in WAYS) > CLIENTS


def test_every_acknowledged_command_is_in_the_log_once(afterwards: Afterwards) -> None:
    with SyncMemory.open(afterwards.store, read_only=True) as memory:
        stands = Counter(event.kind for event in memory.log(limit=1000))
    every = CLIENTS * ROUNDS
    assert afterwards.promised == dict.fromkeys(KINDS, every)
    assert {kind: stands[kind] for kind in KINDS.values()} == dict.fromkeys(KINDS.values(), every)


def test_every_command_has_events_of_its_own(afterwards: Afterwards) -> None:
    with closing(SQLiteStore(afterwards.store, read_only=True)) as store:
        log = store.log("default")
        rows = [log.command(name) for name in afterwards.ids]
    assert len({row.first for row in rows if row is not None}) == len(afterwards.ids)


def test_the_log_is_sound_and_every_decision_is_reproduced(afterwards: Afterwards) -> None:
    with SyncMemory.open(afterwards.store, read_only=True) as memory:
        assert memory.verify().sound
        again = memory.replay_all()
    assert (again.decisions, again.reproduced) == (CLIENTS * ROUNDS, CLIENTS * ROUNDS)
