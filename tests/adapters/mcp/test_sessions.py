"""When sessions of the log begin and end, their actors, and what a reader may do."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from tests.adapters.mcp.clients import GATE, client, kinds, learned, run, text

START = ["space-opened", "policy-adopted"]
END = ["embedder-adopted", "blocks-promoted", "session-ended"]


def log(path: Path) -> list[str]:
    with SyncMemory.open(path, embedder=HashEmbedder()) as memory:
        return [event.kind for event in memory.log()]


def test_a_session_begins_with_the_first_call_that_writes_and_ends_with_the_client(
    tmp_path: Path,
) -> None:
    async def conversation() -> None:
        async with client(tmp_path / "agent.db") as agent:
            assert await kinds(agent) == START
            await learned(agent, GATE)
            await learned(agent, "more")
            assert await kinds(agent) == [*START, "session-started", *["block-learned"] * 2]

    run(conversation)
    assert log(tmp_path / "agent.db") == [*START, "session-started", *["block-learned"] * 2, *END]


def test_an_agent_may_begin_and_end_sessions_itself() -> None:
    async def conversation() -> None:
        async with client() as agent:
            started = await agent.call_tool("mnemic_session", {"operation": "start_session"})
            assert text(started).startswith("Session ")
            await learned(agent, GATE)
            again = await agent.call_tool("mnemic_session", {"operation": "start_session"})
            assert (again.is_error, (again.structured_content or {})["code"]) == (
                True,
                "session-state",
            )
            await agent.call_tool("mnemic_session", {"operation": "end_session"})
            await learned(agent, "after the end, in another session")
            assert (await kinds(agent)).count("session-started") == 2

    run(conversation)


def test_sessions_may_be_left_to_the_agent(tmp_path: Path) -> None:
    async def conversation() -> None:
        async with client(tmp_path / "agent.db", sessions="manual") as agent:
            await learned(agent, GATE)

    run(conversation)
    assert log(tmp_path / "agent.db") == [*START, "block-learned"]


def test_a_session_of_the_host_is_continued_and_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with SyncMemory.open(path, embedder=HashEmbedder(), actor="ines") as memory:
        session = memory.start_session().session_id

    async def conversation() -> None:
        async with client(path, actor="ines", session=session) as agent:
            await learned(agent, GATE)

    run(conversation)
    assert log(path) == [*START, "session-started", "block-learned"]
    with SyncMemory.open(path, embedder=HashEmbedder()) as memory:
        assert memory.status().open_sessions == (session,)


def test_the_actor_is_the_client_or_the_one_that_the_host_sets(tmp_path: Path) -> None:
    async def conversation(actor: str | None) -> None:
        async with client(tmp_path / "agent.db", actor=actor) as agent:
            await learned(agent, f"{GATE} {actor}")

    async def both() -> None:
        await conversation(None)
        await conversation("ines")

    run(both)
    with SyncMemory.open(tmp_path / "agent.db", embedder=HashEmbedder()) as memory:
        learned_by = [event.actor for event in memory.log() if event.kind == "block-learned"]
    assert learned_by == ["mcp", "ines"]


def test_a_reader_reads_and_recalls_without_writing(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with SyncMemory.open(path, embedder=HashEmbedder()) as memory:
        memory.learn(GATE)
        memory.consolidate()
    before = log(path)

    async def conversation() -> None:
        async with client(path, read_only=True) as reader:
            names = {tool.name for tool in (await reader.list_tools()).tools}
            assert "mnemic_learn" not in names
            found = await reader.call_tool("mnemic_recall", {"query": "When does the gate open?"})
            assert (found.structured_content or {})["decision_id"] is None
            assert GATE in text(found)
            refused = await reader.call_tool("mnemic_learn", {"content": "x"})
            assert (refused.is_error, (refused.structured_content or {})["code"]) == (
                True,
                "view-read-only",
            )

    run(conversation)
    assert log(path) == before


def test_a_client_that_may_not_continue_a_session_gets_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with SyncMemory.open(path, embedder=HashEmbedder(), actor="ines") as memory:
        session = memory.start_session().session_id
    detail = f"session {session} was not started by 'tomasz'"

    async def conversation() -> None:
        async with client(path, actor="tomasz", session=session) as agent:
            refused = await agent.call_tool("mnemic_learn", {"content": GATE})
            assert refused.is_error
            assert (refused.structured_content or {})["detail"] == detail
            with pytest.raises(MCPError, match=detail) as caught:
                await agent.list_resources()
            assert caught.value.error.data["code"] == "session-state"

    run(conversation)
