"""Requests over HTTP that never reach the server, and what they are told."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import orjson
from mcp.types import INTERNAL_ERROR

from mnemic.adapters.wire import problems
from mnemic.kernel.errors import MnemicError, Unauthenticated, Unavailable

WORK = frozenset(
    {"initialize", "tools/call", "resources/read", "prompts/get", "completion/complete"}
)
"""What is sent away where there is no room. Whoever cancels a call makes some."""
Header = tuple[bytes, bytes]


def asked(body: bytes) -> Any:
    """Return the id of a request that makes work; None: it is none, or none that can be read."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    is_work = isinstance(message, dict) and message.get("method") in WORK
    return message.get("id") if is_work else None


def retry_after(seconds: int) -> Header:
    """Return the header that says when to come again."""
    return b"retry-after", str(seconds).encode()


async def problem(error: MnemicError, send: Any) -> None:
    """Answer whoever may not come in, with a problem. Source: RFC 9457."""
    status = error.status
    body = {
        **problems.document_of(error),
        "type": f"urn:mnemic:error:{error.code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
    }
    challenge = isinstance(error, Unauthenticated)
    headers = [
        (b"content-type", b"application/problem+json"),
        *([(b"www-authenticate", b'Bearer realm="mnemic"')] if challenge else []),
    ]
    await _answer(status, headers, body, send)


async def message(error: MnemicError, send: Any, *, asked: Any, retry_after_s: int) -> None:
    """Answer a message that is not taken, in words that its client hands on.

    The SDK hands on an error of JSON-RPC, whatever the status, and nothing of any other body.
    Clients of other makes show status and body as they are. Source: JSON-RPC 2.0, section 5.1.

    Args:
        error: Why.
        send: Takes the answer.
        asked: The id of the request, as far as it is known.
        retry_after_s: When to come again, where that helps.
    """
    document = problems.document_of(error)
    told = f"{document['detail']}. {document.get('recovery', '')}".strip()
    failure = {"code": INTERNAL_ERROR, "message": told, "data": document}
    is_for_now = isinstance(error, Unavailable)
    # Of a body that is refused the rest is not waited for.
    hint = retry_after(retry_after_s) if is_for_now else (b"connection", b"close")
    headers = [(b"content-type", b"application/json"), hint]
    await _answer(error.status, headers, {"jsonrpc": "2.0", "id": asked, "error": failure}, send)


async def _answer(status: int, headers: list[Header], document: dict[str, Any], send: Any) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": orjson.dumps(document)})
