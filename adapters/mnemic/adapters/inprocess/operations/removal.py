"""Operations that take blocks out: of recall, out of the present, or out of the past too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mnemic.adapters.inprocess.batch_items import named_blocks
from mnemic.adapters.inprocess.engine.commands import Command, Progress
from mnemic.adapters.inprocess.operations.host import Host
from mnemic.adapters.inprocess.registry import operation
from mnemic.kernel import results
from mnemic.kernel.decision import Decision, first_of
from mnemic.kernel.decisions.space import decide_erase_space
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.events import BlockErased, BlocksQuarantined
from mnemic.kernel.model.filters import Where
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.validation import checked_flag
from mnemic.projections.view import View

if TYPE_CHECKING:
    from mnemic.kernel.results import (
        EraseManyReceipt,
        ErasureReceipt,
        ForgetManyResult,
        ForgetResult,
        QuarantineResult,
    )

ERASED_MAX = 1_000
"""Blocks of one ``erase``."""


class RemovalOperations(Host):
    """Forget, erase and quarantine."""

    @operation("DELETE ./blocks/{block_id}", "Blocks", "write", destructive=True, same_twice=True)
    def forget(
        self, block_id: str, reason: str | None = None, *, command_id: str | None = None
    ) -> ForgetResult:
        """Archive a block: it is no longer recalled, and views of the past still show it.

        Raises:
            BlockNotFound: It was never learned.
        """
        from mnemic.kernel.decisions.archiving import decide_forget

        arguments = {"block_id": block_id, "reason": reason}
        outcome = self._open().execute(
            Command("forget", arguments, command_id),
            lambda view, _: decide_forget(view, block_id, reason),
        )
        return results.ForgetResult(
            block_id=BlockId(block_id),
            action="archived" if outcome.events else "already_archived",
        )

    @operation("POST ./blocks/forget", "Blocks", "admin", destructive=True, same_twice=True)
    def forget_many(
        self,
        where: Mapping[str, Any],
        reason: str | None = None,
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
        command_id: str | None = None,
    ) -> ForgetManyResult:
        """Archive every block that a filter finds, as ``forget`` does, in batches.

        Found are blocks that are active, in the inbox or in quarantine when the call begins. A
        call that was interrupted is continued by the next one; under the same command id its answer
        names the blocks of both.

        Args:
            where: Which blocks: a filter, as for ``recall``. It must hold a condition; within the
                scope of this handle.
            reason: Why; kept in the log. At most as long as a note (``note_length_max``, 500
                characters at first).
            dry_run: Whether to return what would be archived, and write nothing.
            progress: Called with the number of blocks done and the total.
            command_id: See the class.

        Raises:
            FieldRefused: The filter cannot be read, or holds no condition.
            Forbidden: A block is above the zone of this session handle; nothing is archived.
            NoteTooLong: The reason is too long.
        """
        from mnemic.adapters.inprocess.removing_many import Forgetting

        removal = Forgetting(
            space=self._open(),
            where=removable(where, self._scope),
            reason=reason,
            command_id=command_id,
        )
        if checked_flag("dry_run", dry_run):
            return removal.preview()
        return removal.run(progress)

    @operation("POST ./erase", "Blocks", "admin", destructive=True, same_twice=True)
    def erase(
        self, block_ids: Sequence[str] | str, *, command_id: str | None = None
    ) -> ErasureReceipt:
        """Destroy the text and vectors of blocks permanently, in the past too.

        Facts that an extractor found in these blocks alone are erased with them. The log, its chain
        and the ids stay. All are erased, or none if one of them is refused.
        Repeating the call changes nothing and names the event that erased them.

        Args:
            block_ids: The blocks, one or up to 1,000.
            command_id: See the class.

        Raises:
            BlockNotFound: One was never learned.
            FieldRefused: It is not a list of ids, or too long.
            LogCorrupt: The log is damaged in the part that a checkpoint replaced on opening. An
                erasure removes the checkpoints, and nothing after the damage would be left.
        """
        from mnemic.kernel.decisions.archiving import decide_erase

        ids = named_blocks(block_ids, most=ERASED_MAX)
        arguments = {"block_id": ids[0]} if len(ids) == 1 else {"block_ids": ids}
        with self._open().prepared_erasure(lambda: decide_erase(self._view(), ids)):
            outcome = self._open().execute(
                Command("erase", arguments, command_id), lambda view, _: decide_erase(view, ids)
            )
        blocks = tuple(map(BlockId, dict.fromkeys(ids)))
        version = outcome.last
        recorded = self._space.event_at(version)
        event = None if recorded is None else recorded.event
        if not isinstance(event, BlockErased) or event.block_id not in blocks:
            state = self._space.state
            whole = state.timeline.space_erased or 0
            version = max(
                state.timeline.erased_blocks.get(state.catalogue.numbers[block], whole)
                for block in blocks
            )
        return self._receipt(blocks, version)

    @operation("POST ./blocks/erase", "Blocks", "admin", destructive=True, same_twice=True)
    def erase_many(
        self,
        where: Mapping[str, Any],
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
        command_id: str | None = None,
    ) -> EraseManyReceipt:
        """Destroy the text and vectors of every block that a filter finds, as ``erase`` does.

        Found are blocks of every status, archived ones too, that had been learned when the call
        began; facts that rest on them alone are erased with them. Each batch is one transaction. A
        call that was interrupted is continued by the next one; under the same command id its
        receipt names the blocks of both. The log does not keep the filter.

        Args:
            where: Which blocks: a filter, as for ``recall``. It must hold a condition; within the
                scope of this handle.
            dry_run: Whether to return what would be erased, and write nothing.
            progress: Called with the number of blocks done and the total.
            command_id: See the class.

        Raises:
            FieldRefused: The filter cannot be read, or holds no condition.
            Forbidden: A block is above the zone of this session handle; nothing is erased.
            LogCorrupt: As for ``erase``.
        """
        from mnemic.adapters.inprocess.removing_many import Erasing

        removal = Erasing(
            space=self._open(), where=removable(where, self._scope), command_id=command_id
        )
        if checked_flag("dry_run", dry_run):
            return removal.preview()
        return removal.run(progress)

    @operation("DELETE .", "Spaces", "admin", destructive=True, same_twice=True)
    def erase_space(self, confirm: str, *, command_id: str | None = None) -> ErasureReceipt:
        """Destroy all text and vectors of the space permanently; nothing can be learned after.

        Args:
            confirm: The name of the space, as a safeguard against a call by mistake.
            command_id: An idempotency key.

        Raises:
            FieldRefused: *confirm* is not the name of the space.
        """
        if confirm != self._space.log.name:
            raise FieldRefused(
                f"confirm {confirm!r:.200} is not the name of this space",
                recovery="To destroy all of its texts for good, give the name of the space in "
                "confirm. For one block use forget or erase.",
                field="confirm",
            )
        command = Command("erase_space", {}, command_id)
        self._open().execute(command, lambda view, _: decide_erase_space(view))
        version = self._space.snapshot().erased_at or 0
        return self._receipt((), version)

    def _receipt(self, block_ids: tuple[BlockId, ...], version: int) -> ErasureReceipt:
        view = self._space.view()
        numbers = [view.number(block) for block in block_ids]
        gone, kept = view.resting_on_erased([each for each in numbers if each is not None])
        return results.ErasureReceipt(
            block_ids=block_ids,
            facts=tuple(map(view.id, gone)),
            kept=tuple(map(view.id, kept)),
            version=version,
            chain=self._space.digest_at(version).hex(),
            left=self._space.left,
        )

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

        checked_flag("release", release)
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


def removable(where: Any, scope: Mapping[str, str]) -> Where:
    """Return the filter of blocks that are to be removed, within the scope of a handle.

    Raises:
        FieldRefused: It cannot be read, names another scope, or has no condition.
    """
    from mnemic.projections.retrieval.request import within_scope

    if Where.parse(where) == Where():
        raise FieldRefused(
            "where has no condition, so it would find every block",
            recovery='Name which blocks, like {"user": "ines"}. To mean all, write '
            '{"range": {"confidence": {"from": 0}}}; erase_space also closes the space.',
            field="where",
        )
    return Where.parse(within_scope(where, scope))
