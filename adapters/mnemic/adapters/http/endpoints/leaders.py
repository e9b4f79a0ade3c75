"""Requests to a host of a cluster: answered here, passed on to the leader, or sent there.

Writes go to the leader of the space. Reads are answered by any host, as of the version that it has;
a client that needs its own writes names the least version in ``Mnemic-Min-Version``.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import orjson
from anyio import to_thread
from attrs import evolve, frozen

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
from mnemic.kernel.errors import FieldRefused, HistoryReplaced, PointOutOfRange, SpaceNotFound

if TYPE_CHECKING:
    import httpx

    from mnemic.adapters.cluster.host import ClusterHost

MIN_VERSION: Final = "Mnemic-Min-Version"
FORWARDED: Final = "Mnemic-Forwarded"
"""Marks a request that a host has passed on, which is not passed on again."""
PASSED_ON: Final = frozenset(
    b"accept authorization content-type idempotency-key if-match if-none-match "
    b"mnemic-min-version mnemic-session origin traceparent tracestate x-request-id".split()
)
"""Headers that the leader gets."""
OF_AGENTS: Final = b"mcp-"
"""The beginning of others that it gets."""
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
SILENCE_S: Final = 2.0
"""After so long without an answer it is found out whether the leader is still there."""
PROBE_S: Final = 4.0
"""How long it may take to say so: its processor may be busy."""
KEEPALIVE: Final = tuple(
    (level, getattr(socket, name), value)
    for level, name, value in (
        (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
        (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 2),
        (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 1),
        (socket.IPPROTO_TCP, "TCP_KEEPCNT", 4),
        (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", 6000),
    )
    if hasattr(socket, name)
)
"""Options of connections to other hosts, where the system has them: one whose packets are not
acknowledged for six seconds is given up, though other connections to that host may work."""
GONE: Final = frozenset({502, 504})
"""What a proxy answers in place of a host that it does not reach."""


@frozen(kw_only=True)
class PassedOn:
    """A request that another host answers."""

    space: str
    scope: Any
    """Its ASGI scope, of which the leader gets the method and some headers."""
    address: str
    """Path and query."""
    body: bytes | None
    timeout_s: float
    """How long each part of the answer may take."""


class Forwarding:
    """Connections to other hosts, opened when they are needed."""

    def __init__(self) -> None:
        self._client: httpx.AsyncClient | None = None
        self._probing: httpx.AsyncClient | None = None
        self.passed_on = 0
        """Requests that were sent to other hosts."""

    async def close(self) -> None:
        """Close them."""
        for client in (self._client, self._probing):
            if client is not None:
                await client.aclose()

    async def answer(
        self, request: PassedOn, leader: Leader, cluster: ClusterHost
    ) -> Answer | Pieces:
        """Return what the leader answers to a request.

        Args:
            request: The request.
            leader: Of its space.
            cluster: This host, which knows whether the leader still leads.

        Raises:
            LedElsewhere: It cannot be reached.
            Overdue: It does not answer in time, or hung up: a command may have been done.
        """
        import httpx

        if self._client is None:
            self._client = _client(kept_open=KEPT_OPEN)
        sent = [
            (name, value)
            for name, value in request.scope["headers"]
            if name in PASSED_ON or name.startswith(OF_AGENTS)
        ]
        built = self._client.build_request(
            request.scope["method"],
            leader.url + request.address,
            content=request.body,
            headers=[*sent, (FORWARDED.encode(), b"1"), (b"accept-encoding", b"identity")],
            timeout=httpx.Timeout(request.timeout_s, connect=CONNECT_S),
        )
        self.passed_on += 1
        sending = asyncio.create_task(_received(self._client, built))
        try:
            await self._answered(sending, request.space, leader, cluster)
            response, body = await sending
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise elsewhere(request.space, leader) from error
        except httpx.RequestError as error:
            raise Overdue(
                f"the host that leads {request.space!r} gave no answer", url=leader.url
            ) from error
        finally:
            sending.cancel()
        headers = {name: value for name, value in response.headers.items() if name in KEPT}
        if body is not None:
            headers.pop("content-length", None)
            return Answer(status=response.status_code, headers=headers, body=body)

        async def pieces() -> AsyncGenerator[bytes]:
            try:
                async for piece in response.aiter_raw():
                    yield piece
            finally:
                await response.aclose()

        return Pieces(status=response.status_code, headers=headers, pieces=pieces)

    async def _answered(
        self, sending: asyncio.Task[Any], space: str, leader: Leader, cluster: ClusterHost
    ) -> None:
        """Wait for an answer of the leader, for as long as it leads and can be reached.

        An operation may take long. What tells one from a leader that has stopped is the lease, and
        from a network that drops packets, whether the leader answers another request meanwhile.

        Raises:
            Overdue: It does not lead any more, or cannot be reached: what was asked may be done.
        """
        losing = asyncio.create_task(self._lost(leader))
        try:
            while True:
                done, _ = await asyncio.wait(
                    {sending, losing},
                    timeout=cluster.settings.lease_s,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if sending in done:
                    return
                if losing in done:
                    raise Overdue(f"the host that leads {space!r} was cut off", url=leader.url)
                leads = await to_thread.run_sync(cluster.still_leads, space, leader)
                if not (leads or sending.done()):
                    raise Overdue(f"the host that led {space!r} gave no answer", url=leader.url)
        finally:
            losing.cancel()

    async def _lost(self, leader: Leader) -> None:
        """Return once a host cannot be reached any more."""
        while True:
            await asyncio.sleep(SILENCE_S)
            if not await self._reaches(leader):
                return

    async def _reaches(self, leader: Leader) -> bool:
        """Return whether a host answers over a new connection."""
        import httpx

        if self._probing is None:
            self._probing = _client(kept_open=0)
        limits = httpx.Timeout(PROBE_S, connect=CONNECT_S)
        try:
            found = await self._probing.get(f"{leader.url}/healthz", timeout=limits)
        except httpx.RequestError:
            return False
        return found.status_code not in GONE


def _client(*, kept_open: int) -> httpx.AsyncClient:
    """Return a client that keeps so many idle connections."""
    import httpx

    # A leader that has stopped holds its connections up, and not those to others.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=kept_open)
    transport = httpx.AsyncHTTPTransport(trust_env=False, limits=limits, socket_options=KEEPALIVE)
    return httpx.AsyncClient(trust_env=False, transport=transport)


async def _received(
    client: httpx.AsyncClient, built: httpx.Request
) -> tuple[httpx.Response, bytes | None]:
    """Return a response and its body; None: it is a stream, which goes on."""
    response = await client.send(built, stream=True)
    if response.headers.get("content-type", "").startswith(STREAM):
        return response, None
    return response, await response.aread()


async def answer(
    spaces: Spaces,
    prepared: PreparedCall,
    scope: Any,
    *,
    run: Callable[[PreparedCall, Hold], Awaitable[Answer | Pieces]],
    forward: Callable[[PassedOn, Leader, ClusterHost], Awaitable[Answer | Pieces]],
    timeout_s: float,
) -> Answer | Pieces:
    """Return the response to a request, of this host or of another.

    Args:
        spaces: Of this host of a cluster.
        prepared: The request.
        scope: Its ASGI scope.
        run: Executes it on a memory, and releases that.
        forward: Passes it on to another host.
        timeout_s: How long each part of that host's answer may take.

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
        place = await _placed(home, prepared, wanted, readers=home.readers)
        if not isinstance(place, Leader):
            try:
                return await run(*place)
            except HistoryReplaced:
                if home.readers is home or not prepared.reads:
                    raise
            # A standby may be behind the one that was read before: the leader knows.
            place = await _placed(home, prepared, wanted, readers=None)
            if not isinstance(place, Leader):
                return await run(*place)
        if not place.url or header(scope, FORWARDED.lower().encode()) is not None:
            raise elsewhere(prepared.space, place)
        assert home.cluster is not None  # noqa: S101 - as in _placed
        if home.cluster.settings.elsewhere == "redirect":
            return Answer(status=307, headers={"location": place.url + prepared.address})
        request = PassedOn(
            space=prepared.space,
            scope=scope,
            address=prepared.address,
            body=None if prepared.route.by_query else orjson.dumps(_in_body(prepared)),
            timeout_s=timeout_s,
        )
        return await forward(request, place, home.cluster)

    return await spaces.at_home(prepared.space, answer_of)


async def answer_of_leader(
    spaces: Spaces, request: PassedOn, forwarding: Forwarding
) -> Answer | Pieces | None:
    """Return the response of the host that leads the space of *request*; None: this host does.

    Raises:
        SpaceNotFound, LedElsewhere, Overdue: As ``answer``.
        StoreFailed, StoreBusy: The database does not answer.
    """

    async def answer_of(home: Spaces) -> Answer | Pieces | None:
        cluster = home.cluster
        if cluster is None or cluster.leads(request.space):
            return None
        leader = await to_thread.run_sync(cluster.leader, request.space)
        if leader.host == cluster.settings.id:
            return None
        if not leader.url or header(request.scope, FORWARDED.lower().encode()) is not None:
            raise elsewhere(request.space, leader)
        return await forwarding.answer(request, leader, cluster)

    return await spaces.at_home(request.space, answer_of)


async def _placed(
    spaces: Spaces, prepared: PreparedCall, wanted: int | None, *, readers: Spaces | None
) -> tuple[PreparedCall, Hold] | Leader:
    """Return the call to execute here and the space for it, or the host that leads the space.

    Args:
        spaces: Of the database that holds the space.
        prepared: The request.
        wanted: The version that it wants; None: any.
        readers: Spaces that answer reads of what other hosts lead; None: none do.
    """
    cluster, space = spaces.cluster, prepared.space
    assert cluster is not None  # noqa: S101 - it takes part in a cluster while it is open
    is_leader = cluster.leads(space)
    if prepared.reads and not is_leader and readers is not None:
        await readers.check_connected()
        held = await _held(readers, space, wanted, cluster.settings.min_version_s)
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
    except HistoryReplaced:
        hold.release()
        if spaces.cluster is not None:
            raise
        return None  # a standby that is behind the one that was read before
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
