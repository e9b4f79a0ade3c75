"""The port ``Runner``: independent tasks, done in this process or on others.

Rules of this module:

1. A row depends on its work and its task alone, so every runner gives the same rows.
2. Rows come in any order, each with the place of its task; a lost worker's tasks are done again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

Task: TypeAlias = Any
"""The argument of one call of a work's function. It is sent to other processes by pickle."""
Row: TypeAlias = Any
"""The result of a task: plain values, as in JSON."""


class Work(Protocol):
    """What the tasks of a run have in common, such as a folded space.

    A runner begins it once in each of its workers. It is sent there by pickle.
    """

    def begin(self) -> AbstractContextManager[Callable[[Task], Row]]:
        """Load what the tasks need, and return the function that does one."""
        ...


class Runner(Protocol):
    """Workers that have begun one work. They are kept from one run to the next."""

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Row]]:
        """Do tasks, and yield the place of each, from 0, with its row, as they are done.

        Raises:
            Unavailable: Workers ended again and again without a row.
        """
        ...


StartRunner: TypeAlias = Callable[[Work], AbstractContextManager[Runner]]
"""Starts a runner for a work; leaving the context ends its workers."""
