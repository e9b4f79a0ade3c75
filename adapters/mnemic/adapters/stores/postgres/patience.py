"""A connection that does not wait for ever for an answer.

A server that dies says so, or its machine does for it. A process of the server that hangs says
nothing, nor does a network that swallows what it should carry, and the driver would wait for either
without end. So each answer has a limit.

1. The limit is one on silence. Whatever comes, or can be sent, begins it anew: what is long may
   take long.
2. Behind it the connection is closed and counts as lost, for an answer that comes later would be
   taken for that of another question.
3. The server is not asked to break off. A process that hangs would not hear of it, and one that
   waits for its replicas would take it as leave not to wait for them.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeVar

import psycopg
from psycopg import Connection
from psycopg.abc import PQGen
from psycopg.rows import DictRow

Answer = TypeVar("Answer")

LOOK_S = 0.1
"""Between two looks at a clock while nothing comes. Source: the driver's own interval."""
STEP_MAX_S = 1.0
"""Counted at most between two of them: who was stopped meanwhile has not waited."""


class Silent(psycopg.OperationalError):
    """Nothing came from the server for too long."""


class PatientConnection(Connection[DictRow]):
    """A connection to a server that may be silent for so long, and no longer."""

    patience_s: float
    """How long. Range: > 0. Until it is set nobody asks anything."""

    def wait(
        self, gen: PQGen[Answer], interval: float = LOOK_S, timeout: float | None = None
    ) -> Answer:
        """Return what the driver's generator brings. The driver waits for everything here.

        Raises:
            Silent: Nothing came for too long; the connection is closed.
        """
        try:
            return super().wait(_timed(gen, self.patience_s), interval, timeout)
        except Silent:
            self.close()
            raise

    @contextmanager
    def patient(self, more_s: float) -> Generator[None]:
        """Allow the server so many seconds more, for a ``with`` block."""
        self.patience_s += more_s
        try:
            yield
        finally:
            self.patience_s -= more_s


def _timed(gen: PQGen[Answer], patience_s: float) -> PQGen[Answer]:
    """Go along with *gen* until nothing has come for too long."""
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
            wanted = gen.send(ready)
    except StopIteration as end:
        answer: Answer = end.value
        return answer
