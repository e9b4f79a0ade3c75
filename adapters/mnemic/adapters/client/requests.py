"""Calls of verbs into requests, without sending them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson
from attrs import field, frozen

from mnemic.adapters.exchange.archive import Packed
from mnemic.adapters.http.routes import SPACE, routes
from mnemic.adapters.wire.calls import Call
from mnemic.adapters.wire.documents import spoken
from mnemic.adapters.wire.verbs import UNSPOKEN, Parameter, Verb
from mnemic.kernel.errors import FieldRefused

JSON: Final = "application/json"
SSE: Final = "text/event-stream"
COMMAND_HEADER: Final = "Idempotency-Key"
SESSION_HEADER: Final = "Mnemic-Session"
SILENCE_S: Final = 45.0
"""A stream says something every 15 seconds; this long without a word, and nobody is there."""


@frozen(kw_only=True)
class Request:
    """One request, ready to be sent, to a path below the address of the server."""

    verb: str
    """Or what else it is for, in the words of messages."""
    method: str
    target: str
    """Path and query, encoded."""
    headers: Mapping[str, str] = field(factory=dict)
    body: bytes | Packed | None = field(default=None, repr=False)
    again: bool = False
    """Whether it may be sent again when nobody knows what became of it."""
    command_id: str | None = None
    """Under which the server does it once; None: none, or it writes nothing."""
    silence_s: float = 0.0
    """How long the server may be silent at least, in seconds, before it is taken for dead."""


def request_of(
    call: Call, *, space: str, session: str | None = None, again: bool | None = None
) -> Request:
    """Return the request that makes a call.

    Args:
        call: With arguments by name, as Python has them.
        space: Of which space.
        session: The session to go on with.
        again: Whether it may be sent again; None: if it only reads, or has a command id.

    Raises:
        FieldRefused: An argument cannot be sent.
    """
    verb, route = call.spec, routes()[call.verb]
    given = {name: spoken(each) for name, each in call.arguments.items() if name not in UNSPOKEN}
    parts = {name: _segment(name, given.pop(name)) for name in route.in_path}
    points = [(name, getattr(call, name)) for name in ("as_of", "now")]
    query = [(name, word) for name, word in points if word is not None]
    headers = {"Accept": SSE if verb.long else JSON}
    body = None
    if route.by_query:
        query += _query(verb, given, past=call.as_of is not None)
    else:
        headers["Content-Type"], body = JSON, _body(given)
    if call.command_id is not None:
        headers[COMMAND_HEADER] = _quoted(header_value("command_id", call.command_id))
    if session is not None:
        headers[SESSION_HEADER] = session
    path = route.path.format(space=_segment("space", space), **parts)
    reads = verb.reads_only or call.as_of is not None
    return Request(
        verb=verb.name,
        method=route.method,
        target=f"{path}?{urlencode(query)}" if query else path,
        headers=headers,
        body=body,
        command_id=call.command_id,
        again=(reads or call.command_id is not None) if again is None else again,
        silence_s=SILENCE_S if verb.long else 0.0,
    )


def space_path(space: str, rest: str = "") -> str:
    """Return the path of a space, or of something that it has besides verbs."""
    return SPACE.format(space=_segment("space", space)) + rest


def header_value(name: str, value: object) -> str:
    """Return a value that a header carries unchanged.

    Raises:
        FieldRefused: It is empty, has spaces around it, or is no printable ASCII text.
    """
    is_text = isinstance(value, str) and value != "" and value == value.strip()
    if not is_text or not (value.isascii() and value.isprintable()):  # type: ignore[attr-defined]
        raise FieldRefused(
            f"{name} must be printable ASCII text, got {value!r:.80}",
            recovery=f"Over HTTP, give {name} as letters, digits and signs of ASCII.",
            field=name,
        )
    return str(value)


def _quoted(key: str) -> str:
    """Return a key so that a server which takes off quotes leaves it as it is."""
    return f'"{key}"' if key.startswith('"') else key


def _segment(name: str, value: object) -> str:
    """Return a value as one piece of a path.

    Raises:
        FieldRefused: It is empty, or no text of Unicode.
    """
    word = str(value)
    if not word:
        raise FieldRefused(f"{name} must not be empty", field=name)
    try:
        encoded = quote(word, safe="")
    except UnicodeEncodeError:
        raise _unsendable(name, "is no text of Unicode") from None
    # A piece of dots alone would be taken for a way up or for nothing.
    return encoded.replace(".", "%2E") if not encoded.strip(".") else encoded


def _query(verb: Verb, given: Mapping[str, Any], *, past: bool) -> Iterator[tuple[str, str]]:
    known = verb.taking(past=past)
    for name, value in given.items():
        if value is None and _stays_out(known.get(name)):
            continue
        for each in value if isinstance(value, list | tuple) else (value,):
            written = _json(name, each)
            yield name, each if isinstance(each, str) else written.decode()


def _stays_out(parameter: Parameter | None) -> bool:
    """Whether None says what leaving the parameter out says."""
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
