"""What the conformance suite of the protocol expects of a server, put on our own for the occasion.

The suite calls tools, reads resources and gets prompts of fixed names. Here they are, added to the
handlers of a server of ours that runs beside them unchanged; nothing of this is shipped.

    python -m tests.adapters.mcp.conformance_fixture PORT

serves that on ``http://127.0.0.1:PORT/mcp`` without tokens, until it is stopped.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import uvicorn
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import PromptsListChanged, ToolsListChanged

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.security import Caller
from mnemic.adapters.mcp.mounting import Mounted, asgi
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


def fitted(server: Server[Any]) -> None:
    """Add what the suite expects to a server."""
    bus = InMemorySubscriptionBus()
    keys = RequestStateSecurity.ephemeral()
    server.middleware.append(RequestStateBoundary(keys, default_audience=server.name))

    async def changed(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        event = ToolsListChanged() if "tool" in params.name else PromptsListChanged()
        await bus.publish(event)
        return types.CallToolResult(content=[types.TextContent(type="text", text="changed")])

    triggers = {"test_trigger_tool_change": changed, "test_trigger_prompt_change": changed}
    tools: Mapping[str, Handler] = {**CONTENT, **ASKING, **triggers}
    add = server.add_request_handler
    ours = {method: _ours(server, method) for method in _METHODS}

    async def list_tools(context: Any, params: Any) -> Any:
        found = await ours["tools/list"](context, params)
        return _with(found, tools=[*found.tools, *map(_listed, tools)])

    async def call_tool(context: Any, params: Any) -> Any:
        return await tools.get(params.name, ours["tools/call"])(context, params)

    async def list_resources(context: Any, params: Any) -> Any:
        found = await ours["resources/list"](context, params)
        return _with(found, resources=[*found.resources, *RESOURCES.values()])

    async def list_templates(context: Any, params: Any) -> Any:
        found = await ours["resources/templates/list"](context, params)
        return _with(found, resource_templates=[*found.resource_templates, TEMPLATE])

    async def read_resource(context: Any, params: Any) -> Any:
        found = resource(params.uri)
        if found is None:
            return await ours["resources/read"](context, params)
        return types.ReadResourceResult(contents=[found])

    async def list_prompts(context: Any, params: Any) -> Any:
        found = await ours["prompts/list"](context, params)
        return _with(found, prompts=[*found.prompts, *PROMPTS.values()])

    async def get_prompt(context: Any, params: Any) -> Any:
        if params.name == "test_input_required_result_prompt":
            return asked_prompt(params)
        found = prompt(params.name, params.arguments or {})
        return found or await ours["prompts/get"](context, params)

    async def nothing(_context: Any, _params: Any) -> types.EmptyResult:
        return types.EmptyResult()

    add("tools/list", types.PaginatedRequestParams, list_tools)
    add("tools/call", types.CallToolRequestParams, call_tool)
    add("resources/list", types.PaginatedRequestParams, list_resources)
    add("resources/templates/list", types.PaginatedRequestParams, list_templates)
    add("resources/read", types.ReadResourceRequestParams, read_resource)
    add("prompts/list", types.PaginatedRequestParams, list_prompts)
    add("prompts/get", types.GetPromptRequestParams, get_prompt)
    add("resources/subscribe", types.SubscribeRequestParams, nothing)
    add("resources/unsubscribe", types.UnsubscribeRequestParams, nothing)
    add("logging/setLevel", types.SetLevelRequestParams, nothing)
    add("subscriptions/listen", types.SubscriptionsListenRequestParams, ListenHandler(bus))
    server.get_tool_input_schema = SCHEMAS.get


_METHODS = """
    tools/list tools/call resources/list resources/templates/list resources/read prompts/list
    prompts/get
""".split()


def _ours(server: Server[Any], method: str) -> Handler:
    entry = server.get_request_handler(method)
    assert entry is not None
    return entry.handler


def _with(found: Any, **lists: Any) -> Any:
    return found.model_copy(update=lists)


def _listed(name: str) -> types.Tool:
    schema = SCHEMAS.get(name, {"type": "object"})
    return types.Tool(name=name, description=f"For the suite: {name}", input_schema=schema)


def mounted(spaces: Spaces) -> Mounted:
    """Return our door with what the suite expects, open to whoever sits at this machine."""
    door = asgi(spaces, lambda _scope: Caller(name="conformance"))
    fitted(door.server)
    return door


async def main(port: int) -> None:
    """Serve until stopped."""
    with TemporaryDirectory() as folder:
        async with Spaces(Path(folder) / "memory.db", embedder=HashEmbedder()) as spaces:
            await spaces.make("default")
            door = mounted(spaces)
            config = uvicorn.Config(
                door, host="127.0.0.1", port=port, lifespan="off", log_level="warning"
            )
            async with door.running():
                await uvicorn.Server(config).serve()


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]))
