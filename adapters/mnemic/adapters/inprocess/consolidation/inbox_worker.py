"""Background thread that promotes what the recalls of an open memory left in the inbox.

It works in short rounds and rests after each for as long as it took, so that it never has more than
half of the time of a core while callers wait. What it does not promote stays in the inbox: the
next recall begins it again, in this or in another process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from mnemic.kernel.errors import MnemicError

ROUND_US: Final = 20_000
"""Time limit of one round, which bounds how long a caller waits for the locks of a chunk."""


class InboxWorker:
    """The thread that empties the inbox of one open memory.

    Args:
        promote: Promotes for about ``ROUND_US``, and returns whether there is more to promote.
    """

    def __init__(self, promote: Callable[[], bool]) -> None:
        self._promote = promote
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_wanted = False
        """Whether it was asked to begin since its present round began."""
        self._stopping = threading.Event()

    @property
    def is_running(self) -> bool:
        """Whether it is at work, or rests between two rounds."""
        return self._thread is not None

    def start(self) -> None:
        """Begin to promote, unless it does so already or is closed."""
        with self._lock:
            self._is_wanted = True
            if self._thread is not None or self._stopping.is_set():
                return
            self._thread = threading.Thread(target=self._run, name="mnemic-inbox", daemon=True)
            self._thread.start()

    def wait(self, timeout_s: float) -> bool:
        """Wait until it has emptied the inbox; return whether it has ended by then."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)
        return self._thread is None

    def close(self) -> None:
        """Stop after the chunk in progress, and do not begin again."""
        with self._lock:
            self._stopping.set()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        has_more = True
        try:
            while self._goes_on(has_more=has_more):
                begun = time.monotonic()
                has_more = self._promote()
                self._stopping.wait(time.monotonic() - begun)
        except MnemicError as error:
            # The blocks stay in the inbox, and the next recall reports the error if it remains.
            import logging

            logging.getLogger("mnemic.consolidation").warning(
                "the inbox is not emptied for now: %s", error
            )
        finally:
            with self._lock:
                if self._thread is threading.current_thread():
                    self._thread = None

    def _goes_on(self, *, has_more: bool) -> bool:
        """Return whether another round begins; if not, the next ``start`` begins anew."""
        with self._lock:
            goes_on = (has_more or self._is_wanted) and not self._stopping.is_set()
            self._is_wanted = False
            if not goes_on:
                self._thread = None
            return goes_on
