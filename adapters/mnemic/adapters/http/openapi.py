"""The description of the HTTP door in OpenAPI 3.1, good enough to make a client from.

It is put together from what there is: verbs and their types, docstrings and the glossary, the table
of places, the errors. What stands beside the verbs is in ``beside``.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import metadata
from typing import Any

from mnemic.adapters.http import beside, refusals
from mnemic.adapters.http.operations import TAGS, operation
from mnemic.adapters.http.parts import BEARER, HEADERS, PARAMETERS, PROBLEM, PROGRESS
from mnemic.adapters.http.routes import routes
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.wire.shapes import Shapes

VERSION = "3.1.1"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
COMPONENTS = "#/components/schemas/"

Document = dict[str, Any]


@lru_cache(maxsize=8)
def document(settings: Settings | None = None) -> Document:
    """Return the description of a server. It is made once, and not to be changed.

    Args:
        settings: Of the server; None: as they are by default.
    """
    shapes = Shapes(base=COMPONENTS)
    paths: Document = {}
    for route in routes().values():
        paths.setdefault(route.path, {})[route.method.lower()] = (
            beside.TRANSFERS[route.verb.name](route, shapes)
            if route.verb.name in beside.TRANSFERS
            else operation(route, shapes)
        )
    for path, operations in beside.paths(shapes).items():
        paths.setdefault(path, {}).update(operations)
    schemas = {**shapes.components, "Problem": PROBLEM, "Progress": PROGRESS}
    return {
        "openapi": VERSION,
        "jsonSchemaDialect": DIALECT,
        "info": _info(settings or Settings()),
        "servers": [{"url": "/", "description": "This server."}],
        "tags": [{"name": tag} for tag in TAGS],
        "security": [{"bearer": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "securitySchemes": {"bearer": BEARER},
            "parameters": PARAMETERS,
            "headers": HEADERS,
            "responses": refusals.components(),
            "schemas": dict(sorted(schemas.items())),
        },
    }


def _info(settings: Settings) -> Document:
    megabytes = settings.body_max_bytes / (1 << 20)
    return {
        "title": "mnemic",
        "version": metadata.version("mnemic"),
        "summary": "Event-sourced memory for AI agents, replayable to any active hour.",
        "description": (
            "Every verb of mnemic over HTTP. A space is one memory with one log; a token says in "
            "which spaces one may read, write or rule.\n\n"
            "**The past.** Most questions take `as_of`, and are answered as they would have been "
            "then.\n\n"
            "**Versions.** Each answer says at which version of the log it was computed, in `ETag` "
            "and `Mnemic-Version`. `If-None-Match` saves an answer that is known, `If-Match` "
            "writes only if the log stands exactly there.\n\n"
            "**Repeating.** A command with an `Idempotency-Key` is written once, however often it "
            "is sent.\n\n"
            "**Problems** are documents of RFC 9457 with a stable `code` and a `recovery` that "
            "says what to do next.\n\n"
            f"**Limits.** Bodies up to {megabytes:g} MB, addresses up to "
            f"{settings.query_max_bytes} bytes, {settings.call_timeout_s:g} seconds for a verb "
            f"and {settings.long_timeout_s:g} for one that reports progress."
        ),
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    }
