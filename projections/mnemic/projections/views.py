"""A view: everything one can ask, as it was at one point of the log.

A view is a version, an hour and an instant, and for each table the rows that stand at that
version. The live view borrows the heads of the tables and is good until the next event; a view of
the past finds its rows by a mask and stays true for ever. Every query runs on either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray

from mnemic.kernel.arithmetic import MICROS_PER_HOUR, NANO, nano
from mnemic.kernel.errors import SpaceErased
from mnemic.kernel.events import BlocksComposed, EmbedderIdentity
from mnemic.kernel.identity import BlockId, SessionId
from mnemic.kernel.policy import CONSTITUTIONAL, DEFAULT, Policy
from mnemic.kernel.reading import (
    ACTIVE,
    INBOX,
    NO_ANCHOR,
    BlockColumns,
    BlockFacts,
    EdgeColumns,
    EdgeFacts,
    Fresh,
    LabelFacts,
    Moment,
    PendingFacts,
)
from mnemic.kernel.scoring import UNKNOWN
from mnemic.kernel.stretch import Stretch
from mnemic.kernel.texts import BlockText, Erased
from mnemic.kernel.vectors import Vector
from mnemic.projections.graph import Pending, Sighting, key
from mnemic.projections.index import VectorIndex
from mnemic.projections.ledger import Composed, Labelled
from mnemic.projections.linking import Column, LinkRule, link_candidates, near_matches
from mnemic.projections.meeting import Meeting
from mnemic.projections.overlay import Overlay
from mnemic.projections.present import Present, places
from mnemic.projections.staging import Staged, order_of
from mnemic.projections.standing import Standing
from mnemic.projections.state import State
from mnemic.projections.stretches import stretch_of

Ints = NDArray[np.int64]


@frozen
class Point:
    """Where a view stands."""

    version: int
    active_us: int
    """Decay is evaluated here."""
    instant_us: int
    """Ages are evaluated here."""

    @property
    def hour(self) -> float:
        """Active hours."""
        return self.active_us / MICROS_PER_HOUR


@frozen(eq=False)
class Products:
    """What questions give when multiplied with the first vectors of an index, all at once."""

    embedder: EmbedderIdentity | None
    of: Mapping[bytes, NDArray[np.float32]]
    """By the bytes of a question's vector."""


@define(eq=False)
class _Nearness:
    """How near something is roughly: what was worked out last, for views of one moment."""

    last: tuple[bytes, Ints, NDArray[np.float32]] | None = None
    """The vector asked about, numbers of blocks, rising, and a fraction for each."""

    def of(self, vector: Vector, numbers: Ints) -> NDArray[np.float32] | None:
        """Return the fractions of some blocks, if they are all known."""
        last = self.last
        if last is None or last[0] != vector.tobytes():
            return None
        at = places(last[1], numbers)
        return None if at.min(initial=0) < 0 else last[2][at]


class View:
    """The read side of a space at a point. Implements ``mnemic.kernel.reading.Reading``."""

    def __init__(self, state: State, point: Point, *, live: bool) -> None:
        standing = Standing(state, None) if live else state.past.at(state, point.version)
        self._state = state
        self._standing = standing
        self._blocks = standing.blocks
        self._pairs = standing.pairs
        self.point = point
        self.live = live
        self.life = standing.life
        self.strength = standing.strength
        self.evidence = standing.evidence
        self.uses = standing.uses
        self.edge_rows = standing.edge_rows
        self.products: Products | None = None
        """Of questions that are about to be asked, if somebody has worked them out."""
        self.met: Meeting | None = None
        """What vectors that are about to be asked about are near to, if somebody has looked."""
        self.highest: str | None = None
        """The zone of whoever commands on what this view shows; None: they reach all."""
        self._alone: Present | None = None
        """Who is left, where some are looked at as though there were no others."""
        self._nearness: _Nearness | None = None
        """What is shared with a view of some blocks: what is near to a question is so in both."""
        self.policy: Policy = self._in_force("policies", "policy") or DEFAULT
        self.embedder: EmbedderIdentity | None = self._in_force("embedders", "embedder")

    def under(self, policy: Policy) -> View:
        """Return this view with another policy: what stood is the same, what counts is not.

        It answers what another policy would have made of this moment, and not what the memory
        would have become under it.
        """
        other = copy(self)
        other.policy = policy
        return other

    def _in_force(self, name: str, key: str) -> Any:
        return self._mapping(getattr(self._state.timeline, name)).get(key)

    @property
    def state(self) -> State:
        """The fold behind the view."""
        return self._state

    @property
    def salt(self) -> bytes:
        """The key of block ids.

        Raises:
            SpaceErased: It is gone with everything else.
        """
        if self._state.timeline.salt is None:
            raise SpaceErased("the space was erased")
        return self._state.timeline.salt

    @property
    def curated_us(self) -> int | None:
        """Active time of the last sweep; None before the first."""
        found: int | None = self._mapping(self._state.timeline.curated_us).get("sweep")
        return found

    # --- blocks -----------------------------------------------------------------------------

    def number(self, block_id: object) -> int | None:
        """Return the number of a block that was learned by now; whatever else has none."""
        if not isinstance(block_id, str):
            return None
        number = self._state.catalogue.numbers.get(BlockId(block_id))
        return number if number is not None and self.life.stands(number) else None

    def id(self, number: int) -> BlockId:
        """Return the id of a block."""
        return self._state.catalogue.ids[number]

    def status(self, number: int) -> int:
        """Return INBOX, ACTIVE or ARCHIVED."""
        return self.life.get("status", number)

    def tags(self, number: int) -> tuple[str, ...]:
        """Return the tags of a block, sorted."""
        return self._state.catalogue.tag_sets[self.life.get("tags", number)]

    def category(self, number: int) -> str:
        """Return the category of a block."""
        return self._state.catalogue.categories.words[self.life.get("category", number)]

    def zone(self, number: int) -> str:
        """Return the trust zone of a block."""
        return self._state.catalogue.zones.words[self.life.get("zone", number)]

    def ceilings(self, numbers: Ints) -> Ints:
        """Return the most that anything with each block can score, nano-units."""
        return self._by_zone(self.policy.ceiling)[self.life.column("zone", numbers)]

    def shares(self, numbers: Ints) -> Ints:
        """Return the share of an answer that blocks of the zone of each may take, nano-units."""
        return self._by_zone(self.policy.places)[self.life.column("zone", numbers)]

    def privileged(self, numbers: Ints) -> NDArray[np.bool_]:
        """Return which blocks have what their tags grant."""
        return self.ceilings(numbers) >= nano(self.policy.privilege_from)

    def unlimited(self) -> View | None:
        """Return this view as though no blocks were active but those that may take every place.

        What the two are asked about the same vector, they work out once.

        Returns:
            None where all active blocks may, or none.
        """
        zones, most = self._state.catalogue.zones.words, self.policy.places
        if len({most(zone) == NANO for zone in zones}) <= 1:
            return None
        numbers = self.with_status(ACTIVE)
        free = numbers[self.shares(numbers) == NANO]
        if not 0 < len(free) < len(numbers):
            return None
        self._nearness = _Nearness()
        return self.among(free)

    def _by_zone(self, number_of: Callable[[str], int]) -> Ints:
        words = self._state.catalogue.zones.words
        return np.array([number_of(word) for word in words] or [0], dtype=np.int64)

    def promised(self, numbers: Ints, tags: Sequence[str]) -> NDArray[np.bool_]:
        """Return which blocks have a place because of one of *tags*."""
        found = self.tagged(self.life.column("tags", numbers), tags)
        return found & self.privileged(numbers) if found.any() else found

    def text(self, number: int) -> BlockText | Erased:
        """Return what the block says, or that it was erased."""
        return self._state.catalogue.texts[self.life.get("text", number)]

    def facts(self, number: int) -> BlockFacts:
        """Return what decisions ask about a block."""
        expires = self.life.get("expires_us", number)
        return BlockFacts(
            number=number,
            id=self.id(number),
            status=self.status(number),
            category=self.category(number),
            tags=self.tags(number),
            source=self._state.catalogue.sources.words[self.life.get("source", number)],
            zone=self.zone(number),
            confidence=self.life.get("confidence", number),
            tier_rate=self.life.get("tier_rate", number),
            rate=self.strength.get("rate", number),
            reinforced_us=self.strength.get("reinforced_us", number),
            alpha=self.policy.prior + self.evidence.get("alpha", number),
            beta=self.policy.prior + self.evidence.get("beta", number),
            retrievals=self.uses.get("retrievals", number),
            expires_us=None if expires == UNKNOWN else expires,
        )

    def known(self) -> Ints:
        """Return the numbers of every block learned by now, rising."""
        return np.flatnonzero(self.life.rows[: self._blocks] >= 0)

    @property
    def present(self) -> Present:
        """The active blocks, and what is asked about all of them."""
        return self._standing.present() if self._alone is None else self._alone

    def among(self, numbers: Ints) -> View:
        """Return this view as though no other blocks were active than *numbers*, rising.

        Recalls ask nothing else of it; what is rare was said at the time.
        """
        other = copy(self)
        other._alone = self.present.among(self.life, numbers)  # noqa: SLF001 - one of our own
        return other

    def with_status(self, status: int) -> Ints:
        """Return the numbers of the blocks with *status*, rising; not to be written to."""
        if status == ACTIVE:
            return self.present.numbers
        known = self.known()
        found: Ints = known[self.life.column("status", known) == status]
        return found

    def are_active(self, numbers: Ints) -> NDArray[np.bool_]:
        """Return which of *numbers* are active, as far as this view looks."""
        if self._alone is not None:
            return places(self._alone.numbers, numbers) >= 0
        active: NDArray[np.bool_] = self.life.column("status", numbers) == ACTIVE
        return active

    def mask(self, numbers: Ints) -> NDArray[np.bool_]:
        """Return, by block number, which blocks are among *numbers*."""
        among = np.zeros(self._blocks, dtype=np.bool_)
        among[numbers] = True
        return among

    @staticmethod
    def union(*groups: Ints) -> Ints:
        """Return the numbers of the blocks that are in any of *groups*, rising."""
        found: Ints = np.unique(np.concatenate(groups))
        return found

    def documents(self, numbers: Ints) -> tuple[NDArray[np.bool_], Ints]:
        """Return which documents of the lexicon are active blocks', and those of *numbers*."""
        present = self.present
        if numbers is present.numbers:
            return present.alive, present.texts.astype(np.int64)
        return present.alive, self.life.column("text", numbers)

    def speakers(self) -> NDArray[np.int32]:
        """Return, by document, the block that says it, for every document there ever was."""
        return self._state.past.speakers(self._state.catalogue.life)

    def vectors_of(self, numbers: Ints) -> Ints:
        """Return the row of the index that holds the vector of each of *numbers*."""
        present = self.present
        if numbers is present.numbers:
            return present.vectors.astype(np.int64)
        return self.life.column("vector", numbers)

    def predecessors(self, number: int) -> list[int]:
        """Return the blocks that a block succeeds, rising."""
        ever = self._state.past.predecessors(self._state.catalogue.life, number)
        return [
            old
            for old in ever
            if self.life.stands(old) and self.life.get("successor", old) == number
        ]

    def inbox(self) -> list[int]:
        """Return the numbers of the blocks that wait, first in first."""
        if self.live:
            return list(self._state.catalogue.waiting)
        waiting = self.with_status(INBOX)
        order = np.argsort(self.life.column("learned", waiting), kind="stable")
        numbers: list[int] = waiting[order].tolist()
        return numbers

    def active(self) -> BlockColumns:
        """Return the active blocks as columns."""
        numbers = self.with_status(ACTIVE)
        return BlockColumns(
            numbers=numbers,
            reinforced_us=self.strength.column("reinforced_us", numbers),
            reinforcements=self.strength.column("reinforcements", numbers),
            rate=self.strength.column("rate", numbers),
            tier_rate=self.life.column("tier_rate", numbers),
            alpha=self.policy.prior + self.evidence.column("alpha", numbers),
            beta=self.policy.prior + self.evidence.column("beta", numbers),
            confidence=self.life.column("confidence", numbers),
            retrievals=self.uses.column("retrievals", numbers),
            expires_us=self.life.column("expires_us", numbers),
            constitutional=self.promised(numbers, (CONSTITUTIONAL,)),
            ceiling=self.ceilings(numbers),
        )

    def tagged(self, tag_sets: Ints, wanted: Sequence[str]) -> NDArray[np.bool_]:
        """Return which tag sets have a wanted tag, or one that starts with a wanted ``prefix/``."""
        if not wanted:
            return np.zeros(len(tag_sets), dtype=np.bool_)
        found: NDArray[np.bool_] = self._state.catalogue.sets_with(tuple(wanted))[tag_sets]
        return found

    # --- edges ------------------------------------------------------------------------------

    def edge(self, a: int, b: int) -> EdgeFacts | None:
        """Return the edge between two blocks, if one stands."""
        pair = self._state.graph.pairs.get(key(a, b))
        return None if pair is None else self._edge(pair)

    def is_linked(self, a: int, b: int) -> bool:
        """Whether an edge stands between two blocks; cheaper than asking for it."""
        pair = self._state.graph.pairs.get(key(a, b))
        return pair is not None and self.edge_rows.stands(pair)

    def _edge(self, pair: int) -> EdgeFacts | None:
        if not self.edge_rows.stands(pair):
            return None
        graph, row = self._state.graph, self.edge_rows
        source = row.get("source", pair)
        low, high = int(graph.low[pair]), int(graph.high[pair])
        anchor = row.get("anchor_us", pair)
        return EdgeFacts(
            source,
            high if source == low else low,
            graph.relations.words[row.get("relation", pair)],
            graph.origins.words[row.get("origin", pair)],
            row.get("weight", pair),
            None if anchor == NO_ANCHOR else anchor,
            row.get("count", pair),
        )

    def note(self, a: int, b: int) -> str | None:
        """Return the note on the edge between two blocks, unless there is none or it is erased."""
        number = self.edge_rows.get("note", self._state.graph.pairs[key(a, b)])
        if number < 0:
            return None
        note = self._state.graph.notes[number]
        return None if isinstance(note, Erased) else note.text

    def edges_of(self, number: int) -> list[EdgeFacts]:
        """Return the edges of a block in the order in which its pairs were first linked."""
        found = (self._edge(pair) for pair in self._state.graph.incident[number])
        return [edge for edge in found if edge is not None]

    def related(self, number: int, relation: str) -> list[EdgeFacts]:
        """Return the edges of a block with *relation*, in the order of ``edges_of``."""
        graph, rows = self._state.graph, self.edge_rows
        wanted = graph.relations.known(relation)
        if wanted < 0:
            return []
        found = (
            self._edge(pair)
            for pair in graph.incident[number]
            if rows.stands(pair) and rows.get("relation", pair) == wanted
        )
        return [edge for edge in found if edge is not None]

    def degree(self, number: int) -> int:
        """Return how many edges a block has."""
        if self.live:
            return int(self._state.graph.degrees[number])
        return sum(self.edge_rows.stands(pair) for pair in self._state.graph.incident[number])

    def pairs(self) -> Ints:
        """Return the numbers of the pairs with a standing edge, rising."""
        return np.flatnonzero(self.edge_rows.rows[: self._pairs] >= 0)

    def pairs_at(self, numbers: Ints) -> Ints:
        """Return the numbers of the pairs with a standing edge at any of *numbers*, rising."""
        rows, pairs = self.edge_rows.rows, self._state.graph.incident.of(numbers)
        # Once, though it may hang on two of them.
        pairs = np.concatenate((pairs[:1], pairs[1:][pairs[1:] != pairs[:-1]]))
        pairs = pairs[pairs < len(rows)]
        return pairs[rows[pairs] >= 0]

    def standing(self) -> EdgeColumns:
        """Return the standing edges as columns."""
        pairs, graph = self.pairs(), self._state.graph
        low = graph.low[pairs].astype(np.int64)
        high = graph.high[pairs].astype(np.int64)
        return EdgeColumns(
            low=low,
            high=high,
            weight=self.edge_rows.column("weight", pairs),
            count=self.edge_rows.column("count", pairs),
            anchor_us=self.edge_rows.column("anchor_us", pairs),
            agent=self.edge_rows.column("origin", pairs) == graph.origins.known("agent"),
            tier_low=self.life.column("tier_rate", low),
            tier_high=self.life.column("tier_rate", high),
        )

    def waiting_connections(self) -> list[Pending]:
        """Return the deferred connections, first in first."""
        return self._ledgered(self._state.graph.pending)

    def pending(self) -> list[PendingFacts]:
        """Return the deferred connections as decisions see them."""
        return [
            PendingFacts(waiting.source, waiting.target, waiting.relation, waiting.weight)
            for waiting in self.waiting_connections()
        ]

    def is_pending(self, a: int, b: int) -> bool:
        """Whether a connection of the two waits for room."""
        return key(a, b) in self._mapping(self._state.graph.pending)

    def is_barred(self, a: int, b: int) -> bool:
        """Whether the two were disconnected and not connected since."""
        return key(a, b) in self._mapping(self._state.graph.barred)

    def staged(self) -> dict[tuple[int, int], Staged]:
        """Return the staged pairs in the order in which they were last staged."""
        return self._mapping(self._state.graph.staged)

    def staged_with(self, number: int) -> list[tuple[int, int]]:
        """Return the staged pairs of a block."""
        if self.live:
            return self._state.graph.staged.of(number)
        return [ends for ends in self.staged() if number in ends]

    def staged_sessions(self, a: int, b: int) -> tuple[str, ...]:
        """Return the sessions in which a pair without an edge was returned together."""
        standing = self.staged().get(key(a, b))
        return () if standing is None else standing.sessions

    def staged_total(self) -> int:
        """Return how many pairs are staged."""
        return len(self.staged())

    def staging_order(self) -> Iterator[tuple[tuple[int, int], int]]:
        """Yield staged pairs with their number of sessions, in the order in which they would go."""
        ids, graph = self._state.catalogue.ids, self._state.graph
        return graph.staged.order(ids) if self.live else order_of(self.staged(), ids)

    def was_refreshed(self, a: int, b: int, session: str) -> bool:
        """Whether a recall of this session has refreshed the pair's edge already."""
        return self._state.graph.refreshed.by(key(a, b), session, self.point.version)

    def returned_by(self, number: int) -> dict[str, int]:
        """Return by frame, sorted, how often recorded recalls returned a block."""
        return self._state.catalogue.returns.counts(number, self.point.version)

    def sightings(self) -> list[Sighting]:
        """Return the near-duplicate pairs of which both blocks are still active."""
        return [
            pair
            for pair in self._ledgered(self._state.graph.sightings)
            if self.status(pair.block) == ACTIVE and self.status(pair.other) == ACTIVE
        ]

    def sighted(self) -> Ints:
        """Return the blocks of every near-duplicate pair recorded by now, shape (pairs, 2)."""
        version = self._state.version if self.live else self.point.version
        return self._state.past.sighted(self._state.graph.sightings, version)

    def open_sessions(self) -> dict[SessionId, int]:
        """Return the open sessions and the versions at which they started."""
        return dict(self._mapping(self._state.timeline.sessions))

    def latest_session(self) -> SessionId | None:
        """Return the session that was started last."""
        return self._mapping(self._state.timeline.latest_session).get("session")

    def _mapping(self, ledgered: Any) -> dict[Any, Any]:
        return self._standing.mapping(ledgered)

    def _ledgered(self, ledgered: Any) -> list[Any]:
        return list(self._mapping(ledgered).values())

    # --- compositions -----------------------------------------------------------------------

    def composition(self, composition_id: object) -> Composed | None:
        """Return the composition with this id, if it had been composed by now."""
        return self._state.ledger.find(composition_id, self.point.version)

    def compositions(self) -> Iterator[Composed]:
        """Yield every composition, the latest first."""
        return self._state.ledger.upto(self.point.version)

    def composed_with(self, number: int) -> list[Composed]:
        """Return the compositions that a block is a member of, the latest first."""
        return self._state.ledger.of(number, self.point.version)

    def labels_of(self, composition: Composed) -> list[Labelled]:
        """Return the labels that count, in the order of setting."""
        return self._state.ledger.labels_of(composition.number, self.point.version)

    def composition_event(self, composition_id: object) -> BlocksComposed | None:
        """Return what was composed under this id, if anything was."""
        found = self.composition(composition_id)
        return None if found is None else found.event

    def label(self, label_version: int) -> LabelFacts | None:
        """Return the label that was set at this version, if one was."""
        found = self._state.ledger.label_at(label_version, self.point.version)
        if found is None:
            return None
        return LabelFacts(
            found.event.composition_id, found.event.label, found.counts_at(self.point.version)
        )

    def stretch(self, first: int, last: int) -> Stretch:
        """Return what the events from *first* to *last* changed. Range: 1 to the view's version."""
        before, after = as_of(self._state, first - 1), as_of(self._state, last)
        return stretch_of(self, before, after)

    # --- vectors ----------------------------------------------------------------------------

    @property
    def index(self) -> VectorIndex:
        """The vectors of the embedder in force; empty before the first promotion."""
        if self.embedder is None:
            return VectorIndex()
        return self._state.indexes.get(self.embedder, VectorIndex())

    def multiplied(self, products: Products) -> View:
        """Return this view with products at hand that somebody has worked out before."""
        other = copy(self)
        other.products = products
        return other

    def meeting(self, vectors: Sequence[Vector]) -> Callable[[], Meeting]:
        """Return the search for all that *vectors* are near to, to be run where nobody waits.

        Who asks what is near to each of them and then what each may be linked with, as a promotion
        does, looks at every vector once. The search reads what is never changed.
        """
        index, policy = self.index, self.policy
        rows = self.vectors_of(self.with_status(ACTIVE))
        floor = nano(min(policy.cosine_guard, policy.near_duplicate_noted))
        return lambda: Meeting(index, vectors, rows, floor=floor)

    def after(self, meeting: Meeting) -> View:
        """Return this view with what a meeting found at hand."""
        other = copy(self)
        other.met = meeting
        return other

    @property
    def _neighbourhood(self) -> VectorIndex | Meeting:
        """The index, and what is at hand of its pairs."""
        index, met = self.index, self.met
        # Another one after an erasure, or a change of embedders.
        return met if met is not None and met.index is index else index

    def vector_rows(self) -> int:
        """Return how many rows of the index hold every vector of an active block."""
        return int(self.present.vectors.max(initial=-1)) + 1

    def cosines(self, vector: Vector, numbers: Ints) -> Ints:
        """Return the cosine of *vector* with that of each of the active blocks *numbers*."""
        rows = self.vectors_of(numbers)
        return self.index.cosines(vector, rows, products=self._products_of(vector))

    def rough_cosines(self, vector: Vector, numbers: Ints) -> NDArray[np.float32]:
        """Return what ``cosines`` does, as a fraction that is almost right and quickly found.

        Args:
            vector: What is asked about.
            numbers: Of active blocks, rising.

        Returns:
            At most ``index.ROUGH`` away; above 0 exactly where the cosine is. The caller's own.
        """
        nearness = self._nearness
        known = None if nearness is None else nearness.of(vector, numbers)
        if known is not None:
            return known
        rows = self.vectors_of(numbers)
        found = self.index.rough_cosines(vector, rows, products=self._products_of(vector))
        if nearness is not None:
            nearness.last = vector.tobytes(), numbers, found.copy()
        return found

    def _products_of(self, vector: Vector) -> NDArray[np.float32] | None:
        products = self.products
        if products is None or products.embedder != self.embedder:
            return None
        return products.of.get(vector.tobytes())

    def near(
        self, vectors: Sequence[Vector], categories: Sequence[str], floor: int
    ) -> list[list[tuple[int, int]]]:
        """Return, for each vector, the active blocks at or above *floor*, best first."""
        exempt = frozenset(self.policy.near_duplicate_exempt)
        asking = [place for place, name in enumerate(categories) if name not in exempt]
        matches: list[list[tuple[int, int]]] = [[] for _ in vectors]
        rows = self.vectors_of(self.with_status(ACTIVE))
        if not asking or not len(rows):
            return matches
        left_out = [self._state.catalogue.categories.known(name) for name in exempt]
        found = near_matches(
            self._neighbourhood,
            [vectors[place] for place in asking],
            rows,
            counts=lambda near: ~np.isin(self.life.column("category", near), left_out),
            ids=self._state.catalogue.ids,
            floor=floor,
        )
        for place, near in zip(asking, found, strict=True):
            matches[place] = near
        return matches

    def link_candidates(
        self, fresh: Sequence[Fresh], gone: Sequence[int], moment: Moment
    ) -> list[list[tuple[int, int]]]:
        """Return, for each fresh block, its best candidates for a similarity edge."""
        if not self.policy.edge_candidates:
            return [[] for _ in fresh]
        numbers = [block.number for block in fresh]
        new = np.array(numbers, dtype=np.int64)
        overlay = Overlay(self._neighbourhood, numbers, [block.vector for block in fresh])
        rows = dict(zip(numbers, range(overlay.first, overlay.first + len(numbers)), strict=True))
        now = {each: moment.active_us for each in numbers if self.status(each) == INBOX}
        tag_sets = self._state.catalogue.tag_sets
        known = len(tag_sets)
        own_tags = {number: known + place for place, number in enumerate(numbers)}
        # A block that waits may still name a row: of a promotion that was reverted, with another
        # embedder. So it is active blocks that are left out, and not rows.
        present = self.present
        held = places(present.numbers, np.array([*numbers, *gone], dtype=np.int64))
        staying = np.delete(present.vectors, held[held >= 0]).astype(np.int64)
        own = [row for number, row in rows.items() if number not in gone]
        return link_candidates(
            overlay,
            new,
            np.concatenate((staying, np.array(own, dtype=np.int64))),
            row_of=Column(self.vectors_of, self._blocks, rows),
            category_of=Column(partial(self.life.column, "category"), self._blocks),
            reinforced_us=Column(partial(self.strength.column, "reinforced_us"), self._blocks, now),
            tag_set_of=Column(partial(self.life.column, "tags"), self._blocks, own_tags),
            tags_in=lambda number: frozenset(
                tag_sets[number] if number < known else fresh[number - known].tags
            ),
            ids=self._state.catalogue.ids,
            rule=LinkRule.of(self.policy),
        )


def live(state: State, *, active_us: int, instant_us: int) -> View:
    """Return the live view, good until the next event is folded."""
    return View(state, Point(state.version, active_us, instant_us), live=True)


def as_of(
    state: State, version: int, *, active_us: int | None = None, instant_us: int | None = None
) -> View:
    """Return the view at *version*.

    Args:
        state: A fold that has reached *version*.
        version: A version of the log.
        active_us: Where decay is evaluated; None: at the hour of that event.
        instant_us: Where ages are evaluated; None: when that event was recorded.

    Raises:
        PointOutOfRange: The log has no such version.
    """
    timeline = state.timeline
    timeline.checked_version(version)
    hour = int(timeline.active_us.values[version]) if active_us is None else active_us
    wall = int(timeline.recorded_us.values[version]) if instant_us is None else instant_us
    return View(state, Point(version, hour, wall), live=False)
