"""The runner on a pool of processes of this machine.

Rules of this module:

1. Workers are spawned, never forked: a fork would copy locks, threads and open files. So a script
   that uses this runner needs ``if __name__ == "__main__":``, as for any pool of Python.
2. A worker ends with the process that started it, however that ends, and leaves Ctrl-C to it.
3. If a worker is killed, the pool is replaced, and what it had not answered is done again.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from threading import Thread
from typing import Final

from mnemic.adapters.runners.worker import Worker
from mnemic.adapters.system.processors import processors
from mnemic.kernel.errors import Unavailable
from mnemic.kernel.ports import Row, Task, Work

LOSSES_MAX: Final = 3
"""Losses of a worker without a row in between, after which a run gives up."""


@contextmanager
def processes(work: Work, *, workers: int | None = None) -> Generator[ProcessPool]:
    """Start a pool of processes for a work, for a ``with`` block.

    Args:
        work: Sent to each worker by pickle.
        workers: How many; None: as many as this process may use processors.
    """
    pool = ProcessPool(work, workers or processors())
    try:
        yield pool
    finally:
        pool.close()


class ProcessPool:
    """Does tasks on other processes. Implements ``mnemic.kernel.ports.Runner``."""

    def __init__(self, work: Work, workers: int) -> None:
        self._work = work
        self._workers = workers
        self._executor: ProcessPoolExecutor | None = None

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Row]]:
        """Yield the place and the row of each task, as they are done.

        Raises:
            Unavailable: Workers were lost ``LOSSES_MAX`` times without a row in between.
        """
        waiting = dict(enumerate(tasks))
        losses = 0
        while waiting:
            futures: dict[Future[Row], int] = {}
            try:
                executor = self._running()
                for place, task in waiting.items():
                    futures[executor.submit(_do, task)] = place
                for future in as_completed(futures):
                    row = future.result()
                    losses = 0
                    del waiting[futures[future]]
                    yield futures[future], row
            except BrokenProcessPool as error:
                self.close()
                losses += 1
                if losses == LOSSES_MAX:
                    raise Unavailable(
                        f"a worker process ended {losses} times before it had answered",
                        recovery="It may lack memory: use fewer workers, or runner 'inprocess'.",
                        waiting=len(waiting),
                    ) from error
            except BaseException:
                for each in futures:
                    each.cancel()
                raise

    def _running(self) -> ProcessPoolExecutor:
        if self._executor is None:
            self._executor = ProcessPoolExecutor(
                self._workers,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_receive,
                initargs=(self._work,),
            )
        return self._executor

    def close(self) -> None:
        """End the workers, after the task that each is at."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(cancel_futures=True)


# --- in a worker ----------------------------------------------------------------------------


_workers: Final[list[Worker]] = []
"""The one of this process."""


def _receive(work: Work) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    _workers.append(Worker(work))
    atexit.register(_workers[0].close)  # a work that is left to the collector ends too late


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(task: Task) -> Row:
    return _workers[0].do(task)
