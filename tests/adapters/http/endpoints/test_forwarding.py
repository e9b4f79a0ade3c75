"""Requests that are passed on to a leader which is slow, or cannot be reached any more."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from mnemic.adapters.cluster.settings import ClusterSettings
from mnemic.adapters.http.endpoints import leaders
from mnemic.adapters.http.endpoints.leaders import Forwarding, PassedOn
from mnemic.adapters.http.messages.responses import Answer
from mnemic.adapters.remote.transport_errors import Overdue
from mnemic.adapters.stores.leaders import Leader

SLOW_S = 0.6
"""How long a command takes: several times the silence after which the leader is asked."""
REQUEST = PassedOn(
    space="default",
    scope={"method": "POST", "headers": []},
    address="/slow",
    body=b"{}",
    timeout_s=30.0,
)


class SlowLeader:
    """A host of which each command takes long; its network can be cut without hanging up."""

    def __init__(self, *, is_cut: bool = False) -> None:
        self.probes = 0
        self._flows = asyncio.Event()
        if not is_cut:
            self._flows.set()

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[Leader]:
        connections: set[asyncio.Task[None]] = set()

        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.add(asyncio.create_task(self._serve(reader, writer)))

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            yield Leader(epoch=1, host="one", url=f"http://127.0.0.1:{port}", left_s=60.0)
        finally:
            server.close()
            self._flows.set()
            await asyncio.wait(connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a probe at once, and anything else after a while, in two parts."""
        with suppress(OSError, asyncio.IncompleteReadError):  # a probe may be cancelled
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET /healthz"):
                self.probes += 1
                answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
            else:
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{")
                await asyncio.sleep(SLOW_S)
                answer = b"}"
            await self._flows.wait()
            writer.write(answer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def passed_on(forwarding: Forwarding, leader: Leader) -> Any:
    settings = ClusterSettings(id="two", url="", lease_s=60.0)
    cluster: Any = SimpleNamespace(settings=settings, still_leads=lambda *_: True)
    return await forwarding.answer(REQUEST, leader, cluster)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaders, "SILENCE_S", SLOW_S / 4)


def test_a_slow_command_is_waited_for_while_its_host_can_be_reached() -> None:
    async def run() -> None:
        slow, forwarding = SlowLeader(), Forwarding()
        async with slow.listening() as leader:
            answer = await passed_on(forwarding, leader)
        await forwarding.close()
        assert isinstance(answer, Answer)
        assert answer.body == b"{}"
        assert slow.probes >= 2

    anyio.run(run)


def test_a_leader_that_packets_do_not_reach_any_more_is_given_up_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leaders, "PROBE_S", SLOW_S / 2)

    async def run() -> None:
        slow, forwarding = SlowLeader(is_cut=True), Forwarding()
        async with slow.listening() as leader:
            began_s = time.monotonic()
            with pytest.raises(Overdue) as caught:
                await passed_on(forwarding, leader)
            assert time.monotonic() - began_s < REQUEST.timeout_s / 3
            assert "Idempotency-Key" in caught.value.recovery
        await forwarding.close()

    anyio.run(run)


def test_the_system_gives_up_connections_that_are_not_acknowledged() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as made,
    ):
        for option in leaders.KEEPALIVE:
            made.setsockopt(*option)
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
