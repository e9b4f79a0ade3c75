"""Hooks that replace generated headers: without them hardly any request would be accepted.

A made-up session is open nowhere, a made-up ETag is that of no version, and the same idempotency
key for other arguments is refused. So valid headers get values that mean something here; headers
that are meant to be wrong stay as they are.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import schemathesis
from schemathesis.core.parameters import ParameterLocation

KEYS = count()
SESSIONS: list[str] = []
"""The session started last, while it is open."""


def meant_to_be_wrong(case: Any) -> bool:
    """Return whether a request is meant to have invalid headers."""
    headers = case.meta.components.get(ParameterLocation.HEADER) if case.meta else None
    return headers is not None and bool(headers.mode.is_negative)


def before_call(_: Any, case: Any, __: dict[str, Any]) -> None:
    """Replace generated values by valid ones."""
    headers = case.headers
    if not headers or meant_to_be_wrong(case):
        return
    if "Idempotency-Key" in headers:
        headers["Idempotency-Key"] = f"key-{next(KEYS)}"
    if "If-Match" in headers:
        headers["If-Match"] = "*"
    if "If-None-Match" in headers:
        headers["If-None-Match"] = '"0"'
    if SESSIONS and "Mnemic-Session" in headers:
        headers["Mnemic-Session"] = SESSIONS[-1]
    elif "Mnemic-Session" in headers:
        del headers["Mnemic-Session"]


def archive(_: Any, value: Any) -> bytes:
    """Return the body of an import as bytes."""
    return value if isinstance(value, bytes) else str(value).encode()


def after_call(_: Any, case: Any, response: Any) -> None:
    """Record which session is open."""
    operation = case.operation.definition.raw.get("operationId")
    if operation == "start_session" and response.status_code == 201:
        SESSIONS[:] = [response.json()["session_id"]]
    if operation == "end_session" and response.status_code == 200:
        SESSIONS.clear()


def register() -> None:
    """Register the hooks with schemathesis."""
    schemathesis.hook(before_call)
    schemathesis.hook(after_call)
    schemathesis.serializer("application/x-tar")(archive)


register()
