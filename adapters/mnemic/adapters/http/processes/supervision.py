"""Supervision of several worker processes behind one address by a parent that restarts them.

Rules of this module:

1. The parent opens no store, runs no event loop and starts no thread, so that a forked process
   begins clean: no handle of a database and no lock is ever carried across a fork. What the parent
   has loaded is shared by all: code, and the bundled model. (numpy has threads, and stops and
   restarts them around a fork by itself.)
2. A worker that ends without having been asked to is replaced in the same slot: at once if it had
   served for a while, otherwise with growing delays; after ``DEATHS_MAX`` in a row the parent gives
   3. A worker whose event loop does not run for too long is killed, and replaced like one that
      died; see ``heartbeats``. Before that it is asked for a traceback, which it writes to the log
      if it can.
4. SIGTERM or SIGINT tells every worker to stop, and the parent ends when the last one has ended.
5. A worker never outlives its parent for long: it sees the end of a pipe that only the parent
   holds open, and stops as if it had been asked to.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from selectors import EVENT_READ, SelectSelector
from typing import Any, NoReturn

from attrs import define, field

from mnemic.adapters.http.processes.heartbeats import Watch
from mnemic.adapters.http.processes.shared_counters import ABSENT
from mnemic.adapters.http.processes.worker_slots import (
    READY,
    REPORT_MAX,
    Work,
    WorkerSlots,
)
from mnemic.adapters.remote.transport_errors import WorkersFailed
from mnemic.kernel.errors import FieldRefused, MnemicError, Unavailable

LOG = logging.getLogger("mnemic.http")
SIGNALS = (signal.SIGINT, signal.SIGTERM)

WORKERS_MAX = 64
DEATHS_MAX = 5
"""Workers that may end in a row in one slot, each soon after its start."""
SOON_S = 10.0
"""A worker that ends later than this has started well."""
PAUSE_S = 0.1
"""Delay before the first restart in a slot; each further delay is twice as long."""
FAILED = 70
"""Exit status of a worker that met a bug. Source: EX_SOFTWARE of sysexits.h."""
STDERR = 2
TRACEBACK_S = 0.5
"""How long a hung worker may take to write its traceback."""


@define(kw_only=True)
class _Worker:
    """One process, as its parent knows it."""

    number: int
    pid: int
    reports: int
    """A descriptor that carries the worker's reports, and whose end shows that it has ended."""
    began_s: float
    is_ready: bool = False
    words: bytes = b""
    """Why it could not serve, as far as it reported."""
    suspected_s: float | None = None
    """Since when it is suspected to hang; None: it is not."""


def check_count(count: int) -> None:
    """Refuse a number of workers that is out of range or not possible here.

    Raises:
        FieldRefused: It is out of range, or this process cannot safely be forked.
        Unavailable: This system does not fork.
    """
    if not 1 <= count <= WORKERS_MAX:
        raise FieldRefused(
            f"workers must be a number from 1 to {WORKERS_MAX}, got {count}", field="workers"
        )
    if count == 1:
        return
    if not hasattr(os, "fork"):
        raise Unavailable(
            "several workers take a system that forks processes, which this one does not",
            recovery="Serve with one worker.",
        )
    if threading.active_count() > 1:
        raise FieldRefused(
            f"several workers are forked, and {threading.active_count()} threads run here, which "
            "would not come along",
            recovery="Run the server before anything that starts a thread, or with one worker.",
            field="workers",
        )


@define
class Supervisor:
    """The parent process: starts workers, replaces those that end, and stops them all.

    Args:
        work: What each worker does.
        worker_slots: The slots of the workers.
        patience_s: How long workers may take to stop.
        watch: Finds workers that hang.
    """

    _work: Work
    _worker_slots: WorkerSlots
    _patience_s: float
    _watch: Watch
    _workers: dict[int, _Worker] = field(factory=dict, init=False)
    """Live workers, by worker number."""
    _due_s: dict[int, float] = field(factory=dict, init=False)
    """When the workers of empty slots are to be started again."""
    _deaths: dict[int, int] = field(factory=dict, init=False)
    """How many in a row have ended soon after their start, by worker number."""
    _selector: SelectSelector = field(factory=SelectSelector, init=False)
    _is_stopping: bool = field(default=False, init=False)
    """Whether a signal has asked to stop."""
    _has_begun: bool = field(default=False, init=False)
    _failure: WorkersFailed | None = field(default=None, init=False)

    def run(self, begun: Callable[[], None]) -> None:
        """Keep a worker running in every slot until stopped, then wait for all workers to end.

        Args:
            begun: Called once, when all of them serve.

        Raises:
            WorkersFailed: They cannot start, or end again and again, or would not stop.
        """
        with self._signals():
            try:
                for number in range(self._worker_slots.count):
                    self._start(number)
                while not self._is_stopping and self._failure is None:
                    self._look()
                    if not self._has_begun and self._all_ready:
                        self._has_begun = True
                        begun()
            finally:
                self._stop()
        if self._failure is not None:
            raise self._failure

    @property
    def _all_ready(self) -> bool:
        return len(self._workers) == self._worker_slots.count and all(
            worker.is_ready for worker in self._workers.values()
        )

    def _look(self) -> None:
        """Wait for an event or the next deadline, then check heartbeats and restart due workers."""
        now_s = time.monotonic()
        due_s = min(self._due_s.values(), default=now_s + self._watch.look_s)
        self._read_reports(min(max(0.0, due_s - now_s), self._watch.look_s))
        self._suspect(self._watch.look(time.monotonic()))
        for number, due_s in list(self._due_s.items()):
            if due_s <= time.monotonic() and not self._is_stopping and self._failure is None:
                del self._due_s[number]
                self._start(number)

    def _read_reports(self, timeout_s: float | None) -> None:
        """Read reports of workers, and notice signals and ended workers."""
        for key, _ in self._selector.select(timeout_s):
            said = os.read(key.fd, REPORT_MAX)
            worker: _Worker | None = key.data
            if worker is None:
                continue  # a signal, whose handler has already run
            if not said:
                self._ended(worker)
            else:
                worker.is_ready = worker.is_ready or said.startswith(READY)
                worker.words += said.removeprefix(READY)

    def _suspect(self, silent: Collection[int]) -> None:
        """Ask silent workers for a traceback, and kill those that remain silent after it."""
        now_s = time.monotonic()
        for number, worker in self._workers.items():
            if number not in silent:
                worker.suspected_s = None
            elif worker.suspected_s is None:
                worker.suspected_s = now_s
                LOG.error(
                    "worker %d (process %d) sends no heartbeat; it is asked for a traceback, "
                    "and is killed",
                    number,
                    worker.pid,
                )
                os.kill(worker.pid, signal.SIGQUIT)
            elif now_s - worker.suspected_s >= TRACEBACK_S:
                os.kill(worker.pid, signal.SIGKILL)

    # --- beginning and ending -------------------------------------------------------------------

    def _start(self, number: int) -> None:
        """Fork a worker for a slot."""
        read_end, write_end = os.pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # otherwise both processes would write it
        # Until a worker has reset the parent's signal handlers, no signal may reach it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        self._watch.begin(number)
        pid = os.fork()
        if pid == 0:
            for descriptor in (read_end, *(key.fd for key in self._selector.get_map().values())):
                os.close(descriptor)
            self._be_worker(number, write_end, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(write_end)
        worker = _Worker(number=number, pid=pid, reports=read_end, began_s=time.monotonic())
        self._workers[number] = worker
        self._selector.register(read_end, EVENT_READ, worker)
        LOG.info("worker %d is process %d", number, pid)

    def _be_worker(self, number: int, reports: int, mask: set[Any]) -> NoReturn:
        """Run the work of a slot in the forked process, and exit."""
        status = FAILED
        try:
            signal.set_wakeup_fd(-1)
            for each in SIGNALS:
                signal.signal(each, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            faulthandler.register(signal.SIGQUIT, file=STDERR)
            worker_slot = self._worker_slots.worker_slot(number, reports)
            try:
                self._work(worker_slot)
                status = 0
            except MnemicError as error:
                worker_slot.report_failure(f"{error.message} {error.recovery}".strip())
        except BaseException:
            LOG.exception("worker %d met a bug", number)
        finally:
            logging.shutdown()
            # The parent's remaining cleanup must not run in its children.
            os._exit(status)

    def _ended(self, worker: _Worker) -> None:
        """Handle the end of a worker, and schedule its replacement."""
        how = self._reap(worker)
        lived_s = self._watch.end(worker.number)
        if self._is_stopping or self._failure is not None:
            return
        has_hung = worker.suspected_s is not None
        self._worker_slots.counters.count_end(worker.number, has_hung=has_hung)
        is_soon = (lived_s if has_hung else time.monotonic() - worker.began_s) < SOON_S
        how = f"hung and {how}" if has_hung else how
        deaths = self._deaths[worker.number] = (
            self._deaths.get(worker.number, 0) + 1 if is_soon else 1
        )
        words = worker.words.decode(errors="replace")
        if (words and not self._has_begun) or deaths >= DEATHS_MAX:
            often = "" if deaths == 1 else f", {deaths} times in a row"
            self._failure = WorkersFailed(
                f"worker {worker.number} {how} soon after it began{often}: {words or 'no reason'}",
                worker=worker.number,
            )
            return
        pause_s = PAUSE_S * 2 ** (deaths - 1)
        self._due_s[worker.number] = time.monotonic() + pause_s
        LOG.warning(
            "worker %d (process %d) %s; another takes over in %g s%s",
            worker.number,
            worker.pid,
            how,
            pause_s,
            f": {words}" if words else "",
        )

    def _reap(self, worker: _Worker) -> str:
        """Remove a worker that has ended, and return how it did."""
        self._selector.unregister(worker.reports)
        os.close(worker.reports)
        del self._workers[worker.number]
        self._worker_slots.counters.publish_load(worker.number, ABSENT)
        code = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        return f"ended with {code}" if code >= 0 else f"was ended by {_name(-code)}"

    def _stop(self) -> None:
        """Tell all workers to stop, and wait until they have."""
        self._is_stopping = True
        self._worker_slots.close_listeners()
        self._tell(signal.SIGTERM)
        deadline = time.monotonic() + self._patience_s
        while self._workers and (left_s := deadline - time.monotonic()) > 0:
            self._read_reports(left_s)
        if self._workers:
            numbers = ", ".join(map(str, sorted(self._workers)))
            self._tell(signal.SIGKILL)
            while self._workers:
                self._read_reports(None)
            self._failure = self._failure or WorkersFailed(
                f"workers had to be killed {self._patience_s:g} s after they were asked to stop: "
                f"{numbers}"
            )

    def _tell(self, what: signal.Signals) -> None:
        for worker in self._workers.values():
            os.kill(worker.pid, what)  # not yet waited for, so its process id is not reused

    @contextmanager
    def _signals(self) -> Generator[None]:
        """Handle signals, for a ``with`` block."""
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        self._selector.register(read_end, EVENT_READ)

        def stop(_: int, __: object) -> None:
            self._is_stopping = True

        before: dict[signal.Signals, Any] = {each: signal.signal(each, stop) for each in SIGNALS}
        woken = signal.set_wakeup_fd(write_end)
        try:
            yield
        finally:
            signal.set_wakeup_fd(woken)
            for each, handler in before.items():
                signal.signal(each, handler)
            self._selector.close()
            os.close(read_end)
            os.close(write_end)


def _name(number: int) -> str:
    """Return the name of a signal; not every signal has one."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
