"""Work spread over a few fresh processes, each of which may fork without fear of threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

HANDS = 2
"""Processes at once: what the machines have that this is run on."""

Job = TypeVar("Job")
Found = TypeVar("Found")


def spread(work: Callable[[Job], Found], jobs: Sequence[Job], *, hands: int = HANDS) -> list[Found]:
    """Do each job in one of a few processes, and return what came of them, in order.

    A campaign that runs beside a test suite, whose process has threads and open files, stays apart
    from them so: what it forks has nothing but what the job opened.

    Args:
        work: A function of a module; it and the jobs are pickled.
        jobs: What it is called with.
        hands: Processes, >= 1.
    """
    with ProcessPoolExecutor(
        min(hands, len(jobs)), mp_context=get_context("spawn"), initializer=_without_threads
    ) as pool:
        return list(pool.map(work, jobs))


def _without_threads() -> None:
    """Keep the linear algebra, which has not been imported yet, from making threads."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
