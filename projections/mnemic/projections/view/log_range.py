"""Changes within a range of the log, read from the columns without visiting its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from mnemic.kernel.events import RecallRecorded
from mnemic.kernel.model.blocks import ACTIVE, ARCHIVED
from mnemic.kernel.model.texts import Remark
from mnemic.kernel.reading import Ends, Later, LogRange, Reading
from mnemic.projections.blocks.catalogue import REASONS
from mnemic.projections.graph.graph import Pending
from mnemic.projections.state.state import State
from mnemic.projections.state.table_views import TableView
from mnemic.projections.storage.columns import Trail, step
from mnemic.projections.view.point import Point

_SPOKEN = ("agent", "outcome")
"""Origins of edges made deliberately; the others are removed with their ends."""


class Changing(Reading, Protocol):
    """The parts of a view that are read here."""

    point: Point
    state: State

    @property
    def life(self) -> TableView: ...


class _Trails:
    """The history of values of everything that one log range touched."""

    def __init__(self, view: Changing, first: int, last: int) -> None:
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
        self.strength = catalogue.strength.trails(blocks, self._now, nothing_is_none)
        self.uses = catalogue.uses.trails(blocks, self._now, nothing_is_none)
        self.evidence = self._evidence(blocks)
        self.pairs = graph.rows.trails(graph.rows.changed(first, last), self._now, self._edge)
        self.pending = graph.pending.trails(first, last, self._now, self._waiting)
        self.barred = graph.barred.trails(first, last, self._now, lambda _: True)
        self.policy = state.timeline.policies.trails(first, last, self._now, lambda each: each.id)

    def changed(self, trails: Mapping[Any, Trail]) -> dict[Any, Later]:
        """Return the keys that the log range changed lastingly, and when each changed again."""
        found: dict[Any, Later] = {}
        for key, trail in trails.items():
            before, now = at(trail, self._first - 1), at(trail, self._now)
            if before not in {at(trail, self._last), now}:
                found[key] = next((since for since, _ in trail if since > self._last), None)
        return found

    def admitted(self, view: Changing) -> dict[Ends, Later]:
        """Return the connections pending at the end of the range that became an edge later."""
        found: dict[Ends, Later] = {}
        for ends, trail in self.pending.items():
            before, now = at(trail, self._first - 1), at(trail, self._now)
            waited = at(trail, self._last) is not None and before is None and now is None
            if waited and view.is_linked(*ends):
                found[ends] = next(since for since, _ in trail if since > self._last)
        return found

    def spoken(self, numbers: Iterable[int]) -> dict[int, int]:
        """Return the first later version at which feedback was given on each block."""
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
        """Return the last deliberate change of an edge: being used by a recall does not count."""
        kinds = self._timeline.kind.values
        return max((since for since, _ in trail if kinds[since] != self._recall), default=-1)

    def _meant(self) -> set[int]:
        return {self._graph.origins.known(origin) for origin in _SPOKEN}

    def _evidence(self, blocks: list[int]) -> dict[int, Trail]:
        """Return outcomes and reviews of blocks as one trail."""
        catalogue = self._catalogue
        scored = catalogue.evidence.trails(blocks, self._now, nothing_is_none)
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


def log_range_of(view: Changing, before: Changing, after: Changing) -> LogRange:
    """Return what the events after *before* up to *after* changed, as seen from *view*.

    Args:
        view: The current view.
        before: The view at the version before the log range.
        after: The view at its last version, which is at most that of *view*.
    """
    first, last = before.point.version + 1, after.point.version
    trails = _Trails(view, first, last)
    graph = view.state.graph
    life = trails.changed(trails.life)
    return LogRange(
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
    """Return the value at *version*; None for no value."""
    found = None
    for since, value in trail:
        if since > version:
            break
        found = value
    return found


def nothing_is_none(row: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return a row of counts; None if all of them are 0."""
    return row if any(row) else None


def _labels(view: Changing, first: int, last: int) -> dict[int, Later]:
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
    """Return *changed* without keys that had no earlier value, as the first policy has none."""
    return {key: later for key, later in changed.items() if at(trails[key], first - 1) is not None}


def _successions(after: Changing, numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    return tuple(
        (number, after.life.get("successor", number))
        for number in numbers
        if after.life.has(number) and _is_superseded(after, number)
    )


def _is_superseded(view: Changing, number: int) -> bool:
    reason = REASONS.index("superseded")
    return view.status(number) == ARCHIVED and view.life.get("reason", number) == reason


def _unvectored(view: Changing, before: Changing, numbers: Iterable[int]) -> frozenset[int]:
    if view.embedder == before.embedder:
        return frozenset()

    def keeps(number: int) -> bool:
        """Whether its current vector was computed from the text that it had before."""
        return (
            view.status(number) == ACTIVE
            and before.life.has(number)
            and view.life.get("text", number) == before.life.get("text", number)
        )

    return frozenset(number for number in numbers if not keeps(number))
