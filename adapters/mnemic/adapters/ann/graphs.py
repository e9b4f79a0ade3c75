"""Lifecycle of graphs: loading, building, installation and discarding.

Rules of this module:

1. A query never waits for a graph. It is answered with those that exist.
2. One thread at most loads and builds, holding no lock. It reads the index under the space's state
   lock, and installs a finished graph under it; a running query keeps the graphs it started with.
3. Any failure falls back to the exact search. It is kept in ``alerts`` and reported once, as a
   warning; what failed is not retried until the space is opened again.
4. An erasure discards every graph, including the one being built.
5. Nothing is begun for a single query: a process that opens a space, asks once and exits has no use
   of it. Only with graphs that are not built but loaded from files, the first query waits for them.
6. A program may exit at any time: what is being built ends with it, within a tenth of a second.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from attrs import field, frozen

from mnemic.adapters.ann.files import GraphFolder
from mnemic.adapters.ann.hnsw import HnswGraph, Misfit, Unwanted
from mnemic.adapters.ann.library import obstacle
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.values import Value
from mnemic.projections.retrieval.approximate_search import (
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
from mnemic.projections.vectors.index import VectorIndex
from mnemic.projections.vectors.local_rows import LocalRows, Stored

if TYPE_CHECKING:
    from mnemic.kernel.results import Search

AUTO_ROWS: Final = 50_000
"""Below it, ``auto`` does not even measure: a scan takes 2 ms, and its answer is exact. From there
on it measures, and makes graphs from the ``crossover`` of this machine on."""
ASKED_MIN: Final = 2
"""Queries from which on building is worth it."""
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
class Graphs(Value):
    """Settings of approximate search."""

    always: bool = False
    """Whether graphs are made and used where possible, even if the exact search is faster."""
    least: int = AUTO_ROWS
    """Vectors from which on graphs are considered."""
    sizes: tuple[int, int] = field(default=SIZES, validator=_fitting)
    """Vectors under a small and under a large graph; the latter a multiple of the former."""
    costs: Costs | None = None
    """Costs of searching; None: measured once per process, with the first graph."""
    builds: bool = True
    """Whether graphs are built. If not, the first query waits until those in files are loaded, and
    that is all."""


Retriever = Literal["auto", "exact", "ann"] | Graphs
RETRIEVERS: Final[dict[str, Graphs | None]] = {
    "auto": Graphs(),
    "ann": Graphs(always=True, least=SIZES[0]),
    "exact": None,
}


def wanted_graphs(retriever: object) -> Graphs | None:
    """Return the settings that *retriever* names; None: no graphs.

    Raises:
        FieldRefused: It is no known setting.
    """
    if isinstance(retriever, Graphs):
        return retriever
    if isinstance(retriever, str) and retriever in RETRIEVERS:
        return RETRIEVERS[retriever]
    raise FieldRefused(
        f"retriever must be auto, exact, ann or Graphs(...), got {retriever!r:.100}",
        field="retriever",
    )


class GraphBuilder:
    """The graphs over the vectors of one open space.

    Args:
        wanted: Which graphs; None: none.
        index: Returns the index in force; None while there is none.
        folder: Returns where the files are; None: nowhere.
        refusal: Returns why no graph can be made; None if it can.
    """

    def __init__(
        self,
        wanted: Graphs | None,
        *,
        index: Callable[[], VectorIndex | None],
        folder: Callable[[], GraphFolder | None] = lambda: None,
        refusal: Callable[[], str | None] = obstacle,
    ) -> None:
        self.wanted = wanted
        self._alerts: list[str] = []
        self._lock = RLock()
        """Protects the fields below; never held while a graph is built."""
        self._index = index
        self._folder = folder
        self._costs = None if wanted is None else wanted.costs
        self._refusal = refusal
        self._of: VectorIndex | None = None
        """The index whose rows the segments are of."""
        self._segments: tuple[Segment, ...] = ()
        self._places: dict[Span, Path] = {}
        """The paths of the files of the segments."""
        self._asked = 0
        self._stopped = False
        """Whether building has been stopped, since it failed."""
        self._warned = 0
        """How many of the alerts have been reported."""
        self._turn = 0
        """How often everything was discarded: builds begun before are obsolete."""
        self._thread: threading.Thread | None = None

    # --- searching ------------------------------------------------------------------------------

    def near(self) -> Proximity | None:
        """Return the search over near blocks as of now.

        It keeps using the same graphs, even if others are built meanwhile.
        """
        if self.wanted is None:
            return None
        with self._lock:
            return self._proximity(self.wanted)

    def _proximity(self, wanted: Graphs) -> Proximity | None:
        index = self._index()
        if index is None or index.rows < wanted.least:
            return None
        if index is not self._of:
            self._forget(index)
            self._costs = self._costs or _measured.get(index.dimension)
        self._asked += 1
        self._consider(wanted, index)
        for alert in self.alerts[self._warned :]:
            self._warned += 1
            warnings.warn(alert, RuntimeWarning, stacklevel=2)
        if not self._segments:
            return None
        costs = None if wanted.always else self._costs
        return Proximity(index=index, segments=self._segments, costs=costs)

    def search(self) -> Search:
        """Return how near vectors are found at present."""
        from mnemic.kernel.results import Search

        with self._lock:
            index, folder, wanted = self._index(), self._folder(), self.wanted
            asked = self._segments if index is self._of else ()
            reads = folder is not None and folder.reads
            return Search(
                retriever="exact" if wanted is None else "ann" if wanted.always else "auto",
                vectors=0 if index is None else index.rows,
                graphs=len(asked),
                covered=sum(segment.span.rows for segment in asked),
                stored=len(folder.files()) if folder is not None and reads else 0,
            )

    @property
    def alerts(self) -> tuple[str, ...]:
        """What went wrong, in sentences."""
        return tuple(self._alerts)

    def _consider(self, wanted: Graphs, index: VectorIndex) -> None:
        """Begin to build what is missing, if it is time."""
        if self._stopped:
            return
        if not wanted.builds:
            self._stopped = True
            self._take_up(index)
            return
        busy = self._thread is not None and self._thread.is_alive()
        if busy or self._asked < ASKED_MIN or self._missing(wanted, index) is None:
            return
        # Not a daemon: one that returns from the library after the interpreter has gone would end
        # the process with an error.
        thread = threading.Thread(
            target=self._work, args=(wanted, self._turn), name="mnemic-graphs", daemon=False
        )
        try:
            thread.start()
        except RuntimeError as error:
            self._stop(f"no thread could be started: {error}")
        else:
            self._thread = thread

    def _stop(self, why: str) -> None:
        """Make no more graphs, for the reason *why*."""
        self._stopped = True
        self._alerts.append(f"exact search serves, no graph is made: {why}")

    def _missing(self, wanted: Graphs, index: VectorIndex) -> Span | None:
        """Return the first range that should have a graph and has none."""
        if not wanted.always:
            if self._costs is None:
                return Span(0, wanted.sizes[0])  # to measure with
            if index.rows < crossover(self._costs, wanted.sizes):
                return None
        made = {segment.span for segment in self._segments}
        return next((each for each in spans(index.rows, wanted.sizes) if each not in made), None)

    # --- loading --------------------------------------------------------------------------------

    def _take_up(self, index: VectorIndex) -> None:
        """Load every graph of these vectors that exists as a file; the lock is held."""
        folder, trouble = self._folder(), self._refusal()
        if trouble is not None:
            self._stop(trouble)
        elif folder is not None and folder.reads:
            for span in folder.spans():
                if span.end <= index.rows:
                    rows = index.stretch(*span)
                    graph = _stored(folder, folder.place(span, rows), rows)
                    if graph is not None:
                        segment = Segment(span=span, graph=graph)
                        self._segments = joined(self._segments, segment)

    # --- building -------------------------------------------------------------------------------

    def _is_wanted(self, turn: int) -> bool:
        """Return whether a build begun in *turn* is current, and the program is not exiting."""
        return turn == self._turn and threading.main_thread().is_alive()

    def _work(self, wanted: Graphs, turn: int) -> None:
        """Build what is missing, one graph after the other."""
        try:
            trouble = self._refusal()
            while trouble is None and self._make_one(wanted, turn):
                pass
        except Unwanted:
            return
        except Exception as error:  # noqa: BLE001 - a graph is never worth more than the answer
            trouble = f"one could not be built: {error!r}"
        if trouble is not None:
            self._stop(trouble)

    def _make_one(self, wanted: Graphs, turn: int) -> bool:
        """Load or build the next graph; return False if there is nothing left to do."""
        with self._lock:
            index = self._of
            if not self._is_wanted(turn) or index is None:
                return False
            span = self._missing(wanted, index)
            if span is None:
                return False
            rows, folder = index.stretch(*span), self._folder()
        place = None if folder is None else folder.place(span, rows)
        graph = None if folder is None or place is None else _stored(folder, place, rows)
        fresh = graph is None
        graph = graph or HnswGraph.built(rows, wanted=lambda: self._is_wanted(turn))
        if self._costs is None:
            self._costs = measured(graph, rows)
            if not wanted.always:
                return True
        with self._lock:
            if turn != self._turn:
                return False
            self._segments = joined(self._segments, Segment(span=span, graph=graph))
            if place is not None:
                self._places[span] = place
        if folder is not None and place is not None and folder.writes:
            if fresh and not self._alerts:
                self._save(folder, place, graph, turn)
            self._sweep(wanted, folder, turn)
        return True

    def _save(self, folder: GraphFolder, place: Path, graph: HnswGraph, turn: int) -> None:
        """Write a new graph."""
        try:
            folder.write(place, graph.parts())
        except OSError as error:
            self._alerts.append(f"graphs are built anew whenever this space is opened: {error}")
        with self._lock:
            if turn != self._turn:
                folder.clear()

    def _sweep(self, wanted: Graphs, folder: GraphFolder, turn: int) -> None:
        """Once all graphs are complete, remove the files of others."""
        with self._lock:
            index, segments = self._of, self._segments
            if turn != self._turn or index is None or self._missing(wanted, index) is not None:
                return
            kept = [self._places[each.span] for each in segments if each.span in self._places]
            rows = index.rows
        folder.sweep(kept, rows)

    # --- discarding -----------------------------------------------------------------------------

    def erased(self) -> None:
        """Discard every graph: text has been erased."""
        with self._lock:
            self._forget(None)
            folder = self._folder()
            if folder is not None and folder.destroys:
                folder.clear()

    def replaced(self) -> None:
        """Discard every graph of this process: the log is another one."""
        with self._lock:
            self._forget(None)

    def _forget(self, index: VectorIndex | None) -> None:
        self._turn += 1
        self._of, self._segments, self._places = index, (), {}

    def finish(self) -> None:
        """Wait for the build in progress. The lock is not held."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """Stop the build in progress, and begin nothing more. The lock is not held."""
        with self._lock:
            self._turn += 1
            self._stopped = True
        self.finish()


def _stored(folder: GraphFolder, place: Path, rows: Stored) -> HnswGraph | None:
    """Return the graph of some rows from its file; None: it is missing or cannot be read."""
    try:
        parts = folder.read(place) if folder.reads else None
        return None if parts is None else HnswGraph.restored(parts, rows)
    except (Misfit, OSError, ValueError):
        return None  # it is built again, and overwritten


def measured(graph: Graph, rows: Stored) -> Costs:
    """Return the costs of searching here, with vectors like these; measured once per process."""
    dimension = rows.shape[1]
    if dimension not in _measured:
        places = np.linspace(0, len(rows) - 1, SAMPLE).astype(int).tolist()
        questions = rows[places].astype(np.float32)
        count = min(BREADTH, len(rows))
        exact = LocalRows().begin_with(rows)
        _measured[dimension] = Costs(
            row=min(_elapsed_ns(lambda one: exact.dots(one, None, len(rows)), questions[:4]))
            / len(rows),
            search=float(np.median(_elapsed_ns(lambda one: graph.nearest(one, count), questions))),
        )
    return _measured[dimension]


def _elapsed_ns(work: Callable[[Floats], object], questions: Floats) -> list[int]:
    found: list[int] = []
    for question in questions:
        start = time.perf_counter_ns()
        work(question)
        found.append(time.perf_counter_ns() - start)
    return found
