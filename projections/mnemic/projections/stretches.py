"""What a stretch of the log changed, read off the columns without walking over its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mnemic.kernel.events import RecallRecorded
from mnemic.kernel.reading import ACTIVE, ARCHIVED
from mnemic.kernel.stretch import Ends, Later, Stretch
from mnemic.kernel.texts import Remark
from mnemic.projections.catalogue import REASONS
from mnemic.projections.columns import Trail, step

if TYPE_CHECKING:
    from mnemic.projections.graph import Pending
    from mnemic.projections.views import View

_SPOKEN = ("agent", "outcome")
"""Origins of edges that somebody meant; the others go with their ends."""


class _Trails:
    """What stood when, for everything that one stretch touched."""

    def __init__(self, view: View, first: int, last: int) -> None:
        self._first, self._last, self._now = first, last, view.point.version
        state = view.state
        self._catalogue, self._graph = catalogue, graph = state.catalogue, state.graph
        self._timeline = state.timeline
        self._recall = state.timeline.kinds.known(RecallRecorded.__name__)
        self._notes = graph.notes
        tables = (catalogue.life, catalogue.strength, catalogue.evidence, catalogue.uses)
        blocks = sorted({key for table in tables for key in table.changed(first, last)})
        vector = catalogue.life.place("vector")
        self.life = catalogue.life.trails(
            blocks, self._now, lambda row: row[:vector] + row[vector + 1 :]
        )
        self.strength = catalogue.strength.trails(blocks, self._now, _nothing_is_none)
        self.uses = catalogue.uses.trails(blocks, self._now, _nothing_is_none)
        self.evidence = self._evidence(blocks)
        self.pairs = graph.rows.trails(graph.rows.changed(first, last), self._now, self._edge)
        self.pending = graph.pending.trails(first, last, self._now, self._waiting)
        self.barred = graph.barred.trails(first, last, self._now, lambda _: True)
        self.policy = state.timeline.policies.trails(first, last, self._now, lambda each: each.id)

    def changed(self, trails: Mapping[Any, Trail]) -> dict[Any, Later]:
        """Return the keys that the stretch changed for good, and when each changed again."""
        found: dict[Any, Later] = {}
        for key, trail in trails.items():
            before, now = at(trail, self._first - 1), at(trail, self._now)
            if before not in {at(trail, self._last), now}:
                found[key] = next((since for since, _ in trail if since > self._last), None)
        return found

    def admitted(self, view: View) -> dict[Ends, Later]:
        """Return what waits at the end of the stretch alone, and has become an edge since when."""
        found: dict[Ends, Later] = {}
        for ends, trail in self.pending.items():
            before, now = at(trail, self._first - 1), at(trail, self._now)
            waited = at(trail, self._last) is not None and before is None and now is None
            if waited and view.is_linked(*ends):
                found[ends] = next(since for since, _ in trail if since > self._last)
        return found

    def spoken(self, numbers: Iterable[int]) -> dict[int, int]:
        """Return the first later version at which something was said of each block."""
        graph = self._graph
        wanted = set(numbers)
        pairs = {pair for number in wanted for pair in graph.incident[number]}
        trails = graph.rows.trails(pairs, self._now, self._edge)
        later: dict[int, list[int]] = {}
        for pair, trail in trails.items():
            edge, since = at(trail, self._now), self._meant_since(trail)
            if edge is not None and since > self._last and edge[2] in self._meant():
                for end in graph.ends(pair):
                    later.setdefault(end, []).append(since)
        waiting = graph.pending.trails(self._last + 1, self._now, self._now, self._waiting)
        for ends, trail in waiting.items():
            if trail and trail[-1][0] > self._last and trail[-1][1] is not None:
                for end in ends:
                    later.setdefault(end, []).append(trail[-1][0])
        for number in wanted:
            scored = [version for version, _ in self.evidence[number] if version > self._last]
            later.setdefault(number, []).extend(scored)
        return {number: min(later[number]) for number in sorted(wanted) if later[number]}

    def _meant_since(self, trail: Trail) -> int:
        """Return the last step of an edge that was no recall's: to be used is not to be meant."""
        kinds = self._timeline.kind.values
        return max((since for since, _ in trail if kinds[since] != self._recall), default=-1)

    def _meant(self) -> set[int]:
        return {self._graph.origins.known(origin) for origin in _SPOKEN}

    def _evidence(self, blocks: list[int]) -> dict[int, Trail]:
        """Return outcomes and reviews of blocks as one."""
        catalogue = self._catalogue
        scored = catalogue.evidence.trails(blocks, self._now, _nothing_is_none)
        found: dict[int, Trail] = {}
        for number, trail in scored.items():
            versions = {since for since, _ in trail}
            versions.update(catalogue.reviews.changes(number, self._now))
            both: Trail = []
            found[number] = both
            for version in sorted(versions):
                reviews = tuple(catalogue.reviews.of(number, version))
                outcomes = at(trail, version)
                step(both, version, (outcomes, reviews) if outcomes or reviews else None)
        return found

    def _edge(self, row: tuple[int, ...]) -> tuple[Any, ...]:
        return (*row[:-1], self._note(row[-1]))

    def _waiting(self, each: Pending) -> tuple[Any, ...]:
        return each.source, each.target, each.relation, each.weight, self._note(each.note)

    def _note(self, number: int) -> str | None:
        note = self._notes[number] if number >= 0 else None
        return note.text if isinstance(note, Remark) else None


def stretch_of(view: View, before: View, after: View) -> Stretch:
    """Return what the events behind *before* up to *after* changed, as it stands in *view*.

    Args:
        view: Where one looks from.
        before: The view at the version before the stretch.
        after: The view at its last version, which is at most that of *view*.
    """
    first, last = before.point.version + 1, after.point.version
    trails = _Trails(view, first, last)
    graph = view.state.graph
    life = trails.changed(trails.life)
    return Stretch(
        first=first,
        last=last,
        before=before,
        life=life,
        strength=trails.changed(trails.strength),
        evidence=trails.changed(trails.evidence),
        uses=trails.changed(trails.uses),
        edges={graph.ends(pair): later for pair, later in trails.changed(trails.pairs).items()},
        pending={**trails.changed(trails.pending), **trails.admitted(view)},
        barred=trails.changed(trails.barred),
        labels=_labels(view, first, last),
        policy=_with_something_before(trails.changed(trails.policy), trails.policy, first),
        spoken=trails.spoken(life),
        successions=_successions(after, life),
        succeeded=frozenset(
            number
            for number, later in life.items()
            if later is not None and _is_superseded(view, number)
        ),
        unvectored=_unvectored(view, before, life),
    )


def at(trail: Trail, version: int) -> Any:
    """Return what stood at *version*; None for nothing."""
    found = None
    for since, value in trail:
        if since > version:
            break
        found = value
    return found


def _nothing_is_none(row: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return a row of counts; where nothing was counted yet it is as if there was none."""
    return row if any(row) else None


def _labels(view: View, first: int, last: int) -> dict[int, Later]:
    found: dict[int, Later] = {}
    now = view.point.version
    for label in view.state.ledger.labels(first, last):
        before = label.counts_at(first - 1)
        if before not in {label.counts_at(last), label.counts_at(now)}:
            turns = (version for version in label.turns if last < version <= now)
            found[label.version] = next(turns, None)
    return found


def _with_something_before(
    changed: dict[str, Later], trails: Mapping[Any, Trail], first: int
) -> dict[str, Later]:
    """Return *changed* without what had nothing before it: a log has a policy from its start."""
    return {key: later for key, later in changed.items() if at(trails[key], first - 1) is not None}


def _successions(after: View, numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    return tuple(
        (number, after.life.get("successor", number))
        for number in numbers
        if after.life.stands(number) and _is_superseded(after, number)
    )


def _is_superseded(view: View, number: int) -> bool:
    reason = REASONS.index("superseded")
    return view.status(number) == ARCHIVED and view.life.get("reason", number) == reason


def _unvectored(view: View, before: View, numbers: Iterable[int]) -> frozenset[int]:
    if view.embedder == before.embedder:
        return frozenset()

    def keeps(number: int) -> bool:
        """Whether its present vector is of the words that it had before."""
        return (
            view.status(number) == ACTIVE
            and before.life.stands(number)
            and view.life.get("text", number) == before.life.get("text", number)
        )

    return frozenset(number for number in numbers if not keeps(number))
