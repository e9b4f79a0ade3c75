"""The MCP server with the tools of ``server-memory``: same names, fields and results."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any, Final

import msgspec
from anyio.to_thread import run_sync
from attrs import frozen
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from mnemic.adapters.integrations.server_memory.graph import (
    Addition,
    Deletion,
    Entity,
    EntityNotFound,
    KnowledgeGraph,
    Relation,
)
from mnemic.kernel.errors import MnemicError

NAME: Final = "memory-server"
RESOURCE: Final = "memory://knowledge-graph"
JSON_TYPE: Final = "application/json"

Context = ServerRequestContext[Any]
Schema = dict[str, Any]

logger = logging.getLogger(__name__)


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _list(items: Schema, description: str) -> Schema:
    return {"type": "array", "items": items, "description": description}


ENTITY: Final = _object(
    name=_text("Its name, which no other entity has"),
    entityType=_text("What kind of thing it is"),
    observations=_list({"type": "string"}, "What is known about it, one fact each"),
)
RELATION: Final = _object(
    **{"from": _text("Name of the entity that it starts at")},
    to=_text("Name of the entity that it leads to"),
    relationType=_text("What it says, in active voice"),
)
GRAPH: Final = _object(entities=_list(ENTITY, "Entities"), relations=_list(RELATION, "Relations"))
DONE: Final = _object(success={"type": "boolean"}, message={"type": "string"})
ADDED: Final = _object(
    entityName={"type": "string"}, addedObservations={"type": "array", "items": {"type": "string"}}
)


@frozen(kw_only=True)
class GraphTool:
    """One tool."""

    title: str
    description: str
    takes: Schema
    kind: Any
    """Type of its one argument; None: it takes none."""
    returns: Schema
    call: Callable[[KnowledgeGraph, Any], Any]
    result: str | None = None
    """The field of ``structuredContent`` that holds the result; None: the result is all of it."""
    done: str | None = None
    """What it answers, if it returns nothing."""
    is_reading: bool = False

    @property
    def argument(self) -> str | None:
        return next(iter(self.takes["properties"]), None)

    def listed(self, name: str) -> types.Tool:
        """Return the tool as a client sees it."""
        return types.Tool(
            name=name,
            title=self.title,
            description=self.description,
            input_schema=self.takes,
            output_schema=self.returns,
            annotations=types.ToolAnnotations(
                read_only_hint=self.is_reading,
                destructive_hint=self.done is not None,
                idempotent_hint=self.is_reading or self.done is not None,
                open_world_hint=False,
            ),
        )

    def answer(self, graph: KnowledgeGraph, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Call it.

        Raises:
            msgspec.ValidationError: The argument is not of its type.
        """
        given = None
        if self.argument is not None:
            if self.argument not in arguments:
                raise msgspec.ValidationError(f"the argument {self.argument} is missing")
            given = msgspec.convert(arguments[self.argument], self.kind)
        found = msgspec.to_builtins(self.call(graph, given))
        if self.done is not None:
            return _result(self.done, {"success": True, "message": self.done})
        shown = msgspec.json.format(msgspec.json.encode(found)).decode()
        return _result(shown, found if self.result is None else {self.result: found})


def _result(text: str, structured: dict[str, Any]) -> types.CallToolResult:
    content = types.TextContent(type="text", text=text)
    return types.CallToolResult(content=[content], structured_content=structured)


TOOLS: Final[Mapping[str, GraphTool]] = {
    "create_entities": GraphTool(
        title="Create Entities",
        description="Create entities; one whose name is taken is left as it is",
        takes=_object(entities={"type": "array", "items": ENTITY}),
        kind=list[Entity],
        returns=_object(entities={"type": "array", "items": ENTITY}),
        call=KnowledgeGraph.create_entities,
        result="entities",
    ),
    "create_relations": GraphTool(
        title="Create Relations",
        description="Create relations between entities, in active voice; known ones are skipped",
        takes=_object(relations={"type": "array", "items": RELATION}),
        kind=list[Relation],
        returns=_object(relations={"type": "array", "items": RELATION}),
        call=KnowledgeGraph.create_relations,
        result="relations",
    ),
    "add_observations": GraphTool(
        title="Add Observations",
        description="Add facts to entities that exist; known ones are skipped",
        takes=_object(
            observations={
                "type": "array",
                "items": _object(
                    entityName=_text("Name of the entity"),
                    contents=_list({"type": "string"}, "The facts"),
                ),
            }
        ),
        kind=list[Addition],
        returns=_object(results={"type": "array", "items": ADDED}),
        call=KnowledgeGraph.add_observations,
        result="results",
    ),
    "delete_entities": GraphTool(
        title="Delete Entities",
        description="Delete entities and all their relations",
        takes=_object(entityNames=_list({"type": "string"}, "Names of the entities")),
        kind=list[str],
        returns=DONE,
        call=KnowledgeGraph.delete_entities,
        done="Entities deleted successfully",
    ),
    "delete_observations": GraphTool(
        title="Delete Observations",
        description="Delete facts from entities",
        takes=_object(
            deletions={
                "type": "array",
                "items": _object(
                    entityName=_text("Name of the entity"),
                    observations=_list({"type": "string"}, "The facts, word for word"),
                ),
            }
        ),
        kind=list[Deletion],
        returns=DONE,
        call=KnowledgeGraph.delete_observations,
        done="Observations deleted successfully",
    ),
    "delete_relations": GraphTool(
        title="Delete Relations",
        description="Delete relations",
        takes=_object(relations=_list(RELATION, "The relations")),
        kind=list[Relation],
        returns=DONE,
        call=KnowledgeGraph.delete_relations,
        done="Relations deleted successfully",
    ),
    "read_graph": GraphTool(
        title="Read Graph",
        description="Read everything: all entities and relations",
        takes=_object(),
        kind=None,
        returns=GRAPH,
        call=lambda graph, _: graph.read_graph(),
        is_reading=True,
    ),
    "search_nodes": GraphTool(
        title="Search Nodes",
        description="Find entities whose name, type or facts contain a text, and their relations",
        takes=_object(query=_text("The text, in any case")),
        kind=str,
        returns=GRAPH,
        call=KnowledgeGraph.search_nodes,
        is_reading=True,
    ),
    "open_nodes": GraphTool(
        title="Open Nodes",
        description="Read entities by name, and their relations",
        takes=_object(names=_list({"type": "string"}, "Names of the entities")),
        kind=list[str],
        returns=GRAPH,
        call=KnowledgeGraph.open_nodes,
        is_reading=True,
    ),
}
"""The tools, in the order in which they are listed."""


def server(graph: KnowledgeGraph, *, read_only: bool = False) -> Server[Any]:
    """Return a server for one client; it runs on any transport of the SDK.

    Args:
        graph: What it serves.
        read_only: Whether tools that write are left out.
    """
    handlers = _Handlers(graph, read_only=read_only)
    return Server(
        NAME,
        version=version("mnemic"),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_read_resource=handlers.read_resource,
        on_subscribe_resource=handlers.subscribe,
        on_unsubscribe_resource=handlers.unsubscribe,
    )


class _Handlers:
    """Answers the requests of one client."""

    def __init__(self, graph: KnowledgeGraph, *, read_only: bool) -> None:
        self._graph = graph
        self._tools = {
            name: tool for name, tool in TOOLS.items() if tool.is_reading or not read_only
        }
        self._subscribed: set[str] = set()

    async def list_tools(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[tool.listed(name) for name, tool in self._tools.items()]
        )

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name:.80}")
        try:
            answer = await run_sync(tool.answer, self._graph, params.arguments or {})
        except MnemicError as error:
            return _refused(f"{error.message} {error.recovery or ''}".strip())
        except (msgspec.ValidationError, EntityNotFound) as error:
            return _refused(str(error))
        except Exception:
            logger.exception("%s failed", params.name)
            return _refused(f"{params.name} failed; the log of the server says why")
        if RESOURCE in self._subscribed and not tool.is_reading:
            await context.session.send_resource_updated(RESOURCE)
        return answer

    async def list_resources(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        found = types.Resource(
            uri=RESOURCE,
            name="knowledge-graph",
            title="Knowledge Graph",
            description="All entities and relations",
            mime_type=JSON_TYPE,
        )
        return types.ListResourcesResult(resources=[found])

    async def read_resource(
        self, _context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        if str(params.uri) != RESOURCE:
            raise MCPError(types.INVALID_PARAMS, f"Unknown resource: {params.uri!s:.200}")
        found = msgspec.json.encode(await run_sync(self._graph.read_graph))
        text = msgspec.json.format(found).decode()
        content = types.TextResourceContents(uri=params.uri, mime_type=JSON_TYPE, text=text)
        return types.ReadResourceResult(contents=[content])

    async def subscribe(
        self, _context: Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        self._subscribed.add(str(params.uri))
        return types.EmptyResult()

    async def unsubscribe(
        self, _context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        self._subscribed.discard(str(params.uri))
        return types.EmptyResult()


def _refused(text: str) -> types.CallToolResult:
    content = types.TextContent(type="text", text=text)
    return types.CallToolResult(content=[content], is_error=True)
