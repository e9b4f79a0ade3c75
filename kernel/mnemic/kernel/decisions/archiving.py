"""Decisions of forget, erase, revise, rezone and quarantine: explicit commands on blocks.

And of learn_many: a batch that learns and forgets in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from attrs import evolve

from mnemic.kernel.decision import Decision, single
from mnemic.kernel.decisions.authorization import check_reach, check_zone, inbox_room
from mnemic.kernel.decisions.connecting import find, known, remark_text
from mnemic.kernel.decisions.learning import (
    Earlier,
    Learned,
    Lesson,
    Saying,
    decide_fresh,
    decide_learn,
    drafted,
    revised,
)
from mnemic.kernel.decisions.supersession import Heir, Record, succeed
from mnemic.kernel.errors import FieldRefused, InboxFull, Refused
from mnemic.kernel.events import (
    BlockErased,
    BlockForgotten,
    BlockLearned,
    BlockRezoned,
    BlocksQuarantined,
    BlockSuperseded,
    Supersession,
)
from mnemic.kernel.model.blocks import ACTIVE, ARCHIVED, BlockFacts
from mnemic.kernel.model.identity import BlockId, normalised
from mnemic.kernel.model.periods import ALWAYS, Period
from mnemic.kernel.model.texts import BlockText, Erased, Remark
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import Reading
from mnemic.kernel.scoring.decay import tier_rate
from mnemic.kernel.validation import NAME_LENGTH_MAX, check_visible


def decide_forget(reading: Reading, block_id: str, reason: str | None) -> Decision[None]:
    """Archive a block on request; no event if it is archived already.

    Raises:
        BlockNotFound: The block was never learned.
        Forbidden: The block is above the writer's zone.
        NoteTooLong, FieldRefused: The reason is too long, or not text.
    """
    facts = known(reading, block_id)
    check_reach(reading, facts)
    remark = _remark(reading, facts.id, reason)
    is_archived = facts.status == ARCHIVED
    return single(None if is_archived else BlockForgotten(block_id=facts.id, reason=remark))


def decide_forget_many(
    reading: Reading, block_ids: Iterable[str], reason: str | None
) -> Decision[None]:
    """Archive blocks on request; no event for those that are archived already.

    Raises:
        BlockNotFound, Forbidden, NoteTooLong, FieldRefused: As for ``decide_forget``.
    """
    decided = (decide_forget(reading, block, reason) for block in dict.fromkeys(block_ids))
    return Decision(tuple(event for each in decided for event in each.events), None)


def decide_learn_many(
    reading: Reading,
    lessons: Sequence[Lesson | Refused],
    *,
    forget: Sequence[str] = (),
    atomic: bool = False,
) -> Decision[tuple[Learned | Refused, ...]]:
    """Decide lessons one after the other, each on the result of the earlier ones.

    Args:
        reading: The state before the command.
        lessons: As given by the caller; a refusal for each input that was not a lesson.
        forget: Blocks that are archived before.
        atomic: Whether the refusal of one lesson refuses all.
    Returns:
        As the result: what each lesson did, or its refusal, which does not affect those after it.

    Raises:
        InboxFull: The writer's zone has no room for any of them.
        FieldRefused: There are more than could ever wait in the inbox.
        BlockNotFound, Forbidden: A block cannot be forgotten.
        Refused: With *atomic*, the first refusal of a lesson.
    """
    room, most = inbox_room(reading), reading.policy.inbox_zone_max
    if room is not None and len(lessons) > most:
        raise FieldRefused(
            f"{len(lessons)} lessons at once, the limit for the zone {reading.highest!r} is {most}",
            recovery="Learn them in several batches.",
            field="lessons",
        )
    events = list(decide_forget_many(reading, forget, None).events)
    gone = frozenset(event.block_id for event in events if isinstance(event, BlockForgotten))
    results: list[Learned | Refused] = []
    said: dict[BlockId, Saying] = {}
    records: set[Record] = set()
    created = 0
    for lesson in lessons:
        try:
            if isinstance(lesson, Refused):
                raise lesson
            earlier = Earlier(
                created=created, said=said, records=records, forgotten=gone, room=room
            )
            decided = decide_learn(reading, lesson, earlier=earlier)
        except Refused as refusal:
            if atomic or (isinstance(refusal, InboxFull) and not said):
                raise  # one refusal says it for all
            results.append(refusal)
            continue
        learned = decided.result
        said[learned.block_id] = learned.saying
        created += learned.is_new
        if learned.record is not None:
            records.add(learned.record)
        room = None if room is None else room - learned.enters_inbox
        events.extend(decided.events)
        results.append(learned)
    return Decision(tuple(events), tuple(results))


def decide_erase(reading: Reading, block_ids: Sequence[str]) -> Decision[None]:
    """Destroy the payloads of blocks, and of facts that an extractor found in them alone.

    There is no event for those whose payloads are destroyed already. Their keys are destroyed in
    any case: a copy of them may have been restored since.

    Raises:
        BlockNotFound: One of the blocks was never learned.
        Forbidden: One of them is above the writer's zone.
    """
    facts = [known(reading, block_id) for block_id in dict.fromkeys(block_ids)]
    alone, _ = reading.resting_on([each.number for each in facts])
    facts += map(reading.facts, alone)
    for each in facts:
        check_reach(reading, each)
    events = tuple(
        BlockErased(
            block_id=each.id,
            context=tuple(reading.id(number) for number in reading.context(each.number)),
        )
        for each in facts
        if not isinstance(reading.text(each.number), Erased)
    )
    return Decision(events, None, erase=tuple(each.id for each in facts))


def decide_rezone(reading: Reading, block_id: str, zone: str, reason: str | None) -> Decision[None]:
    """Move a block to another trust zone; no event if it is there already.

    Raises:
        BlockNotFound, BlockNotActive, FieldRefused, Forbidden: See each.
    """
    facts = find(reading, block_id)
    if not isinstance(zone, str) or not 0 < len(zone.strip()) <= NAME_LENGTH_MAX:
        raise FieldRefused(f"zone must be a short name, got {zone!r}", field="zone")
    check_visible("zone", zone.strip())
    check_reach(reading, facts)
    check_zone(reading, zone.strip())
    remark = _remark(reading, facts.id, reason)
    if facts.zone == zone.strip():
        return single(None)
    return single(
        BlockRezoned(
            block_id=facts.id,
            zone=zone.strip(),
            reason=remark,
            rate=_rate(reading.policy, facts, zone.strip()),
        )
    )


def _rate(policy: Policy, facts: BlockFacts, zone: str) -> int | None:
    """Return the new decay rate of an active block, or None if the zone does not change it."""
    before, after = (
        tier_rate(facts.tags, facts.category, policy, privileged=policy.privileges(each))
        for each in (facts.zone, zone)
    )
    return None if facts.status != ACTIVE or after == before else after


def decide_revise(
    reading: Reading,
    block_id: str,
    content: str,
    reason: str | None,
    *,
    period: Period = ALWAYS,
    created_at: str | datetime | None = None,
) -> Decision[Supersession]:
    """Replace the text of a block: *content* is learned now and the old block archived at once.

    Everything but the text is kept: category, source, zone, confidence, author, thread, metadata
    and expiry, and the period in which its fact holds unless *period* is another than always. Tags
    and edges move as with any supersession. It is said now, or at *created_at*.

    Raises:
        BlockNotFound, BlockNotActive, Forbidden: The block cannot be revised.
        FieldRefused: The new text is the old text, or that of another block that is not archived.
    """
    facts = find(reading, block_id)
    check_reach(reading, facts)
    old = reading.text(facts.number)
    if isinstance(old, Erased):
        # Erased later: this is a repeated old command, and nothing will be written.
        old = BlockText(content="")
    if period != ALWAYS:
        facts = evolve(facts, period=period)
    lesson = Lesson(content=content, created_at=created_at)
    event = _revision(reading, drafted(reading, lesson), facts, old)
    # It is new or was archived, so it has no edges; its tags will be those of the old block.
    heir = Heir(id=event.block_id, number=None, category=event.category, tags=(), zone=event.zone)
    change = succeed(reading, facts.number, heir)
    superseded = BlockSuperseded(supersession=change, reason=_remark(reading, facts.id, reason))
    return Decision((event, superseded), change)


def _revision(
    reading: Reading, fresh: BlockLearned, facts: BlockFacts, old: BlockText
) -> BlockLearned:
    """Return the event of the new text, with the descriptive fields of the old one."""
    text = fresh.text
    assert isinstance(text, BlockText)  # noqa: S101 - it was given just now
    fresh = revised(
        reading,
        fresh,
        evolve(text, author=old.author, thread=old.thread, metadata=old.metadata),
        category=facts.category,
        source=facts.source,
        zone=facts.zone,
        confidence=facts.confidence,
        expires_at_us=facts.expires_us,
        valid_from_us=facts.period.from_us,
        valid_until_us=facts.period.until_us,
    )
    decided = decide_fresh(reading, fresh)
    (event,) = decided.events or (None,)
    same = decided.result.block_id == facts.id or normalised(text.content) == normalised(
        old.content
    )
    if same or not isinstance(event, BlockLearned):
        what = "the text it has already" if same else "the text of another block"
        raise FieldRefused(
            f"the revision of {facts.id} has {what}",
            recovery="Give a different text, or connect the two blocks. To change only when its "
            "fact holds, learn the text again with valid_from or valid_until.",
            field="content",
        )
    return event


def decide_quarantine(
    reading: Reading, numbers: Iterable[int], *, release: bool, reason: str | None
) -> Decision[None]:
    """Put blocks into quarantine or release them; no event if all of them are already so.

    Args:
        reading: The state before the command.
        numbers: The selected blocks.
        release: Whether to release them.
        reason: The caller's reason.

    Raises:
        NoteTooLong, FieldRefused: The reason is too long, or not text.
    """
    words = remark_text("reason", reason, reading.policy)
    changed = [number for number in numbers if reading.is_quarantined(number) == release]
    if not changed:
        return single(None)
    return single(
        BlocksQuarantined(
            block_ids=tuple(sorted(map(reading.id, changed))),
            released=release,
            reason=None if words is None else Remark(text=words),
        )
    )


def _remark(reading: Reading, block: BlockId, reason: str | None) -> Remark | None:
    words = remark_text("reason", reason, reading.policy)
    return None if words is None else Remark(of=(block,), text=words)
