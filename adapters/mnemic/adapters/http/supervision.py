"""Several processes behind one address: a parent that keeps each post taken.

Rules of this module:

1. The parent opens no store, runs no event loop and starts no thread, so that whatever it forks
   begins clean: no handle of a database and no lock is ever carried across a fork. What it has
   loaded is there for all: code, and the bundled model. (numpy has threads, and puts them away and
   begins them anew around a fork by itself.)
2. A worker that ends without having been told to is replaced at the same post: at once if it had
   served for a while, else later and later; after ``DEATHS_MAX`` in a row the parent gives up.
3. A worker whose event loop stands still for too long is killed, and replaced as one that died; see
   ``pulses``. Before that it is asked where it stands, which it tells the log if it can.
4. SIGTERM or SIGINT tells every worker to stop, and the parent ends when the last one has.
5. A worker never outlives its parent for long: it sees the end of a pipe that only the parent
   holds open, and stops as if it had been told to.
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

from mnemic.adapters.http.board import ABSENT
from mnemic.adapters.http.failures import WorkersFailed
from mnemic.adapters.http.posts import READY, REPORT_MAX, Site, Work
from mnemic.adapters.http.pulses import Watch
from mnemic.kernel.errors import FieldRefused, MnemicError, Unavailable

LOG = logging.getLogger("mnemic.http")
SIGNALS = (signal.SIGINT, signal.SIGTERM)

WORKERS_MAX = 64
DEATHS_MAX = 5
"""Workers that may end in a row at one post, each soon after its beginning."""
SOON_S = 10.0
"""Who ends later than that had begun well."""
PAUSE_S = 0.1
"""Before a post is taken again for the first time; each further time twice as long."""
FAILED = 70
"""How a worker ends that met a bug. Source: EX_SOFTWARE of sysexits.h."""
STDERR = 2
TELLING_S = 0.5
"""How long a worker that hangs may take to tell where."""


@define(kw_only=True)
class _Worker:
    """One process, as its parent knows it."""

    number: int
    pid: int
    reports: int
    """A descriptor that tells what it says, and that it has ended."""
    began_s: float
    is_ready: bool = False
    words: bytes = b""
    """Why it could not serve, as far as it said."""
    suspected_s: float | None = None
    """Since when it is taken for one that hangs; None: it is not."""


def check_count(count: int) -> None:
    """Refuse a number of workers that nobody can have.

    Raises:
        FieldRefused: It is none that may be, or this process is not fit to be forked.
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
    """The parent.

    Args:
        work: What each worker does.
        site: Where.
        patience_s: How long workers may take to stop.
        watch: Sees which of them hang.
    """

    _work: Work
    _site: Site
    _patience_s: float
    _watch: Watch
    _workers: dict[int, _Worker] = field(factory=dict, init=False)
    """Those that live, by post."""
    _due_s: dict[int, float] = field(factory=dict, init=False)
    """When a post that is vacant is to be taken again."""
    _deaths: dict[int, int] = field(factory=dict, init=False)
    """How many in a row have ended soon, by post."""
    _selector: SelectSelector = field(factory=SelectSelector, init=False)
    _is_told: bool = field(default=False, init=False)
    """Whether somebody wants it to stop."""
    _has_begun: bool = field(default=False, init=False)
    _failure: WorkersFailed | None = field(default=None, init=False)

    def run(self, begun: Callable[[], None]) -> None:
        """Keep all posts taken until told to stop, and then wait for all workers to end.

        Args:
            begun: Called once, when all of them serve.

        Raises:
            WorkersFailed: They cannot begin, or end again and again, or would not stop.
        """
        with self._signals():
            try:
                for number in range(self._site.count):
                    self._start(number)
                while not self._is_told and self._failure is None:
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
        return len(self._workers) == self._site.count and all(
            worker.is_ready for worker in self._workers.values()
        )

    def _look(self) -> None:
        """Wait for something to happen, and do what it takes."""
        now_s = time.monotonic()
        due_s = min(self._due_s.values(), default=now_s + self._watch.look_s)
        self._hear(min(max(0.0, due_s - now_s), self._watch.look_s))
        self._suspect(self._watch.look(time.monotonic()))
        for number, due_s in list(self._due_s.items()):
            if due_s <= time.monotonic() and not self._is_told and self._failure is None:
                del self._due_s[number]
                self._start(number)

    def _hear(self, timeout_s: float | None) -> None:
        """Hear what workers say, or that somebody wants all to stop."""
        for key, _ in self._selector.select(timeout_s):
            said = os.read(key.fd, REPORT_MAX)
            worker: _Worker | None = key.data
            if worker is None:
                continue  # a signal, which has said already what it means
            if not said:
                self._ended(worker)
            else:
                worker.is_ready = worker.is_ready or said.startswith(READY)
                worker.words += said.removeprefix(READY)

    def _suspect(self, silent: Collection[int]) -> None:
        """Ask those that are silent where they stand, and kill those that still are after it."""
        now_s = time.monotonic()
        for number, worker in self._workers.items():
            if number not in silent:
                worker.suspected_s = None
            elif worker.suspected_s is None:
                worker.suspected_s = now_s
                LOG.error(
                    "worker %d (process %d) gives no sign of life; if it can say where it stands "
                    "it does, and is killed",
                    number,
                    worker.pid,
                )
                os.kill(worker.pid, signal.SIGQUIT)
            elif now_s - worker.suspected_s >= TELLING_S:
                os.kill(worker.pid, signal.SIGKILL)

    # --- beginning and ending -------------------------------------------------------------------

    def _start(self, number: int) -> None:
        """Fork a worker for a post."""
        reading, writing = os.pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # or both processes would say it
        # Until a worker has put away what the parent does about signals, none may reach it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        self._watch.begin(number)
        pid = os.fork()
        if pid == 0:
            for heard in (reading, *(key.fd for key in self._selector.get_map().values())):
                os.close(heard)
            self._be_worker(number, writing, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(writing)
        worker = _Worker(number=number, pid=pid, reports=reading, began_s=time.monotonic())
        self._workers[number] = worker
        self._selector.register(reading, EVENT_READ, worker)
        LOG.info("worker %d is process %d", number, pid)

    def _be_worker(self, number: int, reports: int, mask: set[Any]) -> NoReturn:
        """Work at a post, as a process of its own, and end."""
        status = FAILED
        try:
            signal.set_wakeup_fd(-1)
            for each in SIGNALS:
                signal.signal(each, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            faulthandler.register(signal.SIGQUIT, file=STDERR)
            post = self._site.post(number, reports)
            try:
                self._work(post)
                status = 0
            except MnemicError as error:
                post.say_why(f"{error.message} {error.recovery}".strip())
        except BaseException:
            LOG.exception("worker %d met a bug", number)
        finally:
            logging.shutdown()
            # What the parent has left to do at its end is not for its children to do.
            os._exit(status)

    def _ended(self, worker: _Worker) -> None:
        """Take note of the end of a worker, and when its post is to be taken again."""
        how = self._buried(worker)
        lived_s = self._watch.end(worker.number)
        if self._is_told or self._failure is not None:
            return
        has_hung = worker.suspected_s is not None
        self._site.board.count_end(worker.number, has_hung=has_hung)
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

    def _buried(self, worker: _Worker) -> str:
        """Take leave of a worker that has ended, and return how it did."""
        self._selector.unregister(worker.reports)
        os.close(worker.reports)
        del self._workers[worker.number]
        self._site.board.tell(worker.number, ABSENT)
        code = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        return f"ended with {code}" if code >= 0 else f"was ended by {_name(-code)}"

    def _stop(self) -> None:
        """Tell all workers to stop, and wait until they have."""
        self._is_told = True
        self._site.close_entrances()
        self._tell(signal.SIGTERM)
        deadline = time.monotonic() + self._patience_s
        while self._workers and (left_s := deadline - time.monotonic()) > 0:
            self._hear(left_s)
        if self._workers:
            numbers = ", ".join(map(str, sorted(self._workers)))
            self._tell(signal.SIGKILL)
            while self._workers:
                self._hear(None)
            self._failure = self._failure or WorkersFailed(
                f"workers had to be killed {self._patience_s:g} s after they were told to stop: "
                f"{numbers}"
            )

    def _tell(self, what: signal.Signals) -> None:
        for worker in self._workers.values():
            os.kill(worker.pid, what)  # not yet waited for, so the number is still theirs

    @contextmanager
    def _signals(self) -> Generator[None]:
        """Hear of signals, for a ``with`` block."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        self._selector.register(reading, EVENT_READ)

        def told(_: int, __: object) -> None:
            self._is_told = True

        before: dict[signal.Signals, Any] = {each: signal.signal(each, told) for each in SIGNALS}
        woken = signal.set_wakeup_fd(writing)
        try:
            yield
        finally:
            signal.set_wakeup_fd(woken)
            for each, handler in before.items():
                signal.signal(each, handler)
            self._selector.close()
            os.close(reading)
            os.close(writing)


def _name(number: int) -> str:
    """Return what a signal is called. Not every one has a name of its own."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
