"""The operation ``quarantine``: takes blocks of selected writes out of recall, or releases them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mnemic.adapters.inprocess.engine.commands import Command
from mnemic.adapters.inprocess.operations.host import Host
from mnemic.adapters.inprocess.registry import operation
from mnemic.kernel.decision import Decision, first_of
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.events import BlocksQuarantined
from mnemic.kernel.timestamps import Instant
from mnemic.projections.view import View

if TYPE_CHECKING:
    from mnemic.kernel.results import QuarantineResult


class QuarantineOperations(Host):
    """The operation quarantine."""

    @operation("POST ./quarantine", "The past", "admin", destructive=True, same_twice=True)
    def quarantine(
        self,
        selector: Mapping[str, Any],
        reason: str | None = None,
        *,
        release: bool = False,
        command_id: str | None = None,
    ) -> QuarantineResult:
        """Take every block that the selected writes learned out of recall, by one event.

        A block in quarantine is not recalled, followed to along an edge, suggested, promoted or put
        on the frontier. Nothing else about it changes, so a release restores it exactly. Views of
        the past, and replays of decisions, show what was so then. What the same source or actor
        writes later is not in quarantine: revoke its token, or give its source a zone of no trust.

        Args:
            selector: Which writes: ``source``, ``actor``, ``block``. Each is one or several, and
                ``since`` and ``until`` limit when they were recorded. All given conditions must
                hold.
            reason: Why; kept in the log. At most as long as a note (``note_length_max``, 500
                characters at first).
            release: Whether to end the quarantine of the blocks instead.
            command_id: See the class.

        Raises:
            FieldRefused: The selector selects by none of source, actor and block, or cannot be
                read.
            BlockNotFound: A selected block was never learned.
            NoteTooLong: The reason is too long.
        """
        from mnemic.kernel.decisions.archiving import decide_quarantine
        from mnemic.kernel.results import QuarantineResult
        from mnemic.projections.descent.selection import Selection

        if not isinstance(release, bool):
            raise FieldRefused(f"release must be true or false, got {release!r}", field="release")
        selection = Selection.parse(selector)

        def decide(view: View, _: Instant) -> Decision[int]:
            numbers = selection.blocks(view).tolist()
            decided = decide_quarantine(view, numbers, release=release, reason=reason)
            return Decision(decided.events, len(numbers))

        arguments = {"selector": selection.plain(), "reason": reason, "release": release}
        outcome = self._open().prepared(Command("quarantine", arguments, command_id), decide)
        selected: int = outcome.result
        event = first_of(outcome.events, BlocksQuarantined)
        if event is None:
            return QuarantineResult(action="nothing", selected=selected)
        return QuarantineResult(
            action="released" if event.released else "quarantined",
            block_ids=event.block_ids,
            selected=selected,
            version=outcome.last,
        )
