"""The runner that does one task after another in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager

from attrs import frozen

from mnemic.kernel.ports import Row, Task, Work


@frozen
class InProcess:
    """Does tasks in their order. Implements ``mnemic.kernel.ports.Runner``."""

    _do: Callable[[Task], Row]

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Row]]:
        """Yield the place and the row of each task, in order."""
        for place, task in enumerate(tasks):
            yield place, self._do(task)


@contextmanager
def in_process(work: Work) -> Generator[InProcess]:
    """Begin a work in this process, for a ``with`` block."""
    with work.begin() as do:
        yield InProcess(do)
