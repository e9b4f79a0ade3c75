"""What verbs answer: frozen values with one line of summary and a plain dict.

Field names follow the seeds' result types and only ever gain company. Scores that were integers
of nano-units inside are numbers in [0, 1] here, exact to nine decimals.
"""

from __future__ import annotations

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
from mnemic.kernel.results.edges import (
    ConnectResult,
    DisconnectResult,
    DisplacedEdge,
    Edge,
)
from mnemic.kernel.results.recalls import (
    Contribution,
    Difference,
    Dropped,
    RecallResult,
    ReplayResult,
    ScoredBlock,
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
    "Block",
    "ConnectResult",
    "ConsolidateResult",
    "Contribution",
    "CurateResult",
    "Difference",
    "DisconnectResult",
    "DisplacedEdge",
    "Dropped",
    "Edge",
    "ErasureReceipt",
    "ForgetResult",
    "LearnManyResult",
    "LearnResult",
    "Moment",
    "OutcomeResult",
    "Page",
    "RecallResult",
    "ReembedResult",
    "Refusal",
    "ReplayResult",
    "Result",
    "ReviseResult",
    "RezoneResult",
    "ScoredBlock",
    "SessionResult",
    "Status",
    "Verification",
    "plural",
    "unit",
]
