"""How a block hands over to its successor, without silent loss."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from attrs import frozen

from mnemic.kernel.decay import tier_rate
from mnemic.kernel.events import Supersession
from mnemic.kernel.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import Reading

_HANDED_OVER = ("agent", "outcome")
"""Origins of the edges that move; the others were about the old words."""


@frozen(kw_only=True)
class Heir:
    """The block that takes over, as it will be without its inheritance."""

    id: BlockId
    number: int | None
    """None: learned in this very command."""
    category: str
    tags: tuple[str, ...]
    zone: str


def succeed(reading: Reading, old: int, heir: Heir, *, cosine: int | None = None) -> Supersession:
    """Decide what of *old* goes on in *heir*.

    Args:
        reading: The state before.
        old: Number of the block that is archived.
        heir: Its successor.
        cosine: Nano-units; None when a caller asked for it.

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
        cosine=cosine,
        moved=tuple(reading.id(other) for other in moved),
        lost=tuple(reading.id(other) for other in lost),
        alpha=facts.alpha - prior,
        beta=facts.beta - prior,
        retrievals=facts.retrievals,
        rate=merged if merged != own else None,
    )


def inherited(own: Collection[str], old: Iterable[str], policy: Policy) -> tuple[str, ...]:
    """Return *own* tags, sorted, with those of *old* that fit below the limit."""
    room = max(0, policy.tags_max - len(own))
    taken = sorted({*old} - {*own})[:room]
    return tuple(sorted([*own, *taken]))


def _edges(reading: Reading, old: int, new: int | None) -> tuple[list[int], list[int]]:
    """Return the other ends of the edges that move, and of those that find no room."""
    room = reading.policy.degree_cap
    if new is not None:
        # An edge between the two goes with the old block, so its place is free.
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
