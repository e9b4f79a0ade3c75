"""Supersession: what a block hands over to its successor, with every loss recorded."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from attrs import frozen

from mnemic.kernel.events import Supersession
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import Reading
from mnemic.kernel.scoring.decay import tier_rate

_HANDED_OVER = ("agent", "outcome")
"""Origins of the edges that move; edges of other origins depend on the old text."""


@frozen(kw_only=True)
class Heir:
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
