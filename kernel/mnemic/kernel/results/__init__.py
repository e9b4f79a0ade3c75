"""What verbs answer: frozen values with one line of summary and a plain dict.

Field names follow the seeds' result types and only ever gain company. Scores that were integers
of nano-units inside are numbers in [0, 1] here, exact to nine decimals.
"""

from __future__ import annotations

from mnemic.kernel.results.analogies import Analogy
from mnemic.kernel.results.backtests import (
    RECORDED,
    Backtest,
    Corrected,
    Estimate,
    Gap,
    PolicyScore,
    Window,
)
from mnemic.kernel.results.blocks import (
    Block,
    ConsolidateResult,
    ErasureReceipt,
    ForgetResult,
    LearnManyResult,
    LearnResult,
    Page,
    ReembedResult,
    ReviseResult,
    RezoneResult,
)
from mnemic.kernel.results.checkpoints import Checkpoint, DropCheckpointsResult
from mnemic.kernel.results.chronicles import (
    DiffPoint,
    DiffResult,
    EdgeChange,
    EvidenceChange,
    PolicyStep,
    RevertConflict,
    RevertResult,
    Rezoned,
    SessionSpan,
    Timeline,
    TimelineBin,
)
from mnemic.kernel.results.compositions import (
    ComposedNeighbour,
    ComposeResult,
    Composition,
    CompositionLabel,
    CompositionMember,
    LabelResult,
)
from mnemic.kernel.results.edges import (
    ConnectByQueryResult,
    ConnectResult,
    ConnectsResult,
    DisconnectResult,
    DisplacedEdge,
    Edge,
    RefusedEdge,
)
from mnemic.kernel.results.exchange import (
    ExportResult,
    ForkResult,
    ImportResult,
    Receipt,
    ReceiptCheck,
    ReceiptDifference,
    ReceiptRow,
)
from mnemic.kernel.results.explanations import BlockExplanation, Explanation, WhyNot
from mnemic.kernel.results.frontier import (
    ClassicCandidate,
    Frontier,
    FrontierCandidate,
    Hindsight,
)
from mnemic.kernel.results.guides import GuideCard, GuideIndex
from mnemic.kernel.results.recalls import (
    Contribution,
    Difference,
    Dropped,
    RecallResult,
    ReplayResult,
    ScoredBlock,
    SuggestedConnection,
)
from mnemic.kernel.results.references import (
    ClaimConflict,
    Contradiction,
    DeepReference,
    ReferencedBlock,
    Superseded,
)
from mnemic.kernel.results.replays import ReplaySummary, SuspectCount
from mnemic.kernel.results.shape import (
    Refusal,
    Result,
    plural,
    unit,
)
from mnemic.kernel.results.spaces import (
    Moment,
    Search,
    SessionResult,
    Status,
    Verification,
)
from mnemic.kernel.results.suppositions import Move, Shift, WhatIf
from mnemic.kernel.results.upkeep import (
    CurateResult,
    OutcomeResult,
)

__all__ = [
    "RECORDED",
    "Analogy",
    "Backtest",
    "Block",
    "BlockExplanation",
    "Checkpoint",
    "ClaimConflict",
    "ClassicCandidate",
    "ComposeResult",
    "ComposedNeighbour",
    "Composition",
    "CompositionLabel",
    "CompositionMember",
    "ConnectByQueryResult",
    "ConnectResult",
    "ConnectsResult",
    "ConsolidateResult",
    "Contradiction",
    "Contribution",
    "Corrected",
    "CurateResult",
    "DeepReference",
    "DiffPoint",
    "DiffResult",
    "Difference",
    "DisconnectResult",
    "DisplacedEdge",
    "DropCheckpointsResult",
    "Dropped",
    "Edge",
    "EdgeChange",
    "ErasureReceipt",
    "Estimate",
    "EvidenceChange",
    "Explanation",
    "ExportResult",
    "ForgetResult",
    "ForkResult",
    "Frontier",
    "FrontierCandidate",
    "Gap",
    "GuideCard",
    "GuideIndex",
    "Hindsight",
    "ImportResult",
    "LabelResult",
    "LearnManyResult",
    "LearnResult",
    "Moment",
    "Move",
    "OutcomeResult",
    "Page",
    "PolicyScore",
    "PolicyStep",
    "RecallResult",
    "Receipt",
    "ReceiptCheck",
    "ReceiptDifference",
    "ReceiptRow",
    "ReembedResult",
    "ReferencedBlock",
    "Refusal",
    "RefusedEdge",
    "ReplayResult",
    "ReplaySummary",
    "Result",
    "RevertConflict",
    "RevertResult",
    "ReviseResult",
    "RezoneResult",
    "Rezoned",
    "ScoredBlock",
    "Search",
    "SessionResult",
    "SessionSpan",
    "Shift",
    "Status",
    "SuggestedConnection",
    "Superseded",
    "SuspectCount",
    "Timeline",
    "TimelineBin",
    "Verification",
    "WhatIf",
    "WhyNot",
    "Window",
    "plural",
    "unit",
]
