"""One operation of the description: a verb at its place, with all that it takes and answers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from mnemic.adapters.http import refusals
from mnemic.adapters.http.answers import JSON
from mnemic.adapters.http.calling import MADE
from mnemic.adapters.http.parts import message
from mnemic.adapters.http.reading import STREAM
from mnemic.adapters.http.routes import Route
from mnemic.adapters.inprocess.guiding import guide
from mnemic.adapters.wire.docstrings import plainly
from mnemic.adapters.wire.samples import sample
from mnemic.adapters.wire.shapes import Shapes
from mnemic.kernel.errors import GuideUnknown
from mnemic.kernel.results import GuideCard

Schema = dict[str, Any]

TAGS: Mapping[str, str] = {
    "Blocks": "learn learn_many blocks block erase revise forget rezone near_duplicates",
    "Edges": "edges connect connects connect_by_query disconnect pending_connections",
    "Recall": "recall deep_reference outcome",
    "Decisions": "explain why_not replay what_if receipt replay_all verify_receipt backtest",
    "Compositions": "compose ledger composition label retract_label composed_graph frontier"
    " composed_with analogies compare",
    "Upkeep": "start_session end_session consolidate curate reembed policy adopt_policy",
    "The past": "log history timeline diff revert verify",
    "Spaces": "status erase_space checkpoints checkpoint drop_checkpoints export import_space fork",
    "Server": "guide",
}
"""Which verbs stand together."""
STREAMED = (
    "Asked for with `Accept: text/event-stream`, the answer comes as server-sent events: `progress`"
    ' with `{"done": 3, "todo": 128}` now and then, and in the end one `result` with the document,'
    " or one `problem`."
)
TOLD = ("progress", "problem", "result")
"""Events of such a stream."""
AS_OF = ("AsOf", "Now")
CONDITIONS = ("IfMatch",)


def operation(route: Route, shapes: Shapes) -> Schema:
    """Return the description of a verb at its place.

    Args:
        route: The verb and its place.
        shapes: Where the classes it speaks of are described.
    """
    verb = route.verb
    found: Schema = {
        "operationId": verb.name,
        "tags": [tag_of(verb.name)],
        "summary": plainly(verb.told.summary),
        "description": _description(route),
        "security": [{"bearer": [verb.scope]}],
        "parameters": [*_in_path(route, shapes), *_in_query(route, shapes), *_headers(route)],
    }
    if not route.by_query:
        found["requestBody"] = body(route, shapes)
    return {**found, "responses": responses(route, shapes)}


def tag_of(verb: str) -> str:
    """Return with which other verbs one stands."""
    return next(tag for tag, names in TAGS.items() if verb in names.split())


def _description(route: Route) -> str:
    verb = route.verb
    parts = [plainly(verb.told.body)]
    card = _card(verb.name)
    if card is not None:
        parts += [f"Use it when: {card.when}", f"Not when: {card.when_not}"]
    parts.append(f"Needs a token with the scope `{verb.scope}`.")
    if verb.past_parameters is not None and verb.scope != "read":
        parts.append("Of the past (`as_of`) it only reads, and `read` is enough.")
    if verb.long:
        parts.append(STREAMED)
    return "\n\n".join(filter(None, parts))


def _card(verb: str) -> GuideCard | None:
    try:
        return guide(verb)
    except GuideUnknown:
        return None


# --- parameters ---------------------------------------------------------------------------------


def _in_path(route: Route, shapes: Shapes) -> list[Schema]:
    found = [_reference("Space")] if route.of_space else []
    for name in route.in_path:
        shape = shapes.parameter(route.verb.name, route.verb.parameters[name])
        found.append({"name": name, "in": "path", "required": True, **_parted(shape)})
    return found


def _in_query(route: Route, shapes: Shapes) -> list[Schema]:
    verb = route.verb
    found: list[Schema] = []
    if route.by_query:
        for each in verb.parameters.values():
            if each.name not in route.in_path:
                shape = without_null(shapes.parameter(verb.name, each))
                given: Schema = {"name": each.name, "in": "query", **_parted(shape)}
                found.append({**given, "required": True} if each.required else given)
    if verb.past_parameters is not None:
        found += map(_reference, AS_OF)
    return found


def _headers(route: Route) -> list[Schema]:
    if not route.of_space:
        return []
    names = ["Session", *CONDITIONS]
    if route.method == "GET":
        names.append("IfNoneMatch")
    if route.verb.repeatable:
        names.append("IdempotencyKey")
    return list(map(_reference, names))


def _parted(shape: Schema) -> Schema:
    """Return a schema with its description where a parameter has it."""
    inner = dict(shape)
    description = inner.pop("description", "")
    return {"description": description, "schema": inner}


def without_null(shape: Schema) -> Schema:
    """Return the schema of something that a query cannot say to be null: it is left out instead."""
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
    """Return the description of what a request holds."""
    name = f"{_camel(route.verb.name)}Arguments"
    arguments = shapes.arguments(route.verb, without=route.in_path)
    shapes.components[name] = {
        **arguments,
        "title": name,
        "description": f"Arguments of `{route.verb.name}`.",
    }
    shape = {"$ref": f"{shapes.base}{name}"}
    example = examples().get(route.verb.name)
    if example is None:
        example = sample(shape, shapes.components)
    return {
        "required": bool(arguments.get("required")),
        "content": {JSON: {"schema": shape, "examples": {"usual": {"value": example}}}},
    }


@cache
def examples() -> Mapping[str, Any]:
    """Return what callers send, by verb."""
    page = resources.files("mnemic.adapters.http") / "examples.toml"
    return tomllib.loads(page.read_text("utf-8"))


def _camel(verb: str) -> str:
    return "".join(word.capitalize() for word in verb.split("_"))


# --- responses ----------------------------------------------------------------------------------


def responses(route: Route, shapes: Shapes) -> Schema:
    """Return what may come back, by status."""
    verb = route.verb
    found: Schema = {str(route.status): _success(route, shapes)}
    if route.method == "GET" and route.of_space:
        found["304"] = {
            "description": "What the caller has is what there is (`If-None-Match`).",
            "headers": _header_references(of_space=True),
        }
    for refusal in refusals.of_route(route, writes=not verb.reads_only, long=verb.long):
        found[str(refusal.status)] = {
            "$ref": f"#/components/responses/{refusal.name}",
            "description": refusal.words,
        }
    return found


def _success(route: Route, shapes: Shapes) -> Schema:
    shape = shapes.answer(route.verb)
    example = sample(shape, shapes.components)
    content: Schema = {JSON: {"schema": shape, "examples": {"usual": {"value": example}}}}
    if route.verb.long:
        content[STREAM] = {"schema": message(TOLD, *map(_schema, ("Progress", "Problem")), shape)}
    return {
        "description": "What became of it." if not route.verb.reads_only else "The answer.",
        "headers": {**_header_references(of_space=route.of_space), **_pointers(route)},
        "content": content,
    }


def _pointers(route: Route) -> Schema:
    """Return the headers that say where to go on."""
    names = []
    if route.verb.name in MADE:
        names.append("Location")
    if route.method == "GET" and "after" in route.verb.parameters:
        names.append("Link")
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _schema(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _header_references(*, of_space: bool) -> Schema:
    names = {"X-Request-Id": "RequestId", "Cache-Control": "CacheControl"}
    if of_space:
        names |= {"ETag": "ETag", "Mnemic-Version": "MnemicVersion"}
    return {header: {"$ref": f"#/components/headers/{name}"} for header, name in names.items()}
