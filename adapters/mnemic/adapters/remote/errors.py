"""Conversion of errors to documents and back to the class that was raised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mnemic.kernel import errors
from mnemic.kernel.errors import MnemicError

INTERNAL = "internal"
"""The code of an unexpected exception. Its message is withheld: it may hold texts of a memory."""


def document_of(error: BaseException) -> dict[str, Any]:
    """Return ``code``, ``detail``, ``recovery`` and the facts of an error, ready for JSON.

    Of a file only the name is given: the server's folders are not revealed.
    """
    if isinstance(error, MnemicError):
        return _without_folders({name: _plain(value) for name, value in error.to_dict().items()})
    return {
        "code": INTERNAL,
        "detail": "mnemic met an error of its own; nothing was acknowledged",
        "recovery": "Try again with the same command id; if it stays, report what the log shows.",
    }


def names_a_file(error: BaseException) -> bool:
    """Return whether an error holds a path, of which its document gives the file name alone."""
    return isinstance(error, MnemicError) and "path" in error.facts


def _without_folders(document: dict[str, Any]) -> dict[str, Any]:
    path = document.get("path")
    name = Path(path).name if isinstance(path, str) else ""
    if not name:
        return document
    return {
        each: value.replace(str(path), name) if isinstance(value, str) else value
        for each, value in document.items()
    }


def status_of(error: BaseException) -> int:
    """Return the HTTP status of an error."""
    return error.status if isinstance(error, MnemicError) else 500


def error_of(document: Mapping[str, Any]) -> MnemicError:
    """Return the error that a document describes, of its own class if its code is known."""
    facts = dict(document)
    code, detail, recovery = (str(facts.pop(name, "")) for name in ("code", "detail", "recovery"))
    found = known().get(code, MnemicError)(detail, recovery=recovery, **facts)
    if found.code != code:
        found.code = code  # type: ignore[misc]  # of a newer server
    return found


@cache
def known() -> Mapping[str, type[MnemicError]]:
    """Return every error of mnemic by its code."""
    return {error.code: error for error in _family(errors.MnemicError)}


def _family(error: type[MnemicError]) -> Iterator[type[MnemicError]]:
    yield error
    for narrower in error.__subclasses__():
        yield from _family(narrower)


def _plain(value: object) -> Any:
    """Return a fact in a form that JSON can hold."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(name): _plain(each) for name, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(each) for each in value]
        case _:
            return str(value)
