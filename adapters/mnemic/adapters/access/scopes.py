"""What a token may do in which space: three words, each of which implies those before it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from mnemic.kernel.decisions.learning import checked_name
from mnemic.kernel.errors import FieldRefused

Scope: TypeAlias = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""In order: whoever may write may read, and an admin may do both."""
EVERY_SPACE = "*"
"""Stands for all spaces, also those that are not made yet."""
SPACES_MAX = 100
"""Spaces that one token may name; who needs more wants all, or several tokens."""


def rank(scope: object) -> int:
    """Return the place of a scope among the three; a higher one implies it.

    Raises:
        FieldRefused: It is none of them.
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
    """Return whether *scopes* reach as far as *scope* in *space*.

    Raises:
        FieldRefused: There is no such scope.
    """
    wanted = rank(scope)
    granted = (scopes[name] for name in (space, EVERY_SPACE) if name in scopes)
    return any(rank(each) >= wanted for each in granted)


def checked_scopes(given: object) -> Mapping[str, Scope]:
    """Return scopes by space, in order of the names, for good.

    A space keeps its name to the letter: the one that a door opens is the one that is asked for.

    Raises:
        FieldRefused: It is no mapping, an empty or a long one, or holds a bad name or scope.
    """
    if not isinstance(given, Mapping) or not given:
        raise FieldRefused(
            f"scopes must name at least one space, got {given!r:.100}",
            recovery="Say what the token may do where, like read on notes, or admin on *.",
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
