"""A view: every query, evaluated at one point of the log.

A view is a version, an hour and an instant, and for each table the rows valid at that
version. It stays valid for ever, and any thread may query it while events are applied. The live
view shares the heads of the tables instead: it belongs to the writer, until the next event. Every
query runs on either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.events import BlocksComposed, EmbedderIdentity
from mnemic.kernel.model.blocks import Fresh
from mnemic.kernel.model.compositions import LabelFacts
from mnemic.kernel.model.edges import EdgeColumns, EdgeFacts, PendingFacts
from mnemic.kernel.model.filters import Where
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.reading import LogRange
from mnemic.kernel.timestamps import Instant
from mnemic.projections.blocks.extractions import Extraction
from mnemic.projections.graph.graph import NearDuplicatePair, Pending
from mnemic.projections.graph.staging import Staged
from mnemic.projections.ledger.ledger import Composed, Labelled
from mnemic.projections.state.snapshots import VersionSnapshot
from mnemic.projections.state.state import State
from mnemic.projections.vectors.neighbour_cache import NeighbourCache
from mnemic.projections.view import connections, edges, extracted, filtering, similarity
from mnemic.projections.view.active_columns import ActiveColumns
from mnemic.projections.view.block_view import BlockView
from mnemic.projections.view.log_range import log_range_of
from mnemic.projections.view.point import Point, Products

if TYPE_CHECKING:
    from mnemic.kernel.statements import Statement

Ints = NDArray[np.int64]


class View(BlockView):
    """The read side of a space at a point. Implements ``mnemic.kernel.reading.Reading``."""

    @property
    def columns(self) -> ActiveColumns:
        """The columns over the active blocks that a recall reads."""
        known: ActiveColumns | None = self._columns
        if known is None:
            # From a copy: in a cycle of references, both would outlive their version by far.
            known = self._columns = ActiveColumns(self._copied(), self.index)
        return known

    def _shares_of_active(self) -> Ints:
        return self.columns.shares

    # --- edges --------------------------------------------------------------------------------

    def edge(self, a: int, b: int) -> EdgeFacts | None:
        """Return the edge between two blocks, if there is one."""
        return edges.edge(self, a, b)

    def is_linked(self, a: int, b: int) -> bool:
        """Whether there is an edge between two blocks; cheaper than ``edge``."""
        return edges.is_linked(self, a, b)

    def note(self, a: int, b: int) -> str | None:
        """Return the note on the edge between two blocks, unless there is none or it is erased."""
        return edges.note(self, a, b)

    def edges_of(self, number: int) -> list[EdgeFacts]:
        """Return the edges of a block in the order in which its pairs were first linked."""
        return edges.edges_of(self, number)

    def related(self, number: int, relation: str) -> list[EdgeFacts]:
        """Return the edges of a block with *relation*, in the order of ``edges_of``."""
        return edges.related(self, number, relation)

    def contradictions(self) -> Ints:
        """Return the two blocks of every edge of contradiction, shape (edges, 2)."""
        if self.live:
            return edges.contradictions(self)
        found: Ints | None = self.kept.get("contradictions")
        if found is None:
            found = self.kept["contradictions"] = edges.contradictions(self)
        return found

    def degree(self, number: int) -> int:
        """Return how many edges a block has."""
        return edges.degree(self, number)

    def pairs(self) -> Ints:
        """Return the numbers of the pairs with an edge, ascending."""
        return edges.pairs(self)

    def pairs_at(self, numbers: Ints) -> Ints:
        """Return the numbers of the pairs with an edge at any of *numbers*, ascending."""
        return edges.pairs_at(self, numbers)

    def standing(self) -> EdgeColumns:
        """Return all edges as columns."""
        return edges.standing(self)

    # --- pairs that are pending, barred or staged ---------------------------------------------

    def waiting_connections(self) -> list[Pending]:
        """Return the deferred connections, oldest first."""
        return connections.waiting_connections(self)

    def pending(self) -> list[PendingFacts]:
        """Return the deferred connections as decisions see them."""
        return connections.pending(self)

    def is_pending(self, a: int, b: int) -> bool:
        """Whether a connection of the two waits for a free place under the degree cap."""
        return connections.is_pending(self, a, b)

    def is_barred(self, a: int, b: int) -> bool:
        """Whether the two were disconnected and not connected since."""
        return connections.is_barred(self, a, b)

    def staged(self) -> dict[tuple[int, int], Staged]:
        """Return the staged pairs in the order in which they were last staged."""
        return connections.staged(self)

    def staged_with(self, number: int) -> list[tuple[int, int]]:
        """Return the staged pairs of a block."""
        return connections.staged_with(self, number)

    def linked_among(self, numbers: Sequence[int]) -> Collection[tuple[int, int]]:
        """Return the pairs of some blocks that have an edge, the lower number first."""
        return edges.linked_among(self, numbers)

    def barred_among(self, numbers: Sequence[int]) -> Collection[tuple[int, int]]:
        """Return the pairs of some blocks that were disconnected, the lower number first."""
        return connections.barred_among(self, numbers)

    def staged_among(self, numbers: Sequence[int]) -> dict[tuple[int, int], tuple[str, ...]]:
        """Return ``staged_sessions`` of the pairs of some blocks that have any."""
        return connections.staged_among(self, numbers)

    def staged_sessions(self, a: int, b: int) -> tuple[str, ...]:
        """Return the sessions in which a pair without an edge was returned together."""
        return connections.staged_sessions(self, a, b)

    def staged_total(self) -> int:
        """Return how many pairs are staged."""
        return connections.staged_total(self)

    def staging_order(self) -> Iterator[tuple[tuple[int, int], int]]:
        """Yield staged pairs with their number of sessions, in the order of eviction."""
        return connections.staging_order(self)

    def was_refreshed(self, a: int, b: int, session: str) -> bool:
        """Whether a recall of this session has already refreshed the pair's edge."""
        return connections.was_refreshed(self, a, b, session)

    def sightings(self) -> list[NearDuplicatePair]:
        """Return the near-duplicate pairs of which both blocks are still active."""
        return connections.sightings(self)

    def sighted(self) -> Ints:
        """Return the blocks of every near-duplicate pair recorded by now, shape (pairs, 2)."""
        return connections.sighted(self)

    # --- filters ------------------------------------------------------------------------------

    def passing(self, where: Where, numbers: Ints) -> NDArray[np.bool_]:
        """Return which of *numbers* meet a filter, regardless of their status."""
        return filtering.passing(self, where, numbers)

    # --- sessions -----------------------------------------------------------------------------

    def returned_by(self, number: int) -> dict[str, int]:
        """Return by frame, sorted, how often recorded recalls returned a block."""
        return self.state.catalogue.returns.counts(number, self.point.version)

    def open_sessions(self) -> dict[SessionId, int]:
        """Return the open sessions and the versions at which they started."""
        return dict(self.mapping(self.state.timeline.sessions))

    def latest_session(self) -> SessionId | None:
        """Return the session that was started last."""
        return self.mapping(self.state.timeline.latest_session).get("session")

    # --- compositions -------------------------------------------------------------------------

    def composition(self, composition_id: object) -> Composed | None:
        """Return the composition with this id, if it existed at this version."""
        return self.state.ledger.find(composition_id, self.point.version)

    def compositions(self) -> Iterator[Composed]:
        """Yield every composition, the latest first."""
        return self.state.ledger.upto(self.point.version)

    def composed_with(self, number: int) -> list[Composed]:
        """Return the compositions that a block is a member of, the latest first."""
        return self.state.ledger.of(number, self.point.version)

    def labels_of(self, composition: Composed) -> list[Labelled]:
        """Return the labels that count, in the order in which they were set."""
        return self.state.ledger.labels_of(composition.number, self.point.version)

    def composition_event(self, composition_id: object) -> BlocksComposed | None:
        """Return the event of the composition with this id, if there is one."""
        found = self.composition(composition_id)
        return None if found is None else found.event

    def label(self, label_version: int) -> LabelFacts | None:
        """Return the label that was set at this version, if one was."""
        found = self.state.ledger.label_at(label_version, self.point.version)
        if found is None:
            return None
        return LabelFacts(
            found.event.composition_id, found.event.label, found.counts_at(self.point.version)
        )

    # --- extractions --------------------------------------------------------------------------

    def extractions(self) -> Iterator[Extraction]:
        """Yield the extractions, in order."""
        return self.state.extractions.upto(self.point.version)

    def extractions_of(self, number: int) -> list[Extraction]:
        """Return the extractions that were shown a block as a message, in order."""
        return self.state.extractions.of_message(number, self.point.version)

    def retired_by(self, old: int, new: int) -> str | None:
        """Return who said the fact that revised a block, and which extractor found it."""
        return extracted.retired_by(self, old, new)

    def sources_of(self, number: int) -> set[int]:
        """Return the messages that a block rests on as a fact, erased ones included."""
        return extracted.sources_of(self, number)

    def facts_found_in(self, messages: Iterable[int]) -> set[int]:
        """Return the facts that quote any of *messages*, erased ones included."""
        return extracted.facts_found_in(self, messages)

    def resting_on(self, messages: Collection[int]) -> tuple[list[int], list[int]]:
        """Return the facts that rest on *messages* alone, and those that rest on others too."""
        return extracted.resting_on(self, messages)

    def resting_on_erased(self, messages: Collection[int]) -> tuple[list[int], list[int]]:
        """Return the facts that were found in erased messages: erased ones, and those kept."""
        return extracted.resting_on_erased(self, messages)

    # --- the past -----------------------------------------------------------------------------

    def stretch(self, first: int, last: int) -> LogRange:
        """Return what the events from *first* to *last* changed. Range: 1 to the view's version."""
        before, after = as_of(self.state, first - 1), as_of(self.state, last)
        return log_range_of(self, before, after)

    # --- vectors ------------------------------------------------------------------------------

    def meeting(self, vectors: Sequence[Vector]) -> Callable[[], NeighbourCache]:
        """Return a search for all neighbours of *vectors*, to be run outside of any lock.

        A promotion queries the near-duplicates of each vector and then its candidates for edges;
        this way every vector is read once. The search reads only immutable data.
        """
        return similarity.meeting(self, vectors)

    def cosines(self, vector: Vector, rows: Ints) -> Ints:
        """Return the cosine of *vector* with those in some rows of the index."""
        return similarity.cosines(self, vector, rows)

    def rough_cosines(self, vector: Vector, rows: Ints) -> NDArray[np.float32]:
        """Return what ``cosines`` does, as an approximate fraction that is computed faster.

        Returns:
            At most ``index.ROUGH`` away; above 0 exactly where the cosine is. The caller owns it.
        """
        return similarity.rough_cosines(self, vector, rows)

    def near(
        self, vectors: Sequence[Vector], categories: Sequence[str], floor: int, *, most: int
    ) -> list[list[tuple[int, int]]]:
        """Return, for each vector, the *most* best active blocks at or above *floor*."""
        return similarity.near(self, vectors, categories, floor, most=most)

    def extracted_texts(self) -> Ints | None:
        """Return the documents of blocks that extractors made, ascending; None if there are none.

        A document stays one, or not, and so do those before it.
        """
        if not self.state.extractions.count(self.point.version):
            return None
        blocks = self.speakers()[: self.text_count].astype(np.int64)
        return np.flatnonzero(self.were_extracted(blocks))

    def rarities(self, numbers: Sequence[int]) -> list[int]:
        """Return how unusual the words of each block were when it was learned, facts left out."""
        lexicon = self.state.lexicon
        documents = self.life.column("text", np.array(numbers, dtype=np.int64))
        repeating = self.extracted_texts()
        if repeating is None:
            found: list[int] = lexicon.rarity[documents].tolist()
            return found
        texts = map(self.text, numbers)
        return [
            lexicon.rarity_without(
                repeating, document, text.content if isinstance(text, BlockText) else None
            )
            for document, text in zip(documents.tolist(), texts, strict=True)
        ]

    def typicality(
        self, vectors: Mapping[int, Vector], embedder: EmbedderIdentity | None = None
    ) -> list[int]:
        """Return how typical each of *vectors* is of the blocks before it, facts left out."""
        return similarity.typicality(self, vectors, embedder)

    @property
    def text_count(self) -> int:
        """How many texts were learned by now, erased ones included."""
        count: int | None = None if self.live else self.kept.get("text_count")
        if count is None:
            texts = self.state.catalogue.life.column("text")[: self.life.count]
            count = self.kept["text_count"] = int(texts.max(initial=-1)) + 1
        return count

    def context(self, number: int) -> list[int]:
        """Return the blocks near to a block in its conversation, ascending."""
        speakers = self.speakers()[: self.text_count]  # later ones left out
        near = np.unique(self.state.sequence.links[np.flatnonzero(speakers == number)])
        near = near[(near >= 0) & (near < len(speakers))]
        found: list[int] = np.unique(speakers[near]).tolist()
        return [each for each in found if each != number]

    def statement(self, number: int) -> Statement:
        """Return the text of a block as it is compared; one without words if it is erased."""
        return self.state.statements.of(self.life.get("text", number))

    def restated(self, said: Sequence[Statement]) -> list[list[int]]:
        """Return, for each statement, the active blocks that it may restate, by number."""
        alive, speakers = self.present.alive, self.speakers()
        found = self.state.statements.restated(said)
        return [
            sorted(int(speakers[each]) for each in documents if each < len(alive) and alive[each])
            for documents in found
        ]

    def link_candidates(
        self, fresh: Sequence[Fresh], gone: Sequence[int], moment: Instant
    ) -> list[list[tuple[int, int]]]:
        """Return, for each fresh block, its best candidates for a similarity edge."""
        return similarity.link_candidates(self, fresh, gone, moment)

    def knowing(self, statistics: tuple[tuple[int, ...], ...]) -> View:
        """Return this view with recorded word statistics of a question that is answered again."""
        if statistics == self.statistics:
            return self
        other = self._copied()
        other.statistics = statistics
        return other

    def multiplied_by(self, vector: Vector) -> View:
        """Return this view with the products of a question's vector; itself if few are needed."""
        products = similarity.products_with(self, vector)
        return self if products is None else self.multiplied(products)

    def multiplied(self, products: Products) -> View:
        """Return this view with precomputed products, which change no column."""
        columns = self.columns
        other = self._copied()
        other.products, other._columns = products, columns  # noqa: SLF001 - one of our own
        return other

    def after(self, meeting: NeighbourCache) -> View:
        """Return this view with a precomputed neighbour cache."""
        other = self._copied()
        other.met = meeting
        return other

    def vector_rows(self) -> int:
        """Return the length of the prefix of the index that holds every active block's vector."""
        return int(self.present.vectors.max(initial=-1)) + 1


def live(state: State, *, active_us: int, instant_us: int) -> View:
    """Return the live view, for the writer alone, valid until the next event is applied."""
    point, head = Point(state.version, active_us, instant_us), VersionSnapshot(state, None)
    return View(state, point, head, is_latest=True)


def published_version(state: State) -> int:
    """Return the last version that readers of *state* may name: later events are being applied."""
    published = state.past.published
    known = None if published is None else published.version
    return state.version if known is None else known


def as_of(
    state: State, version: int, *, active_us: int | None = None, instant_us: int | None = None
) -> View:
    """Return the view at *version*.

    Args:
        state: A state that has reached *version*.
        version: A published version; for the writer, after ``live``, any that is applied.
        active_us: Where decay is evaluated; None: at the hour of that event.
        instant_us: Where ages are evaluated; None: when that event was recorded.

    Raises:
        PointOutOfRange: The log has no such version.
    """
    timeline = state.timeline
    timeline.checked_version(version, head=state.version)
    hour = int(timeline.active_us.values[version]) if active_us is None else active_us
    wall = int(timeline.recorded_us.values[version]) if instant_us is None else instant_us
    return View(state, Point(version, hour, wall), state.past.at(state, version), is_latest=False)
