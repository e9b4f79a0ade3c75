"""A lock that lets in whoever came first.

A lock of the interpreter goes to whoever asks in the right moment, which is most often who just
gave it back: of eight threads that wrote, one got eight times as many turns as another.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from types import TracebackType


class Line:
    """Where threads stand one behind the other. Not re-entrant."""

    def __init__(self) -> None:
        self._looking = Lock()
        """Held while any of what follows is looked at or changed; never for long."""
        self._is_taken = False
        self._waiting: deque[Lock] = deque()
        """A locked lock for each who waits, released when it is their turn."""

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    def __enter__(self) -> None:
        """Wait until all who came before are done."""
        with self._looking:
            if not self._is_taken:
                self._is_taken = True
                return
            turn = Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            turn.acquire()
        except BaseException:  # an interrupt
            self._go_away(turn)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let in whoever is next."""
        with self._looking:
            self._let_in()

    def _go_away(self, turn: Lock) -> None:
        with self._looking:
            if turn in self._waiting:
                self._waiting.remove(turn)
            else:  # it came in that very moment
                self._let_in()

    def _let_in(self) -> None:
        if self._waiting:
            self._waiting.popleft().release()
        else:
            self._is_taken = False
