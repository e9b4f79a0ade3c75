"""Several worker processes behind one address, started and replaced by uvicorn's supervisor.

Rules of this module:

1. Workers are spawned, so each opens the store and loads its models for itself. What describes the
   server (``Worker``) is pickled and sent to them.
2. A worker that dies is replaced. One whose interpreter does not run for ``silence_max_s`` is
   killed and replaced. A call that hangs on a thread is answered as overdue by its own worker.
3. A worker whose parent has ended stops as if it had been asked to.
4. Any worker may serve any request: what outlives a request is in the log. So agents under ``/mcp``
   get no protocol session.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from attrs import frozen
from litestar import Litestar
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from mnemic.adapters.access import Keyring
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.endpoints.metrics import SHARED_FOLDER, forget_ended
from mnemic.adapters.http.mcp_mount import with_mcp
from mnemic.adapters.http.middleware.observation import Observing
from mnemic.adapters.http.middleware.request_ids import LOG, RequestMiddleware
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.remote.transport_errors import WorkersFailed
from mnemic.adapters.system.collector import collect_rarely
from mnemic.kernel.errors import FieldRefused, MnemicError

WORKERS_MAX = 64
START_S = 120.0
"""How long all workers may take until they serve."""


@frozen(kw_only=True)
class Worker:
    """The application of one worker process: called there once, to make it."""

    spaces: Spaces
    """Not entered yet."""
    keyring: Keyring
    settings: Settings
    observing: Observing
    """Returns the observers of the requests of one process."""
    prepare: Callable[[], None]
    """Called first in the new process, to set up what it does not inherit, such as logging."""

    def __call__(self) -> RequestMiddleware:
        """Return the application of this process, or end the server if that is not possible."""
        self.prepare()
        collect_rarely()
        try:
            return self._application()
        except Exception as error:  # noqa: BLE001 - the next worker would meet it too
            is_ours = isinstance(error, MnemicError)
            LOG.critical("a worker cannot begin: %s", error, exc_info=not is_ours)
            sys.exit(STARTUP_FAILURE)

    def _application(self) -> RequestMiddleware:
        forget_ended()
        stack = ExitStack()
        observers = stack.enter_context(self.observing()) or ()

        @asynccontextmanager
        async def open_spaces(_: Litestar) -> AsyncGenerator[None]:
            with stack:
                async with self.spaces:
                    yield

        return with_mcp(
            self.spaces,
            self.keyring,
            self.settings,
            observers=observers,
            around=[_until_orphaned, open_spaces],
            stateless=True,
        )


@asynccontextmanager
async def _until_orphaned(_: Litestar) -> AsyncGenerator[None]:
    """Stop this process when its parent has ended, while the application lives."""
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101 - workers are spawned
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.remove_reader(parent.sentinel)
        LOG.error("process %d stops because its parent has ended", os.getpid())
        signal.raise_signal(signal.SIGTERM)

    loop.add_reader(parent.sentinel, stop)
    try:
        yield
    finally:
        loop.remove_reader(parent.sentinel)


class _Supervisor(Multiprocess):
    """uvicorn's supervisor, which calls *begun* once all workers serve."""

    def __init__(
        self, config: uvicorn.Config, sockets: list[socket.socket], begun: Callable[[], None]
    ) -> None:
        super().__init__(config, sockets)
        self._begun = begun

    def init_processes(self) -> None:
        """Start all workers, and wait until they serve."""
        super().init_processes()
        if all(each.wait_until_ready(START_S, self.should_exit) for each in self.processes):
            self._begun()

    def failure(self) -> WorkersFailed | None:
        """Return the error of workers that could not serve; None: all were asked to stop."""
        if any(each.exitcode == STARTUP_FAILURE for each in self.processes):
            return WorkersFailed("a worker could not begin to serve")
        return None


def check_count(count: int) -> None:
    """Refuse a number of workers that is out of range.

    Raises:
        FieldRefused: It is.
    """
    if not 1 <= count <= WORKERS_MAX:
        raise FieldRefused(
            f"workers must be a number from 1 to {WORKERS_MAX}, got {count}", field="workers"
        )


def supervise(
    worker: Worker,
    listener: socket.socket,
    config: Callable[[Any], uvicorn.Config],
    *,
    count: int,
    begun: Callable[[], None],
) -> None:
    """Serve by *count* processes until a signal stops them.

    Args:
        worker: What each process serves.
        listener: The socket that all of them accept connections from.
        config: Returns uvicorn's configuration for an application.
        count: Number of processes. Range: [1, ``WORKERS_MAX``].
        begun: Called once all of them serve.

    Raises:
        FieldRefused: The worker cannot be sent to another process.
        WorkersFailed: A worker could not begin.
    """
    try:
        pickle.dumps(worker)
    except Exception as error:
        raise FieldRefused(
            f"several workers need models that can be pickled: {error}",
            recovery="Define the model's class in a module, or serve with one worker.",
            field="workers",
        ) from error
    made = config(worker)
    made.factory, made.workers = True, count
    with _shared_metrics():
        supervisor = _Supervisor(made, [listener], begun)
        supervisor.run()
    failure = supervisor.failure()
    if failure is not None:
        raise failure


@contextmanager
def _shared_metrics() -> Generator[None]:
    """Give the workers a folder for their metrics, for a ``with`` block."""
    before = os.environ.get(SHARED_FOLDER)
    with tempfile.TemporaryDirectory(prefix="mnemic-metrics-") as folder:
        os.environ[SHARED_FOLDER] = folder
        try:
            yield
        finally:
            os.environ.pop(SHARED_FOLDER)
            if before is not None:
                os.environ[SHARED_FOLDER] = before
