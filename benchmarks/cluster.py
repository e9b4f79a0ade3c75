"""Measures what a cluster of hosts over one PostgreSQL database costs and how long it interrupts.

Targets:

* processor time of a recall on a host of four: at most 1.10 times that on a server alone. All
  answer the same questions about the same space, in turns; the best of each is compared.
* from the kill of a leader to the next acknowledged write: at most 10 s, with a lease of 5 s
* the first recall of a host that takes a space over when the lease has ended: at most 2 s with
  checkpoints that hosts share, whether the host had the space before or never. 4,900 events are
  behind the last checkpoint, about as many as there ever are.
* a move of a space to another database while 20 facts a second are learned: shown are its duration,
  and how long writes had to wait beside the longest wait before it

A server is started for this, at a socket in a temporary folder, with durable commits; or name
one: ``--server postgresql://user@host/database``, where the spaces stay for another run. Source and
target of the move are two schemas.
"""

from __future__ import annotations

import argparse
import itertools
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import httpx
from attrs import define, field, frozen
from log import sentences
from pages import machine
from postgres import served

from mnemic.adapters.access import Keyring
from mnemic.adapters.client import SyncMemory
from mnemic.adapters.inprocess import SyncMemory as Direct
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.kernel.errors import Unavailable

SPACE, OTHER = "large", "small"
HOSTS = 4
ROUNDS = 3
BATCH = 500
BEHIND = 1_900
LEASE_S = 5.0
WAIT_S = 120.0
LEARNS_PER_S = 20.0
SCHEMAS = "mnemic_cluster", "mnemic_cluster_moved"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PROGRAM = str(Path(sys.executable).with_name("mnemic"))


@frozen(kw_only=True)
class Host:
    """A running `mnemic serve`."""

    url: str
    token: str
    process: subprocess.Popen[bytes]

    def memory(self, retries: int = 2, space: str = SPACE) -> SyncMemory:
        """Return a client of it."""
        return SyncMemory.open(self.url, space=space, token=self.token, retries=retries)

    def cpu_s(self) -> float:
        """Return the processor time that it has used."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / TICKS_PER_S


@contextmanager
def serving(address: str, folder: Path, token: str, *options: str) -> Generator[Host]:
    """Run a server for a ``with`` block; ``{}`` in an option is its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [PROGRAM, "--db", address, "serve", "--port", str(port), "--quiet"]
    command += ["--token-file", str(folder / "tokens"), *(each.format(url) for each in options)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
    try:
        deadline = time.monotonic() + WAIT_S
        while True:
            with suppress(httpx.TransportError):
                httpx.get(f"{url}/healthz").raise_for_status()
                break
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        yield Host(url=url, token=token, process=process)
    finally:
        process.terminate()
        process.wait(WAIT_S)


# --- recalls --------------------------------------------------------------------------------------


def recall_costs(hosts: list[Host], questions: list[str]) -> list[float]:
    """Return the processor time of a recall on each host, in milliseconds: the best of rounds."""
    best = [float("inf")] * len(hosts)
    memories = [host.memory() for host in hosts]
    for round_, (place, host) in itertools.product(range(ROUNDS + 1), enumerate(hosts)):
        before = host.cpu_s()
        for each in questions:
            memories[place].recall(each, record=False)
        if round_:  # the first one warms it up
            best[place] = min(best[place], 1000 * (host.cpu_s() - before) / len(questions))
    return best


# --- interruptions --------------------------------------------------------------------------------


@define
class Writer:
    """Learns so many facts a second, each until it is acknowledged, and records when it was."""

    memory: SyncMemory
    done_s: list[float] = field(factory=list)
    tries: int = 0
    _is_over: threading.Event = field(factory=threading.Event)

    def work(self) -> None:
        """Write until told to end."""
        due_s = time.monotonic()
        for number in itertools.count():
            while not self._is_over.is_set():
                self.tries += 1
                with suppress(Unavailable):
                    self.memory.learn(f"Fact {number} of a writer.", command_id=f"fact {number}")
                    self.done_s.append(time.monotonic())
                    break
                time.sleep(0.02)
            due_s = max(due_s + 1 / LEARNS_PER_S, time.monotonic() - 1)
            if self._is_over.wait(max(0.0, due_s - time.monotonic())):
                return

    @contextmanager
    def working(self) -> Generator[None]:
        """Write on another thread for a ``with`` block."""
        thread = threading.Thread(target=self.work)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def longest_wait_s(self, first_s: float, last_s: float) -> float:
        """Return the longest time between two acknowledgements that touches a span of time."""
        pairs = itertools.pairwise(self.done_s)
        return max(after - before for before, after in pairs if after > first_s and before < last_s)


def takeover_s(leader: Host, other: Host) -> float:
    """Kill the leader; return how long no write is acknowledged by another host."""
    with leader.memory() as memory:
        memory.learn("The last words of the leader.")
    leader.process.kill()
    killed_s = time.monotonic()
    with other.memory(retries=0) as memory:
        while True:
            with suppress(Unavailable):
                memory.learn("The first words of the next one.", command_id="next")
                return time.monotonic() - killed_s
            time.sleep(0.05)


def first_recall_s(host: Host, *, record: bool) -> float:
    """Return how long the first recall of the space takes on a host that serves another one."""
    with host.memory(space=OTHER) as memory:
        memory.recall("What did the first sentence say?", record=False)
    with host.memory(retries=0) as memory:
        begun_s = time.monotonic()
        memory.recall("What did the last sentence say?", record=record)
        return time.monotonic() - begun_s


def first_recalls(leader: Host, begun: Callable[[str], Host]) -> Host:
    """Print how long first recalls take on hosts that follow or take over; return the last leader.

    Args:
        leader: The host that leads the space.
        begun: Begins a host with the cache of a name.
    """
    with leader.memory() as memory:
        memory.checkpoint()
        for first in range(0, BEHIND, BATCH):
            memory.learn_many(sentences(first, min(BATCH, BEHIND - first)))
        memory.consolidate()
    follower = begun("follower")
    show("first recall of a follower that never had it, s", first_recall_s(follower, record=False))
    follower.process.terminate()
    follower.process.wait(WAIT_S)
    for cache, name in (("successor", "never had it"), ("follower", "had it before")):
        successor = begun(cache)
        leader.process.kill()
        time.sleep(LEASE_S + 1)
        show(f"first recall of a new leader that {name}, s", first_recall_s(successor, record=True))
        leader = successor
    return leader


def show(name: str, value: float) -> None:
    """Print one figure."""
    print(f"{name:50} {value:8.2f}", flush=True)


def moved(address: str, target: str, host: Host) -> dict[str, float]:
    """Move the space while it is written; return how long that took, and how long writes waited."""
    writer = Writer(host.memory(retries=0))
    with writer.working():
        time.sleep(5)
        begun_s = time.monotonic()
        command = [PROGRAM, "--db", address, "move", SPACE, "--to", target]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
        ended_s = time.monotonic()
        time.sleep(3)
    return {
        "move, s": ended_s - begun_s,
        "longest wait for a write before it, s": writer.longest_wait_s(0, begun_s),
        "longest wait for a write during it, s": writer.longest_wait_s(begun_s, ended_s),
        "learned a second": len(writer.done_s) / (writer.done_s[-1] - writer.done_s[0]),
    }


# --- the program ----------------------------------------------------------------------------------


def filled(address: str, blocks: int) -> None:
    """Make a space of so many blocks, unless an earlier run has made it."""
    with closing(PostgresStore(address)) as store:
        if SPACE in store.spaces():
            return
    with Direct.open(address, space=OTHER, checkpoints=False) as memory:
        memory.learn_many(sentences(0, 10))
    with Direct.open(address, space=SPACE, synchronous="normal", checkpoints=False) as memory:
        for first in range(0, blocks, BATCH):
            memory.learn_many(sentences(first, min(BATCH, blocks - first)))
        memory.consolidate()


def measured(options: argparse.Namespace, server: str, folder: Path) -> None:
    """Run all measurements, and print them."""
    address, target = (f"{server}&schema={each}" for each in SCHEMAS)
    _, token = Keyring.open(folder / "tokens").create("all", {"*": "admin"})
    filled(address, options.blocks)
    PostgresStore(target).close()
    with ExitStack() as stack:

        def begun(*settings: str) -> Host:
            return stack.enter_context(serving(address, folder, token, *settings))

        def part(cache: str = "shared") -> list[str]:
            found = ["--cluster", "{}", "--lease", str(LEASE_S)]
            if options.checkpoints == "folder":
                return [*found, "--checkpoints", str(folder / "checkpoints")]
            if options.checkpoints:
                found += ["--checkpoints", options.checkpoints]
                found += ["--checkpoint-cache", str(folder / cache)]
            return found

        hosts = [begun(*part(f"host {number}")) for number in range(HOSTS)]
        with hosts[0].memory() as memory:
            memory.learn("The first host leads it.")
        costs = recall_costs([begun(), *hosts], sentences(0, options.questions))
        alone, others = costs[0], costs[1:]
        print(f"recall on a server alone, ms of processor time     {alone:8.2f}")
        print(f"recall on a host of {HOSTS}, the median of them          ", end="")
        print(f"{statistics.median(others):8.2f} {statistics.median(others) / alone:6.2f} times")
        opened_s = takeover_s(*hosts[:2])
        show("takeover after a kill, the space is open there, s", opened_s)
        fresh = begun(*part("fresh"))
        folded_s = takeover_s(hosts[1], fresh)
        show("takeover after a kill, it is not, s", folded_s)
        if options.checkpoints:
            fresh = first_recalls(fresh, lambda cache: begun(*part(cache)))
        for name, value in moved(address, target, fresh).items():
            show(name, value)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument(
        "--checkpoints", help="where hosts share them: folder, database, or the URL of a bucket"
    )
    parser.add_argument("--server", help="address of a server; its two schemas are not removed")
    options = parser.parse_args()
    print(f"{machine()}; {os.getloadavg()[0]:.1f} processes at work before; ", end="")
    print(f"{options.blocks:,} blocks", end="\n\n")
    with served(options.server) as server, tempfile.TemporaryDirectory() as folder:
        measured(options, server, Path(folder))


if __name__ == "__main__":
    main()
