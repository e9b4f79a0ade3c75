"""The pipeline of an import: the changes of a source, carried out on a memory.

Each change is one command, whose id follows from the change itself. So a second import of the same
source, or one after an interruption, repeats commands that the log knows, which write nothing, and
carries out what is new. All events name ``import:KIND`` as their actor.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, Final

from attrs import asdict, define, field

from mnemic.adapters.importers.memories.changes import Change, Connect, Forget, Learn, Revise
from mnemic.adapters.importers.memories.ordered_changes import OrderedChanges
from mnemic.adapters.importers.memories.recorded_times import ImportClock
from mnemic.adapters.importers.parsed_items import SOURCE, InputRefused
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import BlockNotActive, FieldRefused, Refused
from mnemic.kernel.timestamps import instant, iso

REFUSED_MAX: Final = 100
"""Refusals that are kept with their places; the others are counted."""
_DONE: Final = {Learn: "learned", Revise: "revised", Forget: "forgotten", Connect: "connected"}


@define(kw_only=True)
class ImportReport:
    """What became of the changes of a source."""

    kind: str
    learned: int = 0
    revised: int = 0
    forgotten: int = 0
    connected: int = 0
    known: int = 0
    """Changes that an earlier import, or an earlier part of this one, had carried out."""
    first_at: str | None = None
    last_at: str | None = None
    untimed: int = 0
    """Changes of which the source has no time; they are recorded now."""
    in_future: int = 0
    """Changes that the source dates after now; they are recorded now."""
    left: list[dict[str, Any]] = field(factory=list)
    """What was not imported: what, why, count, places."""
    refused_count: int = 0
    refused: list[dict[str, str]] = field(factory=list)
    """The first changes that the memory refused: place, code, detail and recovery."""
    version: int = -1

    @property
    def done(self) -> int:
        """Return how many changes the memory has, by this import or an earlier one."""
        return self.learned + self.revised + self.forgotten + self.connected + self.known

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)


def import_changes(
    memory: SyncMemory,
    ordered: OrderedChanges,
    *,
    kind: str,
    clock: ImportClock,
    zone: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ImportReport:
    """Carry out the changes of a source and return what became of them.

    Args:
        memory: Opened with *clock* and the actor ``import:KIND``.
        ordered: The whole source.
        kind: The name of its kind.
        clock: Gives the times that events are recorded at.
        zone: Trust zone of everything; None: that of the source ``ingest``.
        progress: Called with changes done and changes in all.
    """
    for entry in memory.history(limit=1):
        clock.not_before(instant("recorded_at", entry.recorded_at) or 0)
    return _Import(
        memory=memory, ordered=ordered, kind=kind, clock=clock, zone=zone, progress=progress
    ).run()


@define(kw_only=True)
class _Import:
    memory: SyncMemory
    ordered: OrderedChanges
    kind: str
    clock: ImportClock
    zone: str | None
    progress: Callable[[int, int], None] | None
    blocks: dict[str, str] = field(factory=dict)
    """Blocks by the keys that later changes refer to."""
    report: ImportReport = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.report = ImportReport(kind=self.kind)

    def run(self) -> ImportReport:
        report, ordered = self.report, self.ordered
        later: list[int] = []
        for place, change in enumerate(ordered):
            if isinstance(change, Connect) and not self._has_ends(change):
                later.append(place)  # an end of it comes later, or never
                continue
            self._try(change)
            if self.progress is not None:
                self.progress(place + 1, len(ordered))
        if later:
            waiting = frozenset(later)
            for place, change in enumerate(ordered):
                if place in waiting:
                    self._try(change)
        report.in_future = self.clock.in_future
        report.left = [
            {"what": what, "why": why, "count": count, "places": ordered.left_at[what, why]}
            for (what, why), count in ordered.left.items()
        ]
        report.version = self.memory.status().version
        return report

    def _has_ends(self, change: Connect) -> bool:
        return {change.source, change.target} <= self.blocks.keys()

    def _try(self, change: Change) -> None:
        report = self.report
        at_us = instant("at", change.at)
        self.clock.move(at_us)
        if at_us is None:
            report.untimed += 1
        else:
            report.first_at = report.first_at or iso(at_us)
            report.last_at = iso(at_us)
        try:
            is_new = self._carry_out(change)
        except Refused as refusal:
            report.refused_count += 1
            if len(report.refused) < REFUSED_MAX:
                report.refused.append(
                    {
                        "place": change.place,
                        "code": refusal.code,
                        "detail": refusal.message,
                        "recovery": refusal.recovery,
                    }
                )
            return
        if is_new:
            name = _DONE[type(change)]
            setattr(report, name, getattr(report, name) + 1)
        else:
            report.known += 1

    def _carry_out(self, change: Change) -> bool:
        """Carry out a change and return whether it wrote anything."""
        before = self._version
        command = self._command_id(change)
        match change:
            case Learn():
                self._learn(change, command)
            case Revise():
                self._revise(change, command)
            case Forget():
                self.memory.forget(self._block(change.key), change.reason, command_id=command)
            case Connect():
                self.memory.connect(
                    self._block(change.source),
                    self._block(change.target),
                    change.relation,
                    weight=change.weight,
                    note=change.note,
                    command_id=command,
                )
        return self._version > before

    @property
    def _version(self) -> int:
        last = self.memory.history(limit=1)  # far cheaper than the counts of status()
        version: int = last[-1].version
        return version

    def _learn(self, change: Learn | Revise, command: str) -> None:
        lesson: dict[str, Any] = {"source": SOURCE, "created_at": change.at, **change.lesson}
        if self.zone is not None:
            lesson["zone"] = self.zone
        result = self.memory.learn(**lesson, command_id=command)
        self._note(change.key, result.block_id)

    def _revise(self, change: Revise, command: str) -> None:
        old = self.blocks.get(change.key)
        if old is None:
            self._learn(change, command)
            return
        period = {
            name: change.lesson[name]
            for name in ("valid_from", "valid_until")
            if name in change.lesson
        }
        try:
            created_at = change.lesson.get("created_at", change.at)
            result = self.memory.revise(
                old, change.lesson["content"], created_at=created_at, **period, command_id=command
            )
        except (BlockNotActive, FieldRefused):
            # It has this text already, or another block has, or it was superseded in between.
            self._learn(change, f"{command}-again")
            if self.blocks[change.key] != old:
                self.memory.forget(old, "revised", command_id=f"{command}-old")
        else:
            self._note(change.key, result.block_id)

    def _note(self, key: str, block: str) -> None:
        if key in self.ordered.referred:
            self.blocks[key] = block

    def _block(self, key: str) -> str:
        if key not in self.blocks:
            raise InputRefused(
                f"{key!r:.200} is not in the source",
                recovery="Import the source that holds it, or leave this out.",
            )
        return self.blocks[key]

    def _command_id(self, change: Change) -> str:
        """Return the id of the command: the same for the same change of the same kind of source."""
        said = {key: value for key, value in asdict(change).items() if key != "place"}
        body = json.dumps([type(change).__name__, said], sort_keys=True)
        return f"import-{hashlib.sha256(body.encode()).hexdigest()[:32]}"
