"""Shared parts of the description: headers, common parameters, and the problem document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mnemic.adapters.remote.descriptions import entry
from mnemic.adapters.remote.time_points import KINDS

Document = dict[str, Any]
POINT = rf"^({'|'.join(KINDS)}):.+$"
_ETAG = r'(W/)?"[\x21\x23-\x7e\x80-\xff]*"'
ETAGS = rf"^\s*(\*|{_ETAG}(\s*,\s*{_ETAG})*(\s*,)?)?\s*$"
"""A list of ETags, as ``requests.tags`` reads it."""
DATE = entry("at", of="fork").constraints["pattern"]
"""A date in ISO 8601, as every operation reads it."""


def message(names: Sequence[str], *data: Document) -> Document:
    """Return the schema of one server-sent event; without names any name is allowed.

    Args:
        names: Names that an event may have.
        data: Schemas of the documents that it may carry.
    """
    name: Document = {"type": "string", "description": "The kind of the event."}
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
    "description": "A token made by `mnemic token`: it may `read`, `write` or `admin` in the "
    "spaces that it names. Each scope includes the ones before it.",
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
        "description": "Read the past: `hour:` and active hours, `version:` and a version, `at:` "
        "and an instant in ISO 8601 or a day, or `decision:` and its id. Left out: now. A day "
        "means its end, in the zone named behind it (`at:2026-03-01[Europe/Berlin]`) or that of "
        "the server. An hour that has not ended can be fixed: `hour:12.5@901` is that hour as it "
        "was when the log ended at version 901.",
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
        "schema": {"type": "string", "pattern": DATE, "examples": ["2026-03-02T00:00:00Z"]},
    },
    "Session": _header(
        "Mnemic-Session",
        "Id of the session that the request belongs to, as `start_session` returned it. Left out: "
        "no session.",
        minLength=1,
        maxLength=64,
        pattern="^[!-~]+$",
        examples=["5d2c9e0f7a61b384"],
    ),
    "IdempotencyKey": _header(
        "Idempotency-Key",
        "An id of the command, of your choice. A repeated command with the same arguments gets the "
        "first response again, and is written once; with other arguments it is refused.",
        minLength=1,
        maxLength=200,
        examples=["7f9c24e8-3b1d-4a6e"],
    ),
    "IfMatch": _header(
        "If-Match",
        "The `ETag` of a response: proceed only if the log is exactly at that version, else 412.",
        pattern=ETAGS,
        examples=['"901"'],
    ),
    "IfNoneMatch": _header(
        "If-None-Match",
        "The `ETag` of a stored response: 304 if nothing has happened since.",
        pattern=ETAGS,
        examples=['"901"'],
    ),
    "LastEventId": _header(
        "Last-Event-ID",
        "Version of the last event received; the stream continues after it.",
        pattern="^(-1|[0-9]{1,15})$",
        examples=["901"],
    ),
}


def _answered(description: str, **shape: Any) -> Document:
    return {"description": description, "schema": {"type": "string", **shape}}


HEADERS: Document = {
    "ETag": _answered(
        "The version of the log at which the response was computed, and the start of its digest, "
        "in quotes.",
        pattern=r'^"[0-9]+(\.[0-9a-f]{16})?"$',
        examples=['"901.5f0c3b7a91d2e468"'],
    ),
    "MnemicVersion": {
        "description": "The version of the log at which the response was computed.",
        "schema": {"type": "integer", "minimum": 0, "examples": [901]},
    },
    "CacheControl": _answered(
        "A stored response must be revalidated before it is used.",
        examples=["private, no-cache"],
    ),
    "RequestId": _answered(
        "Id of the request: the value of its `X-Request-Id`, if it has one.", examples=["5f0c3b"]
    ),
    "RetryAfter": {
        "description": "Seconds to wait before trying again.",
        "schema": {"type": "integer", "minimum": 0, "examples": [1]},
    },
    "WWWAuthenticate": _answered(
        "The required authentication.", examples=['Bearer realm="mnemic"']
    ),
    "Allow": _answered("Methods that the path takes.", examples=["GET, HEAD"]),
    "ContentDisposition": _answered(
        "A name for the file.", examples=['attachment; filename="default.tar"']
    ),
    "Link": _answered(
        "Address of the next page, if there is one.",
        examples=['</v1/spaces/default/blocks?after=901>; rel="next"'],
    ),
    "Location": _answered(
        "Address of what was created.",
        examples=["/v1/spaces/default/blocks/4f6e1c0a9b2d7e35"],
    ),
}

PROGRESS: Document = {
    "type": "object",
    "title": "Progress",
    "description": "Progress of long work.",
    "properties": {
        "done": {"type": "integer", "minimum": 0, "description": "Units done.", "examples": [3]},
        "todo": {
            "type": "integer",
            "minimum": 0,
            "description": "Units in all.",
            "examples": [128],
        },
    },
    "required": ["done", "todo"],
}
PROBLEM: Document = {
    "type": "object",
    "title": "Problem",
    "description": "Why a request was refused or failed (RFC 9457). Further members are facts "
    "about the error, such as `field` or `block_id`.",
    "properties": {
        "type": {
            "type": "string",
            "format": "uri",
            "description": "The kind of problem: `urn:mnemic:error:` and the code.",
            "examples": ["urn:mnemic:error:block-not-found"],
        },
        "title": {
            "type": "string",
            "description": "The code as text, the same for every occurrence.",
            "examples": ["Block not found"],
        },
        "status": {
            "type": "integer",
            "minimum": 400,
            "maximum": 599,
            "description": "The status of the response.",
            "examples": [404],
        },
        "detail": {
            "type": "string",
            "description": "What happened, with the offending value.",
            "examples": ["no block has the id '0000000000000000'"],
        },
        "instance": {
            "type": "string",
            "format": "uri",
            "description": "This occurrence: `urn:mnemic:request:` and the id of the request.",
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
