"""Work spread over a few fresh processes, each of which may fork without fear of threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

PROCESSES = 2
"""Processes at once: what the machines have that this is run on."""

Job = TypeVar("Job")
Found = TypeVar("Found")


def spread(
    work: Callable[[Job], Found], jobs: Sequence[Job], *, processes: int = PROCESSES
) -> list[Found]:
    """Run each job in one of a few processes, and return their results, in order.

    This separates a campaign from the process of the test suite, which has threads and open files:
    a job that forks inherits only what it opened itself.

    Args:
        work: A function of a module; it and the jobs are pickled.
        jobs: Its arguments.
        processes: How many, >= 1.
    """
    with ProcessPoolExecutor(
        min(processes, len(jobs)), mp_context=get_context("spawn"), initializer=_without_threads
    ) as pool:
        return list(pool.map(work, jobs))


def _without_threads() -> None:
    """Keep the linear algebra, which has not been imported yet, from making threads."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
