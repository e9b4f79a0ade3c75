"""The union of all events, and the envelope in which an event is recorded."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.events.blocks import (
    BlockErased,
    BlockForgotten,
    BlockLearned,
    BlockRestated,
    BlockRezoned,
    BlocksPromoted,
    BlocksQuarantined,
    BlockSuperseded,
    VectorsStaged,
)
from mnemic.kernel.events.decisions import OutcomeRecorded, RecallRecorded
from mnemic.kernel.events.edges import BlocksRelinked, EdgeConnected, EdgeDeferred, EdgeDisconnected
from mnemic.kernel.events.extraction import FactsExtracted
from mnemic.kernel.events.ledger import BlocksComposed, CompositionLabelled, LabelRetracted
from mnemic.kernel.events.space import (
    EmbedderAdopted,
    LossAccepted,
    PolicyAdopted,
    SessionEnded,
    SessionStarted,
    SpaceErased,
    SpaceOpened,
)
from mnemic.kernel.events.upkeep import Curated, Reverted
from mnemic.kernel.model.identity import CommandId, SessionId
from mnemic.kernel.values import Value

Event = (
    SpaceOpened
    | LossAccepted
    | PolicyAdopted
    | EmbedderAdopted
    | SpaceErased
    | SessionStarted
    | SessionEnded
    | BlockLearned
    | BlockRestated
    | BlocksPromoted
    | BlocksRelinked
    | BlockSuperseded
    | BlockForgotten
    | BlockErased
    | BlockRezoned
    | BlocksQuarantined
    | VectorsStaged
    | FactsExtracted
    | EdgeConnected
    | EdgeDeferred
    | EdgeDisconnected
    | RecallRecorded
    | OutcomeRecorded
    | BlocksComposed
    | CompositionLabelled
    | LabelRetracted
    | Curated
    | Reverted
)


@frozen(kw_only=True)
class Recorded(Value):
    """An event with its envelope: version, times, command, actor and session."""

    version: int
    active_us: int
    """Active time, microseconds; never decreases along a log."""
    recorded_us: int
    """Wall clock of the machine that wrote it, microseconds since the epoch, UTC. May step back."""
    command_id: CommandId
    event: Event
    actor: str = "agent"
    session_id: SessionId | None = None
    """The session of the event; None outside of one."""

    @property
    def kind(self) -> type[Event]:
        """The class of the event."""
        return type(self.event)
