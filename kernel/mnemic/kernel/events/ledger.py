"""Events of compositions of blocks, and of their labels."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.model.identity import BlockId, CompositionId
from mnemic.kernel.model.texts import (
    CompositionText,
    Erased,
    LabelText,
    MemberText,
    Remark,
)
from mnemic.kernel.values import Value


@frozen(kw_only=True)
class Member(Value):
    """One block's part in a composition, kept as history even if the block changes."""

    block_id: BlockId
    role: str
    """One of ``composition.ROLES``."""
    rank: int = 0
    trust: int | None = None
    """Trust at the time, nano-units."""
    score: int | None = None
    """Nano-units."""
    text: MemberText | Erased | None = None


@frozen(kw_only=True)
class BlocksComposed(Value):
    """Blocks were used together in one piece of reasoning."""

    members: tuple[Member, ...]
    """By rank, role and id."""
    composition_id: CompositionId | None = None
    """None: the id follows from the version."""
    text: CompositionText | Erased | None = None
    tool: str = "compose"
    mode: str = "compose"
    status: str | None = None
    confidence: int | None = None
    """Nano-units, [0, 1]."""
    consume: str = "all"
    """One of ``composition.CONSUMES``."""


@frozen(kw_only=True)
class CompositionLabelled(Value):
    """A label says what the outcome of a composition was; it can have any number of labels."""

    composition_id: CompositionId
    label: str
    """One of ``composition.LABELS``."""
    source: str = "user"
    confidence_delta: int | None = None
    """Nano-units, [-1, 1]."""
    text: LabelText | Erased | None = None


@frozen(kw_only=True)
class LabelRetracted(Value):
    """A label no longer counts; the event that set it stays in the log."""

    composition_id: CompositionId
    label_version: int
    """Version of the event that set the label."""
    reason: Remark | Erased | None = None
