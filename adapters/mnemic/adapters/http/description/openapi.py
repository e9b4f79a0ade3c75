"""The description of the HTTP interface in OpenAPI 3.1, complete enough to generate a client.

It is derived from the operations and their types, docstrings and the glossary, the routes, and the
errors. Endpoints that are no operations are in ``service_endpoints``.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import metadata
from typing import Any

from mnemic.adapters.http.description import error_responses, service_endpoints
from mnemic.adapters.http.description.components import (
    BEARER,
    HEADERS,
    PARAMETERS,
    PROBLEM,
    PROGRESS,
)
from mnemic.adapters.http.description.operations import operation
from mnemic.adapters.http.routing.routes import routes
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.inprocess.registry import GROUPS
from mnemic.adapters.remote.schemas import Shapes

VERSION = "3.1.1"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
COMPONENTS = "#/components/schemas/"

Document = dict[str, Any]


@lru_cache(maxsize=8)
def document(settings: Settings | None = None) -> Document:
    """Return the description of a server. It is cached, and must not be changed.

    Args:
        settings: Of the server; None: the defaults.
    """
    shapes = Shapes(base=COMPONENTS)
    paths: Document = {}
    for route in routes().values():
        paths.setdefault(route.path, {})[route.method.lower()] = (
            service_endpoints.TRANSFERS[route.operation.name](route, shapes)
            if route.operation.name in service_endpoints.TRANSFERS
            else operation(route, shapes)
        )
    for path, operations in service_endpoints.paths(shapes).items():
        paths.setdefault(path, {}).update(operations)
    schemas = {**shapes.components, "Problem": PROBLEM, "Progress": PROGRESS}
    return {
        "openapi": VERSION,
        "jsonSchemaDialect": DIALECT,
        "info": _info(settings or Settings()),
        "servers": [{"url": "/", "description": "This server."}],
        "tags": [{"name": tag} for tag in GROUPS],
        "security": [{"bearer": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "securitySchemes": {"bearer": BEARER},
            "parameters": PARAMETERS,
            "headers": HEADERS,
            "responses": error_responses.components(),
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
            "Every operation of mnemic over HTTP. A space is one memory with one log; a token says "
            "which spaces it may read, write or administer.\n\n"
            "**The past.** Most reads take `as_of`, and are answered as they would have been "
            "then.\n\n"
            "**Versions.** Each response gives the version of the log at which it was computed, in "
            "`ETag` and `Mnemic-Version`. `If-None-Match` avoids sending a response again, "
            "`If-Match` writes only if the log is exactly at that version.\n\n"
            "**Repeating.** A command with an `Idempotency-Key` is written once, however often it "
            "is sent.\n\n"
            "**Problems** are documents of RFC 9457 with a stable `code` and a `recovery` that "
            "says what to do next.\n\n"
            f"**Limits.** Bodies up to {megabytes:g} MB, addresses up to "
            f"{settings.query_max_bytes} bytes, {settings.call_timeout_s:g} seconds for an "
            f"operation and {settings.long_timeout_s:g} for one that reports progress."
        ),
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    }
