"""Description of the endpoints that are no operations: spaces, event stream, copies, server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mnemic.adapters.http.description import error_responses
from mnemic.adapters.http.description.components import message
from mnemic.adapters.http.description.operations import STREAMED, operation
from mnemic.adapters.http.messages.requests import STREAM
from mnemic.adapters.http.messages.responses import JSON
from mnemic.adapters.http.routing.routes import ROOT, SPACE, Route
from mnemic.adapters.inprocess.registry import SCOPES
from mnemic.adapters.remote.schemas import Shapes
from mnemic.adapters.remote.transport_errors import (
    NotAcceptable,
    NotReady,
    Overloaded,
    Stopping,
)
from mnemic.adapters.transfer.exports.archive import MEDIA_TYPE as TAR
from mnemic.kernel import errors
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.results import LogEntry

Document = dict[str, Any]
BYTES: Document = {"type": "string", "contentMediaType": TAR}
COMMON = {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}
PLAIN = "text/plain"
PROBLEM: Document = {"$ref": "#/components/schemas/Problem"}
SPACE_PARAMETER = {"$ref": "#/components/parameters/Space"}
SCOPED_PARAMETERS = frozenset({"Session", "IfMatch", "IfNoneMatch"})
"""Parameters shared by all space-scoped endpoints."""
MAKING: error_responses.Family = (
    errors.ViewReadOnly,
    errors.StoreFull,
    errors.StoreFailed,
    errors.StoreBusy,
    errors.Closed,
)
SEEN: error_responses.Family = (errors.Forbidden, errors.SpaceNotFound, errors.FieldRefused)


def paths(shapes: Shapes) -> Mapping[str, Document]:
    """Return the description of the endpoints that are no operations, by path and method.

    Args:
        shapes: Collects the schemas of the classes that they use.
    """
    shapes.components.update(_SCHEMAS)
    event = shapes.of(LogEntry)
    return {
        f"{ROOT}/spaces": {"get": _spaces(shapes)},
        SPACE: {"put": _make_space(shapes)},
        f"{SPACE}/events": {"get": _events(event)},
        f"{ROOT}/openapi.json": {"get": _described()},
        "/healthz": {"get": _health("healthz", "Check that the process runs.", shapes)},
        "/readyz": {"get": _health("readyz", "Check that the store can be used.", shapes)},
        "/metrics": {"get": _metrics()},
    }


# --- spaces -------------------------------------------------------------------------------------

_SCHEMAS: Document = {
    "SpaceEntry": {
        "type": "object",
        "title": "SpaceEntry",
        "description": "A space, and the token's scope on it.",
        "properties": {
            "space": {
                "type": "string",
                "description": "Name of the space.",
                "examples": ["default"],
            },
            "scope": {
                "type": "string",
                "enum": list(SCOPES),
                "description": "The token's highest scope; each includes the ones before it.",
            },
        },
        "required": ["space", "scope"],
    },
    "SpaceList": {
        "type": "object",
        "title": "SpaceList",
        "description": "The spaces that the token may see.",
        "properties": {
            "items": {
                "type": "array",
                "items": {"$ref": "#/components/schemas/SpaceEntry"},
                "description": "Spaces, by name.",
            }
        },
        "required": ["items"],
    },
    "SpaceMade": {
        "type": "object",
        "title": "SpaceMade",
        "description": "A space that exists now.",
        "properties": {
            "space": {
                "type": "string",
                "description": "Name of the space.",
                "examples": ["default"],
            },
            "made": {
                "type": "boolean",
                "description": "Whether it was created by this request; false: it existed.",
            },
        },
        "required": ["space", "made"],
    },
    "Health": {
        "type": "object",
        "title": "Health",
        "description": "Health of the server.",
        "properties": {
            "status": {
                "type": "string",
                "enum": ["alive", "ready"],
                "description": "`alive`: the process runs; `ready`: the store can be used as well.",
            }
        },
        "required": ["status"],
    },
}


def _spaces(shapes: Shapes) -> Document:
    example = {"items": [{"space": "default", "scope": "write"}]}
    return _operation(
        "spaces",
        "List the spaces that the token may see.",
        answers={"200": _json("The spaces.", shapes, "SpaceList", example)},
    )


def _make_space(shapes: Shapes) -> Document:
    example = {"space": "default", "made": True}
    return _operation(
        "make_space",
        "Create a space, unless it exists.",
        description="Needs a token with the scope `admin` for that name.",
        scope="admin",
        parameters=[SPACE_PARAMETER],
        answers={
            "200": _json("It existed.", shapes, "SpaceMade", {**example, "made": False}),
            "201": _json("It was created.", shapes, "SpaceMade", example),
        },
        refused=(*SEEN, *MAKING, errors.SpaceErased),
    )


# --- the log as events ----------------------------------------------------------------------------


def _events(event: Document) -> Document:
    return _operation(
        "events",
        "Follow the log: every event as it is written.",
        description=(
            "Server-sent events: `id` is the version of an event, `event` its kind and `data` one "
            "JSON document. The stream begins after `after` or `Last-Event-ID` with existing "
            "events, stays open, and continues as events are written by any client. It ends with "
            "an event `problem` when the token is no longer valid; reconnect with "
            "`Last-Event-ID` to continue without a gap. `Mnemic-Version` gives the end of the log "
            "when the stream began."
        ),
        scope="read",
        tag="The past",
        parameters=[
            SPACE_PARAMETER,
            {
                "name": "after",
                "in": "query",
                "description": "Begin after this version; -1: with the first event.",
                "schema": {"type": "integer", "minimum": -1, "default": -1, "examples": [901]},
            },
            {"$ref": "#/components/parameters/LastEventId"},
        ],
        answers={
            "200": {
                "description": "The stream.",
                "headers": {
                    **COMMON,
                    "Mnemic-Version": {"$ref": "#/components/headers/MnemicVersion"},
                },
                "content": {STREAM: {"schema": message((), event, PROBLEM)}},
            }
        },
        refused=(*SEEN, errors.SpaceErased, errors.LogCorrupt, errors.StoreFailed, NotAcceptable),
    )


# --- copies ---------------------------------------------------------------------------------------


def _export(route: Route, shapes: Shapes) -> Document:
    found = _apart(operation(route, shapes), Overloaded, NotAcceptable)
    shapes.components.pop("ExportResult", None)  # the response is the file itself
    found["responses"]["200"] = {
        "description": "The export: a tar archive of its lines and its vectors, whose first line "
        "holds the digests of everything else.",
        "headers": {
            **COMMON,
            "Mnemic-Version": {"$ref": "#/components/headers/MnemicVersion"},
            "Content-Disposition": {"$ref": "#/components/headers/ContentDisposition"},
        },
        "content": {TAR: {"schema": BYTES}},
    }
    return found


def _import(route: Route, shapes: Shapes) -> Document:
    found = _apart(operation(route, shapes), Overloaded)
    shapes.components.pop("ImportSpaceArguments", None)
    found["description"] = (
        "The body is a response of `export`. It becomes the space of the path, which must not "
        "exist yet. All of it is checked before anything is written, and the space is invisible "
        f"until it is complete.\n\nNeeds a token with the scope `admin`.\n\n{STREAMED}"
    )
    found["requestBody"] = {"required": True, "content": {TAR: {"schema": BYTES}}}
    found["responses"]["201"]["headers"] = COMMON
    return found


def _apart(found: Document, *refused: type[MnemicError]) -> Document:
    """Return the description of an operation that takes no session and no conditions."""
    found["parameters"] = [
        each
        for each in found["parameters"]
        if each.get("$ref", "").rpartition("/")[2] not in SCOPED_PARAMETERS
    ]
    for status in ("304", "412"):
        found["responses"].pop(status, None)
    for refusal in error_responses.of_errors(refused):
        found["responses"].setdefault(str(refusal.status), _refused(refusal))
    return found


TRANSFERS: Mapping[str, Callable[[Route, Shapes], Document]] = {
    "export": _export,
    "import_space": _import,
}
"""Operations whose bodies are not JSON."""


# --- the server -----------------------------------------------------------------------------------


def _described() -> Document:
    content = {JSON: {"schema": {"type": "object", "additionalProperties": True}}}
    return _operation(
        "openapi",
        "Return this description.",
        scope=None,
        answers={"200": {"description": "OpenAPI 3.1.", "headers": COMMON, "content": content}},
    )


def _health(name: str, summary: str, shapes: Shapes) -> Document:
    example = {"status": "alive" if name == "healthz" else "ready"}
    return _operation(
        name,
        summary,
        scope=None,
        answers={"200": _json("It is.", shapes, "Health", example)},
        refused=() if name == "healthz" else (NotReady, Stopping),
    )


def _metrics() -> Document:
    content = {PLAIN: {"schema": {"type": "string"}}}
    return _operation(
        "metrics",
        "Return counts and times for Prometheus.",
        description="Needs a token that may read every space (`*`).",
        tag="Server",
        answers={"200": {"description": "The metrics.", "headers": COMMON, "content": content}},
        refused=(errors.Forbidden,),
    )


def _operation(
    name: str,
    summary: str,
    *,
    answers: Document,
    description: str = "",
    scope: str | None = "read",
    tag: str = "",
    parameters: list[Document] | None = None,
    refused: error_responses.Family = (),
) -> Document:
    """Return the description of an endpoint that is no operation."""
    family = (*error_responses.ALWAYS, *refused) if scope is not None else refused
    found: Document = {
        "operationId": name,
        "tags": [tag or ("Spaces" if scope else "Server")],
        "summary": summary,
        "description": description or summary,
        "security": [] if scope is None else [{"bearer": [scope]}],
        "parameters": parameters or [],
        "responses": dict(answers),
    }
    for refusal in error_responses.of_errors((*family, errors.FieldRefused)):
        found["responses"][str(refusal.status)] = _refused(refusal)
    return found


def _refused(refusal: error_responses.Refusal) -> Document:
    return {
        "$ref": f"#/components/responses/{refusal.name}",
        "description": refusal.words,
    }


def _json(description: str, shapes: Shapes, name: str, example: Document) -> Document:
    shape = {"$ref": f"{shapes.base}{name}"}
    return {
        "description": description,
        "headers": COMMON,
        "content": {JSON: {"schema": shape, "examples": {"usual": {"value": example}}}},
    }
