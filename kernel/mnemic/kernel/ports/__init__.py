"""The ports: interfaces to the outside world that the kernel needs.

Every port is small, and each has a contract test in ``mnemic.specs.contracts`` or in the tests
that a host can run against its own adapter.
"""

from __future__ import annotations

from mnemic.kernel.ports.capabilities import LookupStore, StagingStore
from mnemic.kernel.ports.clock import Clock, Entropy
from mnemic.kernel.ports.extractors import (
    RELATIONS,
    Extract,
    Extractor,
    Fact,
    KnownBlock,
    Message,
    Span,
)
from mnemic.kernel.ports.models import (
    Analysis,
    Analyst,
    Embedder,
    Judge,
    Passage,
    QuestionEmbedder,
    TokenCounter,
)
from mnemic.kernel.ports.runners import Row, Runner, StartRunner, Task, Work
from mnemic.kernel.ports.store import (
    GENESIS_DIGEST,
    NO_CAPABILITIES,
    CommandRow,
    Head,
    Log,
    LogCapabilities,
    PayloadRow,
    Record,
    Store,
)

__all__ = [
    "GENESIS_DIGEST",
    "NO_CAPABILITIES",
    "RELATIONS",
    "Analysis",
    "Analyst",
    "Clock",
    "CommandRow",
    "Embedder",
    "Entropy",
    "Extract",
    "Extractor",
    "Fact",
    "Head",
    "Judge",
    "KnownBlock",
    "Log",
    "LogCapabilities",
    "LookupStore",
    "Message",
    "Passage",
    "PayloadRow",
    "QuestionEmbedder",
    "Record",
    "Row",
    "Runner",
    "Span",
    "StagingStore",
    "StartRunner",
    "Store",
    "Task",
    "TokenCounter",
    "Work",
]
