"""What stands beside the verbs, described: spaces, the log as events, copies, the server itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mnemic.adapters.exchange.archive import MEDIA_TYPE as TAR
from mnemic.adapters.http import refusals
from mnemic.adapters.http.answers import JSON
from mnemic.adapters.http.failures import NotAcceptable, NotReady, Overloaded, Stopping
from mnemic.adapters.http.operations import STREAMED, operation
from mnemic.adapters.http.parts import message
from mnemic.adapters.http.reading import STREAM
from mnemic.adapters.http.routes import ROOT, SPACE, Route
from mnemic.adapters.wire.shapes import Shapes
from mnemic.adapters.wire.verbs import SCOPES
from mnemic.kernel import errors
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.results import Moment

Document = dict[str, Any]
BYTES: Document = {"type": "string", "contentMediaType": TAR}
COMMON = {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}
PLAIN = "text/plain"
PROBLEM: Document = {"$ref": "#/components/schemas/Problem"}
SPACE_PARAMETER = {"$ref": "#/components/parameters/Space"}
SEATED = frozenset({"Session", "IfMatch", "IfNoneMatch"})
"""Parameters of whoever sits down in a space."""
MAKING: refusals.Family = (
    errors.ViewReadOnly,
    errors.StoreFull,
    errors.StoreFailed,
    errors.StoreBusy,
    errors.Closed,
)
SEEN: refusals.Family = (errors.Forbidden, errors.PointOutOfRange, errors.FieldRefused)


def paths(shapes: Shapes) -> Mapping[str, Document]:
    """Return the operations beside the verbs, by path and method.

    Args:
        shapes: Where the classes they speak of are described.
    """
    shapes.components.update(_SCHEMAS)
    event = shapes.of(Moment)
    return {
        f"{ROOT}/spaces": {"get": _spaces(shapes)},
        SPACE: {"put": _make_space(shapes)},
        f"{SPACE}/events": {"get": _events(event)},
        f"{ROOT}/openapi.json": {"get": _described()},
        "/healthz": {"get": _health("healthz", "Say whether the process lives.", shapes)},
        "/readyz": {"get": _health("readyz", "Say whether the store can be asked.", shapes)},
        "/metrics": {"get": _metrics()},
    }


# --- spaces -------------------------------------------------------------------------------------

_SCHEMAS: Document = {
    "SpaceEntry": {
        "type": "object",
        "title": "SpaceEntry",
        "description": "A space, and how far the token reaches in it.",
        "properties": {
            "space": {
                "type": "string",
                "description": "Name of the space.",
                "examples": ["default"],
            },
            "scope": {
                "type": "string",
                "enum": list(SCOPES),
                "description": "How far the token reaches; each allows what stands before it.",
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
        "description": "A space that is there now.",
        "properties": {
            "space": {
                "type": "string",
                "description": "Name of the space.",
                "examples": ["default"],
            },
            "made": {
                "type": "boolean",
                "description": "Whether it was made now; false: it was there.",
            },
        },
        "required": ["space", "made"],
    },
    "Health": {
        "type": "object",
        "title": "Health",
        "description": "What the server says of itself.",
        "properties": {
            "status": {
                "type": "string",
                "enum": ["alive", "ready"],
                "description": "`alive`: the process runs; `ready`: the store can be asked, too.",
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
        "Make a space, unless it is there.",
        description="Needs a token with the scope `admin` for that name.",
        scope="admin",
        parameters=[SPACE_PARAMETER],
        answers={
            "200": _json("It was there.", shapes, "SpaceMade", {**example, "made": False}),
            "201": _json("It was made.", shapes, "SpaceMade", example),
        },
        refused=(*SEEN, *MAKING),
    )


# --- the log as events ----------------------------------------------------------------------------


def _events(event: Document) -> Document:
    return _operation(
        "events",
        "Follow the log: every event as it is written.",
        description=(
            "Server-sent events. Of each, `id` is its version, `event` its kind and `data` one "
            "JSON document. The stream begins behind `after` or `Last-Event-ID`, tells what there "
            "is, stays open and goes on as events are written, whoever writes them. It ends with "
            "an event `problem` when the token is worth nothing any more; come again with "
            "`Last-Event-ID`, and nothing is missed. `Mnemic-Version` says where the log ended "
            "when it began."
        ),
        scope="read",
        tag="The past",
        parameters=[
            SPACE_PARAMETER,
            {
                "name": "after",
                "in": "query",
                "description": "Begin behind this version; -1: with the first event.",
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
    shapes.components.pop("ExportResult", None)  # of a file; over a wire it is the file
    found["responses"]["200"] = {
        "description": "The export: a tar archive of its lines and its vectors, whose first line "
        "vouches for everything else.",
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
        "The body is what `export` answered. The space of the path is made of it; there must be "
        "none yet. All of it is checked before anything is written, and nobody sees the space "
        f"until it is whole.\n\nNeeds a token with the scope `admin`.\n\n{STREAMED}"
    )
    found["requestBody"] = {"required": True, "content": {TAR: {"schema": BYTES}}}
    found["responses"]["201"]["headers"] = COMMON
    return found


def _apart(found: Document, *refused: type[MnemicError]) -> Document:
    """Return the operation of a verb that knows of no session and no conditions."""
    found["parameters"] = [
        each
        for each in found["parameters"]
        if each.get("$ref", "").rpartition("/")[2] not in SEATED
    ]
    for status in ("304", "412"):
        found["responses"].pop(status, None)
    for refusal in refusals.of_errors(refused):
        found["responses"].setdefault(str(refusal.status), _refused(refusal))
    return found


TRANSFERS: Mapping[str, Callable[[Route, Shapes], Document]] = {
    "export": _export,
    "import_space": _import,
}
"""Verbs whose bodies are no JSON."""


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
        answers={"200": _json("It does.", shapes, "Health", example)},
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
    refused: refusals.Family = (),
) -> Document:
    """Return the description of an operation that is no verb."""
    family = (*refusals.ALWAYS, *refused) if scope is not None else refused
    found: Document = {
        "operationId": name,
        "tags": [tag or ("Spaces" if scope else "Server")],
        "summary": summary,
        "description": description or summary,
        "security": [] if scope is None else [{"bearer": [scope]}],
        "parameters": parameters or [],
        "responses": dict(answers),
    }
    for refusal in refusals.of_errors((*family, errors.FieldRefused)):
        found["responses"][str(refusal.status)] = _refused(refusal)
    return found


def _refused(refusal: refusals.Refusal) -> Document:
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
