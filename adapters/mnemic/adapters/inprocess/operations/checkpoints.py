"""Operations on checkpoints: list, write, drop; and their alerts in ``status``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.operations.host import Host
from mnemic.adapters.inprocess.registry import operation
from mnemic.kernel.errors import CheckpointsOff, StoreBusy
from mnemic.kernel.results import ResultList

if TYPE_CHECKING:
    from mnemic.kernel.results import Checkpoint, DropCheckpointsResult, Status

TRIES = 10
"""Attempts at writing a checkpoint; each fails if text is erased while it is written."""


class CheckpointOperations(Host):
    """Operations on the files that make opening quick. None of them writes to the log."""

    @operation("GET ./checkpoints", "Spaces")
    def checkpoints(self) -> ResultList[Checkpoint]:
        """Return every checkpoint of this space, newest first, each read and checked in full."""
        space = self._open()
        space.snapshot()  # what others have erased is gone then
        writer = space.log_state.checkpoint_writer
        return ResultList(() if writer is None else writer.listing())

    @operation("POST ./checkpoints", "Spaces", "admin", same_twice=True, status=201)
    def checkpoint(self) -> Checkpoint:
        """Write a checkpoint of the state as it is now, unless there is one, and return it.

        Raises:
            ViewReadOnly: The space was opened read-only.
            CheckpointsOff: There is no directory for checkpoints.
            StoreFull, StoreFailed: It cannot be written.
            StoreBusy: Text was erased during every attempt.
        """
        space = self._open()
        space.check_writable()
        writer = space.log_state.checkpoint_writer
        if writer is None:
            raise _off(space)
        for _ in range(TRIES):
            space.snapshot()
            file = writer.write()
            if file is not None:
                return writer.look(file, thorough=False)
        raise StoreBusy(
            f"text was erased {TRIES} times while a checkpoint was written",
            recovery="Try again when no erasure is running.",
        )

    @operation("DELETE ./checkpoints", "Spaces", "admin", destructive=True, same_twice=True)
    def drop_checkpoints(self) -> DropCheckpointsResult:
        """Remove every checkpoint of this space, and any that is being written.

        Raises:
            ViewReadOnly: The space was opened read-only.
            CheckpointsOff: There is no directory for checkpoints.
            StoreFailed: One cannot be removed.
        """
        from mnemic.kernel.results import DropCheckpointsResult

        space = self._open()
        space.check_writable()
        writer = space.log_state.checkpoint_writer
        if writer is None:
            raise _off(space)
        return DropCheckpointsResult(dropped=writer.drop())

    def status(self) -> Status:
        """Return counts, the clock, and what is in force.

        The hour never steps back while the memory is open, even if the machine's clock does.
        """
        status = super().status()
        status = evolve(status, hour=self._space.log_state.latest_hour(status.hour))
        checkpoint_writer = self._space.log_state.checkpoint_writer
        alerts = () if checkpoint_writer is None else checkpoint_writer.alerts
        left = ", ".join(self._space.keys_left)
        if left:
            alerts += (f"{left} could not be cleared and may hold keys of erased words",)
        return evolve(status, alerts=(*status.alerts, *alerts)) if alerts else status


def _off(space: SessionHandle) -> CheckpointsOff:
    return CheckpointsOff(f"space {space.log.name!r} has no place for checkpoints")
