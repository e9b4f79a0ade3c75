"""SDK clients, connected in this process to a mnemic server with a memory of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.types import CallToolResult, TextContent

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import Memory
from mnemic.adapters.mcp.server import server
from mnemic.adapters.mcp.stdio import reception
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.ports import Embedder

GATE = "Ines opens the gate at six every morning."
OIL = "The gate squeaks at night and needs oil."
TEA = "Tomasz prefers black tea to green tea."


@asynccontextmanager
async def client(
    path: Path | str = ":memory:", *, embedder: Embedder | None = None, **serving: Any
) -> AsyncGenerator[Client]:
    """Connect a client; *serving* holds the keyword arguments of ``reception``."""
    memory = partial(
        Memory.open,
        path,
        embedder=embedder or HashEmbedder(),
        clock=ManualClock(),
        entropy=SeededEntropy("mcp"),
        read_only=serving.get("read_only", False),
    )
    async with Client(server(reception(memory, **serving))) as connected:
        yield connected


def run(conversation: Callable[[], Awaitable[None]]) -> None:
    """Run a conversation to its end."""
    anyio.run(conversation)


def text(answer: CallToolResult) -> str:
    """Return the text that a model reads."""
    (only,) = answer.content
    assert isinstance(only, TextContent)
    return only.text


async def learned(to: Client, content: str, **more: Any) -> str:
    """Learn something and return its id."""
    answer = await to.call_tool("mnemic_learn", {"content": content, **more})
    assert answer.structured_content is not None
    return str(answer.structured_content["block_id"])


async def kinds(of: Client) -> list[str]:
    """Return the kinds of all events, in order."""
    answer = await of.call_tool("mnemic_look", {"operation": "log"})
    assert answer.structured_content is not None
    return [event["kind"] for event in answer.structured_content["items"]]
