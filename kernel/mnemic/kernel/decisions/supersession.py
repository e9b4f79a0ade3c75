"""Supersession: what a block hands over to its successor, with every loss recorded.

A record is a key within a scope (``mnemic.kernel.scope``):

1. It has one current text: the block of that key and scope that is not archived and was learned
   last. Others that are not archived, as after a revert, are forgotten with it.
2. Learning that text again restates it. With another ``expires_at`` it is forgotten and learned
   again, since a restatement moves no expiry.
3. A text that the record had earlier is reactivated, like any archived text.

Source: DOMAIN section 3; ADR 59.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from attrs import frozen

from mnemic.kernel.decisions.authorization import check_reach
from mnemic.kernel.events import (
    BlockForgotten,
    BlockLearned,
    BlockSuperseded,
    Event,
    Supersession,
)
from mnemic.kernel.model.blocks import ARCHIVED, BlockFacts
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import Reading
from mnemic.kernel.scope import key_of, scope_of
from mnemic.kernel.scoring.decay import tier_rate
from mnemic.kernel.values import Value

_HANDED_OVER = ("agent", "outcome")
"""Origins of the edges that move; edges of other origins depend on the old text."""


@frozen(kw_only=True)
class Heir(Value):
    """The successor, without what it takes over."""

    id: BlockId
    number: int | None
    """None: learned in the same command."""
    category: str
    tags: tuple[str, ...]
    zone: str


def succeed(reading: Reading, old: int, heir: Heir, *, relation: str = "") -> Supersession:
    """Decide what *heir* takes over from *old*.

    Args:
        reading: The state before the command.
        old: Number of the block that is archived.
        heir: Its successor.
        relation: Why, see ``Supersession``.

    Source: DOMAIN section 3.
    """
    policy = reading.policy
    facts = reading.facts(old)
    prior = policy.prior
    moved, lost = _edges(reading, old, heir.number)
    privileged = policy.privileges(heir.zone)
    own = tier_rate(heir.tags, heir.category, policy, privileged=privileged)
    tags = inherited(heir.tags, facts.tags, policy)
    merged = tier_rate(tags, heir.category, policy, privileged=privileged)
    return Supersession(
        old=facts.id,
        new=heir.id,
        relation=relation,
        moved=tuple(reading.id(other) for other in moved),
        lost=tuple(reading.id(other) for other in lost),
        alpha=facts.alpha - prior,
        beta=facts.beta - prior,
        retrievals=facts.retrievals,
        rate=merged if merged != own else None,
    )


def inherited(own: Collection[str], old: Iterable[str], policy: Policy) -> tuple[str, ...]:
    """Return *own* tags, sorted, with those of *old* that fit within the limit."""
    room = max(0, policy.tags_max - len(own))
    taken = sorted({*old} - {*own})[:room]
    return tuple(sorted([*own, *taken]))


def _edges(reading: Reading, old: int, new: int | None) -> tuple[list[int], list[int]]:
    """Return the other ends of the edges that move, and of those that exceed the degree cap."""
    room = reading.policy.degree_cap
    if new is not None:
        # An edge between the two is removed with the old block, so its place is free.
        room += (reading.edge(old, new) is not None) - reading.degree(new)
    moved: list[int] = []
    lost: list[int] = []
    for edge in reading.edges_of(old):
        other = edge.other(old)
        if edge.origin not in _HANDED_OVER or other == new:
            continue
        linked = new is not None and reading.edge(new, other) is not None
        (lost if linked or len(moved) >= room else moved).append(other)
    return moved, lost


# --- records ---------------------------------------------------------------------------------


class Record(NamedTuple):
    """A key within a scope."""

    key: str
    scope: tuple[tuple[str, str], ...]


def record_of(fresh: BlockLearned) -> Record:
    """Return the key and the scope of a drafted block that has a key."""
    assert isinstance(fresh.text, BlockText)  # noqa: S101 - it was given just now
    key = key_of(fresh.text.metadata)
    assert key is not None  # noqa: S101 - the same
    return Record(key, scope_of(fresh.text.metadata))


def current_blocks(
    reading: Reading, record: Record, *, gone: Collection[BlockId]
) -> list[BlockFacts]:
    """Return the blocks of a record that are not archived, the latest last.

    Args:
        reading: The state before the command.
        record: Their key and scope.
        gone: Blocks that the same command archives.
    """
    found: list[BlockFacts] = []
    for number in reading.keyed(record.key):
        text, facts = reading.text(number), reading.facts(number)
        if facts.status == ARCHIVED or facts.id in gone or not isinstance(text, BlockText):
            continue
        if scope_of(text.metadata) == record.scope:
            found.append(facts)
    return found


def replacement(
    reading: Reading, fresh: BlockLearned, current: list[BlockFacts]
) -> tuple[Event, ...]:
    """Return the events that archive *current*, to follow the one that learns *fresh*.

    Raises:
        Forbidden: A current text is above the writer's zone.
    """
    for facts in current:
        check_reach(reading, facts)
    *others, last = current
    tags = fresh.text.tags if isinstance(fresh.text, BlockText) else ()
    heir = Heir(id=fresh.block_id, number=None, category=fresh.category, tags=tags, zone=fresh.zone)
    return (
        *(BlockForgotten(block_id=each.id) for each in others),
        BlockSuperseded(supersession=succeed(reading, last.number, heir)),
    )


def renewal(reading: Reading, fresh: BlockLearned, current: BlockFacts) -> tuple[Event, ...]:
    """Return the events that give the current text the expiry of *fresh*.

    Raises:
        Forbidden: It is above the writer's zone.
    """
    check_reach(reading, current)
    return (BlockForgotten(block_id=current.id), fresh)
