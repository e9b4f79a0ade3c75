"""What a worker of another process holds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from mnemic.kernel.ports import Row, Task, Work


class Worker:
    """A work, and what it loaded: it begins with the first task and is kept for the others.

    So a failure to begin reaches the caller as the failure of a task.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._stack = ExitStack()
        self._do: Callable[[Task], Row] | None = None

    def do(self, task: Task) -> Row:
        """Return the row of a task."""
        if self._do is None:
            self._do = self._stack.enter_context(self._work.begin())
        return self._do(task)

    def close(self) -> None:
        """End the work, if it has begun."""
        self._stack.close()
