"""Parts of the description that no verb makes: headers, parameters of all, the problem document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mnemic.adapters.wire.points import KINDS

Document = dict[str, Any]
POINT = rf"^({'|'.join(KINDS)}):.+$"


def message(names: Sequence[str], *data: Document) -> Document:
    """Return the schema of one server-sent event; without names its name may be any.

    Args:
        names: What an event is called.
        data: What documents it may carry.
    """
    name: Document = {"type": "string", "description": "What kind of event it is."}
    return {
        "type": "object",
        "description": "One event of the stream.",
        "properties": {
            "id": {"type": "string", "description": "Version of the log.", "pattern": "^[0-9]+$"},
            "event": {**name, "enum": list(names)} if names else name,
            "data": {
                "type": "string",
                "description": "A document in JSON, on one line.",
                "contentMediaType": "application/json",
                "contentSchema": {"anyOf": list(data)},
            },
        },
        "required": ["event", "data"],
    }


BEARER: Document = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "mnemic_<id>_<secret>",
    "description": "A token that `mnemic token` made: it may `read`, `write` or `admin` in the "
    "spaces that it names. Each allows what stands before it.",
}


def _header(name: str, description: str, **shape: Any) -> Document:
    return {
        "name": name,
        "in": "header",
        "description": description,
        "schema": {"type": "string", **shape},
    }


PARAMETERS: Document = {
    "Space": {
        "name": "space",
        "in": "path",
        "required": True,
        "description": "Name of the space.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 200, "examples": ["default"]},
    },
    "AsOf": {
        "name": "as_of",
        "in": "query",
        "description": "Ask the past: `hour:` and active hours, `version:` and a version, `at:` "
        "and an instant in ISO 8601, or `decision:` and its id. Left out: now. An hour may still "
        "go on: `hour:12.5@901` is that hour as it was when the log ended at version 901.",
        "schema": {
            "type": "string",
            "pattern": POINT,
            "examples": ["hour:12.5", "version:901", "at:2026-03-01T12:00:00Z", "decision:d45"],
        },
    },
    "Now": {
        "name": "now",
        "in": "query",
        "description": "With `as_of`: evaluate ages at this instant (ISO 8601) instead of the "
        "point's own.",
        "schema": {"type": "string", "examples": ["2026-03-02T00:00:00Z"]},
    },
    "Session": _header(
        "Mnemic-Session",
        "Id of the session that it is said in, as `start_session` gave it. Left out: outside of "
        "any session.",
        minLength=1,
        maxLength=64,
        pattern="^[!-~]+$",
        examples=["5d2c9e0f7a61b384"],
    ),
    "IdempotencyKey": _header(
        "Idempotency-Key",
        "An id of the command, of your own. Sent again with the same arguments it is answered as "
        "the first time, and written once; with others it is refused.",
        minLength=1,
        maxLength=200,
        examples=["7f9c24e8-3b1d-4a6e"],
    ),
    "IfMatch": _header(
        "If-Match",
        "The `ETag` of an answer: go on only if the log stands exactly there, else 412.",
        examples=['"901"'],
    ),
    "IfNoneMatch": _header(
        "If-None-Match",
        "The `ETag` of an answer that is known: 304 if nothing has happened since.",
        examples=['"901"'],
    ),
    "LastEventId": _header(
        "Last-Event-ID",
        "Version of the last event that arrived; the stream goes on behind it.",
        pattern="^(-1|[0-9]{1,15})$",
        examples=["901"],
    ),
}


def _answered(description: str, **shape: Any) -> Document:
    return {"description": description, "schema": {"type": "string", **shape}}


HEADERS: Document = {
    "ETag": _answered(
        "The version of the log that the answer was computed at, in quotes.",
        pattern='^"[0-9]+"$',
        examples=['"901"'],
    ),
    "MnemicVersion": {
        "description": "The version of the log that the answer was computed at.",
        "schema": {"type": "integer", "minimum": 0, "examples": [901]},
    },
    "CacheControl": _answered(
        "Whoever keeps the answer asks before using it again.", examples=["private, no-cache"]
    ),
    "RequestId": _answered(
        "Id of the request, yours if it brought one in `X-Request-Id`.", examples=["5f0c3b"]
    ),
    "RetryAfter": {
        "description": "In how many seconds to come again.",
        "schema": {"type": "integer", "minimum": 0, "examples": [1]},
    },
    "WWWAuthenticate": _answered("What would let you in.", examples=['Bearer realm="mnemic"']),
    "Allow": _answered("Methods that there are.", examples=["GET, HEAD"]),
    "ContentDisposition": _answered(
        "A name for the file.", examples=['attachment; filename="default.tar"']
    ),
    "Link": _answered(
        "Where the next page is, if there is one.",
        examples=['</v1/spaces/default/blocks?after=901>; rel="next"'],
    ),
    "Location": _answered(
        "Where what was made can be asked for.",
        examples=["/v1/spaces/default/blocks/4f6e1c0a9b2d7e35"],
    ),
}

PROGRESS: Document = {
    "type": "object",
    "title": "Progress",
    "description": "How far long work is.",
    "properties": {
        "done": {"type": "integer", "minimum": 0, "description": "What is done.", "examples": [3]},
        "todo": {
            "type": "integer",
            "minimum": 0,
            "description": "What there is to do in all.",
            "examples": [128],
        },
    },
    "required": ["done", "todo"],
}
PROBLEM: Document = {
    "type": "object",
    "title": "Problem",
    "description": "Why a request was refused, or failed (RFC 9457). Further members are facts of "
    "the error, such as `field` or `block_id`.",
    "properties": {
        "type": {
            "type": "string",
            "format": "uri",
            "description": "Names the kind of problem: `urn:mnemic:error:` and the code.",
            "examples": ["urn:mnemic:error:block-not-found"],
        },
        "title": {
            "type": "string",
            "description": "The code in words, the same each time.",
            "examples": ["Block not found"],
        },
        "status": {
            "type": "integer",
            "minimum": 400,
            "maximum": 599,
            "description": "The status of the answer.",
            "examples": [404],
        },
        "detail": {
            "type": "string",
            "description": "What happened this time, with the value at fault.",
            "examples": ["no block has the id '0000000000000000'"],
        },
        "instance": {
            "type": "string",
            "format": "uri",
            "description": "Names this occurrence: `urn:mnemic:request:` and the id of the "
            "request.",
            "examples": ["urn:mnemic:request:5f0c3b"],
        },
        "code": {
            "type": "string",
            "pattern": "^[a-z][a-z0-9-]*$",
            "description": "Stable name of the problem, for programs.",
            "examples": ["block-not-found"],
        },
        "recovery": {
            "type": "string",
            "description": "What to do next, as a sentence; may be empty.",
            "examples": ["Use an id from recall(), learn() or blocks(); run recall() to find one."],
        },
    },
    "required": ["type", "title", "status", "detail", "instance", "code", "recovery"],
    "additionalProperties": True,
}
