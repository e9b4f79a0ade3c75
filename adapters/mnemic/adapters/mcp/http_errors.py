"""Error responses to HTTP requests that are refused before they reach the MCP server."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import orjson
from mcp.types import INTERNAL_ERROR

from mnemic.adapters.remote import errors as error_documents
from mnemic.kernel.errors import MnemicError, Unauthenticated, Unavailable

WORK = frozenset(
    {"initialize", "tools/call", "resources/read", "prompts/get", "completion/complete"}
)
"""Methods that are refused under overload. Cancellations are not among them: they free capacity."""
Header = tuple[bytes, bytes]


def work_in(body: bytes) -> dict[str, Any] | None:
    """Return a request with a method in ``WORK``; None: another or unreadable body."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return message if isinstance(message, dict) and message.get("method") in WORK else None


def retry_after(seconds: int) -> Header:
    """Return the header that says when to retry."""
    return b"retry-after", str(seconds).encode()


async def problem(error: MnemicError, send: Any) -> None:
    """Answer a request that is not admitted with a problem document. Source: RFC 9457."""
    status = error.status
    body = {
        **error_documents.document_of(error),
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
    """Refuse a message with a JSON-RPC error, which its client passes on.

    The SDK passes on a JSON-RPC error with any status, and nothing of any other body.
    Other clients show status and body unchanged. Source: JSON-RPC 2.0, section 5.1.

    Args:
        error: The reason.
        send: Takes the response.
        asked: The id of the request, as far as it is known.
        retry_after_s: The delay before a retry, where a retry helps.
    """
    document = error_documents.document_of(error)
    answer = f"{document['detail']}. {document.get('recovery', '')}".strip()
    failure = {"code": INTERNAL_ERROR, "message": answer, "data": document}
    is_temporary = isinstance(error, Unavailable)
    # The rest of a refused body is not waited for.
    hint = retry_after(retry_after_s) if is_temporary else (b"connection", b"close")
    headers = [(b"content-type", b"application/json"), hint]
    await _answer(error.status, headers, {"jsonrpc": "2.0", "id": asked, "error": failure}, send)


async def _answer(status: int, headers: list[Header], document: dict[str, Any], send: Any) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": orjson.dumps(document)})
