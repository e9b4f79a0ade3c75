"""Decoding of responses: answers into results, and refusals into errors of their own classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson
from attrs import field, frozen

from mnemic.adapters.client.requests import Request
from mnemic.adapters.client.server import Server, ServerUnreachable
from mnemic.adapters.remote import transport_errors
from mnemic.adapters.remote.documents import result_of
from mnemic.adapters.remote.errors import error_of
from mnemic.adapters.remote.operations import Operation
from mnemic.adapters.stores import leaders
from mnemic.kernel.errors import MnemicError, Unavailable

PROBLEM: Final = "application/problem+json"
OF_HTTP: Final = ("type", "title", "status", "instance")
"""Members of a problem document that are not facts of the error."""
OF_OURS: Final = ("code", "detail", "recovery")
"""Members that every error of mnemic has; errors of gateways may have a code, but not all three."""
SUCCESS: Final = range(200, 300)
UNREADABLE: Final = (AttributeError, KeyError, TypeError, ValueError)
"""The errors raised when a document of another form is decoded."""
OF_THE_INTERFACE: Final = (transport_errors.__name__, leaders.__name__)
"""Error classes are looked up by their code, so those of interfaces must be imported here."""


@frozen(kw_only=True)
class Answer:
    """A response of a server."""

    status: int
    headers: Mapping[str, str] = field(factory=dict)
    """A mapping with case-insensitive names."""
    body: bytes = field(default=b"", repr=False)

    @property
    def content_type(self) -> str:
        """The media type of the body, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def succeeded(self) -> bool:
        """Whether the status is one of success."""
        return self.status in SUCCESS


@frozen(kw_only=True)
class Silence:
    """A missing or incomplete response."""

    complaint: str


Outcome = Answer | Silence


def answered(outcome: Outcome, request: Request, server: Server, tries: int) -> Answer:
    """Return the answer if it is one of success.

    Raises:
        ServerUnreachable: There is none, or it is not from a server of mnemic.
        MnemicError: The refusal or failure of the server, of its own class. Where the command may
            have been written all the same, its id is among the facts, for repeating the command.
    """
    if isinstance(outcome, Answer) and outcome.succeeded:
        return outcome
    error = _failure(outcome, request, server, tries)
    if isinstance(error, Unavailable) and request.command_id is not None:
        error.facts.setdefault("command_id", request.command_id)
    raise error


def _failure(outcome: Outcome, request: Request, server: Server, tries: int) -> MnemicError:
    if isinstance(outcome, Answer):
        return error_in(outcome, request, server)
    return ServerUnreachable(
        f"{request.operation}: no answer from {server.address} in {tries} "
        f"{'try' if tries == 1 else 'tries'}, at last {outcome.complaint}",
        tries=tries,
    )


def error_in(answer: Answer, request: Request, server: Server) -> MnemicError:
    """Return the error described by a response."""
    document = _object(answer)
    if document is None or not all(isinstance(document.get(name), str) for name in OF_OURS):
        return foreign(answer, request, server)
    request_id = document.get("instance")
    facts = {name: value for name, value in document.items() if name not in OF_HTTP}
    found = error_of(facts)
    if isinstance(request_id, str):
        found.add_note(f"Request: {request_id}")
    return found


def foreign(answer: Answer, request: Request, server: Server) -> ServerUnreachable:
    """Return the error for an answer that no server of mnemic gives."""
    return ServerUnreachable(
        f"{request.operation}: {server.address} answered {answer.status} "
        f"({answer.content_type or 'nothing'}) as no server of mnemic does",
        recovery="Check the address, and any proxy between here and the server.",
        http_status=answer.status,
    )


def result_in(answer: Answer, operation: Operation, request: Request, server: Server) -> Any:
    """Return the result of an operation, as it is returned in the process.

    Raises:
        ServerUnreachable: The response is not an answer of the operation.
    """
    document = _object(answer)
    if document is None:
        raise foreign(answer, request, server)
    try:
        return result_of(operation, document)
    except UNREADABLE as error:
        raise unreadable(request, server, error) from error


def unreadable(request: Request, server: Server, error: Exception) -> ServerUnreachable:
    """Return the error for an answer that cannot be decoded."""
    return ServerUnreachable(
        f"{request.operation}: what {server.address} answered cannot be read: {error}",
        recovery="Use a client of the release that the server has.",
    )


def _object(answer: Answer) -> dict[str, Any] | None:
    """Return the JSON object in an answer, if there is one."""
    if answer.content_type not in {PROBLEM, "application/json"}:
        return None
    try:
        document = orjson.loads(answer.body)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
