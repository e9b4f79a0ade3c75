"""Decision of curate: one sweep that archives, prunes and reinforces.

The order is fixed (DOMAIN section 7): archive, prune, drop what decayed, admit pending
connections, reinforce. Each step works on the result of the steps before it.

Archived is what decayed, then what expired, then what the policy's rules of retention do not keep
(ADR 68):

1. A rule is about the blocks that its filter finds among those that are active or in the inbox, but
   not about constitutional ones. A block is archived by the first rule that does not keep it, and
   no later rule counts it.
2. The age of a block runs from when it was last said: the time of that event in the log, by the
   calendar or in active hours. It ends at the time of the sweep. No clock is read.
3. Of the blocks that are young enough, the ones said last are kept; ties by number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.decision import Decision, single
from mnemic.kernel.decisions.degree_cap import DegreeCap
from mnemic.kernel.decisions.degree_cap import ends as room_ends
from mnemic.kernel.events import SIGNALS, Admission, Archival, Curated, Pair
from mnemic.kernel.model.edges import NO_ANCHOR, PendingFacts
from mnemic.kernel.model.identity import SCOPE_KEYS, BlockId
from mnemic.kernel.model.identity import pair as pair_of_ids
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.numeric.arithmetic import decayed_each, nano, product_each
from mnemic.kernel.policy import CONSTITUTIONAL, RetentionRule
from mnemic.kernel.reading import Reading
from mnemic.kernel.scope import key_of, scope_of
from mnemic.kernel.scoring.decay import edge_rates, effective_weights
from mnemic.kernel.scoring.signals import (
    UNKNOWN,
    centrality,
    composites,
    edge_pull,
    frequency,
    reinforcement,
    usefulness,
)
from mnemic.kernel.timestamps import Instant

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def decide_curate(reading: Reading, at: Instant) -> Decision[None]:
    """Decide one sweep; no event if nothing is required.

    Source: DOMAIN section 7.
    """
    event = _Sweep(reading, at).event()
    changes = (
        event.archived,
        event.pruned,
        event.decayed,
        event.admitted,
        event.constitutional,
        event.reinforced,
    )
    return single(event if any(changes) else None)


class _Sweep:
    """The columns of a reading, and the entries that each step affects."""

    def __init__(self, reading: Reading, at: Instant) -> None:
        self._reading = reading
        self._policy = reading.policy
        self._at = at
        self._blocks = blocks = reading.active()
        self._edges = edges = reading.standing()
        self._recency = decayed_each(blocks.rate, at.active_us - blocks.reinforced_us)
        self._faded = (self._recency < nano(self._policy.archive_below)) & ~blocks.constitutional
        self._faded[self._faded] = [not self._has_key(each) for each in blocks.numbers[self._faded]]
        expires = (blocks.expires_us != UNKNOWN) & (blocks.expires_us <= at.recorded_us)
        self._expired = expires & ~self._faded
        self._alive = ~(self._faded | self._expired)
        left = blocks.numbers[self._alive & ~blocks.constitutional]
        self._ruled_out = _past_retention(reading, left, at)
        ruled_out = np.array([number for number, _ in self._ruled_out], dtype=np.int64)
        self._alive &= ~np.isin(blocks.numbers, ruled_out)
        gone = np.union1d(blocks.numbers[~self._alive], ruled_out)
        stays = ~np.isin(edges.low, gone) & ~np.isin(edges.high, gone)
        weak = edges.weight < nano(self._policy.edge_prune_below)
        self._pruned = stays & weak & (edges.count == 0)
        self._decayed = stays & ~self._pruned & self._worn()
        self._left = stays & ~self._pruned & ~self._decayed
        self._admitted = self._admissions(gone)
        self._left &= ~self._replaced()

    def event(self) -> Curated:
        return Curated(
            archived=self._archivals("decayed", self._faded)
            + self._archivals("expired", self._expired)
            + tuple(
                Archival(block_id=self._id(number), reason="expired", rule=rule)
                for number, rule in self._ruled_out
            ),
            pruned=self._pairs(self._pruned),
            decayed=self._pairs(self._decayed),
            admitted=tuple(
                Admission(source=self._id(waiting.source), target=self._id(waiting.target))
                for waiting in self._admitted
            ),
            constitutional=self._constitutional(),
            reinforced=self._best(),
            edges_after=int(self._left.sum()) + len(self._admitted),
        )

    def _id(self, number: int) -> BlockId:
        return self._reading.id(number)

    def _has_key(self, number: int) -> bool:
        """Whether a block is the text of a record, which holds until it is replaced or forgotten.

        Source: ADR 59.
        """
        text = self._reading.text(int(number))
        return isinstance(text, BlockText) and key_of(text.metadata) is not None

    # --- archive and prune ------------------------------------------------------------------

    def _worn(self) -> Bools:
        """Return which edges have decayed below the threshold."""
        edges = self._edges
        rates = edge_rates(edges.tier_low, edges.tier_high, edges.count, self._policy)
        lasting = edges.agent | (edges.anchor_us == NO_ANCHOR)
        now_us = self._at.active_us
        idle_us = now_us - np.where(lasting, now_us, edges.anchor_us)
        effective = effective_weights(edges.weight, rates, idle_us)
        worn: Bools = ~lasting & (effective < nano(self._policy.edge_prune_below))
        return worn

    def _archivals(self, reason: str, which: Bools) -> tuple[Archival, ...]:
        ids = sorted(self._id(number) for number in self._blocks.numbers[which].tolist())
        return tuple(Archival(block_id=block, reason=reason) for block in ids)

    def _pairs(self, which: Bools) -> tuple[Pair, ...]:
        """Return edges as pairs of ids, sorted."""
        return tuple(sorted(pair_of_ids(self._id(a), self._id(b)) for a, b in self._ends(which)))

    def _ends(self, which: Bools) -> list[list[int]]:
        """Return the numbers of the two blocks of each edge, the lower one first."""
        ends: list[list[int]] = np.column_stack(
            (self._edges.low[which], self._edges.high[which])
        ).tolist()
        return ends

    # --- admit pending connections ----------------------------------------------------------

    def _admissions(self, archived: Ints) -> list[PendingFacts]:
        """Return the pending connections that fit under the degree cap, first in first.

        A pending connection displaces nothing. One that the next sweep would prune is not admitted,
        since otherwise two sweeps at one hour would differ from a single sweep.
        """
        pending = self._reading.pending()
        if not pending:
            return []
        room = DegreeCap(self._reading, self._at.active_us)
        gone = set(archived.tolist())
        for a, b in self._ends(~self._left):
            room.remove(a, b)
        admitted = []
        for waiting in pending:
            ends = (waiting.source, waiting.target)
            full = any(room.degree(end) >= self._policy.degree_cap for end in ends)
            # An automatic edge may have formed between the two in the meantime: it is replaced.
            if not gone.isdisjoint(ends) or waiting.weight < nano(self._policy.edge_prune_below):
                continue
            if room.stands(*ends) or not full:
                if not room.stands(*ends):
                    room.move_in(*ends)
                admitted.append(waiting)
        return admitted

    def _replaced(self) -> Bools:
        """Return which edges are replaced by an admitted connection."""
        pairs = [room_ends(waiting.source, waiting.target) for waiting in self._admitted]
        taken = np.array([(low << 32) + high for low, high in pairs], dtype=np.int64)
        replaced: Bools = np.isin((self._edges.low << 32) + self._edges.high, taken)
        return replaced

    # --- reinforce --------------------------------------------------------------------------

    def _due(self) -> Bools:
        """Return which blocks may be reinforced: alive, and not yet reinforced at this hour."""
        due: Bools = self._alive & (self._blocks.reinforced_us != self._at.active_us)
        return due

    def _constitutional(self) -> tuple[BlockId, ...]:
        numbers = self._blocks.numbers[self._due() & self._blocks.constitutional]
        return tuple(sorted(self._id(number) for number in numbers.tolist()))

    def _best(self) -> tuple[BlockId, ...]:
        """Return the best other blocks by the ``self`` composite, ties by id.

        Empty if there was a sweep at this hour already: reinforcing changes the scores, so a second
        sweep would select the next best blocks.
        """
        if self._reading.curated_us == self._at.active_us:
            return ()
        count, scores = self._policy.curate_reinforced, self._scores()
        places = np.flatnonzero(self._alive & ~self._blocks.constitutional)
        if 0 < count < len(places):
            kth = len(places) - count
            places = places[scores[places] >= np.partition(scores[places], kth)[kth]]
        ids = {place: self._id(int(self._blocks.numbers[place])) for place in places.tolist()}
        ranked = sorted(ids, key=lambda place: (-int(scores[place]), ids[place]))
        due = self._due()
        return tuple(ids[place] for place in ranked[:count] if due[place])

    def _scores(self) -> Ints:
        """Return the composite of the ``self`` frame without a query, per active block."""
        blocks, policy = self._blocks, self._policy
        signals = {
            "relevance": np.zeros_like(blocks.rate),
            "recency": self._recency,
            "usefulness": usefulness(blocks.alpha, blocks.beta),
            "confidence": blocks.confidence,
            "frequency": frequency(blocks.retrievals, policy),
            "centrality": centrality(np.where(self._alive, self._degrees(), 0)),
            "reinforcement": reinforcement(np.where(self._alive, blocks.reinforcements, 0)),
        }
        for name in policy.zone_discounted:
            signals[name] = product_each(signals[name], blocks.ceiling)
        weights = policy.frame("self").weights(asked=False)
        return composites(weights, [signals[name] for name in SIGNALS])

    def _degrees(self) -> Ints:
        """Return the weighted degree of each active block, after all previous steps.

        An edge to a block that is still in the inbox does not count yet.
        """
        edges, left, blocks = self._edges, self._left, self._blocks
        source = np.array([waiting.source for waiting in self._admitted], dtype=np.int64)
        target = np.array([waiting.target for waiting in self._admitted], dtype=np.int64)
        weight = np.array([waiting.weight for waiting in self._admitted], dtype=np.int64)
        pull = edge_pull(edges.weight[left], edges.count[left], self._policy)
        ends = (np.append(edges.low[left], source), np.append(edges.high[left], target))
        pull = np.append(pull, weight)
        size = 1 + max(
            (int(numbers.max()) for numbers in (*ends, blocks.numbers) if len(numbers)), default=0
        )
        alive = np.zeros(size, dtype=np.bool_)
        alive[blocks.numbers[self._alive]] = True
        pull = np.where(alive[ends[0]] & alive[ends[1]], pull, 0)
        total = np.zeros(size, dtype=np.int64)
        for end in ends:
            np.add.at(total, end, pull)
        return total[blocks.numbers]


# --- rules of retention -----------------------------------------------------------------------


def _past_retention(reading: Reading, active: Ints, at: Instant) -> list[tuple[int, str]]:
    """Return the blocks that a rule archives, each with the name of the rule.

    Args:
        reading: The state before the sweep.
        active: The active blocks that the sweep would keep otherwise, without constitutional ones.
        at: The time of the sweep.

    Returns:
        By rule, in the order of the policy, then by id.
    """
    rules = reading.policy.retention
    if not rules:
        return []
    waiting = [number for number in reading.inbox() if not _is_constitutional(reading, number)]
    left = np.union1d(active, np.array(waiting, dtype=np.int64))
    found: list[tuple[int, str]] = []
    for rule in rules:
        gone = _not_kept(reading, rule, left[reading.passing(rule.filter, left)], at)
        left = np.setdiff1d(left, gone)
        found += ((number, rule.name) for number in sorted(gone.tolist(), key=reading.id))
    return found


def _is_constitutional(reading: Reading, number: int) -> bool:
    privileged = reading.policy.privileges(reading.zone(number))
    return privileged and CONSTITUTIONAL in reading.tags(number)


def _not_kept(reading: Reading, rule: RetentionRule, numbers: Ints, at: Instant) -> Ints:
    """Return those of *numbers*, all of which a rule is about, that it does not keep."""
    said = reading.said(numbers)
    is_old = np.zeros(len(numbers), dtype=np.bool_)
    if rule.ttl_us is not None:
        is_old |= at.recorded_us - said.recorded_us >= rule.ttl_us
    if rule.ttl_active_us is not None:
        is_old |= at.active_us - said.active_us >= rule.ttl_active_us
    if rule.most is not None:
        counts: Counter[Hashable] = Counter()
        for place in np.lexsort((-numbers, -said.version)).tolist():
            if is_old[place]:
                continue
            key = _counted_for(reading, rule.per, int(numbers[place]))
            counts[key] += 1
            is_old[place] = counts[key] > rule.most
    return numbers[is_old]


def _counted_for(reading: Reading, per: str, number: int) -> Hashable:
    """Return what a block is counted for."""
    if per == "space":
        return None
    if per in {"category", "zone"}:
        return reading.category(number) if per == "category" else reading.zone(number)
    text = reading.text(number)
    if not isinstance(text, BlockText):
        return None
    if per in SCOPE_KEYS:
        return dict(scope_of(text.metadata)).get(per)
    return text.thread if per == "thread" else text.author
