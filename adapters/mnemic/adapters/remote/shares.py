"""Shares: limits on the resources that one client may use at once.

Rules of this module:

1. A client is a token; tokens that are bound to a lower trust zone are one client per zone, since
   anyone whose text is not trusted may hold several.
2. A token may use a half, and a zone a sixteenth of everything that is limited, rounded up. A
   caller without a token, who is the owner of the machine, may use all of it.
3. After each call of a zone its place rests three times as long as the call took. Calls hold locks
   that others wait for: thus a place has them a quarter of the time at most.
4. What exceeds a share is refused at once (429), and nothing of it is begun.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

import anyio
from attrs import define, field, frozen

from mnemic.adapters.access import Token
from mnemic.adapters.remote.transport_errors import ShareExceeded

TOKEN_PART: Final = 2
ZONE_PART: Final = 16
FULL_TRUST: Final = "trusted"
"""The zone whose tokens are treated as those without a zone."""
REST: Final = 3
"""Idle time of a place of a zone after a call, as a multiple of the duration of the call."""


@frozen
class Client:
    """A client, whose share is counted."""

    key: str
    part: int
    """One part in how many is its share."""
    rests: bool = False
    """Whether its places rest between two calls."""

    def share(self, total: int) -> int:
        """Return its share of *total*, at least 1."""
        return max(1, -(-total // self.part))


def client_of(token: Token | None) -> Client | None:
    """Return whose share the requests with a token use; None: they are not limited."""
    if token is None:
        return None
    if token.zone in {None, FULL_TRUST}:
        return Client(f"token {token.id}", TOKEN_PART)
    return Client(f"zone {token.zone}", ZONE_PART, rests=True)


@define(kw_only=True, eq=False)
class Shares:
    """Usage of one resource by each client.

    Args:
        total: Its total amount.
        what: Its name in messages, in the plural.
    """

    total: int
    what: str
    _used: Counter[str] = field(factory=Counter, init=False)

    def check(self, client: Client | None) -> None:
        """Refuse a client that uses its share already.

        Raises:
            ShareExceeded: It does.
        """
        if client is not None and self._used[client.key] >= client.share(self.total):
            raise ShareExceeded(
                f"{self._used[client.key]} {self.what} of the {client.key} are under way, "
                "which is its share",
                share=client.share(self.total),
            )

    def take(self, client: Client | None) -> None:
        """Count one more.

        Raises:
            ShareExceeded: The client uses its share already.
        """
        self.check(client)
        if client is not None:
            self._used[client.key] += 1

    def leave(self, client: Client | None) -> None:
        """Count one less. Call once for each ``take``."""
        if client is not None:
            self._used[client.key] -= 1
            if not self._used[client.key]:
                del self._used[client.key]

    @contextmanager
    def using(self, client: Client | None) -> Generator[None]:
        """Count one more for a ``with`` block.

        Raises:
            ShareExceeded: The client uses its share already.
        """
        self.take(client)
        try:
            yield
        finally:
            self.leave(client)


@define(kw_only=True, eq=False)
class Lanes:
    """Admits the calls of each client: its share of them runs, and a share of more waits.

    Args:
        running: Calls of all clients that run at once.
        waiting: Calls of all clients that may wait.
    """

    running: int
    waiting: int
    _shares: Shares = field(init=False)
    _lanes: dict[str, anyio.Semaphore] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        """Count the calls that run together with those that wait."""
        self._shares = Shares(total=self.running + self.waiting, what="calls")

    def check(self, client: Client | None) -> None:
        """Refuse a client whose next call would exceed its share.

        Raises:
            ShareExceeded: It would.
        """
        self._shares.check(client)

    async def enter(self, client: Client | None) -> Callable[[], None]:
        """Wait until a call of a client may run, and return what to call once when it has ended.

        Raises:
            ShareExceeded: Too many of its calls run or wait.
        """
        if client is None:
            return _nothing
        self._shares.take(client)
        if client.key not in self._lanes:
            self._lanes[client.key] = anyio.Semaphore(client.share(self.running), fast_acquire=True)
        lane = self._lanes[client.key]
        try:
            await lane.acquire()
        except BaseException:
            self._shares.leave(client)
            raise

        loop = asyncio.get_running_loop()
        begun_s = loop.time()

        def leave() -> None:
            self._shares.leave(client)
            if client.rests:
                loop.call_later(REST * (loop.time() - begun_s), lane.release)
            else:
                lane.release()

        return leave


def _nothing() -> None:
    """Leave no lane."""
