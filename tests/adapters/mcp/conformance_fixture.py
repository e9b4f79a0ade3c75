"""The fixtures that the conformance suite of the protocol expects, added to a mnemic server.

The suite calls tools, reads resources and gets prompts of fixed names. They are defined here and
added to the handlers of an otherwise unchanged mnemic server; nothing of this is shipped.

    python -m tests.adapters.mcp.conformance_fixture PORT

serves them on ``http://127.0.0.1:PORT/mcp`` without tokens, until it is stopped.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import uvicorn
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import PromptsListChanged, ServerEvent, ToolsListChanged

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.middleware.security import Caller
from mnemic.adapters.mcp.http_transport import Mounted, asgi
from tests.adapters.mcp.conformance_asking import ASKING, asked_prompt
from tests.adapters.mcp.conformance_content import (
    CONTENT,
    PROMPTS,
    RESOURCES,
    SCHEMAS,
    TEMPLATE,
    prompt,
    resource,
)

Handler = Callable[[Any, Any], Awaitable[Any]]
TRIGGERS: Mapping[str, ServerEvent] = {
    "test_trigger_tool_change": ToolsListChanged(),
    "test_trigger_prompt_change": PromptsListChanged(),
}


def fitted(server: Server[Any]) -> None:
    """Add the suite's fixtures to a server."""
    bus = InMemorySubscriptionBus()
    keys = RequestStateSecurity.ephemeral()
    server.middleware.append(RequestStateBoundary(keys, default_audience=server.name))
    server.get_tool_input_schema = SCHEMAS.get
    add = server.add_request_handler
    add("resources/subscribe", types.SubscribeRequestParams, _nothing)
    add("resources/unsubscribe", types.UnsubscribeRequestParams, _nothing)
    add("logging/setLevel", types.SetLevelRequestParams, _nothing)
    add("subscriptions/listen", types.SubscriptionsListenRequestParams, ListenHandler(bus))
    _lists(server)
    _calls(server, bus)


def _lists(server: Server[Any]) -> None:
    """Append the suite's entries to every list."""
    more: Mapping[str, tuple[str, Sequence[Any]]] = {
        "tools/list": ("tools", [*map(_listed, (*CONTENT, *ASKING, *TRIGGERS))]),
        "resources/list": ("resources", [*RESOURCES.values()]),
        "resources/templates/list": ("resource_templates", [TEMPLATE]),
        "prompts/list": ("prompts", [*PROMPTS.values()]),
    }
    for method, (name, theirs) in more.items():
        listing = partial(_both, _ours(server, method), name, theirs)
        server.add_request_handler(method, types.PaginatedRequestParams, listing)


async def _both(ours: Handler, name: str, theirs: Sequence[Any], *asked: Any) -> Any:
    found = await ours(*asked)
    return found.model_copy(update={name: [*getattr(found, name), *theirs]})


def _calls(server: Server[Any], bus: InMemorySubscriptionBus) -> None:
    """Route the suite's names to the suite's handlers, and all others to the server's own."""
    call, read, get = (
        _ours(server, method) for method in ("tools/call", "resources/read", "prompts/get")
    )

    async def changed(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        await bus.publish(TRIGGERS[params.name])
        return types.CallToolResult(content=[types.TextContent(type="text", text="changed")])

    tools: Mapping[str, Handler] = {**CONTENT, **ASKING, **dict.fromkeys(TRIGGERS, changed)}

    async def call_tool(context: Any, params: Any) -> Any:
        return await tools.get(params.name, call)(context, params)

    async def read_resource(context: Any, params: Any) -> Any:
        found = resource(params.uri)
        if found is None:
            return await read(context, params)
        return types.ReadResourceResult(contents=[found])

    async def get_prompt(context: Any, params: Any) -> Any:
        if params.name == "test_input_required_result_prompt":
            return asked_prompt(params)
        return prompt(params.name, params.arguments or {}) or await get(context, params)

    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, read_resource)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, get_prompt)


async def _nothing(_context: Any, _params: Any) -> types.EmptyResult:
    return types.EmptyResult()


def _ours(server: Server[Any], method: str) -> Handler:
    entry = server.get_request_handler(method)
    assert entry is not None
    return entry.handler


def _listed(name: str) -> types.Tool:
    schema = SCHEMAS.get(name, {"type": "object"})
    return types.Tool(name=name, description=f"For the suite: {name}", input_schema=schema)


def mounted(spaces: Spaces) -> Mounted:
    """Return the MCP interface with the suite's fixtures, without authentication."""
    interface = asgi(spaces, lambda _scope: Caller(name="conformance"))
    fitted(interface.server)
    return interface


async def main(port: int) -> None:
    """Serve until stopped."""
    with TemporaryDirectory() as folder:
        async with Spaces(Path(folder) / "memory.db", embedder=HashEmbedder()) as spaces:
            await spaces.make("default")
            interface = mounted(spaces)
            config = uvicorn.Config(
                interface, host="127.0.0.1", port=port, lifespan="off", log_level="warning"
            )
            async with interface.running():
                await uvicorn.Server(config).serve()


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]))
