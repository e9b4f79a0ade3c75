"""The interface over HTTP: authentication, spaces, session handles, and how they end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client

from mnemic.adapters.mcp.client_sessions import ClientSessions
from tests.adapters.mcp.clients import GATE, OIL, kinds, learned, text
from tests.adapters.mcp.servers import Served, served, visiting

ERAS = ["auto", "legacy"]
"""Clients of the protocol since 2026-07-28, which has no sessions, and before."""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}
TAKES = {"Accept": "application/json, text/event-stream"}
PATIENCE_S = 20.0
"""How long a test waits for something expected at once, before it fails."""


def run(folder: Path, conversation: Callable[[Served], Awaitable[None]], **serving: Any) -> None:
    """Run a conversation with a server."""

    async def held() -> None:
        async with served(folder, **serving) as server:
            await conversation(server)

    anyio.run(held)


async def events(server: Served, space: str = "default") -> list[tuple[str, str]]:
    """Return the kinds and actors of the events of a space."""
    async with server.spaces.session_handle(space, actor="test") as memory:
        return [(each.kind, each.actor) for each in await memory.log()][2:]


@pytest.mark.parametrize("era", ERAS)
def test_a_token_opens_its_space_and_names_the_actor(tmp_path: Path, era: str) -> None:
    async def conversation(server: Served) -> None:
        secret = server.token("ines", default="write")
        for url in (server.url, f"{server.url}/default"):
            async with visiting(url, secret, mode=era) as agent:
                await learned(agent, f"{GATE} {url}")
        by = {actor for kind, actor in await events(server) if kind == "block-learned"}
        assert by == {"ines"}

    run(tmp_path, conversation)


def test_a_token_limits_the_zone_of_what_it_writes(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        secret = server.token("mailbox", zone="untrusted", default="write")
        async with visiting(server.url, secret) as agent:
            block = await learned(agent, GATE)
            more = {"content": OIL, "zone": "trusted"}
            refused = await agent.call_tool("mnemic_learn", more)
        async with server.spaces.session_handle("default", actor="test") as memory:
            assert (await memory.block(block)).zone == "untrusted"
        assert (refused.is_error, "forbidden" in text(refused)) == (True, True)

    run(tmp_path, conversation)


@pytest.mark.parametrize("era", ERAS)
def test_a_session_handle_is_kept_between_calls_and_its_session_ends_with_the_server(
    tmp_path: Path, era: str
) -> None:
    async def conversation(server: Served) -> None:
        async with visiting(server.url, server.token("ines", default="write"), mode=era) as agent:
            first, second = await learned(agent, GATE), await learned(agent, OIL)
            assert (await kinds(agent)).count("session-started") == 1
            listed = [str(each.uri) for each in (await agent.list_resources()).resources]
            assert listed[2:] == [f"mnemic://blocks/{second}", f"mnemic://blocks/{first}"]

    run(tmp_path, conversation)

    async def afterwards(server: Served) -> None:
        assert [kind for kind, _ in await events(server)][-1] == "session-ended"

    run(tmp_path, afterwards)


def test_ending_a_protocol_session_closes_its_session_handle(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        secret = server.token("ines", default="write")
        async with visiting(server.url, secret, mode="legacy") as agent:
            await learned(agent, GATE)
        assert [kind for kind, _ in await events(server)][-1] == "session-ended"

    run(tmp_path, conversation)


def test_two_clients_of_one_token_have_recent_ids_of_their_own(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        secret = server.token("ines", default="write")
        async with (
            visiting(server.url, secret, mode="legacy") as one,
            visiting(server.url, secret, mode="legacy") as other,
        ):
            await learned(one, GATE)
            assert len((await other.list_resources()).resources) == 2
            assert len((await one.list_resources()).resources) == 3

    run(tmp_path, conversation)


def test_a_reader_is_offered_reading_tools_and_refused_others(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        async with visiting(server.url, server.token("reader", default="read")) as reader:
            names = {tool.name for tool in (await reader.list_tools()).tools}
            assert "mnemic_learn" not in names
            answer = await reader.call_tool("mnemic_learn", {"content": GATE})
            assert (answer.structured_content or {})["code"] == "forbidden"
            found = await reader.call_tool("mnemic_recall", {"query": "gate"})
            assert not found.is_error, text(found)
        assert await events(server) == []

    run(tmp_path, conversation)


def test_a_writer_may_not_call_admin_operations(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        async with visiting(server.url, server.token("ines", default="write")) as agent:
            answer = await agent.call_tool("mnemic_erase_space", {"confirm": "default"})
            assert (answer.structured_content or {})["code"] == "forbidden"
            names = {each.name for each in (await agent.list_tools()).tools}
            assert "mnemic_erase_space" not in names

    run(tmp_path, conversation)


def test_a_read_only_server_refuses_writes(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        async with visiting(server.url, server.token("ines", default="admin")) as agent:
            answer = await agent.call_tool("mnemic_learn", {"content": GATE})
            assert (answer.structured_content or {})["code"] == "view-read-only"
        assert await events(server) == []

    run(tmp_path, conversation, read_only=True)


def test_an_invisible_space_is_reported_as_missing(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        bearer = {"Authorization": f"Bearer {server.token('ines', default='write')}", **TAKES}
        async with httpx.AsyncClient(headers=bearer, timeout=PATIENCE_S) as http:
            hidden = await http.post(f"{server.url}/hidden", json=INITIALIZE)
            absent = await http.post(f"{server.url}/absent", json=INITIALIZE)
        assert hidden.status_code == absent.status_code == 404
        assert hidden.content.replace(b"hidden", b"absent") == absent.content

    run(tmp_path, conversation, spaces=("default", "hidden"))


def test_requests_without_a_token_are_refused(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        async with httpx.AsyncClient(headers=TAKES, timeout=PATIENCE_S) as http:
            for headers in ({}, {"Authorization": "Bearer mnemic_00000000_x"}):
                answer = await http.post(server.url, json=INITIALIZE, headers=headers)
                assert answer.status_code == 401
                assert answer.json()["code"] == "unauthenticated"
                assert answer.headers["www-authenticate"].startswith("Bearer")

    run(tmp_path, conversation)


def test_a_revoked_token_is_refused_at_once(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        token, secret = server.keyring.create("ines", {"default": "write"})
        bearer = {"Authorization": f"Bearer {secret}", **TAKES}
        async with httpx.AsyncClient(headers=bearer, timeout=PATIENCE_S) as http:
            assert (await http.post(server.url, json=INITIALIZE)).status_code == 200
            server.keyring.revoke(token.id)
            assert (await http.post(server.url, json=INITIALIZE)).status_code == 401

    run(tmp_path, conversation)


def test_a_protocol_session_is_bound_to_its_token(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        secrets = [server.token(name, default="write") for name in ("ines", "tomasz")]
        ines, tomasz = ({"Authorization": f"Bearer {each}", **TAKES} for each in secrets)
        async with httpx.AsyncClient(timeout=PATIENCE_S) as http:
            opened = await http.post(server.url, json=INITIALIZE, headers=ines)
            session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
            ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            own = await http.post(server.url, json=ping, headers={**ines, **session})
            other = await http.post(server.url, json=ping, headers={**tomasz, **session})
        assert (own.status_code, other.status_code) == (200, 404)

    run(tmp_path, conversation)


def test_dns_rebinding_is_refused(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        bearer = {"Authorization": f"Bearer {server.token('ines', default='write')}", **TAKES}
        async with httpx.AsyncClient(headers=bearer, timeout=PATIENCE_S) as http:
            named = await http.post(server.url, json=INITIALIZE, headers={"Host": "evil.example"})
            origin = {"Origin": "http://evil.example"}
            paged = await http.post(server.url, json=INITIALIZE, headers=origin)
        assert (named.status_code, paged.status_code) == (421, 403)

    run(tmp_path, conversation)


def test_the_address_has_to_name_a_space_where_there_are_several(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        bearer = {"Authorization": f"Bearer {server.token('all', **{'*': 'read'})}", **TAKES}
        async with httpx.AsyncClient(headers=bearer, timeout=PATIENCE_S) as http:
            answer = await http.post(server.url, json=INITIALIZE)
            assert (answer.status_code, answer.json()["field"]) == (422, "space")
            assert "default, my/notes" in answer.json()["recovery"]
            found = await http.post(f"{server.url}/my%2Fnotes", json=INITIALIZE)
            assert found.status_code == 200

    run(tmp_path, conversation, spaces=("default", "my/notes"))


def test_many_clients_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        secret = server.token("many", default="write")

        async def one(number: int) -> None:
            async with visiting(server.url, secret, mode=ERAS[number % 2]) as agent:
                for step in range(5):
                    await learned(agent, f"client {number} step {step}")

        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(one, number)
        async with server.spaces.session_handle("default", actor="test") as memory:
            assert (await memory.verify()).sound
            status = await memory.status()
            # Blocks consolidated meanwhile may be near-duplicates of later ones, and superseded.
            assert status.inbox + status.active + status.archived == 40

    run(tmp_path, conversation)


def test_idle_and_surplus_session_handles_are_closed(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        client_sessions: ClientSessions = server.interface.client_sessions
        client_sessions.handles_max = 2
        agents: list[Client] = []
        async with (
            visiting(server.url, server.token("a", default="write"), mode="legacy") as first,
            visiting(server.url, server.token("b", default="write"), mode="legacy") as second,
            visiting(server.url, server.token("c", default="write"), mode="legacy") as third,
        ):
            agents = [first, second, third]
            for number, agent in enumerate(agents):
                await learned(agent, f"lesson {number}")
            ended = [actor for kind, actor in await events(server) if kind == "session-ended"]
            assert ended == ["a"]
            await learned(first, "once more, on a session handle of its own again")
        ended = [actor for kind, actor in await events(server) if kind == "session-ended"]
        assert sorted(ended) == ["a", "a", "b", "c"]

    run(tmp_path, conversation)


def test_a_stopping_server_ends_listening_streams(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        bearer = {"Authorization": f"Bearer {server.token('ines', default='read')}", **TAKES}
        async with httpx.AsyncClient(headers=bearer, timeout=PATIENCE_S) as http:
            opened = await http.post(server.url, json=INITIALIZE)
            session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
            async with http.stream("GET", server.url, headers=session) as stream:
                assert stream.status_code == 200
                server.interface.stop()
                with anyio.fail_after(PATIENCE_S):
                    async for _ in stream.aiter_bytes():
                        pass

    run(tmp_path, conversation)


NAMING_A_FORK = {"fork": {}, "re_extract": {"extractor": "none"}, "adopt_extraction": {}}


@pytest.mark.parametrize(
    ("space", "tool"),
    [
        *((space, "fork") for space in ("other", "ghost", " other ", "\tother\n")),
        *(("other", tool) for tool in NAMING_A_FORK if tool != "fork"),
    ],
)
def test_a_fork_needs_a_token_for_both_spaces_and_reveals_neither(
    tmp_path: Path, space: str, tool: str
) -> None:
    async def conversation(server: Served) -> None:
        secret = server.token("ines", default="admin")
        async with visiting(server.url, secret) as agent:
            arguments = {"space": space, **NAMING_A_FORK[tool]}
            answer = await agent.call_tool(f"mnemic_{tool}", arguments)
            assert answer.structured_content == {
                "code": "space-not-found",
                "detail": f"there is no space {space.strip()!r} that you may create",
                "recovery": "Ask for a token with the scope admin on that space too.",
                "space": space.strip(),
            }
        assert sorted(await server.spaces.names()) == ["default", "other"]

    run(tmp_path, conversation, spaces=("default", "other"))


def test_a_fork_to_a_visible_space_needs_the_scope_admin_there(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        secret = server.token("ines", default="admin", seen="write", mine="admin")
        async with visiting(f"{server.url}/default", secret) as agent:
            seen = await agent.call_tool("mnemic_fork", {"space": "seen"})
            mine = await agent.call_tool("mnemic_fork", {"space": "mine"})
        assert (seen.structured_content or {})["code"] == "forbidden"
        assert (mine.structured_content or {})["space"] == "mine"
        assert sorted(await server.spaces.names()) == ["default", "mine"]

    run(tmp_path, conversation)


def test_a_path_with_only_the_same_prefix_is_not_a_space(tmp_path: Path) -> None:
    async def conversation(server: Served) -> None:
        secret = server.token("ines", default="write")
        headers = {**TAKES, "Authorization": f"Bearer {secret}"}
        async with httpx.AsyncClient(headers=headers, timeout=PATIENCE_S) as http:
            found = await http.post(f"{server.url}default", json=INITIALIZE)
        assert (found.status_code, found.json()["code"]) == (404, "path-unknown")

    run(tmp_path, conversation)
