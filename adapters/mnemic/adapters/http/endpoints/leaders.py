"""Requests to a host of a cluster: answered here, passed on to the leader, or sent there.

Writes go to the leader of the space. Reads are answered by any host, as of the version that it has;
a client that needs its own writes names the least version in ``Mnemic-Min-Version``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import orjson
from anyio import to_thread
from attrs import evolve

from mnemic.adapters.hosting import Hold, Spaces
from mnemic.adapters.http.endpoints.prepared_call import PreparedCall
from mnemic.adapters.http.messages.requests import STREAM
from mnemic.adapters.http.messages.responses import Answer
from mnemic.adapters.http.messages.streamed_responses import Pieces
from mnemic.adapters.inprocess.operations.answer_version import version_of
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.remote.asgi_requests import header
from mnemic.adapters.remote.transport_errors import Overdue
from mnemic.adapters.stores.leaders import Leader, elsewhere
from mnemic.kernel.errors import FieldRefused, PointOutOfRange, SpaceNotFound

if TYPE_CHECKING:
    import httpx

    from mnemic.adapters.cluster.host import ClusterHost

MIN_VERSION: Final = "Mnemic-Min-Version"
FORWARDED: Final = "Mnemic-Forwarded"
"""Marks a request that a host has passed on, which is not passed on again."""
PASSED_ON: Final = frozenset(
    b"accept authorization content-type idempotency-key if-match if-none-match "
    b"mnemic-min-version mnemic-session traceparent tracestate x-request-id".split()
)
"""Headers that the leader gets."""
KEPT: Final = frozenset(
    "cache-control content-length content-type etag link location mnemic-version retry-after "
    "vary www-authenticate".split()
)
"""Headers of its answer that the client gets."""
KEPT_OPEN: Final = 20
"""Idle connections to other hosts."""
POLL_S: Final = 0.02
CONNECT_S: Final = 2.0
"""A leader that takes longer to accept a connection counts as gone."""


class Forwarding:
    """Connections to other hosts, opened when they are needed."""

    def __init__(self) -> None:
        self._client: httpx.AsyncClient | None = None
        self.passed_on = 0
        """Requests that were sent to other hosts."""

    async def close(self) -> None:
        """Close them."""
        if self._client is not None:
            await self._client.aclose()

    async def answer(
        self,
        prepared: PreparedCall,
        scope: Any,
        leader: Leader,
        cluster: ClusterHost,
        *,
        timeout_s: float,
    ) -> Answer | Pieces:
        """Return what the leader answers to a request.

        Args:
            prepared: The request.
            scope: Its ASGI scope.
            leader: Of its space.
            cluster: This host, which knows whether the leader still leads.
            timeout_s: How long each part of the answer may take.

        Raises:
            LedElsewhere: It cannot be reached.
            Overdue: It does not answer in time, or hung up: a command may have been done.
        """
        import httpx

        if self._client is None:
            # A leader that has stopped holds its connections up, and not those to others.
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=KEPT_OPEN)
            self._client = httpx.AsyncClient(trust_env=False, limits=limits)
        sent = [each for each in scope["headers"] if each[0] in PASSED_ON]
        request = self._client.build_request(
            prepared.route.method,
            leader.url + prepared.address,
            content=None if prepared.route.by_query else orjson.dumps(_in_body(prepared)),
            headers=[*sent, (FORWARDED.encode(), b"1"), (b"accept-encoding", b"identity")],
            timeout=httpx.Timeout(timeout_s, connect=CONNECT_S),
        )
        self.passed_on += 1
        sending = asyncio.create_task(self._client.send(request, stream=True))
        try:
            await _answered(sending, prepared.space, leader, cluster)
            response = await sending
            headers = {name: value for name, value in response.headers.items() if name in KEPT}
            if not headers.get("content-type", "").startswith(STREAM):
                body = await response.aread()
                headers.pop("content-length", None)
                return Answer(status=response.status_code, headers=headers, body=body)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise elsewhere(prepared.space, leader) from error
        except httpx.RequestError as error:
            raise Overdue(
                f"the host that leads {prepared.space!r} gave no answer", url=leader.url
            ) from error
        finally:
            sending.cancel()

        async def pieces() -> AsyncGenerator[bytes]:
            try:
                async for piece in response.aiter_raw():
                    yield piece
            finally:
                await response.aclose()

        return Pieces(status=response.status_code, headers=headers, pieces=pieces)


async def _answered(
    sending: asyncio.Task[Any], space: str, leader: Leader, cluster: ClusterHost
) -> None:
    """Wait for the first part of an answer of the leader, for as long as it leads.

    Raises:
        Overdue: It does not lead any more: it may have stopped.
    """
    while not (await asyncio.wait({sending}, timeout=cluster.settings.lease_s))[0]:
        if not await to_thread.run_sync(cluster.still_leads, space, leader):
            raise Overdue(f"the host that led {space!r} gave no answer", url=leader.url)


async def answer(
    spaces: Spaces,
    prepared: PreparedCall,
    scope: Any,
    *,
    run: Callable[[PreparedCall, Hold], Awaitable[Answer | Pieces]],
    forward: Callable[[PreparedCall, Any, Leader, ClusterHost], Awaitable[Answer | Pieces]],
) -> Answer | Pieces:
    """Return the response to a request, of this host or of another.

    Args:
        spaces: Of this host of a cluster.
        prepared: The request.
        scope: Its ASGI scope.
        run: Executes it on a memory, and releases that.
        forward: Passes it on to another host.

    Raises:
        SpaceNotFound: There is no such space.
        LedElsewhere: The host that leads it cannot be reached.
        Overdue: It did not answer.
        PointOutOfRange: It wants a version that has not been written.
        FieldRefused: ``Mnemic-Min-Version`` is no version.
        MnemicError: What *run* raises.
    """
    wanted = _min_version(scope)

    async def answer_of(home: Spaces) -> Answer | Pieces:
        place = await _placed(home, prepared, wanted)
        if not isinstance(place, Leader):
            return await run(*place)
        if not place.url or header(scope, FORWARDED.lower().encode()) is not None:
            raise elsewhere(prepared.space, place)
        assert home.cluster is not None  # noqa: S101 - as in _placed
        if home.cluster.settings.elsewhere == "redirect":
            return Answer(status=307, headers={"location": place.url + prepared.address})
        return await forward(prepared, scope, place, home.cluster)

    return await spaces.at_home(prepared.space, answer_of)


async def _placed(
    spaces: Spaces, prepared: PreparedCall, wanted: int | None
) -> tuple[PreparedCall, Hold] | Leader:
    """Return the call to execute here and the space for it, or the host that leads the space."""
    cluster, space = spaces.cluster, prepared.space
    assert cluster is not None  # noqa: S101 - it takes part in a cluster while it is open
    is_leader = cluster.leads(space)
    if prepared.reads and not is_leader:
        held = await _held(spaces.readers, space, wanted, cluster.settings.min_version_s)
        if held is not None:
            return evolve(prepared, may_consolidate=False), held
    if not is_leader:
        leader = await to_thread.run_sync(cluster.leader, space)
        if leader.host != cluster.settings.id:
            return leader
    held = await _held(spaces, space, wanted, 0)
    if held is None:
        raise PointOutOfRange(f"version {wanted} has not been written")
    return prepared, held


async def _held(spaces: Spaces, space: str, version: int | None, patience_s: float) -> Hold | None:
    """Return a hold on *space* if it has *version* in time; None: not, or a standby lacks it.

    Raises:
        SpaceNotFound: There is no such space in the database itself.
    """
    try:
        hold = await spaces.hold(space)
    except SpaceNotFound:
        if spaces.cluster is None:
            return None
        raise
    try:
        if version is None or await to_thread.run_sync(_reaches, hold.memory, version, patience_s):
            return hold
    except BaseException:
        hold.release()
        raise
    hold.release()
    return None


def _reaches(memory: SyncMemory, version: int, patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while version_of(memory) < version:
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_S)
    return True


def _min_version(scope: Any) -> int | None:
    said = header(scope, MIN_VERSION.lower().encode())
    if said is None:
        return None
    if not (said.isascii() and said.isdigit() and len(said) <= 18):  # noqa: PLR2004 - fits 64 bits
        raise FieldRefused(
            f"{MIN_VERSION} is no version: {said:.50}",
            recovery="Send the Mnemic-Version of an answer.",
            field=MIN_VERSION,
        )
    return int(said)


def _in_body(prepared: PreparedCall) -> dict[str, Any]:
    in_path = prepared.route.in_path
    return {name: value for name, value in prepared.call.arguments.items() if name not in in_path}
