"""Scopes and keys: whom a block belongs to within a space, and the record that it is the text of.

Both are stored as metadata, so they are part of a block's identity.

A scope is a user, an agent or a run; a recall in a scope is filtered by the same metadata.

A key is the name of a record whose text may change. Blocks of different keys never supersede each
other by what they say. Within one scope a key has one current text: learning under the key
supersedes the text before it, and the blocks of the key are the revisions of the record. A prefix
that ends in ``/`` stands for every key below it, as with tags.

Source: DOMAIN section 3, ADR 59.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.model.identity import SCOPE_KEYS
from mnemic.kernel.validation import check_visible, checked_name

KEY: Final = "key"
KEY_LENGTH_MAX: Final = 1000
"""In characters."""


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


def checked_key(key: object) -> str | None:
    """Return a key, checked; None for None.

    Raises:
        FieldRefused: It is not text, empty, too long, has a hidden character, or is a prefix.
    """
    if key is None:
        return None
    if not isinstance(key, str) or not 0 < len(key) <= KEY_LENGTH_MAX or key.strip() != key:
        raise FieldRefused(
            f"key must be text of 1 to {KEY_LENGTH_MAX} characters without white space around it, "
            f"got {key!r:.100}",
            field=KEY,
        )
    check_visible(KEY, key)
    if key.endswith("/"):
        raise FieldRefused(
            f"the key {key!r:.100} ends in /, which stands for all keys below it",
            recovery="Add a name after the last /.",
            field=KEY,
        )
    return key


def with_key(metadata: Mapping[str, Any] | None, key: str | None) -> Mapping[str, Any] | None:
    """Return *metadata* with a checked key added, if there is one.

    Raises:
        FieldRefused: The metadata has another key.
    """
    return metadata if key is None else scoped(metadata, {KEY: key}, field=KEY)


def key_of(metadata: str | None) -> str | None:
    """Return the key in the metadata of a text, given as JSON; None: it has none."""
    if metadata is None or f'"{KEY}"' not in metadata:
        return None
    found = json.loads(metadata).get(KEY)
    return found if isinstance(found, str) else None


def scope_of(metadata: str | None) -> tuple[tuple[str, str], ...]:
    """Return the scope in the metadata of a text, given as JSON."""
    known = {} if metadata is None else json.loads(metadata)
    return tuple((name, known[name]) for name in SCOPE_KEYS if isinstance(known.get(name), str))
