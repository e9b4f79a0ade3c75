"""Results of operations: frozen values with a one-line summary and a conversion to plain dicts.

Field names follow the seeds' result types; fields are added, never removed. Scores, which are
integers of nano-units internally, are numbers in [0, 1] here, exact to nine decimals.

A class is imported when it is first asked for: making them all takes a tenth of a second, and a
process that only learns and recalls uses few.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mnemic.kernel.late import late_export
from mnemic.kernel.results.shape import NAMED_MAX, Refusal, Result, ResultList, plural, unit

if TYPE_CHECKING:
    from mnemic.kernel.results.backtests import (
        RECORDED,
        Backtest,
        Corrected,
        Estimate,
        Gap,
        NetGap,
        PolicyChange,
        PolicyScore,
        Tuning,
        Window,
    )
    from mnemic.kernel.results.blocks import (
        Block,
        ConsolidateResult,
        ContradictedPair,
        EraseManyReceipt,
        ErasureReceipt,
        ForgetManyResult,
        ForgetResult,
        LearnManyResult,
        LearnResult,
        Origin,
        Page,
        ReembedResult,
        Replacement,
        ReviseResult,
        RezoneResult,
        Trajectory,
        TrajectoryPoint,
    )
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
    from mnemic.kernel.results.core_answers import (
        CoreBlock,
        CoreRecallResult,
        CoreScoredBlock,
        detailed,
    )
    from mnemic.kernel.results.descents import (
        AddResult,
        AdoptExtractionResult,
        ChangedDecision,
        Descendant,
        Descent,
        ExtractionResult,
        FactChange,
        FactResult,
        QuarantineResult,
        Quotation,
        ReExtractResult,
        RefusedFactResult,
    )
    from mnemic.kernel.results.edges import (
        Analogy,
        ConnectByQueryResult,
        ConnectResult,
        ConnectsResult,
        DisconnectResult,
        DisplacedEdge,
        Edge,
        GraphBlock,
        RefusedEdge,
        Subgraph,
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
    from mnemic.kernel.results.explanations import (
        BlockExplanation,
        Explanation,
        NearMiss,
        ProbabilityTerm,
        WhyNot,
    )
    from mnemic.kernel.results.frontier import (
        Calibration,
        ClassicCandidate,
        Frontier,
        FrontierCandidate,
    )
    from mnemic.kernel.results.guides import GuideCard, GuideIndex
    from mnemic.kernel.results.recalls import (
        DETAILS,
        CalibrateResult,
        Contribution,
        Detail,
        Difference,
        Dropped,
        RecallResult,
        ReplayResult,
        ScoredBlock,
        SuggestedConnection,
        checked_detail,
    )
    from mnemic.kernel.results.references import (
        ClaimConflict,
        Contradiction,
        DeepReference,
        ReferencedBlock,
        Superseded,
    )
    from mnemic.kernel.results.replays import (
        AnsweredBlock,
        DecisionPage,
        DecisionSummary,
        Move,
        ReplaySummary,
        Shift,
        SuspectCount,
        WhatIf,
    )
    from mnemic.kernel.results.spaces import (
        Checkpoint,
        DropCheckpointsResult,
        LogEntry,
        Search,
        SessionResult,
        Status,
        Verification,
    )
    from mnemic.kernel.results.upkeep import (
        CurateResult,
        OutcomeResult,
    )

__all__ = [
    "DETAILS",
    "NAMED_MAX",
    "RECORDED",
    "AddResult",
    "AdoptExtractionResult",
    "Analogy",
    "AnsweredBlock",
    "Backtest",
    "Block",
    "BlockExplanation",
    "CalibrateResult",
    "Calibration",
    "ChangedDecision",
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
    "ContradictedPair",
    "Contradiction",
    "Contribution",
    "CoreBlock",
    "CoreRecallResult",
    "CoreScoredBlock",
    "Corrected",
    "CurateResult",
    "DecisionPage",
    "DecisionSummary",
    "DeepReference",
    "Descendant",
    "Descent",
    "Detail",
    "DiffPoint",
    "DiffResult",
    "Difference",
    "DisconnectResult",
    "DisplacedEdge",
    "DropCheckpointsResult",
    "Dropped",
    "Edge",
    "EdgeChange",
    "EraseManyReceipt",
    "ErasureReceipt",
    "Estimate",
    "EvidenceChange",
    "Explanation",
    "ExportResult",
    "ExtractionResult",
    "FactChange",
    "FactResult",
    "ForgetManyResult",
    "ForgetResult",
    "ForkResult",
    "Frontier",
    "FrontierCandidate",
    "Gap",
    "GraphBlock",
    "GuideCard",
    "GuideIndex",
    "ImportResult",
    "LabelResult",
    "LearnManyResult",
    "LearnResult",
    "LogEntry",
    "Move",
    "NearMiss",
    "NetGap",
    "Origin",
    "OutcomeResult",
    "Page",
    "PolicyChange",
    "PolicyScore",
    "PolicyStep",
    "ProbabilityTerm",
    "QuarantineResult",
    "Quotation",
    "ReExtractResult",
    "RecallResult",
    "Receipt",
    "ReceiptCheck",
    "ReceiptDifference",
    "ReceiptRow",
    "ReembedResult",
    "ReferencedBlock",
    "Refusal",
    "RefusedEdge",
    "RefusedFactResult",
    "Replacement",
    "ReplayResult",
    "ReplaySummary",
    "Result",
    "ResultList",
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
    "Subgraph",
    "SuggestedConnection",
    "Superseded",
    "SuspectCount",
    "Timeline",
    "TimelineBin",
    "Trajectory",
    "TrajectoryPoint",
    "Tuning",
    "Verification",
    "WhatIf",
    "WhyNot",
    "Window",
    "checked_detail",
    "detailed",
    "plural",
    "unit",
]


def __getattr__(name: str) -> Any:
    return late_export(name, globals(), exported=__all__, modules=_modules())


def _modules() -> Iterator[ModuleType]:
    """Import and yield the modules one by one; those that most processes need come first."""
    from mnemic.kernel.results import blocks

    yield blocks
    from mnemic.kernel.results import recalls

    yield recalls
    from mnemic.kernel.results import core_answers

    yield core_answers
    from mnemic.kernel.results import upkeep

    yield upkeep
    from mnemic.kernel.results import spaces

    yield spaces
    from mnemic.kernel.results import edges

    yield edges
    from mnemic.kernel.results import (
        backtests,
        chronicles,
        compositions,
        descents,
        exchange,
        explanations,
        frontier,
        guides,
        references,
        replays,
    )

    yield from (backtests, chronicles, compositions, descents, exchange)
    yield from (explanations, frontier, guides, references, replays)
