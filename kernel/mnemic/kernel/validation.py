"""Validation of arguments: texts, tags, names, flags, metadata and fractions.

A label (name, tag, note, relation, key of metadata) is shown next to texts and says what they are.
So it takes visible characters only, of bounded length; what a text itself may contain is not
limited, and is escaped when it is shown (``rendering``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from mnemic.kernel.errors import ContentEmpty, ContentTooLong, FieldRefused, TagsRefused
from mnemic.kernel.model.periods import Period
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.policy import Policy
from mnemic.kernel.timestamps import instant, iso
from mnemic.kernel.visible import hidden_in

NAME_LENGTH_MAX = 200
"""Characters of a category, source, zone, author, thread or key of metadata."""


def checked_content(content: object, policy: Policy) -> str:
    """Return *content* if it is text within the limits.

    Raises:
        ContentEmpty, ContentTooLong, FieldRefused: See each.
    """
    if not isinstance(content, str):
        raise FieldRefused(f"content must be text, got {type(content).__name__}", field="content")
    if not content.strip():
        raise ContentEmpty(f"content is empty: {content!r}")
    if len(content) > policy.content_length_max:
        raise ContentTooLong(
            f"content has {len(content)} characters, the limit is {policy.content_length_max}",
            length=len(content),
            limit=policy.content_length_max,
        )
    check_encodable("content", content)
    return content


def check_encodable(name: str, text: str) -> None:
    """Refuse lone surrogates: they cannot be stored as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FieldRefused(f"{name} is not valid text: {error}", field=name) from error


def check_visible(name: str, text: str) -> None:
    """Refuse a label with a character that is hidden or cannot be stored.

    Raises:
        FieldRefused: It has one; the message names it.
    """
    check_encodable(name, text)
    found = hidden_in(text)
    if found is not None:
        raise FieldRefused(
            f"{name} has the hidden character {found}: {text!r:.200}",
            recovery=f"Leave {found} out; a label takes visible characters on one line.",
            field=name,
            character=found,
        )


def checked_tags(tags: Iterable[str], policy: Policy) -> tuple[str, ...]:
    """Return *tags* stripped, sorted and without repetition.

    Raises:
        TagsRefused, FieldRefused: Too many, too long, empty, not text, or not visible.
    """
    # An interface may pass on any value that it received, so the annotation guarantees nothing.
    given: object = tags
    if given == ():
        return ()
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise TagsRefused(f"tags must be a list of texts, got {given!r}")
    kept = set()
    for tag in tags:
        if not isinstance(tag, str) or not tag.strip():
            raise TagsRefused(f"a tag must be text that is not empty, got {tag!r}")
        if len(tag.strip()) > policy.tag_length_max:
            raise TagsRefused(f"a tag has {len(tag.strip())} characters: {tag[:40]!r}…")
        check_visible("tag", tag.strip())
        kept.add(tag.strip())
    if len(kept) > policy.tags_max:
        raise TagsRefused(f"{len(kept)} tags, the limit is {policy.tags_max}", count=len(kept))
    return tuple(sorted(kept))


def checked_name(name: str, value: object) -> str:
    """Return a short name, such as a category or a source, stripped.

    Raises:
        FieldRefused: It is not text, empty, too long, or not visible.
    """
    if not isinstance(value, str) or not (stripped := value.strip()):
        raise FieldRefused(f"{name} must be text that is not empty, got {value!r}", field=name)
    if len(stripped) > NAME_LENGTH_MAX:
        raise FieldRefused(f"{name} is longer than {NAME_LENGTH_MAX} characters", field=name)
    check_visible(name, stripped)
    return stripped


def checked_flag(name: str, value: object) -> bool:
    """Return a flag.

    Raises:
        FieldRefused: It is neither true nor false.
    """
    if not isinstance(value, bool):
        raise FieldRefused(f"{name} must be true or false, got {value!r:.80}", field=name)
    return value


def checked_metadata(metadata: Mapping[str, Any] | None, policy: Policy) -> str | None:
    """Return the canonical JSON of a small object."""
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise FieldRefused(f"metadata must be an object, got {metadata!r}", field="metadata")
    try:
        body = json.dumps(
            dict(metadata),
            sort_keys=True,
            separators=(",", ":"),
            allow_nan=False,
            ensure_ascii=False,
        )
        size = len(body.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise FieldRefused(f"metadata is not plain JSON: {error}", field="metadata") from error
    _check_keys(metadata)
    if size > policy.metadata_bytes_max:
        raise FieldRefused(
            f"metadata has {size} bytes, the limit is {policy.metadata_bytes_max}", field="metadata"
        )
    return body


def _check_keys(value: object) -> None:
    """Check the keys of an object, at every depth."""
    if isinstance(value, Mapping):
        for key in value:
            if len(str(key)) > NAME_LENGTH_MAX:
                raise FieldRefused(
                    f"a key of metadata is longer than {NAME_LENGTH_MAX} characters",
                    field="metadata",
                )
            check_visible("metadata", str(key))
            _check_keys(value[key])
    elif isinstance(value, list | tuple):
        for entry in value:
            _check_keys(entry)


def unit_interval(name: str, value: object) -> int:
    """Return a number in [0, 1] as nano-units.

    Raises:
        FieldRefused: It is not a number, NaN, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise FieldRefused(f"{name} must be a number from 0 to 1, got {value!r}", field=name)
    return nano(float(value))


def checked_period(valid_from: object, valid_until: object) -> Period:
    """Return the period between two dates, each of which may be None.

    Raises:
        FieldRefused: One is not a date, or the end is not after the beginning.
    """
    from_us, until_us = instant("valid_from", valid_from), instant("valid_until", valid_until)
    if from_us is not None and until_us is not None and until_us <= from_us:
        raise FieldRefused(
            f"valid_until {iso(until_us)} is not after valid_from {iso(from_us)}",
            recovery="Give an end that is later, or leave one of the two out.",
            field="valid_until",
        )
    return Period(from_us, until_us)
