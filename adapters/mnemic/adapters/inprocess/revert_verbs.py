"""revert: take a stretch of the log back with one event more."""

from __future__ import annotations

from typing import Final

from mnemic.adapters.inprocess.commands import Command, Written
from mnemic.adapters.inprocess.host import Host
from mnemic.kernel.decisions.reverting import HISTORY, changes, decide_revert
from mnemic.kernel.events import Objection, Reverted
from mnemic.kernel.identity import label_id
from mnemic.kernel.reading import Moment
from mnemic.kernel.results import RevertConflict, RevertResult
from mnemic.projections.chronicle import kind_of, kinds
from mnemic.projections.views import View

STAY: Final = frozenset(kind_of(event.__name__) for event in HISTORY)
"""Kinds of events that are history, whatever is reverted."""
WHY: Final = {
    "touched": "version {version} changed it since",
    "archived": "a block that it ties is archived",
    "no-room": "one of the blocks has as many edges as it may have",
    "linked": "the two have an edge",
    "erased": "what was erased never comes back",
    "no-vector": "it has no vector of the embedder in force; learn the words again",
}


class RevertVerbs(Host):
    """What a host takes back."""

    def revert(
        self,
        from_version: int,
        to_version: int,
        *,
        reason: str | None = None,
        dry_run: bool = False,
        command_id: str | None = None,
    ) -> RevertResult:
        """Put back what a stretch of the log changed, as far as nothing later has touched it.

        Nothing is deleted: one event more says what is as before again, and it can be reverted in
        its turn. Blocks that were learned in the stretch are archived as forgotten; blocks, edges,
        pending connections, labels and the policy that it changed get back what they were. What a
        later event changed is left and named among the conflicts. Sessions, decisions,
        compositions, adoptions of an embedder and erasures stay: they are history.

        Args:
            from_version: The first version to take back; at least 1.
            to_version: The last one.
            reason: Why.
            dry_run: Whether to say only what would be done.
            command_id: See the class.

        Raises:
            FieldRefused: The versions are no whole numbers, or in the wrong order.
            PointOutOfRange: The log has no such stretch.
            NoteTooLong: The reason is too long.
        """
        space = self._open()

        def decide(view: View, _: Moment) -> Written:
            head = view.point.version
            event = decide_revert(view, from_version, to_version, head=head, reason=reason)
            kept = kinds(view, event.first, event.last)
            return Written((event,) if changes(event) else (), extra=(event, kept))

        if dry_run:
            with space.guard:
                space.catch_up()
                space.check_kept()
                event, kept = decide(space.live(), space.moment()).extra
            return revert_result(event, kept, action="dry_run", version=None)
        arguments = {"from": from_version, "to": to_version, "reason": reason}
        outcome = space.prepared(Command("revert", arguments, command_id), decide)
        event, kept = outcome.extra
        version = outcome.last if outcome.events else None
        return revert_result(event, kept, action="reverted", version=version)


def revert_result(
    event: Reverted, kept: dict[str, int], *, action: str, version: int | None
) -> RevertResult:
    """Return what a revert did, or would do.

    Args:
        event: As it was decided.
        kept: Events of the stretch by kind.
        action: ``reverted`` or ``dry_run``; without anything to do it is ``nothing``.
        version: Of the event, if it was written.
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
