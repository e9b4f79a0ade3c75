"""One open space: its slot, holds on it, names reserved for new ones, and how it is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio
from anyio import to_thread
from attrs import define, field, frozen

from mnemic.adapters.files import atomic_files
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.stores.leaders import MovedAway
from mnemic.adapters.stores.logs.staged_spaces import has_space
from mnemic.adapters.stores.opening import Address, open_store
from mnemic.kernel.errors import SpaceNotFound
from mnemic.kernel.ports import Store
from mnemic.kernel.results import ImportResult

if TYPE_CHECKING:
    from mnemic.adapters.cluster.host import ClusterHost

PROBE_BYTES = 4096
"""A page of a disk."""


@define(kw_only=True, eq=False)
class Slot:
    """The slot of one space that is open, or being opened."""

    memory: SyncMemory | None = None
    """None: it is not open."""
    callers: int = 0
    used: int = 0
    """When it was last requested, by a counter of requests."""
    lock: anyio.Lock = field(factory=anyio.Lock)
    """Held while the space is opened or closed."""


@frozen(kw_only=True)
class Hold:
    """A space that stays open until it is released."""

    memory: SyncMemory
    """The open memory; callers take session handles on it."""
    release: Callable[[], None]
    """Releases the space. Call once."""

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
    """A reserved name for a space that does not exist yet, until it is imported or released."""

    space: str
    into: Store
    opening: Mapping[str, Any]
    """Arguments of ``SyncMemory.open``, of which clock and entropy are used."""
    release: Callable[[], None]
    """Makes the space visible, or the name available again. Call once."""

    def fill(
        self, path: Path, *, actor: str, progress: Callable[[int, int], None] | None = None
    ) -> ImportResult:
        """Create the space from an export. Runs on a thread. See ``SyncMemory.import_space``."""
        return SyncMemory.import_space(
            path,
            self.into,
            space=self.space,
            actor=actor,
            clock=self.opening.get("clock"),
            entropy=self.opening.get("entropy"),
            progress=progress,
        )


def open_given(given: Address | Store, keys: Path | None, opening: dict[str, Any]) -> Store:
    """Return the store, opened if it was given as an address."""
    if not isinstance(given, str | Path):
        return given
    return open_store(
        given,
        synchronous=opening.get("synchronous", "full"),
        read_only=opening.get("read_only", False),
        keys=keys,
    )


def exists(store: Store, cluster: ClusterHost | None, space: str) -> bool:
    """Return whether *store* has *space*, or had it before it was moved to another database."""
    if has_space(store, space):
        return True
    try:
        if cluster is not None:
            cluster.check_not_moved(space)
    except MovedAway:
        return True
    return False


def open_space(store: Store, space: str, making: bool, opening: dict[str, Any]) -> SyncMemory:  # noqa: FBT001 - called once
    """Open *space*, and make it if *making*.

    Raises:
        SpaceNotFound, MovedAway: It is not here.
        MnemicError: See ``SyncMemory.open``.
    """
    if not making and not has_space(store, space):
        with suppress(SpaceNotFound):
            store.log(space, create=False)  # raises another error if it was moved away
        raise missing(space)
    return SyncMemory.open(store, space=space, **opening)


def try_writing(path: Path) -> None:
    """Write a temporary file in the folder of *path*.

    Raises:
        StoreFailed, StoreFull: It cannot be written.
    """
    with atomic_files.named(path), TemporaryFile(prefix=".mnemic-", dir=path.parent) as probe:
        probe.write(bytes(PROBE_BYTES))
        probe.flush()


def missing(space: str) -> SpaceNotFound:
    """Return the error for a space that does not exist, or is not visible yet."""
    return SpaceNotFound(
        f"there is no space {space!r:.200}",
        recovery="Name an existing space, or let an admin create it.",
        space=space,
    )


async def close_slot(slot: Slot) -> None:
    """Close the memory of a slot. The lock of the slot is held."""
    memory, slot.memory = slot.memory, None
    if memory is not None:
        with anyio.CancelScope(shield=True):  # no other call closes it
            await to_thread.run_sync(memory.close)
