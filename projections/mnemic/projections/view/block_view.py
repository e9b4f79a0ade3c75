"""The base of a view: its point, the settings in force, and the blocks at that point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.errors import SpaceErased
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.late import late_property
from mnemic.kernel.model.blocks import (
    ACTIVE,
    ARCHIVED,
    INBOX,
    QUARANTINED,
    BlockColumns,
    BlockFacts,
    SaidColumns,
)
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.periods import Period
from mnemic.kernel.model.texts import BlockText, Erased
from mnemic.kernel.numeric.arithmetic import NANO, nano
from mnemic.kernel.policy import CONSTITUTIONAL, DEFAULT, Policy
from mnemic.kernel.scoring.signals import UNKNOWN
from mnemic.projections.state.active_blocks import ActiveBlocks
from mnemic.projections.state.snapshots import VersionSnapshot
from mnemic.projections.state.state import State
from mnemic.projections.state.table_views import TableView
from mnemic.projections.storage.columns import Rows
from mnemic.projections.storage.sorted_arrays import among
from mnemic.projections.storage.versioned_maps import VersionedMap
from mnemic.projections.vectors.index import VectorIndex
from mnemic.projections.vectors.neighbour_cache import NeighbourCache
from mnemic.projections.view.point import Point, Products

Ints = NDArray[np.int64]


class BlockView:
    """The blocks of a space at a point, and the tables that the queries of a view read."""

    def __init__(
        self, state: State, point: Point, existing: VersionSnapshot, *, is_latest: bool
    ) -> None:
        self.state = state
        """The state behind the view."""
        self._snapshot = existing
        self.block_count = existing.blocks
        """How many numbers of blocks are in use; in a view of the past some are of later blocks."""
        self.pair_count = existing.pairs
        self.point = point
        self.live = existing.version is None
        """Whether this is the head as it moves, for the writer alone."""
        self.is_latest = is_latest
        """Whether this was the head when the view was made."""
        self.products: Products | None = None
        """Precomputed products of upcoming questions, if any."""
        self.met: NeighbourCache | None = None
        """Precomputed neighbours of vectors about to be queried, if any."""
        self.statistics: tuple[tuple[int, ...], ...] = ()
        """Recorded word statistics of a question that is answered again."""
        self.highest: str | None = None
        """The zone of the caller issuing a command from this view; None: no restriction."""
        self.writer: str | None = None
        """The actor of that caller."""
        self._alone: ActiveBlocks | None = None
        """The active blocks, if the view is restricted to a subset."""
        self._columns: Any = None
        """Its ``ActiveColumns``, once they were needed."""
        self.policy: Policy = self._in_force("policies", "policy") or DEFAULT
        self.embedder: EmbedderIdentity | None = self._in_force("embedders", "embedder")

    @late_property
    def life(self) -> TableView:
        """The blocks."""
        return self._snapshot.life

    @late_property
    def strength(self) -> TableView:
        """When blocks were reinforced, and how they decay."""
        return self._snapshot.strength

    @late_property
    def evidence(self) -> TableView:
        """Outcomes by block."""
        return self._snapshot.evidence

    @late_property
    def uses(self) -> TableView:
        """Retrievals by block."""
        return self._snapshot.uses

    @late_property
    def edge_rows(self) -> TableView:
        """Edges by pair."""
        return self._snapshot.edge_rows

    @late_property
    def index(self) -> VectorIndex:
        """The vectors of the embedder in force; empty before the first promotion."""
        found = None if self.embedder is None else self.state.indexes.get(self.embedder)
        return VectorIndex() if found is None else found

    def _copied(self) -> Self:
        """Return another view of the same, a tenth of the work of ``copy.copy``."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._columns = None
        return other

    def under(self, policy: Policy) -> Self:
        """Return this view with another policy: the same facts, evaluated differently.

        It answers what another policy would have computed at this point, not what the memory
        would have become under it.
        """
        other = self._copied()
        other.policy = policy
        return other

    @property
    def kept(self) -> dict[Any, Any]:
        """Cache of what was computed for all views of this version, see ``ActiveColumns``."""
        return self._snapshot.kept

    def _in_force(self, name: str, key: str) -> Any:
        return self.mapping(getattr(self.state.timeline, name)).get(key)

    def mapping(self, ledgered: VersionedMap[Any]) -> dict[Any, Any]:
        """Return the content of a versioned map at this point."""
        return self._snapshot.mapping(ledgered)

    @property
    def version(self) -> int:
        """The version of this view, -1 before the first event."""
        return self.point.version

    @property
    def is_erased(self) -> bool:
        """Whether the whole space has been erased, even after this view."""
        return self.state.timeline.space_erased is not None

    @property
    def salt(self) -> bytes:
        """The key of block ids.

        Raises:
            SpaceErased: It was erased with everything else.
        """
        if self.state.timeline.salt is None:
            raise SpaceErased("the space was erased")
        return self.state.timeline.salt

    @property
    def now_us(self) -> int:
        """The wall clock of this view, microseconds since the epoch."""
        return self.point.instant_us

    @property
    def curated_us(self) -> int | None:
        """Active time of the last sweep; None before the first."""
        found: int | None = self.mapping(self.state.timeline.curated_us).get("sweep")
        return found

    def number(self, block_id: object) -> int | None:
        """Return the number of a block known at this version; None for any other value."""
        if not isinstance(block_id, str):
            return None
        number = self.state.catalogue.numbers.get(BlockId(block_id))
        return number if number is not None and self.life.has(number) else None

    def id(self, number: int) -> BlockId:
        """Return the id of a block."""
        return self.state.catalogue.ids[number]

    def status(self, number: int) -> int:
        """Return INBOX, ACTIVE, ARCHIVED or QUARANTINED."""
        return self._in_quarantine(number, self.life.get("status", number))

    def _in_quarantine(self, number: int, status: int) -> int:
        """Return the status of a block, which is *status* outside of quarantine."""
        return QUARANTINED if status != ARCHIVED and self.is_quarantined(number) else status

    def is_quarantined(self, number: int) -> bool:
        """Whether a block is in quarantine, archived or not."""
        return number in self.mapping(self.state.catalogue.quarantine)

    def statuses(self, numbers: Ints) -> Ints:
        """Return ``status`` of each block."""
        found, apart = self.life.column("status", numbers), self.quarantined()
        if not len(apart):
            return found
        return np.where((found != ARCHIVED) & among(apart, numbers), QUARANTINED, found)

    def quarantined(self) -> Ints:
        """Return the numbers of the blocks in quarantine, ascending; not to be written to."""
        return self._snapshot.quarantined()

    def vectored(self) -> Ints:
        """Return the numbers of the blocks that have a vector in use or will have on release."""
        known = self.known()
        found: Ints = known[self.life.column("status", known) == ACTIVE]
        return found

    def tags(self, number: int) -> tuple[str, ...]:
        """Return the tags of a block, sorted."""
        return self.state.catalogue.tag_sets[self.life.get("tags", number)]

    def category(self, number: int) -> str:
        """Return the category of a block."""
        return self.state.catalogue.categories.words[self.life.get("category", number)]

    def zone(self, number: int) -> str:
        """Return the trust zone of a block."""
        return self.state.catalogue.zones.words[self.life.get("zone", number)]

    def actor(self, number: int) -> str:
        """Return who wrote the text of a block: the actor of the event that learned it."""
        return self.state.timeline.actor_at(self.life.get("learned", number))

    def source(self, number: int) -> str:
        """Return the source of a block."""
        return self.state.catalogue.sources.words[self.life.get("source", number)]

    def period(self, number: int) -> Period:
        """Return when the fact of a block holds."""
        return self.state.catalogue.periods.known[self.life.get("period", number)]

    def holding(self, numbers: Ints, instant_us: int | None = None) -> NDArray[np.bool_]:
        """Return which blocks have a fact that holds at a moment, that of the view if not given."""
        periods = self.state.catalogue.periods
        if periods.only_always:
            return np.ones(len(numbers), dtype=np.bool_)
        at_us = self.point.instant_us if instant_us is None else instant_us
        return periods.holding(self.life.column("period", numbers), at_us)

    def ceilings(self, numbers: Ints) -> Ints:
        """Return the score ceiling of each block, nano-units."""
        return self._by_zone(self.policy.ceiling)[self.life.column("zone", numbers)]

    def shares(self, numbers: Ints) -> Ints:
        """Return the share of an answer that blocks of the zone of each may take, nano-units."""
        return self._by_zone(self.policy.places)[self.life.column("zone", numbers)]

    def privileged(self, numbers: Ints) -> NDArray[np.bool_]:
        """Return which blocks have the privileges their tags grant."""
        return self.ceilings(numbers) >= nano(self.policy.privilege_from)

    def are_facts(self, numbers: Ints) -> NDArray[np.bool_]:
        """Return which of *numbers* an extractor has found as facts by now."""
        return self.state.extractions.are_facts(numbers, self.point.version)

    def were_extracted(self, numbers: Ints) -> NDArray[np.bool_]:
        """Return which of *numbers* exist only since an extractor found them in messages."""
        return self.state.extractions.were_extracted(numbers, self.point.version)

    def ranked_apart(self, numbers: Ints) -> NDArray[np.bool_]:
        """Return which blocks are ranked as though only such blocks were active.

        They are of a zone that may take every place of an answer, and were not made by an
        extractor: neither untrusted texts nor repetitions of messages influence how they rank.
        """
        are_apart: NDArray[np.bool_] = self.shares(numbers) == NANO
        return are_apart & ~self.were_extracted(numbers)

    def apart(self) -> Self | None:
        """Return this view as though only blocks that are ranked apart were active.

        Returns:
            None if all active blocks are, or none.
        """
        zones, most = self.state.catalogue.zones.words, self.policy.places
        extractions = self.state.extractions.count(self.point.version)
        if not extractions and len({most(zone) == NANO for zone in zones}) <= 1:
            return None
        present, shares = self.present, self._shares_of_active()
        known: tuple[Ints, int, ActiveBlocks | None] | None = present.kept.get("apart")
        if known is None or known[0] is not shares or known[1] != extractions:
            free = present.numbers[self.ranked_apart(present.numbers)]
            active = None
            if 0 < len(free) < len(present.numbers):
                # The same object, if the blocks are the same: it has columns of its own.
                before = None if known is None else known[2]
                is_same = before is not None and np.array_equal(before.numbers, free)
                active = before if is_same else present.among(self.life, free)
            known = present.kept["apart"] = shares, extractions, active
        active = known[2]
        return None if active is None else self._restricted(active)

    def _shares_of_active(self) -> Ints:
        """Return ``shares`` of the active blocks, the same array while nothing has changed."""
        return self.shares(self.present.numbers)

    def _by_zone(self, number_of: Callable[[str], int]) -> Ints:
        words = self.state.catalogue.zones.words
        return np.array([number_of(word) for word in words] or [0], dtype=np.int64)

    def promised(self, numbers: Ints, tags: Sequence[str]) -> NDArray[np.bool_]:
        """Return which blocks are guaranteed a place by one of *tags*."""
        found = self.tagged(numbers, tags)
        return found & self.privileged(numbers) if found.any() else found

    def text(self, number: int) -> BlockText | Erased:
        """Return the text of a block, or that it was erased."""
        return self.state.catalogue.texts[self.life.get("text", number)]

    def facts(self, number: int) -> BlockFacts:
        """Return the facts about a block that decisions use."""
        catalogue, prior = self.state.catalogue, self.policy.prior
        life = self.life.values(number)
        status, _, _, _, tags, _, category, source, zone, *_ = life
        *_, confidence, said_us, expires_us, period, tier_rate = life
        reinforced_us, _, rate = self.strength.values(number)
        alpha, beta = self.evidence.values(number)
        (retrievals,) = self.uses.values(number)
        return BlockFacts(
            number=number,
            id=catalogue.ids[number],
            status=self._in_quarantine(number, status),
            category=catalogue.categories.words[category],
            tags=catalogue.tag_sets[tags],
            source=catalogue.sources.words[source],
            zone=catalogue.zones.words[zone],
            confidence=confidence,
            tier_rate=tier_rate,
            rate=rate,
            reinforced_us=reinforced_us,
            alpha=prior + alpha,
            beta=prior + beta,
            retrievals=retrievals,
            expires_us=None if expires_us == UNKNOWN else expires_us,
            said_us=None if said_us == UNKNOWN else said_us,
            period=catalogue.periods.known[period],
        )

    def keyed(self, key: str) -> list[int]:
        """Return the blocks learned with a key, or with one below a ``prefix/``, archived or not.

        In the order in which each was learned last.
        """
        documents = self.state.keys.documents(key)
        speakers = self.speakers() if documents else ()
        numbers = {int(speakers[each]) for each in documents if each < len(speakers)}
        known = (number for number in numbers if self.life.has(number))
        return sorted(known, key=lambda number: self.life.get("learned", number))

    def known(self) -> Ints:
        """Return the numbers of every block learned by now, ascending."""
        return np.flatnonzero(self.life.rows[: self.block_count] >= 0)

    @property
    def learned_count(self) -> int:
        """How many blocks were learned by now, archived ones included."""
        return self._learned_count

    @late_property
    def _learned_count(self) -> int:
        return int(np.count_nonzero(self.life.rows[: self.block_count] >= 0))

    @property
    def present(self) -> ActiveBlocks:
        """The active blocks, with the columns that are read for all of them."""
        return self._snapshot.present() if self._alone is None else self._alone

    def among(self, numbers: Ints) -> Self:
        """Return this view as though no other blocks were active than *numbers*, ascending.

        For recalls only; rarity is unaffected, because it was fixed when a text was added.
        """
        return self._restricted(self.present.among(self.life, numbers))

    def _restricted(self, active: ActiveBlocks) -> Self:
        other = self._copied()
        other._alone = active  # noqa: SLF001 - one of our own
        return other

    def with_status(self, status: int) -> Ints:
        """Return the numbers of the blocks with *status*, ascending; not to be written to."""
        if status == ACTIVE:
            return self.present.numbers
        known = self.known()
        found: Ints = known[self.statuses(known) == status]
        return found

    def are_active(self, numbers: Ints) -> NDArray[np.bool_]:
        """Return which of *numbers* are active, within the scope of this view."""
        if self._alone is not None:
            return among(self._alone.numbers, numbers)
        active: NDArray[np.bool_] = self.statuses(numbers) == ACTIVE
        return active

    @staticmethod
    def union(*groups: Ints) -> Ints:
        """Return the numbers of the blocks that are in any of *groups*, ascending."""
        found = np.concatenate(groups)
        found.sort()
        first = np.ones(len(found), dtype=np.bool_)
        np.not_equal(found[1:], found[:-1], out=first[1:])
        return found[first]

    def speakers(self) -> NDArray[np.int32]:
        """Return, by document, the block that has this text, for every document there ever was."""
        return self.state.past.speakers(self.state.catalogue.life)

    def vectors_of(self, numbers: Ints) -> Ints:
        """Return the row of the index that holds the vector of each of *numbers*."""
        present = self.present
        if numbers is present.numbers:
            return present.vectors.astype(np.int64)
        return self.life.column("vector", numbers)

    def predecessors(self, number: int) -> list[int]:
        """Return the blocks that a block succeeds, ascending."""
        ever = self.state.past.predecessors(self.state.catalogue.life, number)
        return [
            old for old in ever if self.life.has(old) and self.life.get("successor", old) == number
        ]

    def predecessors_of(self, numbers: Sequence[int]) -> dict[int, list[int]]:
        """Return ``predecessors`` of each of several blocks."""
        if not self.has_successions:
            return {number: [] for number in numbers}
        return {number: self.predecessors(number) for number in numbers}

    @property
    def has_successions(self) -> bool:
        """Whether a block was superseded at any version, before or after this view."""
        return len(self.state.past.successions(self.state.catalogue.life)[0]) > 0

    def successions(self) -> tuple[Ints, Ints]:
        """Return every block that is superseded, and its successor."""
        old, new = self.state.past.successions(self.state.catalogue.life)
        if not len(old):
            return old, new
        existing = old < self.block_count
        old, new = old[existing], new[existing]
        existing = self.life.rows[old] >= 0
        old, new = old[existing], new[existing]
        holds = self.life.column("successor", old) == new
        return old[holds], new[holds]

    def said_order(self, numbers: Ints) -> Ints:
        """Return the rank of each block by when it was last said: the order of what contradicts.

        By date, that of its event if it is undated; ties by version. A block has one rank.
        """
        said = self.life.column("said", numbers)
        dates = self.life.column("created_us", numbers)
        dates = np.where(dates == UNKNOWN, self.state.timeline.recorded_us.values[said], dates)
        order = np.lexsort((said, dates))
        dates, said = dates[order], said[order]
        rises = (dates[1:] != dates[:-1]) | (said[1:] != said[:-1])
        ranks = np.zeros(len(numbers), dtype=np.int64)
        ranks[order[1:]] = np.cumsum(rises)
        return ranks

    def said(self, numbers: Ints) -> SaidColumns:
        """Return when each of *numbers* was last said."""
        versions, timeline = self.life.column("said", numbers), self.state.timeline
        return SaidColumns(
            version=versions,
            active_us=timeline.active_us.values[versions],
            recorded_us=timeline.recorded_us.values[versions],
        )

    def inbox(self) -> list[int]:
        """Return the numbers of the blocks in the inbox, oldest first."""
        if self.live:
            apart = self.mapping(self.state.catalogue.quarantine)
            return [number for number in self.state.catalogue.waiting if number not in apart]
        waiting = self.with_status(INBOX)
        order = np.argsort(self.life.column("learned", waiting), kind="stable")
        numbers: list[int] = waiting[order].tolist()
        return numbers

    @property
    def waiting_count(self) -> int:
        """How many blocks are in the inbox."""
        count: int | None = self.kept.get("waiting")
        if count is None:
            count = self.kept["waiting"] = self._count_waiting()
        return count

    def _count_waiting(self) -> int:
        if self.live:
            return len(self.inbox())
        rows, apart, kept = self.life.rows, self.quarantined(), self.present.kept
        known: tuple[Rows, Ints, int] | None = kept.get("waiting")
        if known is not None and known[0] is rows and np.array_equal(known[1], apart):
            return known[2]  # of another version, between which no block changed
        count = len(self.with_status(INBOX))
        kept["waiting"] = rows, apart, count
        return count

    def waiting_within(self, zone: str) -> int:
        """Return how many blocks of *zone* and of lower zones are in the inbox."""
        ceilings = self.ceilings(np.array(self.inbox(), dtype=np.int64))
        return int(np.count_nonzero(ceilings <= self.policy.ceiling(zone)))

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

    def tagged(self, numbers: Ints, wanted: Sequence[str]) -> NDArray[np.bool_]:
        """Return which blocks have a wanted tag, or one that starts with a wanted ``prefix/``."""
        if not wanted:
            return np.zeros(len(numbers), dtype=np.bool_)
        tag_sets = self.life.column("tags", numbers)
        found: NDArray[np.bool_] = self.state.catalogue.sets_with(tuple(wanted))[tag_sets]
        return found
