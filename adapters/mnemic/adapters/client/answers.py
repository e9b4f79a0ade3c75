"""What came of a request: answers into results, and refusals into errors of their own classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson
from attrs import field, frozen

from mnemic.adapters.client.requests import Request
from mnemic.adapters.client.server import Server, ServerUnreachable
from mnemic.adapters.http import failures
from mnemic.adapters.wire.documents import result_of
from mnemic.adapters.wire.problems import error_of
from mnemic.adapters.wire.verbs import Verb
from mnemic.kernel.errors import MnemicError, Unavailable

PROBLEM: Final = "application/problem+json"
OF_HTTP: Final = ("type", "title", "status", "instance")
"""Members of a problem that are no facts of the error."""
OF_OURS: Final = ("code", "detail", "recovery")
"""Members that every error of mnemic has; gateways have codes as well."""
SUCCESS: Final = range(200, 300)
UNREADABLE: Final = (AttributeError, KeyError, TypeError, ValueError)
"""What comes of reading a document that is of another shape."""
OF_THE_DOOR: Final = failures.__name__
"""Errors are found again by their code, so those of the door have to be known here."""


@frozen(kw_only=True)
class Answer:
    """What a server said."""

    status: int
    headers: Mapping[str, str] = field(factory=dict)
    """By names of any case."""
    body: bytes = field(default=b"", repr=False)

    @property
    def content_type(self) -> str:
        """What the body is, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def succeeded(self) -> bool:
        """Whether it is what was asked for."""
        return self.status in SUCCESS


@frozen(kw_only=True)
class Silence:
    """No answer, or half of one."""

    complaint: str


Outcome = Answer | Silence


def answered(outcome: Outcome, request: Request, server: Server, tries: int) -> Answer:
    """Return the answer of a success.

    Raises:
        ServerUnreachable: There is none, or none of a server of mnemic.
        MnemicError: What the server refused or failed at, of its own class. Where the command may
            stand all the same, its id is among the facts: to repeat it by, whoever chose it.
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
        f"{request.verb}: no answer from {server.address} in {tries} "
        f"{'try' if tries == 1 else 'tries'}, at last {outcome.complaint}",
        tries=tries,
    )


def error_in(answer: Answer, request: Request, server: Server) -> MnemicError:
    """Return the error that an answer tells of."""
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
        f"{request.verb}: {server.address} answered {answer.status} "
        f"({answer.content_type or 'nothing'}) as no server of mnemic does",
        recovery="Check the address, and what stands between here and the server.",
        http_status=answer.status,
    )


def result_in(answer: Answer, verb: Verb, request: Request, server: Server) -> Any:
    """Return what a verb answered, as it answers in the process.

    Raises:
        ServerUnreachable: It is no answer of the verb.
    """
    document = _object(answer)
    if document is None:
        raise foreign(answer, request, server)
    try:
        return result_of(verb, document)
    except UNREADABLE as error:
        raise unreadable(request, server, error) from error


def unreadable(request: Request, server: Server, error: Exception) -> ServerUnreachable:
    """Return the error for an answer of the right kind that makes no sense here."""
    return ServerUnreachable(
        f"{request.verb}: what {server.address} answered cannot be read: {error}",
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
