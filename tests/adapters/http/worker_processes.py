"""``mnemic serve --workers N`` as a child process, and the state of its workers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
from attrs import frozen

from mnemic.adapters.access import Keyring

PATIENCE_S = 120.0
"""Timeout of a test for results that should be there soon, even on a busy machine."""
STOPPED_WITHIN_S = 30.0
"""A delayed shutdown takes the whole grace of the workers, which is longer."""
LOOK_S = 0.02
SERVE = "import sys; from mnemic.adapters.cli import main; sys.exit(main(sys.argv[1:]))"
DONE = (200, 201)
BLOCKS = "/v1/spaces/default/blocks"
_ANSWERED = re.compile(r"\[(\d+)\] INFO (\S+) ")


@frozen(kw_only=True)
class Several:
    """A server of several processes."""

    process: subprocess.Popen[str]
    """Their parent."""
    url: str
    store: Path
    secret: str
    log: Path

    def client(self) -> httpx.Client:
        """Return a client with its own connection, which some worker serves."""
        headers = {"authorization": f"Bearer {self.secret}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE_S)

    def one_at_each(self, stack: ExitStack) -> list[httpx.Client]:
        """Return a client for each worker, in the order of ``workers``.

        Any worker may accept a connection, so it may take a few more of them.
        """
        found: dict[int, httpx.Client] = {}
        workers = self.workers

        def is_complete() -> bool:
            client = stack.enter_context(self.client())
            found.setdefault(self.who_answered(client.get("/healthz")), client)
            return set(found) == set(workers)

        eventually(is_complete)
        return [found[pid] for pid in workers]

    @property
    def workers(self) -> list[int]:
        """The processes that serve, sorted."""
        parent = self.process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text()
        return sorted(pid for pid in map(int, children.split()) if _is_worker(pid))

    def who_answered(self, response: httpx.Response) -> int:
        """Return the process that has answered a request."""
        request = response.headers["x-request-id"]
        found: list[int] = []

        def logged() -> bool:
            said = _ANSWERED.findall(self.log.read_text())
            found.extend(int(pid) for pid, each in said if each == request)
            return bool(found)

        eventually(logged)
        return found[0]

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Stop the parent, and return its exit status."""
        self.process.send_signal(how)
        return self.process.wait(STOPPED_WITHIN_S)


@contextmanager
def several(folder: Path, *options: str, workers: int = 3) -> Generator[Several]:
    """Serve a store in *folder* by several processes, for a ``with`` block."""
    store = folder / "store.db"
    command = ["serve", "--db", str(store), "--port", "0", "--json", "--workers", str(workers)]
    with _begun([sys.executable, "-c", SERVE, *command, *options], store, folder / "log") as found:
        yield found


@contextmanager
def hosted(
    folder: Path, address: str, *, workers: int = 3, **settings: float
) -> Generator[Several]:
    """Run a host's program that serves a store at *address* with its own model."""
    tokens = folder / "host"
    program = [
        sys.executable,
        str(Path(__file__).with_name("host.py")),
        address,
        f"{tokens}.tokens",
    ]
    with _begun([*program, str(workers), json.dumps(settings)], tokens, folder / "log") as found:
        yield found


@contextmanager
def _begun(command: list[str], store: Path, log: Path) -> Generator[Several]:
    """Run a server with the tokens of *store*, for a ``with`` block."""
    keyring = Keyring.open(f"{store}.tokens")
    _, secret = keyring.create(f"root {len(keyring.list())}", {"*": "admin"})
    with (
        log.open("a") as said,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, log.read_text()
            url = json.loads(line)["url"]
            yield Several(process=process, url=url, store=store, secret=secret, log=log)
        finally:
            with suppress(ProcessLookupError):
                process.kill()


def asked_again(client: httpx.Client, content: str, key: str) -> str:
    """Learn a text, repeating the request until it is answered, and return its id."""
    headers = {"idempotency-key": key}
    deadline = time.monotonic() + 2 * PATIENCE_S  # one of its requests may remain unanswered
    while time.monotonic() < deadline:
        with suppress(httpx.TransportError):
            answer = client.post(BLOCKS, json={"content": content}, headers=headers)
            if answer.status_code in DONE:
                return str(answer.json()["block_id"])
            assert answer.status_code == 503, answer.text
    raise AssertionError(f"nobody answers {key}")


def learn_all(server: Several, person: int, count: int, answered: list[str]) -> None:
    """Learn *count* texts as one client, and add the id of each to *answered* when it is known."""
    with server.client() as client:
        keys = (f"{person}-{each}" for each in range(count))
        answered.extend(asked_again(client, f"content of {key}", key) for key in keys)


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, holds
        time.sleep(LOOK_S)


def _is_worker(pid: int) -> bool:
    """Return whether a child process is a worker, and no helper of multiprocessing."""
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def lives(pid: int) -> bool:
    """Return whether a process is running, and not a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or ") Z " not in status.read_text()
