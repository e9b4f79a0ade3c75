"""What a revert undoes, and its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, get_args

from mnemic.adapters.inprocess.engine.commands import Command
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.replay import reevaluation
from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.reverting import HISTORY, changes
from mnemic.kernel.events import (
    BlocksPromoted,
    BlocksQuarantined,
    BlocksRelinked,
    Curated,
    Event,
    Objection,
    RecallRecorded,
    Recorded,
    Reverted,
    SpaceOpened,
)
from mnemic.kernel.model.identity import label_id
from mnemic.kernel.results import RevertConflict, RevertResult
from mnemic.kernel.timestamps import Instant
from mnemic.projections.descent.selection import Selection
from mnemic.projections.listing.timeline import kind_of
from mnemic.projections.view import View

STAY: Final = frozenset(kind_of(event.__name__) for event in HISTORY)
"""Kinds of events that no revert undoes."""
KEPT: Final = (*(each for each in HISTORY if each is not RecallRecorded), SpaceOpened)
"""Kinds of events without an effect that is undone; those of a recall are its uses and edges."""
PICKED: Final = tuple(
    each
    for each in get_args(Event)
    if each not in {BlocksPromoted, BlocksRelinked, BlocksQuarantined, Curated}
)
"""Kinds of events that may be selected: not upkeep, which any actor may happen to carry out for
all, and not a quarantine, which is released and not reverted."""
WHY: Final = {
    "touched": "version {version} changed it since",
    "archived": "a block that it connects is archived",
    "no-room": "one of the blocks has as many edges as it may have",
    "linked": "the two blocks have an edge",
    "erased": "erased text cannot be restored",
    "no-vector": "it has no vector of the embedder in force; learn the text again",
}


def picked(space: SessionHandle, selection: Selection, view: View) -> list[Recorded]:
    """Return the selected writes up to a view."""
    kinds = reevaluation.versions(view, *PICKED)
    return [each for each in reevaluation.events(space, kinds) if selection.picks(each)]


def reverted(
    space: SessionHandle,
    command: Command,
    decide: Callable[[View, Instant], Decision[Any]],
    *,
    dry_run: bool,
) -> RevertResult:
    """Return the result of a revert, which is carried out unless it is a dry run."""
    if dry_run:
        space.check_not_erased()
        view = space.view()
        event, kept = decide(view, Instant(view.point.active_us, view.point.instant_us)).result
        return revert_result(event, kept, action="dry_run", version=None)
    outcome = space.prepared(command, decide)
    event, kept = outcome.result
    version = outcome.last if outcome.events else None
    return revert_result(event, kept, action="reverted", version=version)


def revert_result(
    event: Reverted, kept: dict[str, int], *, action: str, version: int | None
) -> RevertResult:
    """Return what a revert did, or would do.

    Args:
        event: The decided event.
        kept: Number of events of the range, by kind.
        action: ``reverted`` or ``dry_run``; ``nothing`` is returned if there are no changes.
        version: Version of the event, if it was written.
    """
    return RevertResult(
        from_version=event.first,
        to_version=event.last,
        action=action if changes(event) else "nothing",
        version=version,
        forgotten=event.forgotten,
        restored=event.lives,
        strength=event.strength,
        evidence=event.evidence,
        uses=event.uses,
        edges_removed=event.unlinked,
        edges_restored=event.linked,
        pending_removed=event.cancelled,
        pending_restored=event.deferred,
        bars_lifted=event.unbarred,
        bars_restored=event.barred,
        labels_retracted=tuple(map(label_id, event.retracted)),
        labels_restored=tuple(map(label_id, event.recounted)),
        policy_id=event.policy_id,
        withdrawn=tuple(each.block_id for each in event.withdrawn),
        conflicts=tuple(map(_conflict, event.left)),
        kept={kind: count for kind, count in kept.items() if kind in STAY},
    )


def _conflict(left: Objection) -> RevertConflict:
    return RevertConflict(
        what=left.what,
        of=left.of,
        why=left.why,
        version=left.version,
        detail=WHY[left.why].format(version=left.version),
    )
