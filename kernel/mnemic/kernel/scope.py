"""Scope: the user, agent or run that a block belongs to within a space.

A scope is stored as metadata under these keys, so it is part of a block's identity; a recall in a
scope is filtered by the same metadata.

Source: DOMAIN section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.validation import checked_name

SCOPE_KEYS: Final = ("user", "agent", "run")


def checked_scope(scope: object) -> dict[str, str]:
    """Return a scope, checked; an empty one for None.

    Raises:
        FieldRefused: It is not an object, has another key, or a value is not a short name.
    """
    if scope is None:
        return {}
    if not isinstance(scope, Mapping) or not set(scope) <= set(SCOPE_KEYS):
        raise FieldRefused(
            f"scope must be an object with the keys {', '.join(SCOPE_KEYS)}, got {scope!r:.100}",
            recovery='Write it like {"user": "ines"}.',
            field="scope",
        )
    return {key: checked_name(f"scope {key}", scope[key]) for key in SCOPE_KEYS if key in scope}


def scoped(
    metadata: Mapping[str, Any] | None, scope: Mapping[str, str], *, field: str = "scope"
) -> Mapping[str, Any] | None:
    """Return *metadata* with that of *scope* added.

    Args:
        metadata: Metadata of a block, or conditions on it; anything but an object is returned as
            it is, for its own check to refuse.
        scope: A checked scope, or another argument that is stored as metadata.
        field: The name of the argument.

    Raises:
        FieldRefused: The metadata has another value under a key of the scope.
    """
    if not scope or not (metadata is None or isinstance(metadata, Mapping)):
        return metadata
    given = dict(metadata or {})
    for key, value in scope.items():
        if given.get(key, value) != value:
            raise FieldRefused(
                f"metadata says {key} {given[key]!r:.100}, the {field} says {value!r}",
                recovery="Leave the key out of one of the two.",
                field=field,
            )
    return {**given, **scope}
