"""forget, erase, revise and rezone: what a caller may do to one block on purpose."""

from __future__ import annotations

from attrs import evolve

from mnemic.kernel.decay import tier_rate
from mnemic.kernel.decisions.clearance import check_reach, check_zone
from mnemic.kernel.decisions.connecting import find, remark_text
from mnemic.kernel.decisions.learning import NAME_LENGTH_MAX, Learned, Lesson, decide_learn
from mnemic.kernel.decisions.succession import Heir, succeed
from mnemic.kernel.errors import BlockNotFound, FieldRefused
from mnemic.kernel.events import (
    BlockErased,
    BlockForgotten,
    BlockLearned,
    BlockRezoned,
    BlockSuperseded,
)
from mnemic.kernel.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import ACTIVE, ARCHIVED, BlockFacts, Reading
from mnemic.kernel.texts import BlockText, Erased, Remark


def decide_forget(reading: Reading, block_id: str, reason: str | None) -> BlockForgotten | None:
    """Archive a block on request; None when it is archived already.

    Raises:
        BlockNotFound: It was never learned.
        Forbidden: It is above the zone of whoever asks.
        NoteTooLong, FieldRefused: The reason is too long, or no text.
    """
    facts = _known(reading, block_id)
    check_reach(reading, facts)
    remark = _remark(reading, facts.id, reason)
    return None if facts.status == ARCHIVED else BlockForgotten(block_id=facts.id, reason=remark)


def decide_erase(reading: Reading, block_id: str) -> BlockErased | None:
    """Destroy a block's payloads; None when they are destroyed already.

    Raises:
        BlockNotFound: It was never learned.
        Forbidden: It is above the zone of whoever asks.
    """
    facts = _known(reading, block_id)
    check_reach(reading, facts)
    if isinstance(reading.text(facts.number), Erased):
        return None
    return BlockErased(block_id=facts.id)


def decide_rezone(
    reading: Reading, block_id: str, zone: str, reason: str | None
) -> BlockRezoned | None:
    """Move a block to another trust zone; None when it is there already.

    Raises:
        BlockNotFound, BlockNotActive, FieldRefused, Forbidden: See each.
    """
    facts = find(reading, block_id)
    if not isinstance(zone, str) or not 0 < len(zone.strip()) <= NAME_LENGTH_MAX:
        raise FieldRefused(f"zone must be a short name, got {zone!r}", field="zone")
    check_reach(reading, facts)
    check_zone(reading, zone.strip())
    remark = _remark(reading, facts.id, reason)
    if facts.zone == zone.strip():
        return None
    return BlockRezoned(
        block_id=facts.id,
        zone=zone.strip(),
        reason=remark,
        rate=_rate(reading.policy, facts, zone.strip()),
    )


def _rate(policy: Policy, facts: BlockFacts, zone: str) -> int | None:
    """Return how fast an active block fades from now on, if another zone changes that."""
    before, after = (
        tier_rate(facts.tags, facts.category, policy, privileged=policy.privileges(each))
        for each in (facts.zone, zone)
    )
    return None if facts.status != ACTIVE or after == before else after


def decide_revise(
    reading: Reading, block_id: str, content: str, reason: str | None
) -> tuple[BlockLearned, BlockSuperseded]:
    """Let *content* take the place of a block: learned now, the old one archived at once.

    Everything but the words is taken over: category, source, zone, confidence, author, thread,
    metadata, and when it expires. Tags and edges move as with any supersession.

    Raises:
        BlockNotFound, BlockNotActive, Forbidden: The block cannot be revised.
        FieldRefused: The new words are the old words, or those of another standing block.
    """
    facts = find(reading, block_id)
    check_reach(reading, facts)
    old = reading.text(facts.number)
    if isinstance(old, Erased):
        # Erased since: this is an old command asked again, and nothing will be written.
        old = BlockText(content="")
    event = _revision(decide_learn(reading, Lesson(content=content)), facts, old)
    heir = Heir(
        id=event.block_id,
        number=reading.number(event.block_id),
        category=event.category,
        tags=event.text.tags if isinstance(event.text, BlockText) else (),
        zone=event.zone,
    )
    return event, BlockSuperseded(
        supersession=succeed(reading, facts.number, heir),
        reason=_remark(reading, facts.id, reason),
    )


def _revision(learned: Learned, facts: BlockFacts, old: BlockText) -> BlockLearned:
    """Return the new words with everything that was said about the old ones."""
    if learned.event is None:
        what = "the words it has" if learned.block_id == facts.id else "those of another block"
        raise FieldRefused(
            f"the revision of {facts.id} has {what}",
            recovery="Give different words, or connect the two blocks.",
            field="content",
        )
    text = learned.event.text
    assert isinstance(text, BlockText)  # noqa: S101 - it was learned just now
    return evolve(
        learned.event,
        text=evolve(text, author=old.author, thread=old.thread, metadata=old.metadata),
        category=facts.category,
        source=facts.source,
        zone=facts.zone,
        confidence=facts.confidence,
        expires_at_us=facts.expires_us,
    )


def _known(reading: Reading, block_id: str) -> BlockFacts:
    number = reading.number(block_id)
    if number is None:
        raise BlockNotFound(f"no block has the id {block_id!r}", block_id=block_id)
    return reading.facts(number)


def _remark(reading: Reading, block: BlockId, reason: str | None) -> Remark | None:
    words = remark_text("reason", reason, reading.policy)
    return None if words is None else Remark(of=(block,), text=words)
