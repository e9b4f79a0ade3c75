"""The spaces of one store: opened on demand, shared by all callers, closed when idle.

Rules of this module:

1. All of it runs on one event loop; blocking work runs on threads. So code between two ``await``
   is not interleaved with any other.
2. A space is open at most once. It is opened and closed under the lock of its slot.
3. A space with a hold is not closed, unless the whole host is.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import anyio
from anyio import to_thread
from attrs import evolve

from mnemic.adapters.hosting.slots import (
    Hold,
    Slot,
    Vacancy,
    close_slot,
    exists,
    missing,
    open_given,
    open_space,
    try_writing,
)
from mnemic.adapters.inprocess.memory import Memory
from mnemic.adapters.inprocess.operations.host import check_not_erased
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.stores.addresses import parsed
from mnemic.adapters.stores.leaders import MovedAway
from mnemic.adapters.stores.opening import IN_MEMORY, Address
from mnemic.kernel.errors import Closed, FieldRefused, SpaceExists
from mnemic.kernel.ports import Store
from mnemic.kernel.validation import checked_name

if TYPE_CHECKING:
    from mnemic.adapters.cluster.host import ClusterHost
    from mnemic.adapters.cluster.settings import ClusterSettings

T = TypeVar("T")
OPEN_MAX = 32
"""Spaces that are kept open while no caller uses them."""
MOVES_MAX = 4
"""How often one request follows a space that is moved meanwhile."""


class Spaces:
    """The spaces of one store. ``async with Spaces(path) as spaces: ...``.

    Args:
        store: A file, which is created if it does not exist; the address of a server; or a store
            object of the host, which stays open.
        open_max: Spaces that stay open while no caller uses them. Range: >= 1.
        keys: The file of keys that encrypt the texts of a store given as an address; None: they
            are not encrypted.
        cluster: How this host takes part in a cluster, which needs a store on a server; None: it
            serves the store alone.
        opening: Other arguments of ``SyncMemory.open``: embedder, analyst, retriever and so on.
            The embedder and the analyst are shared by all spaces.
    """

    def __init__(
        self,
        store: Address | Store,
        *,
        open_max: int = OPEN_MAX,
        keys: Path | None = None,
        cluster: ClusterSettings | None = None,
        **opening: Any,
    ) -> None:
        self._cluster_settings = cluster
        self.cluster: ClusterHost | None = None
        """This host of a cluster, while the spaces are open; None: there is no cluster."""
        self.readers: Spaces = self
        """The spaces that answer reads of what another host leads."""
        self._elsewhere: dict[str, Spaces] = {}
        """Spaces of other databases, by address."""
        self._moved: dict[str, str] = {}
        """The addresses of spaces that were moved, as far as it was noticed."""
        self._left: list[Slot] = []
        """Slots of spaces that were moved away while they were open here."""
        self._given = store
        self._keys = keys
        self._store: Store | None = None
        self._opening = opening
        self._open_max = open_max
        self._slots: dict[str, Slot] = {}
        self._requests = 0
        self._making = anyio.Lock()
        self._following = anyio.Lock()
        self._reserved: set[str] = set()
        """Names of spaces that are being imported, and are invisible until they are complete."""

    def check_shared(self) -> None:
        """Refuse a store that another process could not open for itself.

        Raises:
            FieldRefused: It was given as an object, or is in the memory of this process.
        """
        if not isinstance(self._given, str | Path) or str(self._given) == IN_MEMORY:
            raise FieldRefused(
                "several processes cannot share a store in the memory of one",
                recovery="Name a store by its address, or serve with one worker.",
                field="workers",
            )

    async def __aenter__(self) -> Self:
        self._store = await to_thread.run_sync(
            partial(open_given, self._given, self._keys, self._opening)
        )
        if self._cluster_settings is not None:
            try:
                await self._join(self._cluster_settings)
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await self.close()
                raise
        return self

    async def _join(self, settings: ClusterSettings) -> None:
        """Take part in a cluster.

        Raises:
            FieldRefused: The store is not on a server.
            StoreFailed, StoreBusy: See ``ClusterHost``.
        """
        from mnemic.adapters.cluster.host import joined

        self.cluster = await to_thread.run_sync(joined, self._open_store(), settings)
        if settings.read_from is not None:
            reading: dict[str, Any] = {**self._opening, "read_only": True}
            readers = Spaces(
                settings.read_from, open_max=self._open_max, keys=self._keys, **reading
            )
            self.readers = await readers.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self.close()

    @property
    def is_in_cluster(self) -> bool:
        """Whether other hosts may lead spaces."""
        return self._cluster_settings is not None

    @property
    def open_count(self) -> int:
        """How many spaces are open, or being opened."""
        return len(self._slots)

    async def names(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted.

        Raises:
            StoreFailed: This host of a cluster is cut off from the database.
        """
        await self.check_connected()
        found = set(await to_thread.run_sync(self._open_store().spaces))
        if self.cluster is not None:
            found.update(await to_thread.run_sync(self.cluster.moved))
        return tuple(sorted(found - self._reserved))

    async def check(self) -> None:
        """Check that the store can be read, and that there is space to write on its disk.

        Raises:
            StoreFailed, StoreFull, StoreBusy: It cannot be read, or there is no space.
        """
        await self.check_connected()
        store = self._open_store()
        await to_thread.run_sync(store.spaces)
        probe: Callable[[], None] | None = getattr(store, "probe", None)
        if probe is not None:
            await to_thread.run_sync(probe)
        path: Path | None = getattr(store, "path", None)
        if path is not None and not self._opening.get("read_only", False):
            await to_thread.run_sync(try_writing, path)

    async def check_connected(self) -> None:
        """Refuse what a host of a cluster cannot do while it is cut off from the database.

        Raises:
            StoreFailed: It is; see ``ClusterHost.check_connected``.
        """
        if self.cluster is not None and self.cluster.lease_left_s == 0:
            await to_thread.run_sync(self.cluster.check_connected)

    @property
    def opened(self) -> dict[str, SyncMemory]:
        """The spaces that are open, by name."""
        return {
            name: slot.memory
            for name, slot in sorted(self._slots.items())
            if slot.memory is not None
        }

    async def make(self, space: str) -> bool:
        """Create a space, unless it exists; return whether it was created.

        Raises:
            FieldRefused: The name is invalid.
            SpaceExists: It is being imported.
            SpaceErased: It exists, and its texts were erased for good.
            StoreFull, StoreBusy, StoreFailed, ViewReadOnly: See each.
        """
        name = checked_name("space", space)
        self._check_not_reserved(name)
        async with self._making:  # of several concurrent callers, one gets True
            if await to_thread.run_sync(exists, self._open_store(), self.cluster, name):
                with await self.hold(name) as hold:
                    await to_thread.run_sync(check_not_erased, hold.memory)
                return False
            (await self._hold(name, making=True)).release()
            return True

    async def vacancy(self, space: str) -> Vacancy:
        """Reserve the name of a space to import. The space is invisible until the release.

        Raises:
            FieldRefused: The name is invalid.
            SpaceExists: It exists, or is being imported.
        """
        name = checked_name("space", space)
        store = self._open_store()
        is_there = await to_thread.run_sync(exists, self._open_store(), self.cluster, name)
        self._check_not_reserved(name)
        if is_there or name in self._slots:
            raise SpaceExists(f"there is a space {name!r} already", space=name)
        self._reserved.add(name)
        return Vacancy(
            space=name,
            into=store,
            opening=self._opening,
            release=partial(self._reserved.discard, name),
        )

    def _check_not_reserved(self, space: str) -> None:
        if space in self._reserved:
            raise SpaceExists(f"the space {space!r} is being imported just now", space=space)

    async def hold(self, space: str) -> Hold:
        """Return a space that stays open until the hold is released.

        Raises:
            SpaceNotFound: There is no such space.
            Closed: The host is closed.
            LogCorrupt, StoreFailed, EmbedderMismatch: It cannot be opened.
        """
        return await self.at_home(space, lambda home: Spaces._hold(home, space, making=False))

    async def at_home(self, space: str, act: Callable[[Spaces], Awaitable[T]]) -> T:
        """Return what *act* returns for the spaces of the database that holds *space*.

        Raises:
            MovedAway: This is no host of a cluster, or the space moves on all the time.
            MnemicError: What *act* raises.
        """
        for _ in range(MOVES_MAX):
            home = self.home_of(space)
            try:
                return await act(home)
            except MovedAway as moved:
                await self.follow(space, moved, home)
        raise MovedAway(
            f"the space {space!r} was not found in the databases that it was moved to",
            recovery="Repeat the request after a moment. If `mnemic move` was killed, run the same "
            "command again.",
            space=space,
        )

    def home_of(self, space: str) -> Spaces:
        """Return the spaces of the database that holds *space*, as far as it was noticed."""
        address = self._moved.get(space)
        return self if address is None else self._elsewhere[address]

    def is_at(self, home: Spaces, space: str) -> bool:
        """Return whether *space* is still in the database of *home*, as far as it was noticed."""
        is_left = home.cluster is not None and home.cluster.has_moved(space)
        return self.home_of(space) is home and not is_left

    async def follow(self, space: str, moved: MovedAway, home: Spaces) -> None:
        """Have ``home_of`` name the database that *space* was moved to.

        Args:
            space: Its name.
            moved: What was said of it in the database of *home*.
            home: Where it was looked for: here, or where it was moved to before.

        Raises:
            MovedAway: This is no host of a cluster.
            StoreFailed, StoreBusy, NotAStore: That database does not answer.
        """
        if self._cluster_settings is None or self.cluster is None:
            raise moved
        home._leave(space)
        if home.cluster is not None:
            home.cluster.forget(space)
        if home is not self and parsed(moved.address) == self.cluster.address:
            self._moved.pop(space, None)
        else:
            await self._open_elsewhere(moved.address)
            self._moved[space] = moved.address
        await home._close_left()

    async def _open_elsewhere(self, address: str) -> None:
        """Open the spaces of another database, once."""
        assert self._cluster_settings is not None  # noqa: S101 - as in ``follow``
        async with self._following:
            if address not in self._elsewhere:
                other = Spaces(
                    address,
                    open_max=self._open_max,
                    keys=self._keys,
                    cluster=evolve(self._cluster_settings, read_from=None, is_home=False),
                    **self._opening,
                )
                self._elsewhere[address] = await other.__aenter__()

    def _leave(self, space: str) -> None:
        """Have a space that was moved away closed by ``_close_left``."""
        slot = self._slots.pop(space, None)
        if slot is not None:
            self._left.append(slot)

    @asynccontextmanager
    async def session_handle(
        self,
        space: str,
        *,
        actor: str,
        session: str | None = None,
        read_only: bool = False,
        version: int | None = None,
        zone: str | None = None,
    ) -> AsyncGenerator[Memory]:
        """Open a session handle on a space for an ``async with`` block.

        See ``SyncMemory.session_handle``.

        Raises:
            SpaceNotFound: There is no such space.
            SessionState, FieldRefused: See ``SyncMemory.session_handle``.
        """
        with await self.hold(space) as hold:
            open_handle = partial(
                hold.memory.session_handle,
                actor=actor,
                session=session,
                read_only=read_only,
                version=version,
                zone=zone,
            )
            async with Memory(open_handle) as memory:
                yield memory

    async def close(self) -> None:
        """Close every space, and the store if it was opened here. Closing twice is allowed.

        A running operation ends first, or is refused as ``Closed`` at its next step.
        """
        store, self._store = self._store, None
        if store is None:
            return
        for other in (self.readers, *self._elsewhere.values()):
            if other is not self:
                await other.close()
        if self.cluster is not None:  # before spaces are closed, which may write checkpoints
            await to_thread.run_sync(self.cluster.close)
        for slot in [*self._slots.values(), *self._left]:
            async with slot.lock:
                await close_slot(slot)
        self._left.clear()
        self._slots.clear()
        if store is not self._given:
            await to_thread.run_sync(store.close)

    # --- slots ------------------------------------------------------------------------------

    async def _hold(self, space: str, *, making: bool) -> Hold:
        self._open_store()
        if space in self._reserved:
            raise missing(space)
        if space in self._slots and not self.is_at(self, space):
            assert self.cluster is not None  # noqa: S101 - it has noticed the move
            await to_thread.run_sync(self.cluster.check_not_moved, space)
        self._requests += 1
        slot = self._slots.setdefault(space, Slot())
        slot.used, slot.callers = self._requests, slot.callers + 1
        try:
            if slot.memory is None:
                await self._open(space, slot, making=making)
        except BaseException:
            self._release(space, slot)
            raise
        assert slot.memory is not None  # noqa: S101 - a space with a caller is not closed
        return Hold(memory=slot.memory, release=partial(self._release, space, slot))

    async def _open(self, space: str, slot: Slot, *, making: bool) -> None:
        async with slot.lock:
            if slot.memory is None:
                await self._make_room()
                opening = partial(open_space, self._open_store(), space, making, self._opening)
                slot.memory = await to_thread.run_sync(opening)

    def _release(self, space: str, slot: Slot) -> None:
        slot.callers -= 1
        if slot.memory is None and not slot.callers and self._slots.get(space) is slot:
            del self._slots[space]  # there is no such space, or it could not be opened

    async def _make_room(self) -> None:
        """Close the least recently used idle spaces that exceed the limit."""
        is_open = [slot for slot in self._slots.values() if slot.memory is not None]
        idle = sorted((slot for slot in is_open if not slot.callers), key=lambda slot: slot.used)
        for slot in idle[: max(0, len(is_open) + 1 - self._open_max)]:
            async with slot.lock:
                if not slot.callers:
                    await close_slot(slot)
        await self._close_left()
        self._slots = {
            name: slot
            for name, slot in self._slots.items()
            if slot.memory is not None or slot.callers
        }

    async def _close_left(self) -> None:
        """Close the spaces that were moved away, and that no caller uses any more."""
        idle = [slot for slot in self._left if not slot.callers]
        self._left = [slot for slot in self._left if slot.callers]
        for slot in idle:
            await close_slot(slot)

    def _open_store(self) -> Store:
        if self._store is None:
            raise Closed("the spaces are closed", recovery="Enter them: async with spaces.")
        return self._store
