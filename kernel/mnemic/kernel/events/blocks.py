"""Events of blocks, from the inbox to the archive."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.events.edges import Link
from mnemic.kernel.events.space import EmbedderIdentity
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import (
    AnalysisText,
    BlockText,
    Embedding,
    Erased,
    Remark,
)
from mnemic.kernel.values import Value


@frozen(kw_only=True)
class BlockLearned(Value):
    """A block entered the inbox: for the first time, or again after it was archived."""

    block_id: BlockId
    text: BlockText | Erased
    category: str = "knowledge"
    source: str = "api"
    zone: str = "trusted"
    confidence: int = 800_000_000
    """Nano-units, [0, 1]."""
    created_at_us: int | None = None
    """When the content was true or said; None: when it was learned (see the envelope)."""
    undated: bool = False
    """Whether its age is unknown."""
    expires_at_us: int | None = None
    valid_from_us: int | None = None
    """Since when its fact holds in the world; None: since ever, or unknown."""
    valid_until_us: int | None = None
    """Until when its fact holds, exclusive; None: the end is open."""


@frozen(kw_only=True)
class BlockRestated(Value):
    """A known block was said again: the date at which it was last said moves.

    One that was said earlier than is known, with another period, leaves the date: it is undated.
    """

    block_id: BlockId
    source: str = "api"
    said_us: int | None = None
    """When it was said again; None: when it was recorded (see the envelope)."""
    undated: bool = False
    """Whether that date is unknown; the known date stays."""
    valid_from_us: int | None = None
    """Since when its fact holds. With either end given, the period of the block is this one; with
    none it stays."""
    valid_until_us: int | None = None
    """Until when its fact holds, exclusive."""


@frozen(kw_only=True)
class Supersession(Value):
    """*new* replaced *old*: old is archived and its evidence is carried over to new."""

    old: BlockId
    new: BlockId
    cosine: int | None = None
    """Nano-units; set by releases before 0.5.0, which compared vectors."""
    relation: str = ""
    """``same`` or ``extends``: how the text of *new* relates to that of *old*; "" when a caller
    requested it, or before 0.5.0."""
    moved: tuple[BlockId, ...] = ()
    """Other ends of the edges that moved from old to new."""
    lost: tuple[BlockId, ...] = ()
    """Other ends of agent and outcome edges that could not move."""
    alpha: int = 0
    """Outcome evidence carried over, nano-units."""
    beta: int = 0
    retrievals: int = 0
    rate: int | None = None
    """New decay rate of *new*, if the tags it took over change its tier."""


@frozen(kw_only=True)
class NearDuplicate(Value):
    """Two active blocks with almost the same text; both stay."""

    block_id: BlockId
    other: BlockId
    cosine: int
    """Nano-units."""


@frozen(kw_only=True)
class Promotion(Value):
    block_id: BlockId
    vector: Embedding | Erased
    rate: int = 10_000_000
    """Decay per active hour, nano-units (standard .01)."""
    analysis: AnalysisText | Erased | None = None
    analysed: str = "none"
    """``none`` (no analyst), ``done`` or ``failed``."""
    alignment: int | None = None
    """Self-alignment, nano-units."""
    supersession: Supersession | None = None
    rarity: int = -1
    """How unusual its words were when it was learned, nano-units; -1 before release 0.5.0, when it
    was computed from the texts of the log, erased or not."""
    typicality: int = -1
    """How typical its vector was of those before it, nano-units (``kernel.scoring.typicality``); -1
    before release 0.5.0, when it was not recorded."""


@frozen(kw_only=True)
class BlocksPromoted(Value):
    """One committed chunk of a consolidation.

    Applied in this order: each promotion with its supersession, one after the other; then the
    near-duplicates; then the links.
    """

    promotions: tuple[Promotion, ...]
    near: tuple[NearDuplicate, ...] = ()
    links: tuple[Link, ...] = ()


@frozen(kw_only=True)
class BlockSuperseded(Value):
    """A caller revised a block; the preceding event learned the new text."""

    supersession: Supersession
    reason: Remark | Erased | None = None


@frozen(kw_only=True)
class BlockForgotten(Value):
    """A block was archived on request; its text stays readable in views of the past."""

    block_id: BlockId
    reason: Remark | Erased | None = None


@frozen(kw_only=True)
class BlockErased(Value):
    """The block's payloads and their keys are destroyed with this event."""

    block_id: BlockId
    context: tuple[BlockId, ...] | None = None
    """Blocks whose texts were matched together with its own, as their neighbours in a
    conversation; None before release 0.5.0, when it was not recorded."""


@frozen(kw_only=True)
class BlockRezoned(Value):
    block_id: BlockId
    zone: str
    reason: Remark | Erased | None = None
    rate: int | None = None
    """New decay per active hour in nano-units, if the zone changes the privileges of its tags;
    None: unchanged."""


@frozen(kw_only=True)
class BlocksQuarantined(Value):
    """Blocks were taken out of recall, or released again. Nothing else about them changes."""

    block_ids: tuple[BlockId, ...]
    """Those that it changes; sorted."""
    released: bool = False
    """Whether they are recalled again from here on."""
    reason: Remark | Erased | None = None


@frozen(kw_only=True)
class StagedVector(Value):
    block_id: BlockId
    vector: Embedding | Erased
    typicality: int = -1
    """As ``Promotion.typicality``."""


@frozen(kw_only=True)
class VectorsStaged(Value):
    """A chunk of a re-embedding: nothing changes until the embedder is adopted."""

    embedder: EmbedderIdentity
    vectors: tuple[StagedVector, ...]
