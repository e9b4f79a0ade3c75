"""Batch: the interface of a state with buffered writes, used during batch replay."""

from __future__ import annotations

from typing import Final

import numpy as np

from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model.texts import Embedding, Erased
from mnemic.kernel.model.vectors import pack
from mnemic.projections.blocks.review_history import ReviewHistory
from mnemic.projections.state.batch_edges import Edges
from mnemic.projections.state.batch_tables import Flat, Writes
from mnemic.projections.state.state import State
from mnemic.projections.storage.columns import Interner
from mnemic.projections.vectors.index import VectorIndex

_REVIEW: Final = 4
"""Numbers of a review: block, version, active time and rating."""


class Batch:
    """Everything of a state that a handler writes to."""

    def __init__(self, state: State) -> None:
        catalogue, timeline = state.catalogue, state.timeline
        self.life = Writes(catalogue.life, seen=("tags", "text"))
        self.strength = Writes(catalogue.strength, counted=("reinforcements",))
        self.evidence = Writes(catalogue.evidence, counted=("alpha", "beta"))
        self.uses = Writes(catalogue.uses, counted=("retrievals",))
        self.reviews = Reviewed(catalogue.reviews)
        self.catalogue = catalogue.over(
            life=self.life,
            strength=self.strength,
            evidence=self.evidence,
            uses=self.uses,
            reviews=self.reviews,
        )
        self.graph = Edges(state.graph)
        self.timeline = timeline
        self.ledger = state.ledger
        self.lexicon = state.lexicon
        self.staged_vectors = state.staged_vectors
        self._vectors = None if timeline.embedder is None else Vectors(state, timeline.embedder)
        self.numbers = catalogue.numbers

    def add_vector(
        self,
        number: int,
        vector: Embedding | Erased,
        typicality: int,
        *,
        embedder: EmbedderIdentity | None = None,
    ) -> int:
        """Append the vector of a block and return its row, as ``State.add_vector`` does.

        Args:
            number: Number of the block.
            vector: A vector of the current embedder.
            typicality: Its typicality as recorded.
            embedder: Always None: staged vectors of another embedder are applied outside batches.
        """
        assert self._vectors is not None, "a vector comes after its embedder was adopted"  # noqa: S101
        assert embedder is None, "no vector is staged within a batch"  # noqa: S101
        return self._vectors.append(number, vector, typicality)

    def gather(self) -> None:
        """Compact the buffered writes into arrays."""
        tables = (self.life, self.strength, self.evidence, self.uses, self.reviews, self.graph)
        for each in tables:
            each.flat.gather()

    def settle(self) -> None:
        """Write everything to the state, once."""
        self.life.settle()
        self.strength.settle()
        self.evidence.settle()
        self.uses.settle()
        self.reviews.settle()
        self.graph.settle()
        if self._vectors is not None:
            self._vectors.settle()


class Known(dict[str, int]):
    """Numbers of words, looked up without a call; an unknown word gets the next one."""

    def __init__(self, names: Interner) -> None:
        super().__init__()
        self._names = names

    def __missing__(self, word: str) -> int:
        number = self[word] = self._names.number(word)
        return number


class Reviewed:
    """Reviews of a batch; written to in place of ``ReviewHistory``."""

    def __init__(self, reviews: ReviewHistory) -> None:
        self._reviews = reviews
        self.flat = Flat(_REVIEW)
        """Review after review: block, version, active time and rating."""

    def note(self, block: int, version: int, active_us: int, rating: int) -> None:
        """Record that a block was reviewed at *version*."""
        self.flat += (block, version, active_us, rating)

    def settle(self) -> None:
        """Write everything to the reviews."""
        if self.flat.rows:
            self._reviews.note_each(self.flat.columns())


class Vectors:
    """Vectors of a batch, all of one embedder."""

    def __init__(self, state: State, embedder: EmbedderIdentity) -> None:
        self._index: VectorIndex = state.index_of(embedder)
        self._erased = pack(np.zeros(embedder.dimension, dtype=np.int16))
        self._first = self._index.rows
        self._blocks: list[int] = []
        self._packed: list[bytes] = []
        self._typicalities: list[int] = []

    def append(self, number: int, vector: Embedding | Erased, typicality: int) -> int:
        """Add a vector and return the row that it will have."""
        self._blocks.append(number)
        self._typicalities.append(typicality)
        self._packed.append(self._erased if isinstance(vector, Erased) else vector.packed)
        return self._first + len(self._blocks) - 1

    def settle(self) -> None:
        """Write everything to the index."""
        if self._blocks:
            self._index.extend(self._blocks, self._packed, self._typicalities)
