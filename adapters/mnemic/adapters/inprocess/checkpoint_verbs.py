"""Verbs on checkpoints: list, make, drop. And the word of them in ``status``."""

from __future__ import annotations

from attrs import evolve

from mnemic.adapters.inprocess.host import Host
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.errors import CheckpointsOff, StoreBusy
from mnemic.kernel.results import Checkpoint, DropCheckpointsResult, Status

TRIES = 10
"""An erasure makes a checkpoint useless while it is written; so many in a row are no chance."""


class CheckpointVerbs(Host):
    """What a host may do with the files that make opening quick. None of it touches the log."""

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Return every checkpoint of this space, newest first, each read and checked whole."""
        space = self._open()
        space.catch_up()
        return () if space.keeper is None else space.keeper.listing()

    def checkpoint(self) -> Checkpoint:
        """Write a checkpoint of the state as it is now, unless there is one, and return it.

        Raises:
            ViewReadOnly: The space was opened read-only.
            CheckpointsOff: There is no place for one.
            StoreFull, StoreFailed: It cannot be written.
            StoreBusy: Others erase all the time.
        """
        space = self._open()
        space.check_writable()
        if space.keeper is None:
            raise _off(space)
        for _ in range(TRIES):
            space.catch_up()
            file = space.keeper.write()
            if file is not None:
                return space.keeper.look(file)
        raise StoreBusy(
            f"words were erased {TRIES} times while a checkpoint was written",
            recovery="Try again when nobody erases.",
        )

    def drop_checkpoints(self) -> DropCheckpointsResult:
        """Remove every checkpoint of this space, and any that is being written.

        Raises:
            ViewReadOnly: The space was opened read-only.
            CheckpointsOff: There is no place for any.
            StoreFailed: One cannot be removed.
        """
        space = self._open()
        space.check_writable()
        if space.keeper is None:
            raise _off(space)
        return DropCheckpointsResult(dropped=space.keeper.drop())

    def status(self) -> Status:
        """Return counts, the clock, and what is in force."""
        status = super().status()
        keeper = self._space.keeper
        alerts = () if keeper is None else keeper.alerts
        left = ", ".join(self._space.keys_left)
        if left:
            alerts += (f"{left} could not be cleared and may hold keys of erased words",)
        return evolve(status, alerts=(*status.alerts, *alerts)) if alerts else status


def _off(space: Space) -> CheckpointsOff:
    return CheckpointsOff(f"space {space.log.name!r} has no place for checkpoints")
