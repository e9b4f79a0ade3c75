"""Somebody who stands in a queue for others.

A system puts who waits for a lock to sleep, lets them in by turns, and wakes nobody else: that is
cheap and fair. But it lets nobody lose patience. So a thread does the waiting, and whoever it
waits for may go away; what it comes to hold then, it gives back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from mnemic.kernel.errors import StoreFailed


class StandIn:
    """A thread that waits, for one at a time.

    Args:
        come_through: Waits as long as it takes; what it raises is passed on.
        go_back: Gives back what was waited for, when nobody wants it any more.
    """

    def __init__(self, come_through: Callable[[], None], go_back: Callable[[], None]) -> None:
        self._come_through = come_through
        self._go_back = go_back
        self._asked = threading.Semaphore(0)
        self._through = threading.Semaphore(0)
        self._lock = threading.Lock()
        """Held while any of what follows is looked at or changed."""
        self._stands = False
        self._is_wanted = False
        self._failure: Exception | None = None
        self._last: Callable[[], None] | None = None
        """What is to be done when the thread goes home; None: it stays."""
        self._thread: threading.Thread | None = None

    @property
    def stands(self) -> bool:
        """Whether there is a wait just now, for somebody or for nobody any more."""
        with self._lock:
            return self._stands

    def wait(self, patience_s: float) -> bool:
        """Wait for at most so long, and say whether it was enough.

        Raises:
            StoreFailed: What is waited for cannot be had, or nobody to wait for it.
        """
        try:
            self._ask()
            came = self._through.acquire(timeout=max(0.0, patience_s))
        except BaseException:  # an interrupt
            if self._gave_up():
                self._go_back()
            raise
        if not came and not self._gave_up():
            return False
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        return True

    def _ask(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = self._begun()
            # It may stand still, for somebody who went away.
            self._is_wanted = self._stands = True
        self._asked.release()  # once too often does no harm, and never would

    def _begun(self) -> threading.Thread:
        thread = threading.Thread(target=self._work, name="mnemic-queue", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise StoreFailed(
                f"another writer has the turn, and no thread can wait for it: {error}",
                recovery="Let this process have more threads, and repeat; nothing was written.",
            ) from error
        return thread

    def _gave_up(self) -> bool:
        """Want nothing any more; say whether the wait was over in that very moment."""
        with self._lock:
            self._is_wanted = False
            return self._through.acquire(blocking=False)

    def _work(self) -> None:
        while True:
            self._asked.acquire()
            if self._stands:
                self._wait_for_them()
            with self._lock:
                if self._last is not None:
                    self._last()
                    return

    def _wait_for_them(self) -> None:
        failure = None
        try:
            self._come_through()
        except Exception as error:  # noqa: BLE001 - raised anew, where somebody waits for it
            failure = error
        with self._lock:
            self._stands = False
            if self._is_wanted:
                self._is_wanted, self._failure = False, failure
                self._through.release()
            elif failure is None:
                self._go_back()

    def dismiss(self, last: Callable[[], None]) -> None:
        """Send the thread home, and have *last* done when it is not waiting any more.

        It is done before this returns, unless there is a wait that somebody has given up.
        """
        with self._lock:
            self._last, stands = last, self._stands
        if self._thread is None:
            last()
        elif not stands:
            self._asked.release()
            self._thread.join()
