"""Agent A over MCP, agent B over HTTP and a person at the command line share one space at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
from anyio import to_thread
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client, StdioServerParameters, stdio_client

from mnemic.adapters.inprocess import SyncMemory

RUN = (sys.executable, "-c", "import sys; from mnemic.adapters.cli import main; sys.exit(main())")
AROUND = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(str(Path(each).resolve()) for each in sys.path),
}
ROUNDS = 6


def command(path: Path, *words: str) -> Any:
    """Run one command, and return the document that it prints."""
    done = subprocess.run(
        [*RUN, "--db", str(path), "--json", *words],
        check=True,
        capture_output=True,
        text=True,
        env=AROUND,
    )
    return json.loads(done.stdout)


@asynccontextmanager
async def serving(path: Path) -> AsyncGenerator[str]:
    """Run ``mnemic serve`` on a free port; yield its address."""
    words = ("--db", str(path), "--json", "serve", "--port", "0", "--quiet")
    async with await anyio.open_process([*RUN, *words], stderr=None, env=AROUND) as server:
        assert server.stdout is not None
        try:
            told = BufferedByteReceiveStream(server.stdout)
            yield json.loads(await told.receive_until(b"\n", 1 << 16))["url"]
        finally:
            server.terminate()
            assert await server.wait() == 0


async def agent_over_mcp(path: Path, decisions: list[str]) -> None:
    words = ["--db", str(path), "--actor", "a", "mcp"]
    started = StdioServerParameters(command=RUN[0], args=[*RUN[1:], *words], env=AROUND)
    async with Client(stdio_client(started)) as agent:
        for number in range(ROUNDS):
            await agent.call_tool("mnemic_learn", {"content": f"A saw gate {number} open at six."})
            found = await agent.call_tool("mnemic_recall", {"query": "Which gate opens at six?"})
            decision = (found.structured_content or {})["decision_id"]
            decisions.append(decision)
            await agent.call_tool("mnemic_outcome", {"decision_id": decision, "signal": 0.9})


async def agent_over_http(url: str, secret: str, decisions: list[str]) -> None:
    bearer = {"Authorization": f"Bearer {secret}"}
    space = f"{url}/v1/spaces/default"
    async with httpx.AsyncClient(headers=bearer, timeout=30) as http:
        for number in range(ROUNDS):
            lesson = {"content": f"B heard that boat {number} leaves at nine."}
            (await http.post(f"{space}/blocks", json=lesson)).raise_for_status()
            found = await http.post(f"{space}/recall", json={"query": "When does a boat leave?"})
            decisions.append(found.raise_for_status().json()["decision_id"])


async def person(path: Path, decisions: list[str]) -> None:
    for number in range(ROUNDS // 3):
        await to_thread.run_sync(command, path, "learn", f"Ines noted that lamp {number} is new.")
        found = await to_thread.run_sync(command, path, "recall", "Which lamp is new?")
        decisions.append(found["decision_id"])


def test_three_doors_on_one_space_lose_nothing_and_every_decision_reproduces(
    tmp_path: Path,
) -> None:
    path = tmp_path / "agent.db"
    SyncMemory.open(path).close()
    secret = command(path, "token", "create", "b", "--write", "default")["secret"]
    decisions: list[str] = []

    async def together() -> None:
        async with serving(path) as url, anyio.create_task_group() as tasks:
            tasks.start_soon(agent_over_mcp, path, decisions)
            tasks.start_soon(agent_over_http, url, secret, decisions)
            tasks.start_soon(person, path, decisions)

    anyio.run(together)
    with SyncMemory.open(path) as memory:
        assert memory.verify().sound
        status = memory.status()
        learned = 2 * ROUNDS + ROUNDS // 3
        assert status.active + status.inbox + status.archived == learned
        assert len(set(decisions)) == len(decisions) == learned
        replayed = memory.replay_all()
        assert (replayed.decisions, replayed.reproduced) == (learned, learned)
        actors = {event.actor for event in memory.log(limit=1000) if event.kind == "block-learned"}
        assert actors == {"a", "b", "cli"}
