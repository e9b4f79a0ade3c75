"""The drop-in for ``server-memory``, over MCP and as the command line serves it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from mcp import Client

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.server_memory import KnowledgeGraph, server
from mnemic.adapters.integrations.server_memory.graph import Addition, Deletion, Entity
from mnemic.specs.contracts.integrations.server_memory import (
    INES,
    OWNS,
    TOOLS,
    Call,
    ServerMemoryContract,
)
from tests.adapters.mcp.test_stdio import RUN


class Refused(Exception):
    """The answer of a tool is an error."""


def text_of(content: Any) -> str:
    """Return the text of a part of an answer."""
    text: str = content.text
    return text


@pytest.fixture
def memory() -> Iterator[SyncMemory]:
    with SyncMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        yield memory


class TestContract(ServerMemoryContract):
    error = Refused

    @pytest.fixture
    def open_client(self, memory: SyncMemory) -> Iterator[Callable[[], Call]]:
        with start_blocking_portal() as portal, ExitStack() as opened:

            def open_client() -> Call:
                client = Client(server(KnowledgeGraph(memory)))
                agent = opened.enter_context(portal.wrap_async_context_manager(client))

                def call(tool: str, given: Any = None) -> Any:
                    name = TOOLS[tool]
                    arguments = {} if name is None else {name: given}
                    answer = portal.call(agent.call_tool, tool, arguments)
                    if answer.is_error:
                        raise Refused(text_of(answer.content[0]))
                    return answer.structured_content

                return call

            yield open_client

    @pytest.fixture
    def call(self, open_client: Callable[[], Call]) -> Call:
        return open_client()

    @pytest.fixture
    def reopened(self, call: Call, open_client: Callable[[], Call]) -> Callable[[], Call]:
        del call
        return open_client


def test_the_command_line_serves_the_nine_tools_and_the_resource(tmp_path: Path) -> None:
    transport: Any = StdioTransport(
        command=RUN[0],
        args=[*RUN[1:], "--db", str(tmp_path / "agent.db"), "mcp", "--as", "server-memory"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        log_file=tmp_path / "errors",
    )

    async def conversation() -> None:
        async with FastClient(transport) as agent:
            tools = await agent.list_tools()
            assert [tool.name for tool in tools] == [*TOOLS]
            for tool in tools:
                assert tool.output_schema is not None
                assert list(tool.input_schema["properties"]) == [
                    name for name in (TOOLS[tool.name],) if name is not None
                ]
            made = await agent.call_tool("create_entities", {"entities": [INES]})
            assert json.loads(text_of(made.content[0])) == [INES]
            refused = await agent.call_tool(
                "create_relations", {"relations": [{"from": "Ines"}]}, raise_on_error=False
            )
            assert refused.is_error
            assert "to" in text_of(refused.content[0])
            await agent.call_tool("create_relations", {"relations": [OWNS]})
            (resource,) = await agent.list_resources()
            assert str(resource.uri) == "memory://knowledge-graph"
            (graph,) = await agent.read_resource("memory://knowledge-graph")
            assert json.loads(text_of(graph)) == {"entities": [INES], "relations": [OWNS]}
        await transport.close()

    anyio.run(conversation)
    with SyncMemory.open(tmp_path / "agent.db", embedder=HashEmbedder()) as memory:
        assert [block.content for block in memory.blocks().items] == [
            "Ines (person)\nlives in Oslo\nmends Gates",
            "Ines owns North Yard",
        ]


def test_a_reader_is_offered_what_reads(memory: SyncMemory) -> None:
    async def conversation() -> None:
        async with Client(server(KnowledgeGraph(memory), read_only=True)) as agent:
            tools = [tool.name for tool in (await agent.list_tools()).tools]
            assert tools == ["read_graph", "search_nodes", "open_nodes"]

    anyio.run(conversation)


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
def test_subscribers_learn_of_changes(memory: SyncMemory) -> None:
    changed: list[str] = []

    async def hear(message: Any) -> None:
        params = getattr(getattr(message, "root", message), "params", None)
        changed.append(str(getattr(params, "uri", "")))

    async def conversation() -> None:
        served = server(KnowledgeGraph(memory))
        async with Client(served, mode="legacy", message_handler=hear) as agent:
            await agent.call_tool("create_entities", {"entities": [INES]})
            await agent.subscribe_resource(  # pyright: ignore[reportDeprecated] - as clients do
                "memory://knowledge-graph"
            )
            await agent.call_tool("create_relations", {"relations": [OWNS]})
            await agent.call_tool("read_graph", {})
            await agent.unsubscribe_resource(  # pyright: ignore[reportDeprecated]
                "memory://knowledge-graph"
            )
            await agent.call_tool("delete_entities", {"entityNames": ["Ines"]})

    anyio.run(conversation)
    assert [uri for uri in changed if uri] == ["memory://knowledge-graph"]


def test_every_change_stays_in_the_past(memory: SyncMemory) -> None:
    graph = KnowledgeGraph(memory)
    graph.create_entities([Entity(name="Ines", entity_type="person", observations=["in Oslo"])])
    before = memory.status().version
    graph.add_observations([Addition(entity_name="Ines", contents=["in Bergen"])])
    graph.delete_observations([Deletion(entity_name="Ines", observations=["in Oslo"])])
    revisions = memory.blocks(key="server-memory/entity/Ines").items
    assert [(block.content or "").splitlines()[1:] for block in revisions] == [
        ["in Oslo"],
        ["in Oslo", "in Bergen"],
        ["in Bergen"],
    ]
    memory.revert(before + 1, memory.status().version)
    assert graph.read_graph().entities[0].observations == ["in Oslo"]
