"""A stretch of the log as a revert sees it: what it changed, and what became of that later.

A thing counts as changed if it stood otherwise at the end of the stretch than before it, and still
stands otherwise now. Beside each stands the first later version that changed it again, or None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from attrs import frozen

from mnemic.kernel.reading import Reading

Later: TypeAlias = int | None
Ends: TypeAlias = tuple[int, int]


@frozen(eq=False, kw_only=True)
class Stretch:
    """What the events from *first* to *last* changed.

    Blocks are named by number, pairs with the lower number first.
    """

    first: int
    last: int
    before: Reading
    """The state before it."""
    life: Mapping[int, Later]
    """What a block is: status, tags, zone and the like; vectors aside."""
    strength: Mapping[int, Later]
    evidence: Mapping[int, Later]
    """Outcomes and reviews."""
    uses: Mapping[int, Later]
    edges: Mapping[Ends, Later]
    pending: Mapping[Ends, Later]
    """Also what began to wait in the stretch and became an edge after it."""
    barred: Mapping[Ends, Later]
    labels: Mapping[int, Later]
    """By the version that set it."""
    policy: Mapping[str, Later]
    """Under the one key ``policy``."""
    spoken: Mapping[int, int]
    """Blocks of ``life`` of which something was said after the stretch: an outcome, or a connection
    that an agent or an outcome made or renewed and that stands. With the first version that did."""
    successions: tuple[tuple[int, int], ...]
    """Blocks that were superseded at the end of the stretch and not before it, and by which."""
    succeeded: frozenset[int]
    """Blocks of ``life`` that another one took the place of after the stretch."""
    unvectored: frozenset[int]
    """Blocks of ``life`` without a vector of the embedder in force, should they be active again."""
