"""The interface works with another client implementation, fastmcp: over a pipe, and over HTTP."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

from tests.adapters.mcp.clients import GATE, OIL
from tests.adapters.mcp.servers import served
from tests.adapters.mcp.test_stdio import RUN


async def talk(agent: Any) -> None:
    """Use every part of the protocol that the interface supports."""
    assert {"mnemic_learn", "mnemic_look"} <= {tool.name for tool in await agent.list_tools()}
    first = await agent.call_tool("mnemic_learn", {"content": GATE})
    second = await agent.call_tool("mnemic_learn", {"content": OIL})
    ends = [each.structured_content["block_id"] for each in (first, second)]
    made = await agent.call_tool("mnemic_connect", {"source": ends[0], "target": ends[1]})
    assert made.structured_content["action"] == "created"
    found = await agent.call_tool("mnemic_recall", {"query": "When does the gate open?"})
    assert GATE in found.content[0].text
    refused = await agent.call_tool(
        "mnemic_connect", {"source": ends[0], "target": ends[0]}, raise_on_error=False
    )
    assert refused.is_error
    assert refused.structured_content["code"] == "self-loop"
    (block,) = await agent.read_resource(f"mnemic://blocks/{ends[0]}")
    assert GATE in block.text
    prompt = await agent.get_prompt("end_of_session_reflection")
    assert GATE in prompt.messages[0].content.text


def test_over_a_pipe(tmp_path: Path) -> None:
    transport: Any = StdioTransport(
        command=RUN[0],
        args=[*RUN[1:], "--db", str(tmp_path / "agent.db"), "mcp"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        log_file=tmp_path / "errors",
    )

    async def conversation() -> None:
        async with Client(transport) as agent:
            await talk(agent)
        await transport.close()

    anyio.run(conversation)


def test_over_http(tmp_path: Path) -> None:
    async def conversation() -> None:
        async with served(tmp_path) as server:
            bearer = {"Authorization": f"Bearer {server.token('ines', default='write')}"}
            async with Client(StreamableHttpTransport(server.url, headers=bearer)) as agent:
                await talk(agent)

    anyio.run(conversation)
