"""The description of one operation: its route, parameters, body and responses."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from mnemic.adapters.docstrings import plainly
from mnemic.adapters.http.description import error_responses
from mnemic.adapters.http.description.components import message
from mnemic.adapters.http.messages.requests import STREAM
from mnemic.adapters.http.messages.responses import JSON
from mnemic.adapters.http.routing.routes import Route
from mnemic.adapters.inprocess.operations.guide import guide
from mnemic.adapters.remote.examples import sample
from mnemic.adapters.remote.schemas import Shapes

Schema = dict[str, Any]

STREAMED = (
    "With `Accept: text/event-stream` the response is a stream of server-sent events: `progress`"
    ' with `{"done": 3, "todo": 128}` repeatedly, and at the end one `result` with the document,'
    " or one `problem`."
)
TOLD = ("progress", "problem", "result")
"""Names of the events of such a stream."""
AS_OF = ("AsOf", "Now")
CONDITIONS = ("IfMatch",)


def operation(route: Route, shapes: Shapes) -> Schema:
    """Return the description of an operation and its route.

    Args:
        route: The operation and its route.
        shapes: Collects the schemas of the classes that it uses.
    """
    operation = route.operation
    found: Schema = {
        "operationId": operation.name,
        "tags": [operation.declaration.group],
        "summary": plainly(operation.docs.summary),
        "description": _description(route),
        "security": [{"bearer": [operation.scope]}],
        "parameters": [*_in_path(route, shapes), *_in_query(route, shapes), *_headers(route)],
    }
    if not route.by_query:
        found["requestBody"] = body(route, shapes)
    return {**found, "responses": responses(route, shapes)}


def _description(route: Route) -> str:
    operation = route.operation
    parts = [plainly(operation.docs.body)]
    card = guide(operation.name)
    if card.when:
        parts += [f"Use it when: {card.when}", f"Not when: {card.when_not}"]
    parts.append(f"Needs a token with the scope `{operation.scope}`.")
    if operation.past_parameters is not None and operation.scope != "read":
        parts.append("For the past (`as_of`) it only reads, and `read` is enough.")
    if operation.long:
        parts.append(STREAMED)
    return "\n\n".join(filter(None, parts))


# --- parameters ---------------------------------------------------------------------------------


def _in_path(route: Route, shapes: Shapes) -> list[Schema]:
    found = [_reference("Space")] if route.of_space else []
    for name in route.in_path:
        shape = shapes.parameter(route.operation.name, route.operation.parameters[name])
        found.append({"name": name, "in": "path", "required": True, **_parted(shape)})
    return found


def _in_query(route: Route, shapes: Shapes) -> list[Schema]:
    operation = route.operation
    found: list[Schema] = []
    if route.by_query:
        for each in operation.parameters.values():
            if each.name not in route.in_path:
                shape = without_null(shapes.parameter(operation.name, each))
                given: Schema = {"name": each.name, "in": "query", **_parted(shape)}
                found.append({**given, "required": True} if each.required else given)
    if operation.past_parameters is not None:
        found += map(_reference, AS_OF)
    return found


def _headers(route: Route) -> list[Schema]:
    if not route.of_space:
        return []
    names = ["Session", *CONDITIONS]
    if route.method == "GET":
        names.append("IfNoneMatch")
    if route.operation.repeatable:
        names.append("IdempotencyKey")
    return list(map(_reference, names))


def _parted(shape: Schema) -> Schema:
    """Return a schema with its description moved to the parameter, as OpenAPI requires."""
    inner = dict(shape)
    description = inner.pop("description", "")
    return {"description": description, "schema": inner}


def without_null(shape: Schema) -> Schema:
    """Return a schema without null, which a query expresses by leaving the parameter out."""
    found = dict(shape)
    kinds = found.get("type")
    if isinstance(kinds, list):
        left = [kind for kind in kinds if kind != "null"]
        found["type"] = left[0] if len(left) == 1 else left
    if "enum" in found:
        found["enum"] = [each for each in found["enum"] if each is not None]
    return found


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/parameters/{name}"}


# --- bodies -------------------------------------------------------------------------------------


def body(route: Route, shapes: Shapes) -> Schema:
    """Return the description of a request's body."""
    name = f"{_camel(route.operation.name)}Arguments"
    arguments = shapes.arguments(route.operation, without=route.in_path)
    shapes.components[name] = {
        **arguments,
        "title": name,
        "description": f"Arguments of `{route.operation.name}`.",
    }
    shape = {"$ref": f"{shapes.base}{name}"}
    example = _example(route.operation.name, arguments, shapes)
    return {
        "required": bool(arguments.get("required")),
        "content": {JSON: {"schema": shape, "examples": {"usual": {"value": example}}}},
    }


def _example(operation: str, arguments: Schema, shapes: Shapes) -> Mapping[str, Any]:
    """Return an example body: see ``examples.toml``."""
    worded = examples().get(operation)
    if isinstance(worded, Mapping):
        return worded
    given, required = arguments["properties"], arguments.get("required", ())
    shown = worded or [name for name in given if name in required or "examples" in given[name]]
    return {name: sample(given[name], shapes.components) for name in given if name in shown}


@cache
def examples() -> Mapping[str, Any]:
    """Return the page of example bodies: names of parameters or values, by operation."""
    page = resources.files("mnemic.adapters.http.description") / "examples.toml"
    return tomllib.loads(page.read_text("utf-8"))


def _camel(operation: str) -> str:
    return "".join(word.capitalize() for word in operation.split("_"))


# --- responses ----------------------------------------------------------------------------------


def responses(route: Route, shapes: Shapes) -> Schema:
    """Return the possible responses, by status."""
    operation = route.operation
    found: Schema = {str(route.status): _success(route, shapes)}
    if route.method == "GET" and route.of_space:
        found["304"] = {
            "description": "The client's copy is current (`If-None-Match`).",
            "headers": _header_references(of_space=True),
        }
    for refusal in error_responses.of_route(
        route, writes=not operation.reads_only, long=operation.long
    ):
        found[str(refusal.status)] = {
            "$ref": f"#/components/responses/{refusal.name}",
            "description": refusal.words,
        }
    return found


def _success(route: Route, shapes: Shapes) -> Schema:
    shape = shapes.answer(route.operation)
    example = sample(shape, shapes.components)
    content: Schema = {JSON: {"schema": shape, "examples": {"usual": {"value": example}}}}
    if route.operation.long:
        content[STREAM] = {"schema": message(TOLD, *map(_schema, ("Progress", "Problem")), shape)}
    return {
        "description": "The result." if not route.operation.reads_only else "The answer.",
        "headers": {**_header_references(of_space=route.of_space), **_pointers(route)},
        "content": content,
    }


def _pointers(route: Route) -> Schema:
    """Return the headers that link to further resources."""
    names = []
    if route.operation.declaration.makes is not None:
        names.append("Location")
    if route.method == "GET" and "after" in route.operation.parameters:
        names.append("Link")
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _schema(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _header_references(*, of_space: bool) -> Schema:
    names = {"X-Request-Id": "RequestId", "Cache-Control": "CacheControl"}
    if of_space:
        names |= {"ETag": "ETag", "Mnemic-Version": "MnemicVersion"}
    return {header: {"$ref": f"#/components/headers/{name}"} for header, name in names.items()}
