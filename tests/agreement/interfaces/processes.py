"""The command line, MCP and HTTP, each as a process of its own on one file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal
from attrs import define, field
from mcp import Client, StdioServerParameters, stdio_client

from mnemic.adapters.client import SyncMemory
from mnemic.adapters.remote.documents import result_of
from mnemic.adapters.remote.operations import operations
from mnemic.specs.contracts import raised
from tests.adapters.mcp.interfaces import ToolInterface
from tests.agreement.interfaces.command_line import FIRST, tokens

RUN = (sys.executable, "-c", "import sys; from mnemic.adapters.cli import main; sys.exit(main())")
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(str(Path(each).resolve()) for each in sys.path),
    "OPENBLAS_NUM_THREADS": "1",  # several processes share the machine
}
PATIENCE_S = 120.0
"""Limit for the end of a process, after which a test fails; usually a second or two."""
SESSIONS = {"start_session": "session start", "end_session": "session end"}
"""Operations whose command has two words."""


@define
class Commands:
    """A person at the command line: each operation is a run of ``mnemic``."""

    store: Path
    actor: str
    _session: tuple[str, ...] = field(default=(), init=False)
    """The option that continues a session."""

    def __getattr__(self, operation: str) -> Any:
        if operation not in operations():
            raise AttributeError(operation)
        return partial(self._run, operation)

    def _run(self, operation: str, *args: Any, **named: Any) -> Any:
        given = {**dict(zip(FIRST.get(operation, ()), args, strict=False)), **named}
        words = tokens(operation, given)
        if operation in SESSIONS:
            words = [*SESSIONS[operation].split(), *words[1:-1]]
        result = result_of(operations()[operation], command(self.store, *self._options, *words))
        if operation in SESSIONS:
            started = operation == "start_session"
            self._session = ("--session", result.session_id) if started else ()
        return result

    @property
    def _options(self) -> tuple[str, ...]:
        return ("--actor", self.actor, *self._session)


def command(store: Path, *words: str) -> Any:
    """Run one command to its end and return the document that it prints.

    Raises:
        MnemicError: It printed a refusal instead.
    """
    done = subprocess.run(
        [*RUN, "--db", str(store), "--json", *words],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=PATIENCE_S,
    )
    if not done.stdout:
        raise raised(json.loads(done.stderr.splitlines()[-1]))
    return json.loads(done.stdout)


@contextmanager
def agent_over_pipes(store: Path, actor: str, portal: BlockingPortal) -> Generator[ToolInterface]:
    """Start ``mnemic mcp`` with a client of the SDK, and yield it for a ``with`` block."""
    started = StdioServerParameters(
        command=RUN[0],
        args=[*RUN[1:], "--db", str(store), "--actor", actor, "mcp", "--sessions", "manual"],
        env=ENVIRONMENT,
    )
    with store.with_suffix(".mcp.log").open("w") as errors:
        client = Client(stdio_client(started, errlog=errors))
        with portal.wrap_async_context_manager(client) as connected:
            yield ToolInterface(portal, connected)


@contextmanager
def agent_over_http(store: Path, actor: str) -> Generator[SyncMemory]:
    """Create a token, run ``mnemic serve``, and yield a client for a ``with`` block."""
    made = command(store, "token", "create", actor, "--write", "default")
    serve = [*RUN, "--db", str(store), "--json", "serve", "--port", "0", "--quiet"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        try:
            assert process.stdout is not None
            address = json.loads(process.stdout.readline())["url"]
            with SyncMemory.open(address, token=made["secret"]) as memory:
                yield memory
        finally:
            process.send_signal(signal.SIGTERM)
            ended = process.wait(PATIENCE_S)
    assert ended == 0
