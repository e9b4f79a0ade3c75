"""Parsing of requests: body, query and conditions. Values are parsed by the parameters' types."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes, urlencode

import orjson
from attrs import frozen

from mnemic.adapters.http.messages.responses import JSON
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.remote import asgi_requests
from mnemic.adapters.remote.asgi_requests import header
from mnemic.adapters.remote.operations import Parameter
from mnemic.adapters.remote.transport_errors import (
    BodyUnreadable,
    MediaTypeRefused,
    NotAcceptable,
    PathUnknown,
    RequestUnreadable,
)
from mnemic.kernel.errors import FieldRefused

STREAM = "text/event-stream"
FIELDS_MAX = 200
"""Maximum number of fields in one query."""
DEPTH_MAX = 64
"""Nesting depth of objects and lists in one body. No operation takes more than a few levels, and
code that recurses into deep ones exhausts its stack."""
POINT = ("as_of", "now")
"""Query fields that give the time point of a read; they are no arguments of an operation."""
NAMED: Mapping[Any, str] = {int: "a whole number", bool: "true or false"}
"""Name of a value's type in messages; every other type takes any text."""
WORDS = {"true": True, "false": False}

_INT = re.compile(r"[+-]?[0-9]{1,18}")
_ETAG = re.compile(r'\s*(?P<weak>W/)?"(?P<tag>[\x21\x23-\x7e\x80-\xff]*)"\s*(?:,|$)')


# --- path -----------------------------------------------------------------------------------------


def segment(encoded: str) -> str:
    """Return one part of a path, percent-decoded.

    Raises:
        PathUnknown: It is not in UTF-8.
    """
    try:
        return unquote_to_bytes(encoded).decode()
    except UnicodeDecodeError:
        raise PathUnknown(f"a part of the path is not in UTF-8: {encoded:.100}") from None


# --- query ----------------------------------------------------------------------------------------


def query(scope: Any) -> dict[str, list[str]]:
    """Return the fields of the query, each with its values in order.

    Raises:
        RequestUnreadable: It is not a percent-encoded query.
    """
    raw: bytes = scope["query_string"]
    found: dict[str, list[str]] = {}
    if raw:
        try:
            pairs = parse_qsl(
                raw.decode("ascii"),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=FIELDS_MAX,
            )
        except ValueError as error:
            raise RequestUnreadable("the query is not percent-encoded UTF-8") from error
        for name, value in pairs:
            found.setdefault(name, []).append(value)
    return found


def check_fields(fields: Mapping[str, Sequence[str]], known: Sequence[str]) -> None:
    """Refuse unknown fields of a query.

    Raises:
        FieldRefused: Names the field.
    """
    for name in fields:
        if name not in known:
            raise FieldRefused(
                f"this path takes no query field {name!r:.80}",
                recovery=f"It takes: {', '.join(known) or 'nothing'}.",
                field=name[:80],
            )


def following(address: str, after: int) -> str:
    """Return the address of the next page: the same, with another value of ``after``."""
    path, _, asked = address.partition("?")
    fields = [(name, said) for name, said in parse_qsl(asked) if name != "after"]
    return f"{path}?{urlencode([*fields, ('after', after)])}"


def single(name: str, values: Sequence[str]) -> str:
    """Return the value of a field that may be given once.

    Raises:
        FieldRefused: It was given several times.
    """
    if len(values) != 1:
        raise FieldRefused(f"{name} was given {len(values)} times", field=name)
    return values[0]


def value(parameter: Parameter, values: Sequence[str]) -> Any:
    """Return the value of a query field, parsed by the type of the parameter.

    Raises:
        FieldRefused: It cannot be parsed as such.
    """
    kinds = _kinds(parameter.type)
    if any(typing.get_origin(kind) is not None for kind in kinds):
        return list(values)
    word, name = single(parameter.name, values), parameter.name
    if int in kinds and _INT.fullmatch(word):
        return int(word)
    if float in kinds:
        return _number(name, word)
    if bool in kinds and word in WORDS:
        return WORDS[word]
    if str in kinds:
        return word
    wanted = " or ".join(NAMED[kind] for kind in kinds)
    raise FieldRefused(f"{name} must be {wanted}, got {word!r:.80}", field=name)


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """Return the types that a value may have, except None."""
    if typing.get_origin(annotation) in {typing.Union, types.UnionType}:
        inner = (_kinds(each) for each in typing.get_args(annotation))
        return tuple(kind for kinds in inner for kind in kinds if kind is not type(None))
    return (annotation,)


def _number(name: str, word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise FieldRefused(f"{name} must be a number, got {word!r:.80}", field=name) from None


# --- body -----------------------------------------------------------------------------------------


async def body(scope: Any, receive: Any, settings: Settings) -> bytes:
    """Return the whole body of a request.

    Raises:
        MediaTypeRefused: It has a content encoding.
        BodyTooLarge: It is longer than allowed, even if its headers give a smaller length.
        RequestTooSlow: It did not arrive in time.
        RequestUnreadable: The client has disconnected.
    """
    return await asgi_requests.whole(
        scope, receive, max_bytes=settings.body_max_bytes, timeout_s=settings.body_timeout_s
    )


def json_object(scope: Any, content: bytes) -> dict[str, Any]:
    """Return the arguments in a body; an empty body holds none.

    Raises:
        MediaTypeRefused: Its declared type is not JSON.
        BodyUnreadable: It is not valid JSON, or nested too deeply.
        FieldRefused: It is JSON, but not an object.
    """
    if not content:
        return {}
    said = header(scope, b"content-type")
    if said is None or said.partition(";")[0].strip().lower() != JSON:
        raise MediaTypeRefused(f"the body is {said or 'of no type'!r:.100}, not {JSON}")
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise BodyUnreadable(f"the body is no JSON: {error.msg} at {error.pos}") from None
    if not isinstance(document, dict):
        raise FieldRefused(
            f"the body must be an object, got {type(document).__name__}",
            recovery="Send the arguments by name: {...}.",
            field="body",
        )
    _check_depth(document)
    return document


def _check_depth(document: object) -> None:
    """Refuse objects and lists that are nested too deeply, by checking level by level."""
    level: list[Any] = [document]
    for _ in range(DEPTH_MAX):
        values = chain.from_iterable(
            each.values() if isinstance(each, dict) else each for each in level
        )
        level = [each for each in values if isinstance(each, dict | list)]
        if not level:
            return
    raise BodyUnreadable(
        f"the body holds more than {DEPTH_MAX} objects and lists within each other",
        recovery="Send flatter arguments.",
    )


# --- headers --------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Tags:
    """The ETags that a condition lists."""

    any: bool = False
    """Whether it matches any version: ``*``."""
    versions: frozenset[str] = frozenset()

    def match(self, tag: str) -> bool:
        """Return whether the list matches a space whose log has this tag.

        A version alone matches any history, since a client may know no more.
        """
        version, _, _ = tag.partition(".")
        return self.any or not self.versions.isdisjoint((tag, version))


def tags(scope: Any, name: bytes, *, weak: bool) -> Tags | None:
    """Return the condition in a header; None: there is no such header.

    Args:
        scope: ASGI scope of the request.
        name: ``if-match`` or ``if-none-match``.
        weak: Whether weak tags count. Source: RFC 9110, sections 13.1.1 and 13.1.2.

    Raises:
        RequestUnreadable: It is not a list of tags.
    """
    said = [str(words, "latin-1") for each, words in scope["headers"] if each == name]
    if not said:
        return None
    given = ",".join(said)
    if not given.strip():
        return Tags()  # an empty list, which matches nothing
    if given.strip() == "*":
        return Tags(any=True)
    found: set[str] = set()
    place = 0
    while place < len(given):
        each = _ETAG.match(given, place)
        if each is None:
            raise RequestUnreadable(
                f"the header {name.decode()} holds no list of ETags: {given!r:.100}",
                recovery='Give the ETag of an answer as it was, in its quotes: "901".',
                header=name.decode(),
            )
        place = each.end()
        if weak or each["weak"] is None:
            found.add(each["tag"])
    return Tags(versions=frozenset(found))


def check_acceptable(scope: Any, *kinds: str) -> None:
    """Refuse a request that accepts none of these media types.

    Raises:
        NotAcceptable: Names the available types.
    """
    said = header(scope, b"accept")
    if said in {None, "*/*", JSON}:
        return
    assert said is not None  # noqa: S101 - handled above
    ranges = [_accepted(each) for each in said.split(",") if each.strip()]
    wanted = {each for each, quality in ranges if quality > 0}
    for kind in kinds:
        if wanted & {kind, f"{kind.partition('/')[0]}/*", "*/*"}:
            return
    if ranges:
        raise NotAcceptable(f"there is no {said!r:.100} here, only {', '.join(kinds)}")


def wants_stream(scope: Any) -> bool:
    """Return whether a request accepts server-sent events."""
    said = header(scope, b"accept") or ""
    return any(kind == STREAM and quality > 0 for kind, quality in map(_accepted, said.split(",")))


def _accepted(part: str) -> tuple[str, float]:
    """Return one media range and its quality."""
    kind, *parameters = (word.strip().lower() for word in part.split(";"))
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return kind, float(parameter[2:])
            except ValueError:
                return kind, 1.0
    return kind, 1.0
