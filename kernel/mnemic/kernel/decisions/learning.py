"""learn: a text enters the inbox, once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Any

from attrs import field, frozen

from mnemic.kernel import identity
from mnemic.kernel.arithmetic import nano
from mnemic.kernel.decisions.clearance import check_reach, lesson_zone
from mnemic.kernel.errors import (
    ContentEmpty,
    ContentTooLong,
    FieldRefused,
    IdCollision,
    TagsRefused,
)
from mnemic.kernel.events import BlockLearned
from mnemic.kernel.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import ARCHIVED, Reading
from mnemic.kernel.texts import BlockText, Erased

UNDATED = "unknown"
"""A created_at of this says that the age is not known; none at all means now."""
NAME_LENGTH_MAX = 200
"""Characters of a category, source, zone, author or thread."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _read_once(tags: Iterable[str]) -> Iterable[str]:
    """Return *tags* so that they can be read again: a command may be decided more than once."""
    if type(tags) is tuple:
        return tags
    if isinstance(tags, str | bytes | Mapping) or not isinstance(tags, Iterable):
        return tags  # for checked_tags to refuse
    return tuple(tags)


@frozen(kw_only=True)
class Lesson:
    """What a caller wants learned, as given."""

    content: str
    tags: Iterable[str] = field(default=(), converter=_read_once)
    category: str = "knowledge"
    source: str = "api"
    author: str | None = None
    thread: str | None = None
    confidence: float = 0.8
    created_at: str | datetime | None = None
    zone: str | None = None
    metadata: Mapping[str, Any] | None = None
    expires_at: str | datetime | None = None


@frozen(kw_only=True)
class Learned:
    """The decision on one lesson: an event, or none for a duplicate."""

    block_id: BlockId
    action: str
    event: BlockLearned | None


def decide_learn(
    reading: Reading, lesson: Lesson, *, known: AbstractSet[str] = frozenset()
) -> Learned:
    """Decide what becomes of *lesson*.

    Args:
        reading: The state before.
        lesson: As the caller gave it.
        known: Ids that earlier lessons of the same batch have put into the inbox.

    Raises:
        ContentEmpty, ContentTooLong, TagsRefused, FieldRefused, IdCollision, Forbidden: See each.

    Source: DOMAIN section 3.
    """
    policy = reading.policy
    content = checked_content(lesson.content, policy)
    block = identity.block_id(content, salt=reading.salt)
    if block in known:
        return Learned(block_id=block, action="duplicate", event=None)
    event = _event(block, content, lesson, reading)
    number = reading.number(block)
    if number is None:
        return Learned(block_id=block, action="created", event=event)
    standing = reading.text(number)
    if not isinstance(standing, Erased) and (
        identity.normalised(standing.content) != identity.normalised(content)
    ):
        raise IdCollision(f"the content has the id {block} of another block", block_id=block)
    facts = reading.facts(number)
    if facts.status != ARCHIVED:
        return Learned(block_id=block, action="duplicate", event=None)
    check_reach(reading, facts)
    return Learned(block_id=block, action="reactivated", event=event)


def _event(block: BlockId, content: str, lesson: Lesson, reading: Reading) -> BlockLearned:
    policy = reading.policy
    source = checked_name("source", lesson.source)
    undated = lesson.created_at == UNDATED
    text = BlockText(
        of=(block,),
        content=content,
        tags=checked_tags(lesson.tags, policy),
        author=_optional("author", lesson.author),
        thread=_optional("thread", lesson.thread),
        metadata=checked_metadata(lesson.metadata, policy),
    )
    return BlockLearned(
        block_id=block,
        text=text,
        category=checked_name("category", lesson.category),
        source=source,
        zone=lesson_zone(reading, source, _optional("zone", lesson.zone)),
        confidence=unit_interval("confidence", lesson.confidence),
        created_at_us=None if undated else instant("created_at", lesson.created_at),
        undated=undated,
        expires_at_us=instant("expires_at", lesson.expires_at),
    )


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


def checked_tags(tags: Iterable[str], policy: Policy) -> tuple[str, ...]:
    """Return *tags* stripped, sorted and without repetition.

    Raises:
        TagsRefused, FieldRefused: Too many, too long, empty, or no texts.
    """
    # A door may pass on whatever it was sent, so the annotation proves nothing.
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
        check_encodable("tag", tag)
        kept.add(tag.strip())
    if len(kept) > policy.tags_max:
        raise TagsRefused(f"{len(kept)} tags, the limit is {policy.tags_max}", count=len(kept))
    return tuple(sorted(kept))


def checked_name(name: str, value: object) -> str:
    """Return a short name, stripped; categories and sources are words, not essays.

    Raises:
        FieldRefused: It is no text, empty, too long, or not storable.
    """
    if not isinstance(value, str) or not value.strip():
        raise FieldRefused(f"{name} must be text that is not empty, got {value!r}", field=name)
    if len(value.strip()) > NAME_LENGTH_MAX:
        raise FieldRefused(f"{name} is longer than {NAME_LENGTH_MAX} characters", field=name)
    check_encodable(name, value)
    return value.strip()


def _optional(name: str, value: str | None) -> str | None:
    return None if value is None else checked_name(name, value)


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
    if size > policy.metadata_bytes_max:
        raise FieldRefused(
            f"metadata has {size} bytes, the limit is {policy.metadata_bytes_max}", field="metadata"
        )
    return body


def unit_interval(name: str, value: object) -> int:
    """Return a number in [0, 1] as nano-units.

    Raises:
        FieldRefused: It is no number, NaN, or outside.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise FieldRefused(f"{name} must be a number from 0 to 1, got {value!r}", field=name)
    return nano(float(value))


def instant(name: str, value: object) -> int | None:
    """Return a moment as microseconds since the epoch; naive ones are UTC, offsets are honoured.

    Raises:
        FieldRefused: It cannot be read as ISO 8601.
    """
    if value is None:
        return None
    moment: object = value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError as error:
            raise FieldRefused(
                f"{name} is not an ISO 8601 date: {value!r}",
                recovery="Write it like 2026-03-02T09:04:00+00:00, or leave it out.",
                field=name,
            ) from error
    if not isinstance(moment, datetime):
        raise FieldRefused(f"{name} must be a date or its ISO 8601 text, got {value!r}", field=name)
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    try:
        delta = aware - EPOCH
    except OverflowError as error:
        raise FieldRefused(f"{name} is out of range: {value!r}", field=name) from error
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
