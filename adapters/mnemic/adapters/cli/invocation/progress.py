"""A progress bar that appears only if the work takes long."""

from __future__ import annotations

from threading import Timer
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars

PATIENCE: Final = 0.5
"""Seconds of work after which a bar appears."""


class LateBar:
    """A bar on a terminal during a ``with`` block that takes longer than ``PATIENCE``.

    It is called with the units done and the units to do; until then the bar moves to and fro. What
    draws it is slow to import, so that is left to the thread that waits.
    """

    def __init__(self, console: Console, doing: str) -> None:
        """Prepare the bar.

        Args:
            console: The terminal.
            doing: A label of one or two words.
        """
        self._console = console
        self._doing = doing
        self._timer = Timer(PATIENCE, self._appear)
        self._timer.daemon = True
        self._bars: Bars | None = None
        self._reached: tuple[int, int | None] = (0, None)

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        self._timer.join()
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, done: int, todo: int) -> None:
        """Show how far the work is."""
        self._reached = (done, todo)
        if self._bars is not None:
            self._show(self._bars)

    def _appear(self) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed

        bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            Elapsed(),
            console=self._console,
            transient=True,
            redirect_stdout=False,  # what a command prints meanwhile may go to a file
            redirect_stderr=False,
        )
        bars.add_task(self._doing, total=None)
        self._show(bars)
        bars.start()
        self._bars = bars

    def _show(self, bars: Bars) -> None:
        done, todo = self._reached
        bars.update(bars.task_ids[0], completed=done, total=todo)
