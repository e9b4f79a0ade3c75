"""Answers: a status, headers and bytes, and what every answer of this door has in common."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from attrs import field, frozen

from mnemic.adapters.wire.problems import INTERNAL, status_of
from mnemic.adapters.wire.problems import document_of as problem_of
from mnemic.kernel.errors import VersionConflict

JSON = "application/json"
PROBLEM = "application/problem+json"
PROBLEM_TYPE = "urn:mnemic:error:"
REQUEST = "urn:mnemic:request:"
CONDITIONS = frozenset({b"if-match", b"if-none-match"})
NEVER_KEPT = "private, no-cache"
"""Whoever keeps an answer asks before using it again, with its ETag."""

BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
"""Answers that say nothing of a body, not even how long it would be."""


@frozen(kw_only=True)
class Answer:
    """A whole answer. As an ASGI application it sends itself."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(factory=dict)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002 - ASGI
        """Send it; to HEAD without its body."""
        body = b"" if scope["method"] == "HEAD" else self.body
        headers = [(name.encode(), value.encode("latin-1")) for name, value in self.headers.items()]
        if self.status not in BODILESS:
            headers.append((b"content-length", str(len(self.body)).encode()))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def of_document(
    document: Mapping[str, Any], *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Answer:
    """Return a document as an answer."""
    return Answer(
        status=status,
        body=orjson.dumps(document),
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
        error: One of ours, or a bug, of which nothing is said.
        request_id: Of the request that met it.
        status: If it is not the error's own.
        headers: Besides those of every answer.
    """
    answered = status or status_of(error)
    return Answer(
        status=answered,
        body=orjson.dumps(problem(error, request_id=request_id, status=answered)),
        headers={"content-type": PROBLEM, "cache-control": "no-store", **(headers or {})},
    )


def status_in(scope: Any, error: BaseException) -> int:
    """Return the status of an error in a request: of a condition that does not hold it is 412."""
    if isinstance(error, VersionConflict) and CONDITIONS & {name for name, _ in scope["headers"]}:
        return HTTPStatus.PRECONDITION_FAILED
    return status_of(error)


def problem(error: BaseException, *, request_id: str, status: int) -> dict[str, Any]:
    """Return the problem document of an error: the members of the RFC, and ours behind them."""
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
