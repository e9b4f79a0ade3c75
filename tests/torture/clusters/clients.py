"""Clients of a cluster behind a balancer: they write until it is acknowledged, and read that."""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import random
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

import httpx
from attrs import define, field, frozen

from mnemic.adapters.client import SyncMemory
from mnemic.kernel.errors import Unavailable
from mnemic.kernel.results import LearnResult, Receipt
from tests.adapters.cluster.cluster_hosts import HostProcess

TIMEOUT_S: Final = 3.0
"""How long a client waits for a host that does not answer; it may be stopped."""
PAUSE_S: Final = 0.02
RECALL_EVERY: Final = 8


class Balancer(httpx.BaseTransport):
    """Sends each request to a random host, as a load balancer that checks nothing."""

    def __init__(self, urls: Sequence[str], chance: random.Random) -> None:
        self._urls = [httpx.URL(each) for each in urls]
        self._chance = chance
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        url = self._chance.choice(self._urls)
        request.url = request.url.copy_with(host=url.host, port=url.port)
        request.headers["host"] = url.netloc.decode()
        return self._inner.handle_request(request)

    def close(self) -> None:
        """Close all connections."""
        self._inner.close()


@frozen
class AnsweredCommand:
    """A command that was acknowledged."""

    space: str
    command_id: str
    version: int
    at_s: float
    """When, by the monotonic clock."""


@define(kw_only=True, eq=False)
class Client:
    """One client, which writes to several spaces in turn."""

    name: str
    memories: dict[str, SyncMemory]
    done: list[AnsweredCommand] = field(factory=list)
    receipts: list[tuple[str, Receipt]] = field(factory=list)
    failures: list[str] = field(factory=list)
    repeated: int = 0
    """How often a command was sent again because no host had acknowledged it."""
    reads: int = 0
    is_over: threading.Event = field(factory=threading.Event)

    def work(self) -> None:
        """Write and read until told to end; the last command is acknowledged first."""
        try:
            while not self.is_over.wait(PAUSE_S):
                self._once(sorted(self.memories)[len(self.done) % len(self.memories)])
        except Exception as error:  # noqa: BLE001 - the campaign reports it
            self.failures.append(f"client {self.name}: {type(error).__name__}: {error}")

    def _once(self, space: str) -> None:
        number, memory = len(self.done), self.memories[space]
        command_id, said = f"{self.name}-{number}", text(f"{self.name}-{number}")
        learned: LearnResult | None = None
        while learned is None:
            try:
                learned = memory.learn(said, command_id=command_id)
            except Unavailable:
                self.repeated += 1
                time.sleep(PAUSE_S)
        self.done.append(AnsweredCommand(space, command_id, learned.version, time.monotonic()))
        with suppress(Unavailable):  # no host could answer it just now
            self._read(space, learned.block_id, said)

    def _read(self, space: str, block_id: str, said: str) -> None:
        """Read what was just written, from whichever host."""
        memory = self.memories[space]
        found = memory.block(block_id)
        self.reads += 1
        if found.content != said:
            self.failures.append(f"client {self.name} did not read its own write: {said}")
        if len(self.done) % RECALL_EVERY == 0:
            decision_id = memory.recall(f"What is fact {self.name}?").decision_id
            assert decision_id is not None
            self.receipts.append((space, memory.receipt(decision_id)))


def text(command_id: str) -> str:
    """Return what a command learns: the same for a repetition, and for no other command."""
    return f"Fact {command_id} is a fact of a cluster."


@contextmanager
def clients(
    made: Sequence[HostProcess], spaces: Sequence[str], *, count: int, seed: int
) -> Generator[list[Client]]:
    """Run *count* clients for a ``with`` block, then let each finish what it began."""
    urls = [each.url if each.links is None else each.links.clients.url for each in made]
    members = [
        Client(
            name=f"c{number}",
            memories={
                space: SyncMemory.open(
                    urls[0],
                    space=space,
                    token=made[0].secret,
                    timeout_s=TIMEOUT_S,
                    retries=3,
                    read_your_writes=True,
                    transport=Balancer(urls, random.Random(f"{seed} {number} {space}")),
                )
                for space in spaces
            },
        )
        for number in range(count)
    ]
    threads = [threading.Thread(target=each.work) for each in members]
    for thread in threads:
        thread.start()
    try:
        yield members
    finally:
        for each in members:
            each.is_over.set()
        for thread in threads:
            thread.join()
        for each in members:
            for memory in each.memories.values():
                memory.close()
