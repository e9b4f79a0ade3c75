"""Whether the server lives, and whether it can work. Anybody may ask.

``GET /healthz`` answers 200 for as long as the process answers at all: if it does not, start it
again. ``GET /readyz`` answers 200 while the store can be read and there is room to write, and else
503 with a problem document: send nobody here until it does. Neither says anything about spaces, or
about the machine: what exactly is wrong stands in the server's log.
"""

from __future__ import annotations

import time

from attrs import define
from litestar.types import ControllerRouterHandler

from mnemic.adapters.http import reading
from mnemic.adapters.http.answers import Answer, of_document
from mnemic.adapters.http.calling import Desk
from mnemic.adapters.http.failures import NotReady, Stopping
from mnemic.adapters.http.front import LOG
from mnemic.adapters.http.handlers import Asked, placed
from mnemic.kernel.errors import MnemicError

FRESH_S = 1.0
"""How long one look at the disk is good for, however many ask."""


def handlers(desk: Desk) -> list[ControllerRouterHandler]:
    """Return the handlers of this module."""
    readiness = Readiness(desk)

    async def healthz(request: Asked) -> Answer:
        reading.check_fields(reading.query(request.scope), ())
        return of_document({"status": "alive"})

    async def readyz(request: Asked) -> Answer:
        reading.check_fields(reading.query(request.scope), ())
        await readiness.check()
        return of_document({"status": "ready"})

    return [
        placed(healthz, "GET", "/healthz", name="healthz"),
        placed(readyz, "GET", "/readyz", name="readyz"),
    ]


@define
class Readiness:
    """Whether the server can work, as of a moment ago."""

    _desk: Desk
    _seen_s: float = float("-inf")
    _problem: MnemicError | None = None

    async def check(self) -> None:
        """Look, unless somebody has just looked.

        Raises:
            NotReady: The store cannot be read, or not be written.
            Stopping: The server is on its way out.
        """
        if self._desk.stopping.is_set():
            raise Stopping("the server is on its way out")
        now_s = time.monotonic()
        if now_s - self._seen_s > FRESH_S:
            self._seen_s = now_s
            self._problem = await self._look()
        if self._problem is not None:
            raise NotReady(f"the store is not ready: {self._problem.code}")

    async def _look(self) -> MnemicError | None:
        try:
            await self._desk.spaces.check()
        except MnemicError as error:
            LOG.warning("not ready: %s", error)
            return error
        return None
