"""Writers: what event handlers write to, either the tables of a state or buffers of a batch.

Rules of this module:

1. A handler cannot tell the two apart. It writes rows, which may leave values open (``CARRIED``,
   or an amount to add), and calls operations that tables and buffers have in common.
2. ``DirectWriters`` fill in the open values of a row and put it into its table at once: for the
   events of one command.
3. ``BufferedWriters`` collect the rows, and ``settle`` fills them in and writes all of them
   together: for long logs. Numbers, names and maps are updated at once by both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model.texts import Embedding, Erased
from mnemic.kernel.model.vectors import pack
from mnemic.projections.blocks.catalogue import Catalogue
from mnemic.projections.graph.graph import Graph
from mnemic.projections.state.batch_edges import Edges
from mnemic.projections.state.batch_tables import CARRIED, Flat, Writes
from mnemic.projections.state.state import State
from mnemic.projections.storage.columns import VersionedTable
from mnemic.projections.vectors.index import VectorIndex

Row: TypeAlias = tuple[int, ...]
_REVIEW: Final = 4
"""Numbers of a review: block, version, active time and rating."""
_OUTCOME: Final = 5
"""Numbers of an outcome; see ``Outcomes.note``."""
_COUNTED: Final = {
    "strength": ("reinforcements",),
    "evidence": ("alpha", "beta"),
    "uses": ("retrievals",),
}
"""By table, the columns that only accumulate: a row has the amounts to add."""


class Writers:
    """Everything of a state that a handler writes to.

    The ``write_…`` functions take rows of numbers: key, version and a value per column, each of
    which may be ``CARRIED`` over from the row before.
    """

    catalogue: Catalogue
    graph: Graph | Edges
    life: VersionedTable | Writes
    write_life: Callable[[Row], None]
    write_strength: Callable[[Row], None]
    write_evidence: Callable[[Row], None]
    write_uses: Callable[[Row], None]
    write_review: Callable[[Row], None]
    write_outcome: Callable[[Row], None]
    """Takes rows as ``Outcomes.note`` does."""
    write_edge: Callable[[Row], None]
    """Takes rows as ``Graph.write`` does."""
    add_vector: Callable[[int, Embedding | Erased, int], int]
    """Appends the vector of a block with its typicality, and returns its row."""

    def __init__(self, state: State) -> None:
        self.numbers = state.catalogue.numbers
        self.timeline = state.timeline
        self.ledger = state.ledger
        self.extractions = state.extractions
        self.lexicon = state.lexicon
        self.staged_vectors = state.staged_vectors


class DirectWriters(Writers):
    """Writers to the tables themselves."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.catalogue, self.graph = catalogue, graph = state.catalogue, state.graph
        self.life = catalogue.life
        self.write_edge = graph.write
        self.write_outcome = catalogue.outcomes.note
        self.add_vector = state.add_vector

    def write_life(self, row: Row) -> None:
        _put(self.catalogue.life, (), row)

    def write_strength(self, row: Row) -> None:
        _put(self.catalogue.strength, _COUNTED["strength"], row)

    def write_evidence(self, row: Row) -> None:
        _put(self.catalogue.evidence, _COUNTED["evidence"], row)

    def write_uses(self, row: Row) -> None:
        _put(self.catalogue.uses, _COUNTED["uses"], row)

    def write_review(self, row: Row) -> None:
        self.catalogue.reviews.note(*row)


def _put(table: VersionedTable, counted: tuple[str, ...], row: Row) -> None:
    """Put one row, its open values filled in from the row before."""
    key, version, *values = row
    current = table.row(key)
    if current >= 0:
        before = table.row_values(current)
        if CARRIED in values:
            values = [
                kept if value == CARRIED else value
                for value, kept in zip(values, before, strict=True)
            ]
        for name in counted:
            place = table.place(name)
            values[place] += before[place]
    table.put(key, version, values)


class BufferedWriters(Writers):
    """Writers to buffers, which ``settle`` writes to the state. It must not be read until then."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._state = state
        catalogue = state.catalogue
        self.life = Writes(catalogue.life, seen=("tags", "text"))
        self._tables: dict[str, Writes] = {"life": self.life}
        for name, counted in _COUNTED.items():
            self._tables[name] = Writes(getattr(catalogue, name), counted=counted)
        self._reviews, self._outcomes = Flat(_REVIEW), Flat(_OUTCOME)
        self.catalogue = catalogue.over(**self._tables)
        self.graph = edges = Edges(state.graph)
        self._edges = edges
        self.write_life = self.life.flat.extend
        self.write_strength = self._tables["strength"].flat.extend
        self.write_evidence = self._tables["evidence"].flat.extend
        self.write_uses = self._tables["uses"].flat.extend
        self.write_review = self._reviews.extend
        self.write_outcome = self._outcomes.extend
        self.write_edge = edges.flat.extend
        embedder = state.timeline.embedder
        self._vectors = None if embedder is None else Vectors(state, embedder)

    def add_vector(self, number: int, vector: Embedding | Erased, typicality: int) -> int:
        """Append the vector of a block and return its row, as ``State.add_vector`` does."""
        assert self._vectors is not None, "a vector comes after its embedder was adopted"  # noqa: S101
        return self._vectors.append(number, vector, typicality)

    def gather(self) -> None:
        """Compact the buffered rows into arrays."""
        for table in self._tables.values():
            table.flat.gather()
        self._edges.flat.gather()
        self._reviews.gather()
        self._outcomes.gather()

    def settle(self) -> None:
        """Write everything to the state, once."""
        for table in self._tables.values():
            table.settle()
        if self._reviews.rows:
            self._state.catalogue.reviews.note_each(self._reviews.columns())
        if self._outcomes.rows:
            self._state.catalogue.outcomes.note_each(self._outcomes.columns())
        self._edges.settle()
        if self._vectors is not None:
            self._vectors.settle()


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
