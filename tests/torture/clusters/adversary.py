"""What happens to a cluster while it is used: one misfortune after the other, by a seed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import httpx
from attrs import define, field

from tests.adapters.cluster.cluster_hosts import PATIENCE_S, HostProcess, until
from tests.adapters.cluster.links import HostLinks, Link, Network
from tests.adapters.stores.postgres.server_group import ServerGroup

MISFORTUNES: Final = (
    "move",
    "fail over",
    "kill",
    "freeze",
    "end",
    "cut from the database",
    "cut from clients",
    "cut from other hosts",
    "cut standbys",
    "freeze the primary",
    "freeze a standby",
)
ONCE: Final = frozenset({"move"})
KILLED_AFTER_S: Final = (1.0, 4.0)
"""After how long the first attempt to move the space is killed."""
LEASES: Final = (1.2, 2.5)
"""For how many leases something is stopped or cut off."""
ANSWER_MAX_S: Final = 25.0
"""Within which a host answers that is cut off from the database, busy as the machine may be."""


@define(kw_only=True)
class Adversary:
    """Brings misfortune upon hosts, servers and the network between them."""

    servers: ServerGroup
    network: Network
    standby_links: Sequence[Link]
    """Over which standbys reach the primary."""
    hosts: list[HostProcess]
    chance: random.Random
    lease_s: float
    moved: str
    """The space that is moved."""
    home: str
    """Address of the database that it is moved from."""
    target: str
    """Address of the database that it is moved to."""
    counts: Counter[str] = field(factory=Counter)
    slowest_answer_s: float = 0.0
    """Of a host that was cut off from the database."""
    slowest_return_s: float = 0.0
    """How long it took to serve again after that."""

    def work(self, first: Sequence[str], play_s: float, pause_s: float) -> None:
        """Do each of *first* once, and go on until the time is up.

        Raises:
            AssertionError: A process did not do as it should.
        """
        until_s = time.monotonic() + play_s
        acts = [*first]
        self.chance.shuffle(acts)
        again = [act for act in first if act not in ONCE]
        while acts or time.monotonic() < until_s:
            time.sleep(self.chance.uniform(0, 2 * pause_s))
            self.do(acts.pop() if acts else self.chance.choice(again))
        for each in self.hosts:
            until(each.serves)

    def do(self, act: str) -> None:
        """Do one thing, once all hosts serve: one that finds no database at its start ends."""
        for each in self.hosts:
            until(each.serves)
        getattr(self, f"_{act.replace(' ', '_')}")()
        self.counts[act] += 1

    def _victim(self) -> HostProcess:
        return self.chance.choice(self.hosts)

    def _wait(self) -> None:
        time.sleep(self.chance.uniform(*LEASES) * self.lease_s)

    @contextmanager
    def _cut(self, *links: Link) -> Generator[None]:
        """Cut links for a ``with`` block, silently or not."""
        self.network.cut(*links, silently=self.chance.random() < 0.7)
        try:
            yield
        finally:
            self.network.mend(*links)

    # --- hosts ----------------------------------------------------------------------------------

    def _kill(self) -> None:
        host = self._victim()
        host.kill()
        host.begin()

    def _freeze(self) -> None:
        host = self._victim()
        host.freeze()
        self._wait()
        host.thaw()

    def _end(self) -> None:
        host = self._victim()
        assert host.end() == 0, "a host did not end properly"
        host.begin()

    def _cut_from_clients(self) -> None:
        with self._cut(_links(self._victim()).clients):
            self._wait()

    def _cut_from_other_hosts(self) -> None:
        with self._cut(_links(self._victim()).hosts):
            self._wait()

    def _cut_from_the_database(self) -> None:
        """Cut a host off, which has to say so, and to serve again afterwards."""
        host = self._victim()
        with self._cut(*_links(host).servers):
            self._wait()
            began_s = time.monotonic()
            path = f"/v1/spaces/{self.moved}/blocks"
            answer = host.client.post(path, json={"content": ""}, timeout=ANSWER_MAX_S)
            took_s = time.monotonic() - began_s
            assert answer.status_code == httpx.codes.SERVICE_UNAVAILABLE, answer.text
        self.slowest_answer_s = max(self.slowest_answer_s, took_s)
        back_s = until(lambda: host.client.get("/readyz").is_success)
        self.slowest_return_s = max(self.slowest_return_s, back_s)

    # --- servers --------------------------------------------------------------------------------

    def _fail_over(self) -> None:
        self.servers.fail_over()
        self.servers.rejoin()

    def _cut_standbys(self) -> None:
        """Cut one standby off from the primary, or both, so that no commit is acknowledged."""
        count = self.chance.randint(1, len(self.standby_links))
        with self._cut(*self.chance.sample(self.standby_links, count)):
            self._wait()

    def _freeze_the_primary(self) -> None:
        with self.servers.frozen(primary=True):
            self._wait()

    def _freeze_a_standby(self) -> None:
        with self.servers.frozen(primary=False):
            self._wait()

    def _move(self) -> None:
        """Move a space, after an attempt that was killed."""
        program = str(Path(sys.executable).with_name("mnemic"))
        command = [program, "--db", self.home, "move", self.moved, "--to", self.target]
        environment = {**os.environ, **self.servers.environment}
        first = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with suppress(subprocess.TimeoutExpired):
            first.wait(self.chance.uniform(*KILLED_AFTER_S))
        self.counts["moves killed"] += first.poll() is None
        first.kill()
        first.wait()
        done = subprocess.run(
            command,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=4 * PATIENCE_S,
        )
        assert done.returncode == 0, f"the space was not moved: {done.stderr}"


def _links(host: HostProcess) -> HostLinks:
    assert host.links is not None
    return host.links
