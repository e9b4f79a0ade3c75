"""Hosts of a cluster as real processes over one database."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

import httpx
from attrs import define

from mnemic.adapters.access import Keyring
from tests.adapters.cluster.links import HostLinks

PATIENCE_S = 30.0
LEASE_S = 2.0
Linking: TypeAlias = Callable[[int], HostLinks]
"""Returns the links of a host that listens at a port."""


@define(kw_only=True, eq=False)
class HostProcess:
    """One `mnemic serve --cluster`, and a client with all permissions."""

    url: str
    secret: str
    """The token of the client."""
    command: list[str]
    client: httpx.Client
    """Reaches it over no link."""
    links: HostLinks | None = None
    """None: everything reaches it, and it reaches the database, without links."""
    process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Begin it, without a wait until it serves."""
        links = {} if self.links is None else self.links.environment
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **links}
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, env=environment)

    def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def end(self) -> int:
        """Ask it to end, and return its exit status."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(PATIENCE_S)

    def freeze(self) -> None:
        """Stop it in the middle of whatever it does, until ``thaw``."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def serves(self) -> bool:
        """Return whether it answers.

        Raises:
            AssertionError: It has ended by itself.
        """
        assert self.process is not None
        assert self.process.poll() is None, "a host has ended"
        try:
            return self.client.get("/healthz").status_code == 200
        except httpx.TransportError:
            return False


@contextmanager
def hosts(
    folder: Path,
    address: str,
    count: int,
    *options: str,
    lease_s: float = LEASE_S,
    linking: Linking | None = None,
) -> Generator[list[HostProcess]]:
    """Run *count* hosts for a ``with`` block, and wait until all of them serve."""
    _, secret = Keyring.open(folder / "tokens").create("all", {"*": "admin"})
    with ExitStack() as stack:
        made = [
            stack.enter_context(
                _host(folder, address, secret, *options, lease_s=lease_s, linking=linking)
            )
            for _ in range(count)
        ]
        for each in made:
            until(each.serves)
        yield made


@contextmanager
def _host(
    folder: Path,
    address: str,
    secret: str,
    *options: str,
    lease_s: float,
    linking: Linking | None,
) -> Generator[HostProcess]:
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    links = None if linking is None else linking(port)
    command = [
        str(Path(sys.executable).with_name("mnemic")), "--db", address, "serve",
        "--port", str(port), "--token-file", str(folder / "tokens"), "--quiet",
        "--cluster", url if links is None else links.hosts.url, "--lease", str(lease_s), *options,
    ]  # fmt: skip
    headers = {"authorization": f"Bearer {secret}"}
    with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE_S) as client:
        host = HostProcess(url=url, secret=secret, command=command, client=client, links=links)
        try:
            host.begin()
            yield host
        finally:
            host.kill()


def until(is_so: Callable[[], bool], patience_s: float = PATIENCE_S) -> float:
    """Wait until *is_so* returns True; return how long it took, in seconds."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() < began + patience_s
        time.sleep(0.05)
    return time.monotonic() - began


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
