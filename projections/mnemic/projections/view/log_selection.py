"""Changes by selected events, read from the columns: the input of a revert of a selection.

A value is restored to what it was before the selected events that changed it last, if no other
event changed it since. Besides the selected events, the effects of their texts count as theirs,
by any actor: a selected block that superseded another one, took over its
evidence and edges, or passed its own on to a successor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from mnemic.kernel.events import Curated, OutcomeRecorded, Reverted, Withdrawal
from mnemic.kernel.model.blocks import ACTIVE, ARCHIVED
from mnemic.kernel.model.compositions import LabelFacts
from mnemic.kernel.model.edges import NO_ANCHOR, EdgeFacts, PendingFacts
from mnemic.kernel.model.texts import BlockText, Erased
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import Ends, Later, LogSelection
from mnemic.projections.blocks.catalogue import REASONS
from mnemic.projections.graph.graph import Pending
from mnemic.projections.storage.columns import Trail
from mnemic.projections.view import connections
from mnemic.projections.view.log_range import Changing, at

Seen = Callable[[Any], Any]
Picked = Callable[[Any, int], bool]
"""Whether a change of a key at a version is that of a selected event."""


class _Before:
    """The values to restore, read as a view is; values that are not restored are not in it."""

    def __init__(self, view: Changing) -> None:
        self._view = view
        self.lives: dict[int, tuple[int, ...]] = {}
        """Rows, by block."""
        self.edges: dict[Ends, tuple[int, ...] | None] = {}
        self.waiting: dict[Ends, Pending] = {}
        self.barred: set[Ends] = set()
        self.counting: set[int] = set()
        """Labels that counted."""
        self.policy: Policy = view.policy

    def _life(self, number: int, name: str) -> int:
        return self.lives[number][self._view.state.catalogue.life.place(name)]

    def number(self, block_id: object) -> int | None:
        number = self._view.number(block_id)
        return number if number in self.lives else None

    def status(self, number: int) -> int:
        return self._life(number, "status")

    def text(self, number: int) -> BlockText | Erased:
        return self._view.state.catalogue.texts[self._life(number, "text")]

    def edge(self, a: int, b: int) -> EdgeFacts | None:
        ends = (a, b) if a < b else (b, a)
        row, graph = self.edges.get(ends), self._view.state.graph
        if row is None:
            return None
        value = dict(zip(graph.rows.names, row, strict=True))
        source, anchor = value["source"], value["anchor_us"]
        return EdgeFacts(
            source,
            ends[0] if source == ends[1] else ends[1],
            graph.relations.words[value["relation"]],
            graph.origins.words[value["origin"]],
            value["weight"],
            None if anchor == NO_ANCHOR else anchor,
            value["count"],
        )

    def pending(self) -> list[PendingFacts]:
        found = sorted(self.waiting.values(), key=lambda each: each.version)
        return [connections.pending_facts(each) for each in found]

    def is_barred(self, a: int, b: int) -> bool:
        return ((a, b) if a < b else (b, a)) in self.barred

    def label(self, label_version: int) -> LabelFacts | None:
        now = self._view.label(label_version)
        counts = label_version in self.counting
        if now is None or not counts:
            return None
        return LabelFacts(now.composition_id, now.label, counts)


class _Selected:
    """The selected events, and what each changed."""

    def __init__(self, view: Changing, versions: Collection[int], blocks: Iterable[int]) -> None:
        self._view, self._versions = view, set(versions)
        self._now = view.point.version
        self._blocks = set(blocks)
        self._catalogue, self._graph = view.state.catalogue, view.state.graph
        self.before = _Before(view)
        self._ousted, self._endowed = self._successions()
        concerned = (*self._ousted.values(), *self._endowed.values())
        self._concerned = self._versions.union(*concerned)
        self._admitted: set[tuple[Ends, int]] = set()
        """Selected pending connections that became edges, and when."""

    def _successions(self) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
        """Return the blocks that a selected one superseded, or that superseded one, and when."""
        life, past = self._catalogue.life, self._view.state.past
        olds, news = past.successions(life)
        ours = np.array(sorted(self._blocks), dtype=np.int64)
        ceding = np.isin(olds, ours) | np.isin(news, ours)
        pairs = zip(olds[ceding].tolist(), news[ceding].tolist(), strict=True)
        ousted: dict[int, set[int]] = defaultdict(set)
        endowed: dict[int, set[int]] = defaultdict(set)
        status, reason, successor = map(life.place, ("status", "reason", "successor"))
        superseded = REASONS.index("superseded")
        trails = life.trails(olds[ceding].tolist(), self._now, lambda row: row)
        for old, new in pairs:
            for since, row in trails[old]:
                if row is not None and (row[status], row[reason], row[successor]) == (
                    ARCHIVED,
                    superseded,
                    new,
                ):
                    if new in self._blocks and old not in self._blocks:
                        ousted[old].add(since)
                    if old in self._blocks and new not in self._blocks:
                        endowed[new].add(since)
        return ousted, endowed

    # --- what is selected -------------------------------------------------------------------

    def _of_life(self, number: int, version: int) -> bool:
        return version in self._versions or version in self._ousted.get(number, ())

    def _of_sums(self, number: int, version: int) -> bool:
        return self._of_life(number, version) or version in self._endowed.get(number, ())

    def _of_strength(self, _: int, version: int) -> bool:
        return version in self._versions

    def _of_pair(self, ends: Ends, version: int) -> bool:
        return (ends, version) in self._admitted or any(self._of_life(end, version) for end in ends)

    # --- blocks -----------------------------------------------------------------------------

    def _others(self, *tables: Any) -> list[int]:
        """Return the blocks of which selected events changed something, but not their own."""
        found = {key for table in tables for key in table.changed_at(self._concerned)}
        return sorted(found - self._blocks)

    def lives(self) -> tuple[dict[int, Later], dict[int, int]]:
        life, vector = self._catalogue.life, self._catalogue.life.place("vector")
        trails = life.trails(self._others(life), self._now, lambda row: row)
        found, then, values = _settled(
            trails, self._of_life, lambda row: row[:vector] + row[vector + 1 :]
        )
        self.before.lives = {number: row for number, row in values.items() if row is not None}
        forgotten = (each for each in self._blocks if self._view.status(each) != ARCHIVED)
        return {**found, **dict.fromkeys(sorted(forgotten))}, then

    def strength(self) -> tuple[dict[int, Later], dict[int, int]]:
        table = self._catalogue.strength
        trails = table.trails(self._others(table), self._now, lambda row: row)
        return _settled(trails, self._of_strength, lambda row: row)[:2]

    def sums(self) -> tuple[dict[int, int], tuple[Withdrawal, ...], dict[int, int]]:
        """Return evidence that can be restored, what is subtracted, and reviews that stay."""
        catalogue, now = self._catalogue, self._now
        numbers = self._others(catalogue.evidence, catalogue.uses)
        scored = catalogue.evidence.trails(numbers, now, lambda row: row)
        used = catalogue.uses.trails(numbers, now, lambda row: row)
        then: dict[int, int] = {}
        stay: dict[int, int] = {}
        withdrawn: list[Withdrawal] = []
        for number in numbers:
            reviewed = catalogue.reviews.changes(number, now)
            changes = sorted({*(since for since, _ in scored[number]), *reviewed})
            picked = [each for each in changes if self._of_sums(number, each)]
            late = [each for each in changes if picked and each > picked[0] and each not in picked]
            alpha, beta = 0, 0
            outcomes: tuple[int, ...] = ()
            if picked and not late:
                then[number] = picked[0] - 1
            elif picked:
                (alpha, beta), outcomes = self._share(number, scored[number])
                if set(reviewed) & set(picked):
                    stay[number] = late[-1]
            (retrievals,), _ = self._share(number, used[number])
            if alpha or beta or retrievals:
                withdrawn.append(
                    Withdrawal(
                        block_id=self._view.id(number),
                        alpha=alpha,
                        beta=beta,
                        retrievals=retrievals,
                        outcomes=outcomes,
                    )
                )
        return then, tuple(sorted(withdrawn, key=lambda each: each.block_id)), stay

    def _share(self, number: int, trail: Trail) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return what selected events added to counts, and the outcomes among them.

        A revert by another event restored the counts of its time, with what they contained.
        """
        timeline = self._view.state.timeline
        reverted, outcome = map(timeline.kinds.known, (Reverted.__name__, OutcomeRecorded.__name__))
        width = len(trail[-1][1]) if trail else 1
        last, total, outcomes = (0,) * width, [0] * width, list[int]()
        for since, row in trail:
            kind = timeline.kind.values[since]
            if self._of_sums(number, since):
                total = [one + now - was for one, now, was in zip(total, row, last, strict=True)]
                if kind == outcome:
                    outcomes.append(since)
            elif kind == reverted:
                total, outcomes = [0] * width, []
            last = row
        return tuple(total), tuple(outcomes)

    # --- pairs ------------------------------------------------------------------------------

    def pending(self) -> tuple[dict[Ends, Later], dict[Ends, int]]:
        trails, timeline = self._pairs(self._graph.pending), self._view.state.timeline
        kinds, curated = timeline.kind, timeline.kinds.known(Curated.__name__)
        for ends, trail in trails.items():
            for (began, value), (ended, after) in pairwise(trail):
                swept = after is None and kinds.values[ended] == curated
                if value is not None and swept and self._of_pair(ends, began):
                    self._admitted.add((ends, ended))
        found, then, values = _settled(trails, self._of_pair, lambda each: each)
        self.before.waiting = {ends: each for ends, each in values.items() if each is not None}
        return found, then

    def barred(self) -> tuple[dict[Ends, Later], dict[Ends, int]]:
        trails = self._pairs(self._graph.barred)
        found, then, values = _settled(trails, self._of_pair, lambda each: each is not None)
        self.before.barred = {ends for ends, each in values.items() if each is not None}
        return found, then

    def _pairs(self, mapping: Any) -> dict[Ends, Trail]:
        """Return the trails of the pairs of other blocks that selected events changed."""
        if not self._concerned:
            return {}
        first, last = min(self._concerned), max(self._concerned)
        trails: dict[Ends, Trail] = mapping.trails(first, last, self._now, lambda each: each)
        return {ends: each for ends, each in trails.items() if self._blocks.isdisjoint(ends)}

    def edges(self) -> tuple[dict[Ends, Later], dict[Ends, int]]:
        graph, admitted = self._graph, {version for _, version in self._admitted}
        keys = graph.rows.changed_at({*self._concerned, *admitted})
        keys = [pair for pair in keys if self._blocks.isdisjoint(graph.ends(pair))]
        trails = graph.rows.trails(keys, self._now, lambda row: row)
        by_ends = {graph.ends(pair): trail for pair, trail in trails.items()}
        found, then, values = _settled(by_ends, self._of_pair, lambda row: row)
        self.before.edges = values
        return found, then

    # --- labels and policy ------------------------------------------------------------------

    def labels(self) -> dict[int, Later]:
        found: dict[int, Later] = {}
        if not self._versions:
            return found
        for label in self._view.state.ledger.labels(min(self._versions), max(self._versions)):
            trail: Trail = [(label.version, True)]
            trail += [(turn, place % 2 == 1) for place, turn in enumerate(label.turns)]
            trail = [(since, value or None) for since, value in trail if since <= self._now]
            changed, _, values = _settled(
                {label.version: trail}, self._of_strength, lambda each: each
            )
            found.update(changed)
            self.before.counting.update(each for each, value in values.items() if value)
        return found

    def policy(self) -> dict[str, Later]:
        trails = self._view.state.timeline.policies.trails(
            0, self._now, self._now, lambda each: each
        )
        found, _, values = _settled(trails, self._of_strength, lambda each: each and each.id)
        if values.get("policy") is not None:
            self.before.policy = values["policy"]
        elif found.get("policy", 0) is None:
            found.clear()  # the first policy has none before it
        return found


def log_selection_of(
    view: Changing, versions: Collection[int], blocks: Iterable[int]
) -> LogSelection:
    """Return what the events at *versions* changed, as seen from *view*.

    Args:
        view: The current view.
        versions: The selected events.
        blocks: The blocks whose present texts they learned.
    """
    selected = _Selected(view, versions, blocks)
    life, life_then = selected.lives()
    strength, strength_then = selected.strength()
    evidence_then, withdrawn, reviews = selected.sums()
    pending, pending_then = selected.pending()
    barred, barred_then = selected.barred()
    edges, edges_then = selected.edges()
    return LogSelection(
        first=max(1, min(versions, default=1)),
        last=max(versions, default=1),
        before=selected.before,  # type: ignore[arg-type] # of a reading, a plan asks these alone
        life=life,
        life_then=life_then,
        strength=strength,
        strength_then=strength_then,
        evidence=dict.fromkeys(evidence_then),
        evidence_then=evidence_then,
        uses={},
        edges=edges,
        edges_then=edges_then,
        pending=pending,
        pending_then=pending_then,
        barred=barred,
        barred_then=barred_then,
        labels=selected.labels(),
        policy=selected.policy(),
        spoken={},
        successions=(),
        succeeded=frozenset(),
        unvectored=_unvectored(view, selected.before, life_then),
        withdrawn=withdrawn,
        reviews=reviews,
    )


def _settled(
    trails: Mapping[Any, Trail], picked: Picked, seen: Seen
) -> tuple[dict[Any, Later], dict[Any, int], dict[Any, Any]]:
    """Return what selected events changed lastingly.

    Args:
        trails: Histories of values up to now, by key.
        picked: Whether a change was made by a selected event.
        seen: Maps a value, or None, to the part of interest.

    Returns:
        By key the later version that prevents a restoration, or None; and of the others, the
        version that has the value to restore, and that value.
    """
    found: dict[Any, Later] = {}
    then: dict[Any, int] = {}
    values: dict[Any, Any] = {}

    def part(value: Any) -> Any:
        return None if value is None else seen(value)

    for key, trail in trails.items():
        steps: Trail = []
        for since, value in trail:
            if not steps or part(steps[-1][1]) != part(value):
                steps.append((since, value))
        ours = [since for since, _ in steps if picked(key, since)]
        if not ours:
            continue
        others = [since for since, _ in steps if since not in ours]
        kept = max(others, default=-1)
        first = next((since for since in ours if since > kept), None)
        if first is None:
            if part(at(steps, ours[0] - 1)) != part(steps[-1][1]):
                found[key] = next(since for since in others if since > ours[-1])
        elif part(at(steps, first - 1)) != part(steps[-1][1]):
            found[key], then[key] = None, first - 1
            values[key] = at(steps, first - 1)
    return found, then, values


def _unvectored(view: Changing, before: _Before, then: Mapping[int, int]) -> frozenset[int]:
    """Return the blocks of *then* that would have no vector of the embedder in force."""
    state = view.state
    embedders = {each: state.timeline.embedders.at(each) for each in set(then.values())}

    def keeps(number: int) -> bool:
        """Whether its current vector was computed from the text that it had before."""
        return view.status(number) == ACTIVE and view.text(number) == before.text(number)

    return frozenset(
        number
        for number, version in then.items()
        if embedders[version].get("embedder") != view.embedder
        and not (number in before.lives and keeps(number))
    )
