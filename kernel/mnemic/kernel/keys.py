"""Keys: the name of a record whose text may change.

A key is stored as metadata under ``key``, so it is part of a block's identity, and blocks of
different keys never supersede each other by what they say. Within one scope a key has one current
text: learning under the key supersedes the text before it, and the blocks of the key are the
revisions of the record.

A prefix that ends in ``/`` stands for every key below it, as with tags.

Source: ADR 59.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.scope import SCOPE_KEYS, scoped
from mnemic.kernel.validation import check_visible

KEY: Final = "key"
KEY_LENGTH_MAX: Final = 1000
"""In characters."""


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
