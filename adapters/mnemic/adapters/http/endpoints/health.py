"""Liveness and readiness of the server. No token is needed.

``GET /healthz`` answers 200 for as long as the process answers at all: if it does not, restart the
process. ``GET /readyz`` answers 200 while the store can be read and there is space to write, and
otherwise 503 with a problem document: route no requests here until it answers 200 again. Neither
reveals anything about spaces, or about the machine: the exact cause is in the server's log.
"""

from __future__ import annotations

import time

from attrs import define
from litestar.types import ControllerRouterHandler

from mnemic.adapters.http.endpoints.dispatch import Dispatcher
from mnemic.adapters.http.messages import requests
from mnemic.adapters.http.messages.responses import Answer, of_document
from mnemic.adapters.http.middleware.request_ids import LOG
from mnemic.adapters.http.routing.handlers import Asked, placed
from mnemic.adapters.remote.transport_errors import NotReady, Stopping
from mnemic.kernel.errors import MnemicError

FRESH_S = 1.0
"""How long the result of one check of the disk is reused, for all requests."""


def handlers(dispatcher: Dispatcher) -> list[ControllerRouterHandler]:
    """Return the handlers of this module."""
    readiness = Readiness(dispatcher)

    async def healthz(request: Asked) -> Answer:
        requests.check_fields(requests.query(request.scope), ())
        return of_document({"status": "alive"})

    async def readyz(request: Asked) -> Answer:
        requests.check_fields(requests.query(request.scope), ())
        await readiness.check()
        return of_document({"status": "ready"})

    return [
        placed(healthz, "GET", "/healthz", name="healthz"),
        placed(readyz, "GET", "/readyz", name="readyz"),
    ]


@define
class Readiness:
    """Cached result of the readiness check."""

    _dispatcher: Dispatcher
    _seen_s: float = float("-inf")
    _problem: MnemicError | None = None

    async def check(self) -> None:
        """Check the store, unless the last check is recent.

        Raises:
            NotReady: The store cannot be read, or cannot be written.
            Stopping: The server is shutting down.
        """
        if self._dispatcher.stopping.is_set():
            raise Stopping("the server is shutting down")
        now_s = time.monotonic()
        if now_s - self._seen_s > FRESH_S:
            self._seen_s = now_s
            self._problem = await self._look()
        if self._problem is not None:
            raise NotReady(f"the store is not ready: {self._problem.code}")

    async def _look(self) -> MnemicError | None:
        try:
            await self._dispatcher.spaces.check()
        except MnemicError as error:
            LOG.warning("not ready: %s", error)
            return error
        return None
