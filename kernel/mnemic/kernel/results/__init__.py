"""What verbs answer: frozen values with one line of summary and a plain dict.

Field names follow the seeds' result types and only ever gain company. Scores that were integers
of nano-units inside are numbers in [0, 1] here, exact to nine decimals.
"""

from __future__ import annotations

from mnemic.kernel.results.analogies import Analogy
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
from mnemic.kernel.results.shape import (
    Refusal,
    Result,
    plural,
    unit,
)
from mnemic.kernel.results.spaces import (
    Moment,
    SessionResult,
    Status,
    Verification,
)
from mnemic.kernel.results.upkeep import (
    CurateResult,
    OutcomeResult,
)

__all__ = [
    "Analogy",
    "Block",
    "BlockExplanation",
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
    "CurateResult",
    "DeepReference",
    "Difference",
    "DisconnectResult",
    "DisplacedEdge",
    "Dropped",
    "Edge",
    "ErasureReceipt",
    "Explanation",
    "ForgetResult",
    "Frontier",
    "FrontierCandidate",
    "GuideCard",
    "GuideIndex",
    "Hindsight",
    "LabelResult",
    "LearnManyResult",
    "LearnResult",
    "Moment",
    "OutcomeResult",
    "Page",
    "RecallResult",
    "ReembedResult",
    "ReferencedBlock",
    "Refusal",
    "RefusedEdge",
    "ReplayResult",
    "Result",
    "ReviseResult",
    "RezoneResult",
    "ScoredBlock",
    "SessionResult",
    "Status",
    "SuggestedConnection",
    "Superseded",
    "Verification",
    "WhyNot",
    "plural",
    "unit",
]
