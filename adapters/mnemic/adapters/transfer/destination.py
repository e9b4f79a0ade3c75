"""Targets of a migration: an existing store, or a new file that appears once it is complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from urllib.parse import urlsplit

from mnemic.adapters.files import atomic_files, temporary_folders
from mnemic.adapters.stores.logs.recorded_store import RecordedStore
from mnemic.adapters.stores.opening import IN_MEMORY, Address, is_file, open_store, opened
from mnemic.kernel.errors import Corrupt, FieldRefused, NotEncrypted, SpaceExists
from mnemic.kernel.ports import Store

STORE = "store.db"
"""Name of a file until it is complete."""


@contextmanager
def place_of(
    target: Address | Store, check: Callable[[Store], object], *, keys: Path | None = None
) -> Generator[Store]:
    """Open the target for a ``with`` block; a new file appears once the block has succeeded.

    Args:
        target: A store, or its address.
        check: Refuses a store with other content. An unfinished copy with other content is
            discarded, and begun again.
        keys: Keys that encrypt a target that is named by its address.

    Raises:
        SpaceExists: By *check*, or the file was made meanwhile.
    """
    if (
        not isinstance(target, str | Path)
        or not is_file(target)
        or atomic_files.stands(Path(target))
    ):
        with opened(target, keys=keys) as store:
            yield store
        return
    path = Path(target)
    atomic_files.checked_new(path)
    with atomic_files.named(path), temporary_folders.resumable(path) as folder:
        draft = folder / STORE
        _discard_if_foreign(draft, check, keys)
        with closing(open_store(draft, synchronous="normal", keys=keys)) as store:
            yield store
        keep(draft)
        try:
            atomic_files.settle(draft, path)
        except FileExistsError as error:
            raise SpaceExists(f"{path} was made meanwhile", path=str(path)) from error


def _discard_if_foreign(draft: Path, check: Callable[[Store], object], keys: Path | None) -> None:
    if draft.exists():
        try:
            with closing(open_store(draft, keys=keys)) as store:
                check(store)
        except (SpaceExists, Corrupt, NotEncrypted):
            for file in draft.parent.glob(f"{STORE}*"):
                file.unlink()


@contextmanager
def as_it_is(target: Address | Store, *, keys: Path | None = None) -> Generator[Store | None]:
    """Open the target for reading; None: it does not exist yet."""
    if isinstance(target, str | Path) and is_file(target) and not atomic_files.stands(Path(target)):
        draft = temporary_folders.unfinished(Path(target)) / STORE
        atomic_files.checked_new(Path(target))
        there = atomic_files.stands(draft)
        with opened(draft, read_only=True, keys=keys) if there else nullcontext() as store:
            yield store
        return
    with opened(target, read_only=True, keys=keys) as store:
        yield store


def check_apart(source: Address | Store, target: Address | Store) -> None:
    """Refuse to move a store into itself, or into a temporary one.

    Raises:
        FieldRefused: It would be.
    """
    if isinstance(target, str) and target == IN_MEMORY:
        raise FieldRefused(
            "a copy in the memory of this process would be gone at once",
            recovery="Name a file or an address, or give a MemoryStore of your own.",
            field="target",
        )
    if _identity(source) == _identity(target):
        raise FieldRefused(
            f"{shown(source)} cannot be moved into itself",
            recovery="Name another store to move to.",
            field="target",
        )


def _identity(place: Address | Store) -> object:
    if isinstance(place, str | Path):
        return os.path.realpath(place) if is_file(place) else place
    path = getattr(place, "path", None)
    return os.path.realpath(path) if isinstance(path, Path) else id(place)


def as_kept(store: Store) -> Store:
    """Return the store that keeps the text of *store* as it is kept: encrypted, if it is."""
    inner: Store = (
        getattr(store, "inner", store) if getattr(store, "is_encrypted", False) else store
    )
    return inner


def check_names(store: Store) -> None:
    """Refuse to copy all spaces of a store of which some have lost their names.

    Raises:
        LogCorrupt: It holds events of a space that it does not list.
    """
    kept = as_kept(store)
    if isinstance(kept, RecordedStore):
        kept.check()


def shown(place: Address | Store) -> str:
    """Return the name of a store for messages, without the secrets that an address may hold."""
    if not isinstance(place, str | Path):
        path = getattr(place, "path", None)
        return str(path) if isinstance(path, Path) else type(place).__name__
    if is_file(place):
        return str(place)
    parts = urlsplit(str(place))
    who = f"{parts.username}@" if parts.username else ""
    return f"{parts.scheme}://{who}{parts.hostname or ''}{parts.path}"


def keep(path: Path) -> None:
    """Flush a file to the disk, so that it survives a power cut."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
