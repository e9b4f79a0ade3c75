"""Which errors stand behind which status, of the whole door and of each operation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from mnemic.adapters.http import failures
from mnemic.adapters.http.answers import PROBLEM, problem
from mnemic.adapters.http.routes import Route
from mnemic.adapters.wire.docstrings import plainly
from mnemic.adapters.wire.problems import INTERNAL, known
from mnemic.kernel import errors
from mnemic.kernel.errors import MnemicError

Family = tuple[type[MnemicError], ...]

ALWAYS: Family = (
    errors.Unauthenticated,
    failures.RequestUnreadable,
    failures.HostRefused,
    failures.AddressTooLong,
    failures.Overloaded,
    failures.Overdue,
    failures.Stopping,
)
"""What any request with a token may meet."""
OF_SPACE: Family = (
    errors.Forbidden,
    errors.PointOutOfRange,
    errors.FieldRefused,
    errors.SpaceErased,
    errors.SessionState,
    errors.LogCorrupt,
    errors.StoreTooNew,
    errors.StoreBusy,
    errors.StoreFailed,
    errors.EmbedderMismatch,
    errors.Closed,
)
"""What may be met as soon as a space is opened."""
OF_BODY: Family = (
    failures.BodyUnreadable,
    failures.BodyTooLarge,
    failures.MediaTypeRefused,
    failures.RequestTooSlow,
)
OF_PAST: Family = (errors.PointOutOfRange, errors.DecisionNotFound)
OF_WRITES: Family = (errors.VersionConflict, errors.ViewReadOnly, errors.StoreFull)
CONDITION_FAILED, INTERNAL_ERROR = 412, 500
"""Of a ``version-conflict`` where the request named the version itself."""
WORDS: Mapping[int, str] = {
    400: "The request cannot be read.",
    401: "No token, or none that is worth anything. The header `WWW-Authenticate` asks for one.",
    403: "The token allows less than this.",
    404: "There is no such thing, or the token may not know of it.",
    405: "This cannot be done here.",
    406: "There is no form of the answer that the caller would take.",
    408: "The body was not there in time.",
    409: "What stands there already is against it.",
    410: "Its words are erased, for good.",
    412: "The log does not stand where the request wants it (`If-Match`, `If-None-Match`).",
    413: "The body is too long.",
    414: "The address is too long.",
    415: "The body is of another media type.",
    421: "Without a token only this machine is served, under its own name.",
    422: "Understood and refused; nothing was written. The member `recovery` says what to do.",
    500: "The stored log is damaged, or the server met an error of its own.",
    501: "This is not offered here.",
    502: "The embedder answered with something that is no vector.",
    503: "Not now. The header `Retry-After` says when to come again.",
    507: "The disk is full.",
}


@frozen(kw_only=True)
class Refusal:
    """What a status means for one operation."""

    status: int
    codes: tuple[str, ...]

    @property
    def name(self) -> str:
        """Under which name the whole door describes it."""
        return f"Problem{self.status}"

    @property
    def words(self) -> str:
        """What it means, and the codes behind it."""
        codes = ", ".join(f"`{code}`" for code in self.codes)
        return f"{WORDS[self.status]} Codes: {codes}."


def of_route(route: Route, *, writes: bool, long: bool) -> list[Refusal]:
    """Return what a verb may be refused with, by status.

    Args:
        route: Where the verb stands.
        writes: Whether it may write.
        long: Whether it answers in events where that is asked for.
    """
    verb = route.verb
    found = [*ALWAYS, *(_named(name) for name in verb.told.raises)]
    if route.of_space:
        found += OF_SPACE
    if not route.by_query:
        found += OF_BODY
    if verb.past_parameters is not None:
        found += OF_PAST
    if writes:
        found += OF_WRITES
    if verb.repeatable:
        found.append(errors.CommandIdReused)
    if long:
        found.append(failures.NotAcceptable)
    extra = {CONDITION_FAILED: [errors.VersionConflict.code]} if route.of_space else {}
    return of_errors([*found, errors.FieldRefused], extra)


def of_errors(
    found: Iterable[type[MnemicError]], extra: Mapping[int, list[str]] | None = None
) -> list[Refusal]:
    """Return errors by their statuses."""
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
    """Return the error that a docstring names.

    Raises:
        KeyError: There is none.
    """
    return {each.__name__: each for each in known().values()}[name]


def components() -> dict[str, Any]:
    """Return the answers of the whole door that are problems, with an example for each code."""
    everything = [each for each in known().values() if each.code in _specific()]
    extra = {CONDITION_FAILED: [errors.VersionConflict.code]}
    return {each.name: _component(each) for each in of_errors(everything, extra)}


def _specific() -> frozenset[str]:
    """Return the codes of errors that are raised; the others only gather them."""
    return frozenset(
        code for code, error in known().items() if not error.__subclasses__() and code != "error"
    )


def _component(refusal: Refusal) -> dict[str, Any]:
    headers: dict[str, Any] = {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}
    for status, name in ((401, "WWW-Authenticate"), (405, "Allow"), (503, "Retry-After")):
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
    """Return what an error is about, in a sentence."""
    words = (error.__doc__ or "").strip().partition("\n")[0]
    return words or error.code.replace("-", " ").capitalize()
