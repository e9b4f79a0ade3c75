"""Scopes of a token in a space: three levels, each of which includes those before it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.validation import checked_name

Scope: TypeAlias = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""In ascending order: write includes read, and admin includes both."""
EVERY_SPACE = "*"
"""Matches all spaces, including future ones."""
SPACES_MAX = 100
"""Maximum number of spaces in one token; for more, use all spaces or several tokens."""


def rank(scope: object) -> int:
    """Return the position of a scope among the three; a higher one includes it.

    Raises:
        FieldRefused: It is not a scope.
    """
    for place, word in enumerate(SCOPES):
        if scope == word:
            return place
    raise FieldRefused(
        f"a scope must be {', '.join(SCOPES[:-1])} or {SCOPES[-1]}, got {scope!r:.100}",
        recovery="Use read, write (which implies read) or admin (which implies write).",
        field="scopes",
    )


def allows(scopes: Mapping[str, Scope], space: str, scope: Scope) -> bool:
    """Return whether *scopes* include *scope* on *space*.

    Raises:
        FieldRefused: There is no such scope.
    """
    wanted = rank(scope)
    granted = (scopes[name] for name in (space, EVERY_SPACE) if name in scopes)
    return any(rank(each) >= wanted for each in granted)


def checked_scopes(given: object) -> Mapping[str, Scope]:
    """Return scopes by space as a read-only mapping, in order of the names.

    Names of spaces are not normalized: an interface opens exactly the requested one.

    Raises:
        FieldRefused: It is not a mapping, is empty or too long, or holds an invalid name or scope.
    """
    if not isinstance(given, Mapping) or not given:
        raise FieldRefused(
            f"scopes must name at least one space, got {given!r:.100}",
            recovery="Give scopes by space, like read on notes, or admin on *.",
            field="scopes",
        )
    if len(given) > SPACES_MAX:
        raise FieldRefused(
            f"a token may name {SPACES_MAX} spaces, not {len(given)}",
            recovery="Name * for all spaces, or make several tokens.",
            field="scopes",
        )
    for space in given:
        checked_name("space", space)
    return MappingProxyType({space: SCOPES[rank(given[space])] for space in sorted(given)})
