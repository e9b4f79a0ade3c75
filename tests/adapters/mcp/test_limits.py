"""The limits of the interface, and the errors that clients get beyond them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from mnemic.adapters.mcp.call_limiter import OF_A_PIPE, Limits
from tests.adapters.inprocess.engine.blocking_embedder import Barrier
from tests.adapters.mcp.clients import GATE, client, kinds, learned, text
from tests.adapters.mcp.servers import Served, served, visiting

ERAS = ["auto", "legacy"]
"""Clients of the protocol since 2026-07-28, which has no sessions, and before."""
CONSOLIDATE: dict[str, Any] = {"operation": "consolidate", "arguments": {}}
STATUS: dict[str, Any] = {"operation": "status"}
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}
CANCEL = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
TAKES = {"Accept": "application/json, text/event-stream"}
SOON_S = 1.0
"""Time enough for an unobstructed call even on a busy machine."""
LATE = frozenset({"overdue", "overloaded"})


def run(
    folder: Path, limits: Limits, conversation: Callable[[Served, Barrier], Awaitable[None]]
) -> None:
    """Run a conversation with a server whose model waits at a gate."""
    gate = Barrier()

    async def held() -> None:
        async with served(folder, embedder=gate, limits=limits) as server:
            try:
                await conversation(server, gate)
            finally:
                gate.opened.set()

    anyio.run(held)


async def refused(agent: Client) -> dict[str, Any]:
    """Call a tool that is refused with a protocol error, and return the data of that error."""
    with pytest.raises(MCPError) as found:
        await agent.call_tool("mnemic_look", STATUS)
    data: dict[str, Any] = found.value.error.data
    assert found.value.error.message == f"{data['detail']}. {data['recovery']}"
    return data


@pytest.mark.parametrize("era", ERAS)
def test_a_call_refused_under_overload_gets_a_retry_delay(tmp_path: Path, era: str) -> None:
    async def conversation(server: Served, gate: Barrier) -> None:
        busy, other = (server.token(name, default="admin") for name in ("busy", "other"))
        bearer = {"Authorization": f"Bearer {other}", **TAKES}
        async with (
            visiting(server.url, busy, mode=era) as one,
            visiting(server.url, other, mode=era) as two,
            httpx.AsyncClient(headers=bearer) as http,
            anyio.create_task_group() as tasks,
        ):
            await learned(one, GATE)
            tasks.start_soon(one.call_tool, "mnemic_upkeep", CONSOLIDATE)
            await gate.wait_until_reached()
            assert (await refused(two))["code"] == "overloaded"
            assert len((await two.list_tools()).tools) == 23
            newcomer = await http.post(server.url, json=INITIALIZE)
            cancelling = await http.post(server.url, json=CANCEL)
            assert (newcomer.status_code, newcomer.headers["retry-after"]) == (503, "7")
            assert (newcomer.json()["id"], newcomer.json()["error"]["code"]) == (7, -32603)
            assert cancelling.status_code != 503
            gate.opened.set()
        async with visiting(server.url, other, mode=era) as two:
            assert not (await two.call_tool("mnemic_look", STATUS)).is_error

    run(tmp_path, Limits(calls_max=1, waiting_max=0, retry_after_s=7), conversation)


@pytest.mark.parametrize("era", ERAS)
def test_an_overdue_call_continues_and_its_repetition_is_answered(tmp_path: Path, era: str) -> None:
    async def conversation(server: Served, gate: Barrier) -> None:
        async with visiting(server.url, server.token("ines", default="admin"), mode=era) as agent:
            await learned(agent, GATE)
            asked = {**CONSOLIDATE, "command_id": "once"}
            late = await agent.call_tool("mnemic_upkeep", asked)
            waiting = await agent.call_tool("mnemic_look", STATUS)
            gate.opened.set()
            again = late
            while (again.structured_content or {}).get("code") in LATE:
                again = await agent.call_tool("mnemic_upkeep", asked)
            assert (await kinds(agent)).count("blocks-promoted") == 1
        assert (late.structured_content or {})["code"] == "overdue"
        assert "command_id" in text(late)
        assert (waiting.structured_content or {})["code"] == "overloaded"
        assert (again.structured_content or {})["promoted"] == 1

    run(tmp_path, Limits(call_timeout_s=SOON_S, long_timeout_s=SOON_S), conversation)


def test_an_agent_with_many_calls_does_not_block_others(tmp_path: Path) -> None:
    async def conversation(server: Served, gate: Barrier) -> None:
        busy, other = (server.token(name, default="admin") for name in ("busy", "other"))
        async with (
            visiting(server.url, busy) as one,
            visiting(server.url, other) as two,
            anyio.create_task_group() as tasks,
        ):
            await learned(one, GATE)
            tasks.start_soon(one.call_tool, "mnemic_upkeep", CONSOLIDATE)
            await gate.wait_until_reached()
            for _ in range(5):
                tasks.start_soon(one.call_tool, "mnemic_look", STATUS)
            assert not (await two.call_tool("mnemic_look", STATUS)).is_error
            gate.opened.set()

    run(tmp_path, Limits(calls_max=2), conversation)


def test_a_body_that_is_too_long_is_refused(tmp_path: Path) -> None:
    async def conversation(server: Served, _: Barrier) -> None:
        headers = {"Authorization": f"Bearer {server.token('ines', default='write')}", **TAKES}
        async with httpx.AsyncClient(headers=headers) as http:
            long = await http.post(server.url, json={**INITIALIZE, "padding": "x" * 2000})
            fits = await http.post(server.url, json=INITIALIZE)
        assert (long.status_code, long.headers["connection"]) == (413, "close")
        assert long.json()["error"]["data"]["code"] == "body-too-large"
        assert fits.status_code == 200

    run(tmp_path, Limits(body_max_bytes=1000), conversation)


def test_an_encoded_body_is_refused(tmp_path: Path) -> None:
    async def conversation(server: Served, _: Barrier) -> None:
        secret = server.token("ines", default="write")
        headers = {"Authorization": f"Bearer {secret}", "Content-Encoding": "gzip", **TAKES}
        async with httpx.AsyncClient(headers=headers) as http:
            answer = await http.post(server.url, json=INITIALIZE)
        assert answer.status_code == 415
        assert answer.json()["error"]["data"]["code"] == "media-type-refused"

    run(tmp_path, Limits(), conversation)


def test_a_body_that_does_not_arrive_times_out(tmp_path: Path) -> None:
    async def conversation(server: Served, _: Barrier) -> None:
        secret, at = server.token("ines", default="write"), urlsplit(server.url)
        assert at.hostname is not None
        assert at.port is not None
        head = f"POST /mcp HTTP/1.1\r\nhost: {at.netloc}\r\nauthorization: Bearer {secret}\r\n"
        async with await anyio.connect_tcp(at.hostname, at.port) as connection:
            await connection.send(f'{head}content-length: 99\r\n\r\n{{"jsonrpc"'.encode())
            answer = b"".join([part async for part in connection])
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b'"code":"request-too-slow"' in answer

    run(tmp_path, Limits(body_timeout_s=0.1), conversation)


def test_the_number_of_listening_streams_is_limited(tmp_path: Path) -> None:
    async def conversation(server: Served, _: Barrier) -> None:
        bearer = {"Authorization": f"Bearer {server.token('ines', default='read')}", **TAKES}
        async with httpx.AsyncClient(headers=bearer) as http:
            sessions = [
                {"Mcp-Session-Id": (await http.post(server.url, json=INITIALIZE)).headers[name]}
                for name in ["mcp-session-id"] * 2
            ]
            async with http.stream("GET", server.url, headers=sessions[0]) as stream:
                assert stream.status_code == 200
                second = await http.get(server.url, headers=sessions[1])
                server.interface.stop()
        assert (second.status_code, second.headers["retry-after"]) == (503, "1")

    run(tmp_path, Limits(listeners_max=1), conversation)


def test_the_number_of_waiting_calls_over_a_pipe_is_limited() -> None:
    gate, beyond = Barrier(), 5
    told: Counter[str] = Counter()

    async def conversation() -> None:
        async with client(embedder=gate) as agent, anyio.create_task_group() as tasks:
            await learned(agent, GATE)

            async def ask() -> None:
                answer = await agent.call_tool("mnemic_look", STATUS)
                told[(answer.structured_content or {}).get("code", "answered")] += 1
                if told["overloaded"] == beyond:
                    gate.opened.set()

            tasks.start_soon(agent.call_tool, "mnemic_upkeep", CONSOLIDATE)
            await gate.wait_until_reached()
            for _ in range(OF_A_PIPE.waiting_max + beyond):
                tasks.start_soon(ask)

    anyio.run(conversation)
    assert told == {"answered": OF_A_PIPE.waiting_max, "overloaded": beyond}
