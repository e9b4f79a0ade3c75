"""Responses: status, headers and body, and what all responses of this interface have in common."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from attrs import field, frozen

from mnemic.adapters.remote.documents import encoded
from mnemic.adapters.remote.errors import INTERNAL, status_of
from mnemic.adapters.remote.errors import document_of as problem_of
from mnemic.kernel.errors import VersionConflict

JSON = "application/json"
PROBLEM = "application/problem+json"
PROBLEM_TYPE = "urn:mnemic:error:"
REQUEST = "urn:mnemic:request:"
VARIES = "mnemic_varies"
"""Key in the ASGI scope of the request headers on which the response depends."""
CONDITIONS = frozenset({b"if-match", b"if-none-match"})
NEVER_KEPT = "private, no-cache"
"""A cache must revalidate a stored response, by its ETag, before using it again."""

BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
"""Statuses of responses without a body, and without a Content-Length."""


@frozen(kw_only=True)
class Answer:
    """A complete response, which is an ASGI application that sends itself."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(factory=dict)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002 - ASGI
        """Send it; for HEAD without its body."""
        if "vary" in self.headers:
            scope[VARIES] = (self.headers["vary"],)
        body = b"" if scope["method"] == "HEAD" else self.body
        headers = [(name.encode(), value.encode("latin-1")) for name, value in self.headers.items()]
        if self.status not in BODILESS:
            headers.append((b"content-length", str(len(self.body)).encode()))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def of_document(
    document: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Answer:
    """Return the result of an operation, or another document, as a response."""
    return Answer(
        status=status,
        body=encoded(document),
        headers={"content-type": JSON, "cache-control": NEVER_KEPT, **(headers or {})},
    )


def of_error(
    error: BaseException,
    *,
    request_id: str,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Return an error as a problem document. Source: RFC 9457.

    Args:
        error: One of ours, or a bug, of which no detail is given.
        request_id: Of the request that met it.
        status: If it differs from the error's own.
        headers: In addition to those of every problem document.
    """
    answered = status or status_of(error)
    return Answer(
        status=answered,
        body=orjson.dumps(problem(error, request_id=request_id, status=answered)),
        headers={"content-type": PROBLEM, "cache-control": "no-store", **(headers or {})},
    )


def status_in(scope: Any, error: BaseException) -> int:
    """Return the status of an error in a request; 412 for a version conflict under a condition."""
    if isinstance(error, VersionConflict) and CONDITIONS & {name for name, _ in scope["headers"]}:
        return HTTPStatus.PRECONDITION_FAILED
    return status_of(error)


def problem(error: BaseException, *, request_id: str, status: int) -> dict[str, Any]:
    """Return the problem document of an error: the members of the RFC, and then our own."""
    facts = problem_of(error)
    code = str(facts.get("code", INTERNAL))
    return {
        **facts,
        "type": f"{PROBLEM_TYPE}{code}",
        "title": code.replace("-", " ").capitalize(),
        "status": status,
        "detail": facts["detail"],
        "instance": f"{REQUEST}{request_id}",
    }
