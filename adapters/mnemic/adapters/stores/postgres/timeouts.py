"""A connection with a time limit on every answer.

When a server dies, it or its machine closes the connection. A server process that hangs says
nothing, nor does a network that drops packets, and the driver would wait for either without end.
So each answer has a limit.

1. It is a limit on silence. Everything that is received, or can be sent, restarts it: a long answer
   may take long.
2. After it the connection is closed and counts as lost, for a late answer would be taken for the
   answer to another statement.
3. A connection is given up before that, if the host knows by other means that it is cut off.
4. The server is not asked to cancel. A process that hangs would not notice, and one that waits for
   its replicas would take it as permission not to wait for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

import psycopg
from psycopg import Connection
from psycopg.abc import PQGen
from psycopg.errors import Diagnostic
from psycopg.rows import DictRow

from mnemic.adapters.stores.postgres.replication import is_ended_wait

Answer = TypeVar("Answer")

LOOK_S = 0.1
"""Interval of looking at the clock while nothing arrives. Source: the driver's own interval."""
STEP_MAX_S = 1.0
"""Counted at most per interval: a process that was stopped meanwhile has not waited."""


class Silent(psycopg.OperationalError):
    """Nothing arrived from the server for too long."""


class PatientConnection(Connection[DictRow]):
    """A connection whose server may be silent for a limited time."""

    patience_s: float
    """The limit. Range: > 0. It is set before the first statement."""
    given_up: Callable[[], bool] = staticmethod(lambda: False)
    """Returns whether nothing is to be waited for any more."""
    is_unreplicated = False
    """Whether the server has warned that a commit may not have reached its replicas."""

    def look_at(self, notice: Diagnostic) -> None:
        """Process a notice that the server sent in addition to an answer."""
        if is_ended_wait(notice):
            self.is_unreplicated = True

    def wait(
        self, gen: PQGen[Answer], interval: float = LOOK_S, timeout: float | None = None
    ) -> Answer:
        """Return the result of the driver's generator, through which all of its waits pass.

        Raises:
            Silent: Nothing arrived for too long, or it was given up; the connection is closed.
        """
        try:
            return super().wait(_timed(gen, self.patience_s, self.given_up), interval, timeout)
        except Silent:
            self.close()
            raise

    @contextmanager
    def patient(self, more_s: float) -> Generator[None]:
        """Raise the limit by *more_s* seconds for a ``with`` block."""
        self.patience_s += more_s
        try:
            yield
        finally:
            self.patience_s -= more_s


def _timed(gen: PQGen[Answer], patience_s: float, given_up: Callable[[], bool]) -> PQGen[Answer]:
    """Step through *gen* until nothing has arrived for too long, or it was *given_up*."""
    silent_s, seen = 0.0, time.monotonic()
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            now = time.monotonic()
            silent_s = 0.0 if ready else silent_s + min(now - seen, STEP_MAX_S)
            seen = now
            if silent_s >= patience_s:
                raise Silent(f"nothing came from the server for {patience_s:g} s")
            if not ready and given_up():
                raise Silent("the network to the server counts as cut")
            wanted = gen.send(ready)
    except StopIteration as end:
        answer: Answer = end.value
        return answer
