"""revert: undo a range of the log by appending one event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from mnemic.adapters.inprocess.engine.commands import Command
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.operations.host import Host
from mnemic.adapters.inprocess.registry import operation
from mnemic.adapters.inprocess.replay import reevaluation
from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.reverting import HISTORY, changes, decide_revert
from mnemic.kernel.decisions.reverting_selection import decide_revert_selection
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
from mnemic.projections.listing.timeline import kind_of, kinds
from mnemic.projections.view import View
from mnemic.projections.view.log_selection import log_selection_of

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


class RevertOperations(Host):
    """The operation revert."""

    @operation("POST ./revert", "The past", "admin", destructive=True)
    def revert(
        self,
        from_version: int,
        to_version: int,
        *,
        reason: str | None = None,
        dry_run: bool = False,
        command_id: str | None = None,
    ) -> RevertResult:
        """Undo the changes of a range of the log, except where later events changed the same.

        Nothing is deleted: one more event restores the earlier state, and it can be reverted
        itself. Blocks that were learned in the range are archived as forgotten; blocks, edges,
        pending connections, labels and the policy that it changed are restored. What a later event
        changed is left as it is and listed among the conflicts. Sessions, decisions, compositions,
        adoptions of an embedder and erasures stay: they are history.

        Args:
            from_version: The first version to revert; at least 1.
            to_version: The last version to revert.
            reason: Why; kept in the log. At most as long as a note (``note_length_max``, 500
                characters at first).
            dry_run: Whether to only report what would be done.
            command_id: See the class.

        Raises:
            FieldRefused: The versions are not whole numbers, or in the wrong order.
            PointOutOfRange: The log has no such range.
            NoteTooLong: The reason is too long.
        """
        space = self._open()

        def decide(view: View, _: Instant) -> Decision[Any]:
            decided = decide_revert(view, from_version, to_version, reason=reason)
            kept = kinds(view, decided.result.first, decided.result.last)
            return Decision(decided.events, (decided.result, kept))

        arguments = {"from": from_version, "to": to_version, "reason": reason}
        return _reverted(space, Command("revert", arguments, command_id), decide, dry_run=dry_run)

    @operation("POST ./revert-source", "The past", "admin", destructive=True)
    def revert_source(
        self,
        selector: Mapping[str, Any],
        reason: str | None = None,
        *,
        dry_run: bool = False,
        command_id: str | None = None,
    ) -> RevertResult:
        """Undo what selected writes changed, wherever they are in the log.

        Like ``revert``, and written as one such event per version whose values are restored. The
        blocks that the writes learned are archived as forgotten, even if they were scored since;
        what they superseded is restored. Evidence, reinforcements, edges, pending connections,
        labels and policies by the selected actors are put back. What another event changed since is
        left and listed among the conflicts, but their share of evidence and retrievals is
        subtracted. Selected by source or block alone, only texts and their effects are undone.

        Args:
            selector: Which writes, as for ``quarantine``.
            reason: Why; kept in the log. At most as long as a note (``note_length_max``, 500
                characters at first).
            dry_run: Whether to only report what would be done.
            command_id: See the class.

        Raises:
            FieldRefused: The selector selects by none of source, actor and block, or cannot be
                read.
            BlockNotFound: A selected block was never learned.
            NoteTooLong: The reason is too long.
        """
        space, selection = self._open(), Selection.parse(selector)

        def decide(view: View, _: Instant) -> Decision[Any]:
            picked = self._picked(selection, view)
            undone = [each.version for each in picked if type(each.event) not in KEPT]
            changed = log_selection_of(view, undone, selection.blocks(view).tolist())
            decided = decide_revert_selection(view, changed, reason=reason)
            kept = Counter(kind_of(type(each.event).__name__) for each in picked)
            return Decision(decided.events, (decided.result, dict(sorted(kept.items()))))

        arguments = {"selector": selection.plain(), "reason": reason}
        command = Command("revert_source", arguments, command_id)
        return _reverted(space, command, decide, dry_run=dry_run)

    def _picked(self, selection: Selection, view: View) -> list[Recorded]:
        """Return the selected writes up to a view."""
        kinds = reevaluation.versions(view, *PICKED)
        return [each for each in reevaluation.events(self._space, kinds) if selection.picks(each)]


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


def _reverted(
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
