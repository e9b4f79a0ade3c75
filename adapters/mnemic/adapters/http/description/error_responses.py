"""The errors behind each HTTP status, for the whole interface and for each operation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from mnemic.adapters.docstrings import plainly
from mnemic.adapters.http.messages.responses import PROBLEM, problem
from mnemic.adapters.http.routing.routes import Route
from mnemic.adapters.remote import transport_errors
from mnemic.adapters.remote.errors import INTERNAL, known
from mnemic.kernel import errors
from mnemic.kernel.errors import MnemicError

Family = tuple[type[MnemicError], ...]

ALWAYS: Family = (
    errors.Unauthenticated,
    transport_errors.RequestUnreadable,
    transport_errors.HostRefused,
    transport_errors.AddressTooLong,
    transport_errors.HeadTooLarge,
    transport_errors.Overloaded,
    transport_errors.ShareExceeded,
    transport_errors.Overdue,
    transport_errors.Stopping,
)
"""Errors of any request with a token."""
BASES: Family = (
    MnemicError,
    errors.Refused,
    errors.Conflict,
    errors.Corrupt,
    errors.Unavailable,
)
"""Base classes, which are never raised themselves."""
OF_SPACE: Family = (
    errors.Forbidden,
    errors.SpaceNotFound,
    errors.FieldRefused,
    errors.SpaceErased,
    errors.SessionState,
    errors.HistoryReplaced,
    errors.LogCorrupt,
    errors.PayloadsMissing,
    errors.StoreTooNew,
    errors.StoreBusy,
    errors.StoreFailed,
    errors.StoreMissing,
    errors.StoreHasTwoNames,
    errors.EmbedderMismatch,
    errors.Closed,
)
"""Errors of any request that opens a space."""
OF_BODY: Family = (
    transport_errors.BodyUnreadable,
    transport_errors.BodyTooLarge,
    transport_errors.MediaTypeRefused,
    transport_errors.RequestTooSlow,
)
OF_PAST: Family = (errors.PointOutOfRange, errors.DecisionNotFound)
OF_WRITES: Family = (errors.VersionConflict, errors.ViewReadOnly, errors.StoreFull)
RETRIED = ((429, "Retry-After"), (503, "Retry-After"))
CONDITION_FAILED, INTERNAL_ERROR = 412, 500
"""Status of a ``version-conflict`` if the request itself named the version."""
WORDS: Mapping[int, str] = {
    400: "The request cannot be read.",
    401: "No token, or none that is valid. The header `WWW-Authenticate` asks for one.",
    403: "The token does not allow this.",
    404: "It does not exist, or the token may not know of it.",
    405: "The path does not take this method.",
    406: "The response has no form that the client accepts.",
    408: "The request did not arrive in time.",
    409: "It conflicts with the current state.",
    410: "Its text is erased, for good.",
    412: "The log is not at the version that the request requires (`If-Match`, `If-None-Match`).",
    413: "The body is too long.",
    414: "The address is too long.",
    415: "The body is of another media type.",
    421: "Without a token only requests from this machine, to one of its names, are served.",
    422: "Understood and refused; nothing was written. The member `recovery` says what to do.",
    429: "The client uses its share of the server already. `Retry-After` says when to try again.",
    431: "Request line and headers are too long.",
    500: "The stored log is damaged, or the server met an error of its own.",
    501: "The server does not offer this.",
    502: "The embedder returned something that is not a vector.",
    503: "Temporarily unavailable. The header `Retry-After` says when to try again.",
    507: "The disk is full.",
}


@frozen(kw_only=True)
class Refusal:
    """The meaning of an error status for one operation."""

    status: int
    codes: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of its component in the description of the whole interface."""
        return f"Problem{self.status}"

    @property
    def words(self) -> str:
        """Its description, with the possible error codes."""
        codes = ", ".join(f"`{code}`" for code in self.codes)
        return f"{WORDS[self.status]} Codes: {codes}."


def of_route(route: Route, *, writes: bool, long: bool) -> list[Refusal]:
    """Return the refusals of an operation, by status.

    Args:
        route: The route of the operation.
        writes: Whether it may write.
        long: Whether it can answer with a stream of events.
    """
    operation = route.operation
    found = [*ALWAYS, *(_named(name) for name in operation.docs.raises)]
    if route.of_space:
        found += OF_SPACE
    if not route.by_query:
        found += OF_BODY
    if operation.past_parameters is not None:
        found += OF_PAST
    if writes:
        found += OF_WRITES
    if operation.repeatable:
        found.append(errors.CommandIdReused)
    if long:
        found.append(transport_errors.NotAcceptable)
    extra = {CONDITION_FAILED: [errors.VersionConflict.code]} if route.of_space else {}
    return of_errors([*found, errors.FieldRefused], extra)


def of_errors(
    found: Iterable[type[MnemicError]], extra: Mapping[int, list[str]] | None = None
) -> list[Refusal]:
    """Return errors grouped by their statuses."""
    codes: defaultdict[int, set[str]] = defaultdict(set)
    codes[INTERNAL_ERROR].add(INTERNAL)
    for error in found:
        codes[error.status].add(error.code)
    for status, others in (extra or {}).items():
        codes[status].update(others)
    return [
        Refusal(status=int(status), codes=tuple(sorted(codes[status]))) for status in sorted(codes)
    ]


def _named(name: str) -> type[MnemicError]:
    """Return the error class that a docstring names.

    Raises:
        KeyError: There is none.
    """
    return {each.__name__: each for each in known().values()}[name]


def components() -> dict[str, Any]:
    """Return the problem responses of the whole interface, with an example for each code."""
    everything = [each for each in known().values() if each.code in _specific()]
    extra = {CONDITION_FAILED: [errors.VersionConflict.code]}
    return {each.name: _component(each) for each in of_errors(everything, extra)}


def _specific() -> frozenset[str]:
    """Return the codes of errors that are raised, without those of base classes."""
    return frozenset(code for code, error in known().items() if error not in BASES)


def _component(refusal: Refusal) -> dict[str, Any]:
    headers: dict[str, Any] = {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}
    for status, name in ((401, "WWW-Authenticate"), (405, "Allow"), *RETRIED):
        if refusal.status == status:
            headers[name] = {"$ref": f"#/components/headers/{name.replace('-', '')}"}
    return {
        "description": refusal.words,
        "headers": headers,
        "content": {
            PROBLEM: {
                "schema": {"$ref": "#/components/schemas/Problem"},
                "examples": {code: _example(code, refusal.status) for code in refusal.codes},
            }
        },
    }


def _example(code: str, status: int) -> dict[str, Any]:
    error = known().get(code)
    made = None if error is None else error(plainly(_about(error)))
    document = problem(made or RuntimeError(), request_id="5f0c3b", status=status)
    return {"summary": document["title"], "value": document}


def _about(error: type[MnemicError]) -> str:
    """Return the first line of an error's docstring."""
    words = (error.__doc__ or "").strip().partition("\n")[0]
    return words or error.code.replace("-", " ").capitalize()
