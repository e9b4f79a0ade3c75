"""When graphs are loaded, built, swapped in and thrown away.

Rules of this module:

1. A question never waits for a graph. It is answered with what there is.
2. One thread at most loads and builds, off every lock. It looks at the index under the space's
   guard, and puts a finished graph in under it; what a question has in hand stays as it is.
3. Whatever goes wrong leaves the exact search. It is kept in ``trouble`` and said once, as a
   warning; nothing is tried again until the space is opened again.
4. When words are erased, every graph goes, and so does what is being built.
5. Nothing is begun for a single question: whoever opens a space, asks and leaves has no use of it.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import RLock
from typing import Final, Literal

import numpy as np
from attrs import field, frozen

from mnemic.adapters.proximity.files import GraphFolder
from mnemic.adapters.proximity.hnsw import HnswGraph, Misfit, Unwanted
from mnemic.adapters.proximity.library import obstacle
from mnemic.kernel.errors import FieldRefused
from mnemic.projections.index import VectorIndex
from mnemic.projections.proximity import (
    BREADTH,
    SIZES,
    Costs,
    Floats,
    Graph,
    Proximity,
    Segment,
    Span,
    crossover,
    joined,
    spans,
)

AUTO_ROWS: Final = 50_000
"""Below it, ``auto`` does not even measure: a scan takes 2 ms, and its answer owes nothing to luck.
From there on it measures, and makes graphs from the ``crossover`` of this machine on."""
ASKED_MIN: Final = 2
"""Questions from which on it is worth it."""
SAMPLE: Final = 32

_measured: dict[int, Costs] = {}
"""By dimension, once per process."""


def _fitting(_instance: object, _field: object, sizes: tuple[int, int]) -> None:
    small, large = sizes
    if small < 1 or large < small or large % small:
        raise FieldRefused(
            f"a large graph must be a multiple of a small one, got {sizes}", field="sizes"
        )


@frozen(kw_only=True)
class Graphs:
    """How approximate search is to be done."""

    always: bool = False
    """Whether graphs are made and asked wherever there can be any, quicker or not."""
    least: int = AUTO_ROWS
    """Vectors from which on graphs are thought of at all."""
    sizes: tuple[int, int] = field(default=SIZES, validator=_fitting)
    """Vectors under a small and under a large graph; the latter a multiple of the former."""
    costs: Costs | None = None
    """What searching takes; None: measured once per process, with the first graph."""


Retriever = Literal["auto", "exact", "ann"] | Graphs
RETRIEVERS: Final[dict[str, Graphs | None]] = {
    "auto": Graphs(),
    "ann": Graphs(always=True, least=SIZES[0]),
    "exact": None,
}


def wanted_graphs(retriever: object) -> Graphs | None:
    """Return which graphs *retriever* stands for; None: none.

    Raises:
        FieldRefused: It stands for nothing.
    """
    if isinstance(retriever, Graphs):
        return retriever
    if isinstance(retriever, str) and retriever in RETRIEVERS:
        return RETRIEVERS[retriever]
    raise FieldRefused(
        f"retriever must be auto, exact, ann or Graphs(...), got {retriever!r:.100}",
        field="retriever",
    )


class GraphKeeper:
    """The graphs over the vectors of one open space.

    Args:
        wanted: Which graphs; None: none.
        guard: What is held while the state changes.
        index: Returns the index in force; None while there is none.
        folder: Returns where the files are; None: nowhere.
        refusal: Returns why no graph can be made; None if it can.
    """

    def __init__(
        self,
        wanted: Graphs | None,
        *,
        guard: RLock,
        index: Callable[[], VectorIndex | None],
        folder: Callable[[], GraphFolder | None] = lambda: None,
        refusal: Callable[[], str | None] = obstacle,
    ) -> None:
        self.wanted = wanted
        self.trouble: str | None = None
        """What went wrong, in a sentence."""
        self._guard = guard
        self._index = index
        self._folder = folder
        self._costs = None if wanted is None else wanted.costs
        self._refusal = refusal
        self._of: VectorIndex | None = None
        """The index whose rows the segments are of."""
        self._segments: tuple[Segment, ...] = ()
        self._asked = 0
        self._warned = False
        self._turn = 0
        """How often everything was thrown away: what was begun before is not wanted any more."""
        self._thread: threading.Thread | None = None

    # --- asking ---------------------------------------------------------------------------------

    def near(self) -> Proximity | None:
        """Return who may be asked for near blocks, as of now; the guard is held.

        Whoever keeps it asks the same graphs again, whatever has been built meanwhile.
        """
        index = self._index()
        if self.wanted is None or index is None or index.rows < self.wanted.least:
            return None
        if index is not self._of:
            self._forget(index)
            self._costs = self._costs or _measured.get(index.dimension)
        self._asked += 1
        self._consider(self.wanted, index)
        if self.trouble is not None and not self._warned:
            self._warned = True
            warnings.warn(f"exact search serves: {self.trouble}", RuntimeWarning, stacklevel=2)
        if not self._segments:
            return None
        costs = None if self.wanted.always else self._costs
        return Proximity(index=index, segments=self._segments, costs=costs)

    def _consider(self, wanted: Graphs, index: VectorIndex) -> None:
        busy = self._thread is not None and self._thread.is_alive()
        if busy or self.trouble is not None or self._asked < ASKED_MIN:
            return
        if self._missing(wanted, index) is not None:
            self._thread = threading.Thread(
                target=self._work, args=(wanted, self._turn), name="mnemic-graphs", daemon=True
            )
            self._thread.start()

    def _missing(self, wanted: Graphs, index: VectorIndex) -> Span | None:
        """Return the first stretch that should have a graph and has none."""
        if not wanted.always:
            if self._costs is None:
                return Span(0, wanted.sizes[0])  # to measure with
            if index.rows < crossover(self._costs, wanted.sizes):
                return None
        made = {segment.span for segment in self._segments}
        return next((each for each in spans(index.rows, wanted.sizes) if each not in made), None)

    # --- making ---------------------------------------------------------------------------------

    def _work(self, wanted: Graphs, turn: int) -> None:
        """Make what is missing, one graph after the other."""
        try:
            trouble = self._refusal()
            while trouble is None and self._make_one(wanted, turn):
                pass
        except Unwanted:
            return
        except Exception as error:  # noqa: BLE001 - a graph is never worth more than the answer
            trouble = f"no graph could be built: {error!r}"
        self.trouble = trouble or self.trouble

    def _make_one(self, wanted: Graphs, turn: int) -> bool:
        """Load or build the next graph; say no if there is nothing left to do."""
        with self._guard:
            index = self._of
            if turn != self._turn or index is None:
                return False
            span = self._missing(wanted, index)
            if span is None:
                return False
            rows, folder = index.stretch(*span), self._folder()
        graph, fresh = self._graph(span, rows, folder, lambda: turn == self._turn)
        if self._costs is None:
            self._costs = measured(graph, rows)
            if not wanted.always:
                return True
        with self._guard:
            if turn != self._turn:
                return False
            self._segments = joined(self._segments, Segment(span=span, graph=graph))
        if folder is not None and folder.writes:
            if fresh:
                self._save(folder, folder.place(span, rows), graph, turn)
            self._sweep(wanted, folder, turn)
        return True

    def _graph(
        self, span: Span, rows: Floats, folder: GraphFolder | None, wanted: Callable[[], bool]
    ) -> tuple[HnswGraph, bool]:
        """Return the graph of some rows, and whether it is not in a file yet."""
        try:
            if folder is not None and folder.reads:
                parts = folder.read(folder.place(span, rows))
                if parts is not None:
                    return HnswGraph.restored(parts, rows), False
        except (Misfit, OSError, ValueError):
            pass  # what cannot be read is built again, and written over
        return HnswGraph.built(rows, wanted=wanted), True

    def _save(self, folder: GraphFolder, place: Path, graph: HnswGraph, turn: int) -> None:
        """Write a new graph."""
        try:
            folder.write(place, graph.parts())
        except OSError as error:
            self.trouble = f"a graph could not be written: {error}"
        with self._guard:
            if turn != self._turn:
                folder.clear()

    def _sweep(self, wanted: Graphs, folder: GraphFolder, turn: int) -> None:
        """Once all graphs are there, remove the files of others."""
        with self._guard:
            index, segments = self._of, self._segments
            if turn != self._turn or index is None or self._missing(wanted, index) is not None:
                return
            found = [(each.span, index.stretch(*each.span)) for each in segments]
            rows = index.rows
        folder.sweep([folder.place(span, part) for span, part in found], rows)

    # --- going ----------------------------------------------------------------------------------

    def erased(self) -> None:
        """Let go of every graph: words have been erased. The guard is held."""
        self._forget(None)
        folder = self._folder()
        if folder is not None and folder.destroys:
            folder.clear()

    def _forget(self, index: VectorIndex | None) -> None:
        self._turn += 1
        self._of, self._segments = index, ()

    def finish(self) -> None:
        """Wait for what is being made. The guard is not held."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """Stop what is being made. The guard is not held."""
        self._turn += 1
        self.finish()


def measured(graph: Graph, rows: Floats) -> Costs:
    """Return what searching takes here, with vectors like these; measured once per process."""
    dimension = rows.shape[1]
    if dimension not in _measured:
        places = np.linspace(0, len(rows) - 1, SAMPLE).astype(int).tolist()
        count = min(BREADTH, len(rows))
        _measured[dimension] = Costs(
            row=min(_elapsed_ns(lambda place: np.vecdot(rows, rows[place]), places[:4]))
            / len(rows),
            search=float(np.median(_elapsed_ns(lambda at: graph.nearest(rows[at], count), places))),
        )
    return _measured[dimension]


def _elapsed_ns(work: Callable[[int], object], places: Sequence[int]) -> list[int]:
    found: list[int] = []
    for place in places:
        start = time.perf_counter_ns()
        work(place)
        found.append(time.perf_counter_ns() - start)
    return found
