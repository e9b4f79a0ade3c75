"""The read side of one space: all projections, folded in step.

``State`` is the fold. It is advanced by one writer at a time and never handed out; whoever wants
to look takes a ``View`` of it at a version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TypeAlias

import numpy as np

from mnemic.kernel.errors import VectorRefused
from mnemic.kernel.events import EmbedderIdentity, Recorded
from mnemic.kernel.ports import FarRows
from mnemic.kernel.texts import Embedding, Erased
from mnemic.kernel.vectors import DIMENSION_MAX, unpack
from mnemic.projections.batches.folding import STRETCH, Folding
from mnemic.projections.catalogue import Catalogue
from mnemic.projections.fold import HANDLERS
from mnemic.projections.frontier.terms import Terms
from mnemic.projections.graph import Graph
from mnemic.projections.index import VectorIndex
from mnemic.projections.ledger import Ledger
from mnemic.projections.lexicon import Lexicon
from mnemic.projections.rows.elsewhere import Elsewhere
from mnemic.projections.sequence import Sequence
from mnemic.projections.standing import Past
from mnemic.projections.timeline import Timeline

FOLD_VERSION = 1
"""Raised when the same log folds into something else; replays name it as a cause."""
TOGETHER_LEAST = 512
"""Fewer events are folded one by one, which then takes less time."""


FarOf: TypeAlias = Callable[[EmbedderIdentity], FarRows]
"""Says who has the vectors of an embedder."""


class State:
    """All projections at the version last folded.

    Args:
        far_of: Says who has the vectors; None: they are held here.
    """

    def __init__(self, far_of: FarOf | None = None) -> None:
        self._far_of = far_of
        self.catalogue = Catalogue()
        self.graph = Graph()
        self.timeline = Timeline()
        self.ledger = Ledger()
        self.lexicon = Lexicon(texts=self.catalogue.texts)
        self.sequence = Sequence(self.catalogue)
        self.terms = Terms()
        self.indexes: dict[EmbedderIdentity, VectorIndex] = {}
        self.staged_vectors: dict[EmbedderIdentity, dict[int, int]] = {}
        """Rows of a re-embedding under way, by block."""
        self.past = Past()
        """What stands at the versions asked for last; no part of the fold."""

    @property
    def version(self) -> int:
        """The last version folded, -1 before the first."""
        return self.timeline.version

    def apply(self, recorded: Recorded) -> None:
        """Fold the next event."""
        self.timeline.record(recorded)
        HANDLERS[type(recorded.event)](self, recorded.event, recorded)

    def rebuild(self, log: Iterable[Recorded]) -> State:
        """Fold a whole log, or a stretch of one; return self.

        Where *log* raises, everything before that is folded.
        """
        if isinstance(log, list) and len(log) < TOGETHER_LEAST:  # what one command wrote
            for recorded in log:
                self.apply(recorded)
            return self
        rest, stretch, folding = iter(log), list[Recorded](), Folding(self)
        try:
            stretch.extend(islice(rest, STRETCH))
            while len(stretch) >= TOGETHER_LEAST:
                events, stretch = stretch, []
                folding.take(events)
                stretch.extend(islice(rest, STRETCH))
        finally:
            folding.settle()
            for recorded in stretch:
                self.apply(recorded)
        return self

    def settle(self) -> None:
        """Let go of what only a long fold needs. Nothing that anybody can ask changes.

        Raises:
            OverflowError: A number of the log does not fit its column.
        """
        self.graph.settle()
        catalogue = self.catalogue
        tables = (catalogue.life, catalogue.strength, catalogue.evidence, catalogue.uses)
        for table in (*tables, self.graph.rows):
            table.settle()

    def index_of(self, embedder: EmbedderIdentity) -> VectorIndex:
        """Return the vectors of *embedder*; an empty index at first."""
        found = self.indexes.get(embedder)
        if found is None:
            far_of = self._far_of
            found = VectorIndex(None if far_of is None else Elsewhere(far_of(embedder)))
            self.indexes[embedder] = found
        return found

    def add_vector(
        self, number: int, vector: Embedding | Erased, *, embedder: EmbedderIdentity | None = None
    ) -> int:
        """Append the vector of a block and return its row.

        An erased one leaves a row of zeros behind, which is near to nothing.
        """
        identity = embedder if embedder is not None else self.timeline.embedder
        assert identity is not None, "a vector comes after its embedder was adopted"  # noqa: S101
        if isinstance(vector, Erased):
            if not 0 < identity.dimension <= DIMENSION_MAX:
                raise VectorRefused(f"no vector has {identity.dimension} dimensions")
            return self.index_of(identity).append(
                number, np.zeros(identity.dimension, dtype=np.int16)
            )
        return self.index_of(identity).append(number, unpack(vector.packed))
