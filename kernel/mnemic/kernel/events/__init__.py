"""The events of a log, one module per subject.

Rules of this package:

1. An event is a fact, already decided: what was matched, scored, displaced or refused is in it.
   A replay applies facts; it never decides again, calls a model, or reads a clock.
2. ``Event`` is a closed union. A new kind is added here, to the codec's registry, to every
   projection and to the golden corpus, or the build fails.
3. Fields are only ever added, with a default; a change of meaning is a new wire version.
4. An event itself contains no text from callers and no vector: those are payloads (``texts``).
5. Numbers are integers: scores, weights, signals and rates in nano-units (1e-9), active time and
   wall clock in microseconds.
"""

from __future__ import annotations

from mnemic.kernel.events.blocks import (
    BlockErased,
    BlockForgotten,
    BlockLearned,
    BlockRestated,
    BlockRezoned,
    BlocksPromoted,
    BlocksQuarantined,
    BlockSuperseded,
    NearDuplicate,
    Promotion,
    StagedVector,
    Supersession,
    VectorsStaged,
)
from mnemic.kernel.events.decisions import (
    SIGNALS,
    Answer,
    AnswerRow,
    Exploration,
    OutcomeRecorded,
    Penalty,
    RecallRecorded,
    RefusedBlock,
    RunnerUp,
)
from mnemic.kernel.events.edges import (
    BlocksRelinked,
    EdgeConnected,
    EdgeDeferred,
    EdgeDisconnected,
    Link,
    Matched,
    Pair,
)
from mnemic.kernel.events.envelope import Event, Recorded
from mnemic.kernel.events.extraction import ExtractedFact, FactsExtracted, Quote, RefusedFact
from mnemic.kernel.events.ledger import BlocksComposed, CompositionLabelled, LabelRetracted, Member
from mnemic.kernel.events.space import (
    EmbedderAdopted,
    EmbedderIdentity,
    LossAccepted,
    LostPayload,
    PolicyAdopted,
    SessionEnded,
    SessionStarted,
    SpaceErased,
    SpaceOpened,
)
from mnemic.kernel.events.upkeep import (
    Admission,
    Archival,
    Curated,
    Objection,
    Reverted,
    Withdrawal,
)

__all__ = [
    "SIGNALS",
    "Admission",
    "Answer",
    "AnswerRow",
    "Archival",
    "BlockErased",
    "BlockForgotten",
    "BlockLearned",
    "BlockRestated",
    "BlockRezoned",
    "BlockSuperseded",
    "BlocksComposed",
    "BlocksPromoted",
    "BlocksQuarantined",
    "BlocksRelinked",
    "CompositionLabelled",
    "Curated",
    "EdgeConnected",
    "EdgeDeferred",
    "EdgeDisconnected",
    "EmbedderAdopted",
    "EmbedderIdentity",
    "Event",
    "Exploration",
    "ExtractedFact",
    "FactsExtracted",
    "LabelRetracted",
    "Link",
    "LossAccepted",
    "LostPayload",
    "Matched",
    "Member",
    "NearDuplicate",
    "Objection",
    "OutcomeRecorded",
    "Pair",
    "Penalty",
    "PolicyAdopted",
    "Promotion",
    "Quote",
    "RecallRecorded",
    "Recorded",
    "RefusedBlock",
    "RefusedFact",
    "Reverted",
    "RunnerUp",
    "SessionEnded",
    "SessionStarted",
    "SpaceErased",
    "SpaceOpened",
    "StagedVector",
    "Supersession",
    "VectorsStaged",
    "Withdrawal",
]
