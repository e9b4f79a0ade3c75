"""The spaces of one store: opened when somebody asks, shared by all callers, closed when idle.

Rules of this module:

1. All of it runs on one event loop; whatever waits for a disk runs on a thread. So what is decided
   between two ``await`` is decided alone.
2. A space is open at most once. Opening and closing it is done in the turn of its place.
3. A space that somebody holds is not closed, unless the whole host is.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Any, Self

import anyio
from anyio import to_thread
from attrs import define, field, frozen

from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.exchange import files
from mnemic.adapters.inprocess.memory import Memory
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.stores.opening import IN_MEMORY, Address, open_store
from mnemic.kernel.decisions.learning import checked_name
from mnemic.kernel.errors import Closed, FieldRefused, PointOutOfRange, SpaceExists, Unavailable
from mnemic.kernel.ports import Store
from mnemic.kernel.results import ImportResult

OPEN_MAX = 32
"""Spaces that are kept open though nobody uses them just now."""
PROBE_BYTES = 4096
"""A page of a disk."""


@define(kw_only=True, eq=False)
class _Place:
    """Where one space is open, or will be."""

    memory: SyncMemory | None = None
    """None: it is not open."""
    callers: int = 0
    used: int = 0
    """When it was last asked for, counted in questions."""
    turn: anyio.Lock = field(factory=anyio.Lock)
    """Held by whoever opens or closes it."""


@frozen(kw_only=True)
class Hold:
    """A space that stays open until it is released."""

    memory: SyncMemory
    """The one that was opened; callers take seats on it."""
    release: Callable[[], None]
    """Lets go of it; once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


@frozen(kw_only=True)
class Vacancy:
    """The name of a space that is not there yet, kept for whoever brings it, until released."""

    space: str
    into: Store
    opening: Mapping[str, Any]
    """Whose clock and entropy."""
    release: Callable[[], None]
    """Lets others see the space, or have its name; once."""

    def fill(
        self, path: Path, *, actor: str, progress: Callable[[int, int], None] | None = None
    ) -> ImportResult:
        """Make the space of an export. Runs on a thread. See ``SyncMemory.import_space``."""
        return SyncMemory.import_space(
            path,
            self.into,
            space=self.space,
            actor=actor,
            clock=self.opening.get("clock"),
            entropy=self.opening.get("entropy"),
            progress=progress,
        )


class Spaces:
    """The spaces of one store. ``async with Spaces(path) as spaces: ...``.

    Args:
        store: A file, which is made if it is not there; the address of a server; or a store of the
            host's own, which stays open.
        open_max: Spaces that stay open though nobody uses them. Range: >= 1.
        keys: The file of keys that lock the words of a store given as an address; None: they stand
            open.
        opening: What ``SyncMemory.open`` takes besides: embedder, analyst, retriever and so on.
            The embedder and the analyst are shared by all spaces.
    """

    def __init__(
        self,
        store: Address | Store,
        *,
        open_max: int = OPEN_MAX,
        keys: Path | None = None,
        **opening: Any,
    ) -> None:
        self._given = store
        self._keys = keys
        self._store: Store | None = None
        self._opening = opening
        self._open_max = open_max
        self._places: dict[str, _Place] = {}
        self._questions = 0
        self._making = anyio.Lock()
        self._coming: set[str] = set()
        """Names of spaces that are being brought, and that nobody sees before they are whole."""

    def check_shared(self) -> None:
        """Refuse a store that another process could not open for itself.

        Raises:
            FieldRefused: It was given as an object, or lies in the memory of this process.
        """
        if not isinstance(self._given, str | Path) or str(self._given) == IN_MEMORY:
            raise FieldRefused(
                "several processes cannot share a store in the memory of one",
                recovery="Name a store by its address, or serve with one worker.",
                field="workers",
            )

    def load_shared(self) -> None:
        """Load what processes that are forked from this one can share: the bundled model.

        Another one may hold threads, which no fork takes along; each process loads it for itself.
        """
        embedder = self._opening.get("embedder") or BundledEmbedder()
        if isinstance(embedder, BundledEmbedder):
            with suppress(Unavailable):  # whoever asks for it is told
                embedder.load()

    async def __aenter__(self) -> Self:
        self._store = await to_thread.run_sync(
            partial(_opened, self._given, self._keys, self._opening)
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self.close()

    @property
    def open_count(self) -> int:
        """How many spaces are open just now, or about to be."""
        return len(self._places)

    async def names(self) -> tuple[str, ...]:
        """Return the names of all spaces, sorted."""
        found: tuple[str, ...] = await to_thread.run_sync(self._standing().spaces)
        return tuple(name for name in found if name not in self._coming)

    async def check(self) -> None:
        """See whether the store can be read, and whether there is room to write where it stands.

        Raises:
            StoreFailed, StoreFull, StoreBusy: It cannot, or there is none.
        """
        store = self._standing()
        await to_thread.run_sync(store.spaces)
        probe: Callable[[], None] | None = getattr(store, "probe", None)
        if probe is not None:
            await to_thread.run_sync(probe)
        path: Path | None = getattr(store, "path", None)
        if path is not None and not self._opening.get("read_only", False):
            await to_thread.run_sync(_try_writing, path)

    @property
    def opened(self) -> dict[str, SyncMemory]:
        """The spaces that are open just now, by name."""
        return {
            name: place.memory
            for name, place in sorted(self._places.items())
            if place.memory is not None
        }

    async def make(self, space: str) -> bool:
        """Make a space, unless it is there; say whether it was made.

        Raises:
            FieldRefused: It is no name for a space.
            SpaceExists: It is being brought from elsewhere.
            StoreFull, StoreBusy, StoreFailed, ViewReadOnly: See each.
        """
        name = checked_name("space", space)
        self._check_not_coming(name)
        async with self._making:  # of several who ask at once, one is told that it was made
            if name in await self.names():
                return False
            (await self._hold(name, making=True)).release()
            return True

    async def vacancy(self, space: str) -> Vacancy:
        """Return the right to bring a space that is not there. Nobody sees it before the release.

        Raises:
            FieldRefused: It is no name for a space.
            SpaceExists: It is there, or is being brought.
        """
        name = checked_name("space", space)
        store = self._standing()
        is_there = name in await to_thread.run_sync(store.spaces)
        self._check_not_coming(name)
        if is_there or name in self._places:
            raise SpaceExists(f"there is a space {name!r} already", space=name)
        self._coming.add(name)
        return Vacancy(
            space=name,
            into=store,
            opening=self._opening,
            release=partial(self._coming.discard, name),
        )

    def _check_not_coming(self, space: str) -> None:
        if space in self._coming:
            raise SpaceExists(f"the space {space!r} is being imported just now", space=space)

    async def hold(self, space: str) -> Hold:
        """Return a space that stays open until the hold is released.

        Raises:
            PointOutOfRange: There is no such space.
            Closed: The host is closed.
            LogCorrupt, StoreFailed, EmbedderMismatch: It cannot be opened.
        """
        return await self._hold(space, making=False)

    @asynccontextmanager
    async def seat(
        self,
        space: str,
        *,
        actor: str,
        session: str | None = None,
        read_only: bool = False,
        version: int | None = None,
        zone: str | None = None,
    ) -> AsyncGenerator[Memory]:
        """Sit down in a space for an ``async with`` block. See ``SyncMemory.seat``.

        Raises:
            PointOutOfRange: There is no such space.
            SessionState, FieldRefused: See ``SyncMemory.seat``.
        """
        with await self.hold(space) as hold:
            sit = partial(
                hold.memory.seat,
                actor=actor,
                session=session,
                read_only=read_only,
                version=version,
                zone=zone,
            )
            async with Memory(sit) as memory:
                yield memory

    async def close(self) -> None:
        """Close every space, and the store if it was opened here. Closing twice is fine.

        A verb that still runs ends first, or is refused as ``Closed`` at its next step.
        """
        store, self._store = self._store, None
        if store is None:
            return
        for place in list(self._places.values()):
            async with place.turn:
                await _close(place)
        self._places.clear()
        if store is not self._given:
            await to_thread.run_sync(store.close)

    # --- places -----------------------------------------------------------------------------

    async def _hold(self, space: str, *, making: bool) -> Hold:
        self._standing()
        if space in self._coming:
            raise _missing(space)
        self._questions += 1
        place = self._places.setdefault(space, _Place())
        place.used, place.callers = self._questions, place.callers + 1
        try:
            if place.memory is None:
                await self._open(space, place, making=making)
        except BaseException:
            self._let_go(space, place)
            raise
        assert place.memory is not None  # noqa: S101 - nobody closes what is held
        return Hold(memory=place.memory, release=partial(self._let_go, space, place))

    async def _open(self, space: str, place: _Place, *, making: bool) -> None:
        async with place.turn:
            if place.memory is None:
                await self._make_room()
                opening = partial(_open_space, self._standing(), space, making, self._opening)
                place.memory = await to_thread.run_sync(opening)

    def _let_go(self, space: str, place: _Place) -> None:
        place.callers -= 1
        if place.memory is None and not place.callers and self._places.get(space) is place:
            del self._places[space]  # a name that no space has, or one that would not open

    async def _make_room(self) -> None:
        """Close the spaces that nobody has used for longest, beyond as many as may stay open."""
        is_open = [place for place in self._places.values() if place.memory is not None]
        idle = sorted(
            (place for place in is_open if not place.callers), key=lambda place: place.used
        )
        for place in idle[: max(0, len(is_open) + 1 - self._open_max)]:
            async with place.turn:
                if not place.callers:
                    await _close(place)
        self._places = {
            name: place
            for name, place in self._places.items()
            if place.memory is not None or place.callers
        }

    def _standing(self) -> Store:
        if self._store is None:
            raise Closed("the spaces are closed", recovery="Enter them: async with spaces.")
        return self._store


def _opened(given: Address | Store, keys: Path | None, opening: dict[str, Any]) -> Store:
    """Return the store, opened if it was given as an address."""
    if not isinstance(given, str | Path):
        return given
    return open_store(
        given,
        synchronous=opening.get("synchronous", "full"),
        read_only=opening.get("read_only", False),
        keys=keys,
        vectors=opening.get("vectors") == "server",
    )


def _open_space(store: Store, space: str, making: bool, opening: dict[str, Any]) -> SyncMemory:  # noqa: FBT001 - called once
    if not making and space not in store.spaces():
        raise _missing(space)
    return SyncMemory.open(store, space=space, **opening)


def _try_writing(path: Path) -> None:
    """Write something beside *path* that is gone at once.

    Raises:
        StoreFailed, StoreFull: It cannot be written.
    """
    with files.named(path), TemporaryFile(prefix=".mnemic-", dir=path.parent) as probe:
        probe.write(bytes(PROBE_BYTES))
        probe.flush()


def _missing(space: str) -> PointOutOfRange:
    return PointOutOfRange(
        f"there is no space {space!r:.200}",
        recovery="Name a space that is there, or let an admin make it.",
        space=space,
    )


async def _close(place: _Place) -> None:
    """Close what is open at a place. Its turn is held."""
    memory, place.memory = place.memory, None
    if memory is not None:
        await to_thread.run_sync(memory.close)
