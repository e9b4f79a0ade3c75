"""Roles: the side of a conversation that a message comes from.

A role is stored as metadata under the key ``role``, so it is part of a block's identity. It is not
the name of an author: a question that mentions "users" does not name an author called "user".

Source: DOMAIN section 6.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.scope import scoped

ROLES: Final = ("user", "assistant", "tool", "system")
ROLE_KEY: Final = "role"

_SPELLINGS: Final = {
    **{role: role for role in ROLES},
    "human": "user",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "function": "tool",
}
"""Role by its names in transcripts, lower case."""

COUNTERPARTS: Final = {"user": "assistant", "assistant": "user"}
"""The role that the question of a role calls "you"."""


def checked_role(role: object) -> str | None:
    """Return a role, checked; None for None.

    Raises:
        FieldRefused: It is none of ``ROLES``.
    """
    if role is None:
        return None
    if not isinstance(role, str) or role not in ROLES:
        raise FieldRefused(
            f"role must be one of {', '.join(ROLES)}, got {role!r:.100}",
            recovery="Put a person's name into author.",
            field="role",
        )
    return role


def with_role(metadata: Mapping[str, Any] | None, role: str | None) -> Mapping[str, Any] | None:
    """Return *metadata* with a checked role added, if there is one.

    Raises:
        FieldRefused: The metadata has another role.
    """
    return metadata if role is None else scoped(metadata, {ROLE_KEY: role}, field=ROLE_KEY)


def role_named(name: str | None) -> str | None:
    """Return the role that *name* is a name of, such as "Human" or "AI"; None: it is a person's."""
    return None if name is None else _SPELLINGS.get(name.strip().lower())


def role_of(author: str | None, metadata: str | None) -> str | None:
    """Return the role of a text; None: it has none.

    Args:
        author: Its author, which counts if it is the name of a role.
        metadata: Its metadata as JSON.
    """
    if metadata is not None and f'"{ROLE_KEY}"' in metadata:
        given = json.loads(metadata).get(ROLE_KEY)
        if isinstance(given, str) and (role := role_named(given)) is not None:
            return role
    return role_named(author)
