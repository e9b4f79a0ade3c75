"""What happens to a cluster while it is used: one misfortune after the other, by a seed."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Final

from attrs import define, field

from tests.adapters.cluster.cluster_hosts import PATIENCE_S, HostProcess, until
from tests.adapters.stores.postgres.server_pair import ServerPair

ALWAYS: Final = ("move", "fail over", "kill", "freeze")
AGAIN: Final = ("kill", "freeze", "end")
KILLED_AFTER_S: Final = (1.0, 4.0)
"""After how long the first attempt to move the space is killed."""


@define(kw_only=True)
class Adversary:
    """Brings misfortune upon hosts and servers."""

    pair: ServerPair
    hosts: list[HostProcess]
    chance: random.Random
    lease_s: float
    moved: str
    """The space that is moved."""
    target: str
    """Address of the database that it is moved to."""
    counts: Counter[str] = field(factory=Counter)

    def work(self, play_s: float, pause_s: float) -> None:
        """Do all that matters most once, and go on until the time is up.

        Raises:
            AssertionError: A process did not do as it should.
        """
        until_s = time.monotonic() + play_s
        acts = [*ALWAYS]
        self.chance.shuffle(acts)
        while acts or time.monotonic() < until_s:
            time.sleep(self.chance.uniform(0, 2 * pause_s))
            self.do(acts.pop() if acts else self.chance.choice(AGAIN))
        for each in self.hosts:
            until(each.serves)

    def do(self, act: str) -> None:
        """Do one thing."""
        if act == "move":
            self._move()
        elif act == "fail over":
            self.pair.fail_over()
        else:
            getattr(self, f"_{act}")(self._victim())
        self.counts[act] += 1

    def _victim(self) -> HostProcess:
        """Return any host, once it serves."""
        victim = self.chance.choice(self.hosts)
        until(victim.serves)
        return victim

    def _kill(self, host: HostProcess) -> None:
        host.kill()
        host.begin()

    def _freeze(self, host: HostProcess) -> None:
        host.freeze()
        time.sleep(self.chance.uniform(1.2, 2.5) * self.lease_s)
        host.thaw()

    def _end(self, host: HostProcess) -> None:
        assert host.end() == 0, "a host did not end properly"
        host.begin()

    def _move(self) -> None:
        """Move a space, after an attempt that was killed."""
        program = str(Path(sys.executable).with_name("mnemic"))
        command = [
            program, "--db", self.pair.address, "move", self.moved, "--to", self.target,
        ]  # fmt: skip
        first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with suppress(subprocess.TimeoutExpired):
            first.wait(self.chance.uniform(*KILLED_AFTER_S))
        self.counts["moves killed"] += first.poll() is None
        first.kill()
        first.wait()
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=4 * PATIENCE_S
        )
        assert done.returncode == 0, f"the space was not moved: {done.stderr}"
