"""The state of one space: all projections at one version.

``State`` holds the tables. It is advanced by one writer at a time (``apply``, ``replay``), which
then publishes it; readers take a ``View`` of it at a published version, in any thread.
"""

from __future__ import annotations

import numpy as np

from mnemic.kernel.errors import VectorRefused
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model.texts import Embedding, Erased
from mnemic.kernel.model.vectors import DIMENSION_MAX, unpack
from mnemic.projections.blocks.catalogue import Catalogue
from mnemic.projections.blocks.extractions import Extractions
from mnemic.projections.blocks.keys import Keys
from mnemic.projections.blocks.passages import Passages
from mnemic.projections.blocks.threads import Threads
from mnemic.projections.graph.graph import Graph
from mnemic.projections.ledger.ledger import Ledger
from mnemic.projections.lexical.content_terms import Terms
from mnemic.projections.lexical.lexicon import Lexicon
from mnemic.projections.lexical.statements import Statements
from mnemic.projections.state.snapshots import SnapshotCache
from mnemic.projections.timeline.timeline import Timeline
from mnemic.projections.vectors.index import VectorIndex

FOLD_VERSION = 8
"""Incremented when the same log yields a different state; replays name it as a cause."""


class State:
    """All projections at the last applied version."""

    def __init__(self) -> None:
        self.catalogue = Catalogue()
        self.graph = Graph()
        self.timeline = Timeline()
        self.ledger = Ledger()
        self.extractions = Extractions()
        self.lexicon = Lexicon(texts=self.catalogue.texts)
        self.statements = Statements(self.catalogue.texts)
        self.keys = Keys(self.catalogue.texts)
        self.sequence = Threads(self.catalogue)
        self.passages = Passages(self.catalogue.texts, self.lexicon, self.sequence)
        self.terms = Terms()
        self.indexes: dict[EmbedderIdentity, VectorIndex] = {}
        self.staged_vectors: dict[EmbedderIdentity, dict[int, int]] = {}
        """Rows of a re-embedding in progress, by block."""
        self.past = SnapshotCache()
        """Snapshots of recently requested versions; not part of the replayed state."""

    @property
    def version(self) -> int:
        """The last version applied, -1 before the first."""
        return self.timeline.version

    def settle(self) -> None:
        """Release what only a long replay needs. The answers to queries do not change."""
        self.graph.settle()

    def prepare(self) -> None:
        """Make room and derive look-ups as the next event would, which takes long after thawing."""
        self.timeline.make_room()
        self.catalogue.life.make_room()
        self.graph.prepare()

    def index_of(self, embedder: EmbedderIdentity) -> VectorIndex:
        """Return the vectors of *embedder*; an empty index at first."""
        found = self.indexes.get(embedder)
        if found is None:
            found = self.indexes[embedder] = VectorIndex()
        return found

    def add_vector(
        self,
        number: int,
        vector: Embedding | Erased,
        typicality: int,
        *,
        embedder: EmbedderIdentity | None = None,
    ) -> int:
        """Append the vector of a block, with its typicality as recorded, and return its row.

        An erased one leaves a row of zeros behind, whose cosine to everything is 0.
        """
        identity = embedder if embedder is not None else self.timeline.embedder
        assert identity is not None, "a vector comes after its embedder was adopted"  # noqa: S101
        if isinstance(vector, Erased):
            if not 0 < identity.dimension <= DIMENSION_MAX:
                raise VectorRefused(f"no vector has {identity.dimension} dimensions")
            nothing = np.zeros(identity.dimension, dtype=np.int16)
            return self.index_of(identity).append(number, nothing, typicality)
        return self.index_of(identity).append(number, unpack(vector.packed), typicality)
