"""Encoding of calls of operations as HTTP requests, without sending them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson
from attrs import field, frozen

from mnemic.adapters.http.routing.routes import SPACE, routes
from mnemic.adapters.remote.calls import Call
from mnemic.adapters.remote.documents import spoken
from mnemic.adapters.remote.operations import UNSPOKEN, Operation, Parameter
from mnemic.adapters.transfer.exports.archive import Packed
from mnemic.kernel.errors import FieldRefused

JSON: Final = "application/json"
SSE: Final = "text/event-stream"
COMMAND_HEADER: Final = "Idempotency-Key"
SESSION_HEADER: Final = "Mnemic-Session"
SILENCE_S: Final = 45.0
"""A stream sends something every 15 seconds; after this much silence the server counts as dead."""


@frozen(kw_only=True)
class Request:
    """One request, ready to be sent, to a path below the address of the server."""

    operation: str
    """The operation, or another purpose, as named in error messages."""
    method: str
    target: str
    """Path and query, encoded."""
    headers: Mapping[str, str] = field(factory=dict)
    body: bytes | Packed | None = field(default=None, repr=False)
    again: bool = False
    """Whether it may be sent again when its outcome is unknown."""
    command_id: str | None = None
    """The idempotency key of the command; None: none, or it writes nothing."""
    silence_s: float = 0.0
    """Minimum time, in seconds, that the server may be silent before it counts as dead."""


def request_of(
    call: Call, *, space: str, session: str | None = None, again: bool | None = None
) -> Request:
    """Return the request that makes a call.

    Args:
        call: The call, with Python values as arguments by name.
        space: The space.
        session: The session to continue.
        again: Whether it may be sent again; None: if it only reads, or has a command id.

    Raises:
        FieldRefused: An argument cannot be sent.
    """
    operation, route = call.spec, routes()[call.operation]
    given = {name: spoken(each) for name, each in call.arguments.items() if name not in UNSPOKEN}
    parts = {name: _segment(name, given.pop(name)) for name in route.in_path}
    points = [(name, getattr(call, name)) for name in ("as_of", "now")]
    query = [(name, word) for name, word in points if word is not None]
    headers = {"Accept": SSE if operation.long else JSON}
    body = None
    if route.by_query:
        query += _query(operation, given, past=call.as_of is not None)
    else:
        headers["Content-Type"], body = JSON, _body(given)
    if call.command_id is not None:
        headers[COMMAND_HEADER] = _quoted(header_value("command_id", call.command_id))
    if session is not None:
        headers[SESSION_HEADER] = session
    path = route.path.format(space=_segment("space", space), **parts)
    reads = operation.reads_only or call.as_of is not None
    return Request(
        operation=operation.name,
        method=route.method,
        target=f"{path}?{urlencode(query)}" if query else path,
        headers=headers,
        body=body,
        command_id=call.command_id,
        again=(reads or call.command_id is not None) if again is None else again,
        silence_s=SILENCE_S if operation.long else 0.0,
    )


def space_path(space: str, rest: str = "") -> str:
    """Return the path of a space, or of a resource below it that is not an operation."""
    return SPACE.format(space=_segment("space", space)) + rest


def header_value(name: str, value: object) -> str:
    """Return a value that a header transports unchanged.

    Raises:
        FieldRefused: It is empty, has spaces around it, or is not printable ASCII text.
    """
    is_text = isinstance(value, str) and value != "" and value == value.strip()
    if not is_text or not (value.isascii() and value.isprintable()):  # type: ignore[attr-defined]
        raise FieldRefused(
            f"{name} must be printable ASCII text, got {value!r:.80}",
            recovery=f"Over HTTP, give {name} in printable ASCII characters.",
            field=name,
        )
    return str(value)


def _quoted(key: str) -> str:
    """Return a key, quoted again if it begins with a quote, since the server unquotes it."""
    return f'"{key}"' if key.startswith('"') else key


def _segment(name: str, value: object) -> str:
    """Return a value as one segment of a path.

    Raises:
        FieldRefused: It is empty, or not valid Unicode.
    """
    word = str(value)
    if not word:
        raise FieldRefused(f"{name} must not be empty", field=name)
    try:
        encoded = quote(word, safe="")
    except UnicodeEncodeError:
        raise _unsendable(name, "is not valid Unicode") from None
    # A segment of dots alone would be resolved as a relative path.
    return encoded.replace(".", "%2E") if not encoded.strip(".") else encoded


def _query(
    operation: Operation, given: Mapping[str, Any], *, past: bool
) -> Iterator[tuple[str, str]]:
    known = operation.taking(past=past)
    for name, value in given.items():
        if value is None and _stays_out(known.get(name)):
            continue
        for each in value if isinstance(value, list | tuple) else (value,):
            written = _json(name, each)
            yield name, each if isinstance(each, str) else written.decode()


def _stays_out(parameter: Parameter | None) -> bool:
    """Whether None has the same meaning as omitting the parameter."""
    return parameter is not None and parameter.default is None


def _body(given: Mapping[str, Any]) -> bytes:
    try:
        written = orjson.dumps(given)
    except TypeError:
        for name, value in given.items():
            _json(name, value)
        raise
    for name, value in given.items():
        _check_finite(name, value)
    return written


def _json(name: str, value: object) -> bytes:
    """Return an argument as JSON.

    Raises:
        FieldRefused: JSON cannot hold it.
    """
    _check_finite(name, value)
    try:
        return orjson.dumps(value)
    except TypeError as error:
        raise _unsendable(name, f"cannot be sent: {error}") from error


def _check_finite(name: str, value: object) -> None:
    """Refuse numbers that orjson would write as null.

    Raises:
        FieldRefused: There is one.
    """
    if not _is_finite(value):
        raise _unsendable(name, "must be finite")


def _is_finite(value: object) -> bool:
    match value:
        case float():
            return isfinite(value)
        case Mapping():
            return all(map(_is_finite, value.values()))
        case list() | tuple():
            return all(map(_is_finite, value))
        case _:
            return True


def _unsendable(name: str, why: str) -> FieldRefused:
    return FieldRefused(
        f"{name} {why}", recovery=f"Give {name} as values that JSON can hold.", field=name
    )
