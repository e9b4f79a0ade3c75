"""Decision of learn: a text enters the inbox once; said again, it is restated.

A block is identified by its content, its author and its metadata. A message is also its thread and
its id (the metadata key ``message_id`` or ``turn``) or, without one, its place in the space: "yes"
said twice is two messages. A text may be learned under a key, which has one current text: see
``supersession``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from attrs import evolve, field, frozen

from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.authorization import (
    check_claims,
    check_reach,
    dated,
    inbox_full,
    inbox_room,
    lesson_zone,
    within,
)
from mnemic.kernel.decisions.supersession import (
    Record,
    current_blocks,
    record_of,
    renewal,
    replacement,
)
from mnemic.kernel.errors import FieldRefused, IdCollision
from mnemic.kernel.events import BlockLearned, BlockRestated
from mnemic.kernel.model import identity
from mnemic.kernel.model.blocks import ARCHIVED, BlockFacts
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.periods import ALWAYS, Period
from mnemic.kernel.model.texts import BlockText, Erased
from mnemic.kernel.reading import Reading
from mnemic.kernel.roles import checked_role, with_role
from mnemic.kernel.scope import checked_key, checked_scope, scoped, with_key
from mnemic.kernel.timestamps import instant
from mnemic.kernel.validation import (
    checked_content,
    checked_metadata,
    checked_name,
    checked_period,
    checked_tags,
    unit_interval,
)
from mnemic.kernel.values import Value

UNDATED = "unknown"
"""Value of created_at for an unknown age; without created_at the time is now."""
MESSAGE = "message"
"""The category of messages in a conversation."""
MESSAGE_IDS = ("message_id", "turn")
"""Keys of metadata that identify a message within its thread."""


def _read_once(tags: Iterable[str]) -> Iterable[str]:
    """Return *tags* as a collection, since a command may be decided more than once."""
    if type(tags) is tuple:
        return tags
    if isinstance(tags, str | bytes | Mapping) or not isinstance(tags, Iterable):
        return tags  # for checked_tags to refuse
    return tuple(tags)


@frozen(kw_only=True)
class Lesson(Value):
    """A text to learn and its descriptive fields, as given by the caller."""

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
    scope: Mapping[str, str] | None = None
    """Stored as metadata."""
    role: str | None = None
    """Stored as metadata."""
    valid_from: str | datetime | None = None
    valid_until: str | datetime | None = None
    key: str | None = None
    """Stored as metadata."""


@frozen(kw_only=True)
class Saying(Value):
    """When a block was last said, when its fact holds, and its zone."""

    zone: str
    said_us: int | None
    """Wall clock; None: unknown, or now."""
    is_now: bool = False
    period: Period = ALWAYS

    @classmethod
    def last_of(cls, facts: BlockFacts) -> Saying:
        """Return the last saying of a block before the command."""
        return cls(zone=facts.zone, said_us=facts.said_us, period=facts.period)


@frozen(kw_only=True)
class Learned(Value):
    """What one lesson did."""

    block_id: BlockId
    action: str
    """``created``, ``restated``, ``reactivated``, ``revised`` if it supersedes the text that its
    key had, or ``duplicate`` if nothing is recorded."""
    saying: Saying
    """After it."""
    is_new: bool = False
    """Whether the block was not known, archived or not."""
    offset: int = 0
    """Place of the event that learned or restated it among its events."""
    event_count: int = 1
    """How many events it writes."""
    record: Record | None = None
    """The key that it was learned under, with its scope."""

    @property
    def enters_inbox(self) -> bool:
        """Whether the block is in the inbox because of it."""
        return self.action in {"created", "reactivated", "revised"}


@frozen(kw_only=True)
class Earlier(Value):
    """What earlier lessons of one batch did."""

    created: int = 0
    """Number of new blocks."""
    said: Mapping[BlockId, Saying] = MappingProxyType({})
    """Blocks that were learned or restated; none of them is archived."""
    records: Collection[Record] = frozenset()
    """Keys that they were learned under, each with its scope."""
    forgotten: Collection[BlockId] = frozenset()
    """Blocks that the same command archives."""
    room: int | None = None
    """How many blocks the writer may still put into the inbox, see ``inbox_room``; None: it is
    looked up."""


NOTHING: Final = Earlier()


def decide_learn(
    reading: Reading, lesson: Lesson, *, earlier: Earlier = NOTHING
) -> Decision[Learned]:
    """Decide whether *lesson* is new, restates a known block, or reactivates an archived one.

    It restates nothing if it is dated before the block was last said, if the block is of a higher
    zone, or if it is the same message: then it is a duplicate. But if it gives another period in
    which the fact holds, and its zone suffices, the period changes, and in these cases that alone.

    Args:
        reading: The state before the command.
        lesson: As given by the caller.
        earlier: What earlier lessons of the same batch did.

    Raises:
        ContentEmpty, ContentTooLong, TagsRefused, FieldRefused, IdCollision, Forbidden: See each.
        InboxFull: The writer's zone has no room in the inbox.

    Source: DOMAIN section 3.
    """
    fresh = drafted(reading, lesson, earlier=earlier)
    decided = decide_fresh(reading, fresh, earlier=earlier)
    if lesson.key is not None:
        decided = _decide_keyed(reading, fresh, decided, earlier)
    if decided.result.enters_inbox:
        room = inbox_room(reading) if earlier.room is None else earlier.room
        if room is not None and room <= 0:
            raise inbox_full(reading)
    return decided


def _decide_keyed(
    reading: Reading, fresh: BlockLearned, decided: Decision[Learned], earlier: Earlier
) -> Decision[Learned]:
    """Decide what a text under a key replaces, see ``supersession``.

    Args:
        reading: The state before the command.
        fresh: The drafted block.
        decided: What learning it does without its key.
        earlier: See ``decide_learn``.

    Raises:
        FieldRefused: An earlier lesson of the batch has this key.
        Forbidden: The current text is above the writer's zone.
    """
    record = record_of(fresh)
    learned = evolve(decided.result, record=record)
    if record in earlier.records:
        raise FieldRefused(
            f"two lessons of one batch have the key {record.key!r:.100}",
            recovery="Give only the text that is to be current afterwards.",
            field="key",
        )
    current = current_blocks(reading, record, gone=earlier.forgotten)
    fresh = fresh if learned.block_id == fresh.block_id else _under(fresh, learned.block_id)
    if current and current[-1].id != learned.block_id:
        events = (*decided.events, *replacement(reading, fresh, current))
        learned = evolve(learned, action="revised", event_count=len(events))
    elif current and current[-1].expires_us != fresh.expires_at_us:
        events = renewal(reading, fresh, current[-1])
        saying = _saying(fresh.zone, _period(fresh), fresh.created_at_us, undated=fresh.undated)
        learned = evolve(
            learned, action="reactivated", saying=saying, offset=1, event_count=len(events)
        )
    else:
        return evolve(decided, result=learned)
    return Decision(events, learned)


def decide_fresh(
    reading: Reading, fresh: BlockLearned, *, earlier: Earlier = NOTHING
) -> Decision[Learned]:
    """Decide whether a drafted block is new: ``decide_learn`` without the validation of a lesson.

    Args:
        reading: The state before the command.
        fresh: The event, if it is.
        earlier: See ``decide_learn``.

    Raises:
        IdCollision, Forbidden: See each.
    """
    text, block = fresh.text, fresh.block_id
    assert isinstance(text, BlockText)  # noqa: S101 - it was given just now
    number = reading.number(block)
    if number is None and block not in earlier.said:
        number = _known_by_content(reading, text, fresh.category)
    if number is not None:
        facts = reading.facts(number)
        if not _is_of(reading.text(number), text):
            raise IdCollision(f"the content has the id {block} of another block", block_id=block)
        block = facts.id
        is_archived = facts.status == ARCHIVED or block in earlier.forgotten
        if block not in earlier.said and not is_archived:
            return said_again(reading, Saying.last_of(facts), fresh, block)
        if block not in earlier.said:
            check_reach(reading, facts)
    if block in earlier.said:
        return said_again(reading, earlier.said[block], fresh, block)
    learned = Learned(
        block_id=block,
        action="created" if number is None else "reactivated",
        is_new=number is None,
        saying=_saying(fresh.zone, _period(fresh), fresh.created_at_us, undated=fresh.undated),
    )
    return Decision((fresh if block == fresh.block_id else _under(fresh, block),), learned)


def _saying(zone: str, period: Period, said_us: int | None, *, undated: bool) -> Saying:
    is_now = said_us is None and not undated
    return Saying(zone=zone, said_us=said_us, is_now=is_now, period=period)


def _period(fresh: BlockLearned) -> Period:
    return Period(fresh.valid_from_us, fresh.valid_until_us)


def revised(reading: Reading, fresh: BlockLearned, text: BlockText, **changes: Any) -> BlockLearned:
    """Return a drafted block with another text and other fields, and the id that follows."""
    fresh = evolve(fresh, text=text, **changes)
    message = None
    if fresh.category == MESSAGE:
        message = _message(reading, text.thread, text.metadata, NOTHING)
    return _under(
        fresh,
        identity.block_id(
            text.content,
            salt=reading.salt,
            author=text.author,
            metadata=text.metadata,
            message=message,
        ),
    )


def _under(fresh: BlockLearned, block: BlockId) -> BlockLearned:
    """Return a drafted block under another id."""
    return evolve(fresh, block_id=block, text=evolve(fresh.text, of=(block,)))


def _message(
    reading: Reading, thread: str | None, metadata: str | None, earlier: Earlier
) -> tuple[str | None, str]:
    """Return what identifies a message besides its text: its thread, and its id or its place."""
    place = reading.learned_count + earlier.created
    return thread, _message_id(metadata) or f"@{place}"


def _message_id(metadata: str | None) -> str | None:
    """Return what identifies a message within its thread, as JSON."""
    known = {} if metadata is None else json.loads(metadata)
    return next((json.dumps(known[key]) for key in MESSAGE_IDS if key in known), None)


def _known_by_content(reading: Reading, text: BlockText, category: str) -> int | None:
    """Return the number of the same block under the id that an earlier release gave it."""
    if category == MESSAGE:
        return None
    number = reading.number(identity.content_id(text.content, salt=reading.salt))
    if number is None:
        return None
    existing = reading.text(number)
    return number if not isinstance(existing, Erased) and _is_of(existing, text) else None


def _is_of(existing: BlockText | Erased, text: BlockText) -> bool:
    """Whether two texts have the content, author and metadata of one block."""
    if isinstance(existing, Erased):
        return True
    same = identity.normalised(existing.content) == identity.normalised(text.content)
    return same and (existing.author, existing.metadata) == (text.author, text.metadata)


def said_again(
    reading: Reading, last: Saying, fresh: BlockLearned, block: BlockId
) -> Decision[Learned]:
    """Return the decision on a text that is known and not archived.

    Args:
        reading: The state before the command.
        last: When it was last said.
        fresh: The drafted block.
        block: Its id.
    """
    said = fresh.created_at_us
    # What is dated is not later than now.
    is_older = said is not None and (
        last.is_now or (last.said_us is not None and said <= last.said_us)
    )
    is_said_before = fresh.category == MESSAGE or is_older
    given = _period(fresh)
    period = last.period if given == ALWAYS else given
    is_known = is_said_before and period == last.period
    if is_known or not within(reading.policy, last.zone, fresh.zone):
        return Decision((), Learned(block_id=block, action="duplicate", saying=last, event_count=0))
    undated = fresh.undated or is_said_before
    event = BlockRestated(
        block_id=block,
        source=fresh.source,
        said_us=None if undated else said,
        undated=undated,
        valid_from_us=given.from_us,
        valid_until_us=given.until_us,
    )
    saying = (
        evolve(last, period=period) if undated else _saying(last.zone, period, said, undated=False)
    )
    return Decision((event,), Learned(block_id=block, action="restated", saying=saying))


def drafted(reading: Reading, lesson: Lesson, *, earlier: Earlier = NOTHING) -> BlockLearned:
    """Return the event of a new block.

    Args:
        reading: The state before the command.
        lesson: As given by the caller.
        earlier: See ``decide_learn``.

    Raises:
        ContentEmpty, ContentTooLong, TagsRefused, FieldRefused, Forbidden: See each.
    """
    policy = reading.policy
    source = checked_name("source", lesson.source)
    undated = lesson.created_at == UNDATED
    content = checked_content(lesson.content, policy)
    tags = checked_tags(lesson.tags, policy)
    author, thread = _optional("author", lesson.author), _optional("thread", lesson.thread)
    own = scoped(lesson.metadata, checked_scope(lesson.scope))
    own = with_key(with_role(own, checked_role(lesson.role)), checked_key(lesson.key))
    metadata = checked_metadata(own, policy)
    category = checked_name("category", lesson.category)
    created_us = None if undated else instant("created_at", lesson.created_at)
    check_claims(reading, author=author, created_us=created_us)
    zone = lesson_zone(reading, source, _optional("zone", lesson.zone))
    message = _message(reading, thread, metadata, earlier) if category == MESSAGE else None
    block = identity.block_id(
        content, salt=reading.salt, author=author, metadata=metadata, message=message
    )
    period = checked_period(lesson.valid_from, lesson.valid_until)
    return BlockLearned(
        block_id=block,
        text=BlockText(
            of=(block,), content=content, tags=tags, author=author, thread=thread, metadata=metadata
        ),
        category=category,
        source=source,
        zone=zone,
        confidence=unit_interval("confidence", lesson.confidence),
        created_at_us=dated(reading, zone, created_us),
        undated=undated,
        expires_at_us=instant("expires_at", lesson.expires_at),
        valid_from_us=period.from_us,
        valid_until_us=period.until_us,
    )


def _optional(name: str, value: str | None) -> str | None:
    return None if value is None else checked_name(name, value)
