"""Hosts of a cluster as real processes over one database."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import httpx
from attrs import define

from mnemic.adapters.access import Keyring

PATIENCE_S = 30.0
LEASE_S = 2.0


@define(kw_only=True)
class HostProcess:
    """One `mnemic serve --cluster`, and a client with all permissions."""

    url: str
    process: subprocess.Popen[bytes]
    client: httpx.Client

    def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        self.process.kill()
        self.process.wait()


@contextmanager
def hosts(
    folder: Path, address: str, count: int, *options: str, lease_s: float = LEASE_S
) -> Generator[list[HostProcess]]:
    """Run *count* hosts for a ``with`` block, and wait until all of them serve."""
    _, secret = Keyring.open(folder / "tokens").create("all", {"*": "admin"})
    with ExitStack() as stack:
        made = [
            stack.enter_context(_host(folder, address, secret, *options, lease_s=lease_s))
            for _ in range(count)
        ]
        for each in made:
            until(partial(_serves, each))
        yield made


@contextmanager
def _host(
    folder: Path, address: str, secret: str, *options: str, lease_s: float
) -> Generator[HostProcess]:
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    command = [
        str(Path(sys.executable).with_name("mnemic")), "--db", address, "serve",
        "--port", str(port), "--token-file", str(folder / "tokens"), "--quiet",
        "--cluster", url, "--lease", str(lease_s), *options,
    ]  # fmt: skip
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    )
    headers = {"authorization": f"Bearer {secret}"}
    try:
        with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE_S) as client:
            yield HostProcess(url=url, process=process, client=client)
    finally:
        process.kill()
        process.wait()


def until(is_so: Callable[[], bool], patience_s: float = PATIENCE_S) -> float:
    """Wait until *is_so* returns True; return how long it took, in seconds."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() < began + patience_s
        time.sleep(0.05)
    return time.monotonic() - began


def _serves(host: HostProcess) -> bool:
    assert host.process.poll() is None, "a host has ended"
    try:
        return host.client.get("/healthz").status_code == 200
    except httpx.TransportError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
