"""revert: undo a range of the log by appending one event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mnemic.adapters.inprocess.engine.commands import Command
from mnemic.adapters.inprocess.operations.host import Host
from mnemic.adapters.inprocess.registry import operation
from mnemic.kernel.decision import Decision
from mnemic.kernel.timestamps import Instant
from mnemic.projections.view import View

if TYPE_CHECKING:
    from mnemic.kernel.results import RevertResult


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
        from mnemic.adapters.inprocess.operations.revert_results import reverted
        from mnemic.kernel.decisions.reverting import decide_revert
        from mnemic.projections.listing.timeline import kinds

        space = self._open()

        def decide(view: View, _: Instant) -> Decision[Any]:
            decided = decide_revert(view, from_version, to_version, reason=reason)
            kept = kinds(view, decided.result.first, decided.result.last)
            return Decision(decided.events, (decided.result, kept))

        arguments = {"from": from_version, "to": to_version, "reason": reason}
        return reverted(space, Command("revert", arguments, command_id), decide, dry_run=dry_run)

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
        from mnemic.adapters.inprocess.operations import revert_results
        from mnemic.kernel.decisions.reverting_selection import decide_revert_selection
        from mnemic.projections.descent.selection import Selection
        from mnemic.projections.listing.timeline import kind_of
        from mnemic.projections.view.log_selection import log_selection_of

        space, selection = self._open(), Selection.parse(selector)

        def decide(view: View, _: Instant) -> Decision[Any]:
            picked = revert_results.picked(space, selection, view)
            undone = [
                each.version for each in picked if type(each.event) not in revert_results.KEPT
            ]
            changed = log_selection_of(view, undone, selection.blocks(view).tolist())
            decided = decide_revert_selection(view, changed, reason=reason)
            kept = Counter(kind_of(type(each.event).__name__) for each in picked)
            return Decision(decided.events, (decided.result, dict(sorted(kept.items()))))

        arguments = {"selector": selection.plain(), "reason": reason}
        command = Command("revert_source", arguments, command_id)
        return revert_results.reverted(space, command, decide, dry_run=dry_run)
