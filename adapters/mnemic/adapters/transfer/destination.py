"""Targets of copies: an existing store, or a new file that appears once it is complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from urllib.parse import urlsplit

from mnemic.adapters.files import atomic_files, temporary_folders
from mnemic.adapters.stores.encryption_consistency import check_unmixed
from mnemic.adapters.stores.logs.recorded_store import RecordedStore
from mnemic.adapters.stores.logs.staged_spaces import staged_spaces_of
from mnemic.adapters.stores.opening import IN_MEMORY, Address, is_file, open_store, opened
from mnemic.kernel.errors import Corrupt, FieldRefused, NotEncrypted, SpaceExists, StoreFailed
from mnemic.kernel.ports import Log, Store

STORE = "store.db"
"""Name of a file until it is complete."""


@contextmanager
def new_file(path: Path, *, resumable: bool = False) -> Generator[Path]:
    """Provide a temporary file that becomes *path* once the ``with`` block has succeeded.

    Args:
        path: A file that does not exist.
        resumable: Whether the file is kept if the block fails, for the next attempt.

    Raises:
        FieldRefused: The file exists.
        SpaceExists: It was made meanwhile.
        StoreFailed: It cannot be made.
    """
    atomic_files.checked_new(path)
    temporary = temporary_folders.resumable if resumable else temporary_folders.aside
    with atomic_files.named(path), temporary(path) as folder:
        draft = folder / STORE
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        try:
            atomic_files.settle(draft, path)
        except FileExistsError as error:
            raise SpaceExists(f"{path} was made meanwhile", path=str(path)) from error


@contextmanager
def staged_space(into: Address | Store, space: str, *, keys: Path | None = None) -> Generator[Log]:
    """Open the log of a new space for a ``with`` block; it is visible once the block succeeds.

    In a file that did not exist nothing is left of a copy that failed or was killed; in a store,
    what a killed process left is cleared by the next one that makes a space of that name. (A host's
    own store that has no staging shows the beginning.)

    Args:
        into: The store, or its address.
        space: Its name there.
        keys: Keys that encrypt it, if *into* is an address; see ``open_store``.

    Raises:
        SpaceExists: The space has events, or the file was made meanwhile.
        FieldRefused: *into* is neither a path nor a store.
        KeysMissing, NotEncrypted: The store encrypts differently; see ``encryption_consistency``.
        NotAStore, StoreTooNew, StoreFailed: The file cannot be opened.
    """
    if not isinstance(into, str | Path) and not callable(getattr(into, "log", None)):
        raise FieldRefused(f"neither a path nor a store: {into!r:.100}", field="into")
    check_lasting(into, field="into")
    path = new_path(into)
    if path is None:
        with opened(into, keys=keys) as store:
            check_unmixed(store, space)
            with staged_spaces_of(store)(space) as log:
                yield log
        return
    if not path.parent.is_dir():
        raise StoreFailed(
            f"there is no folder {path.parent}",
            recovery=f"Make the folder {path.parent}, or name another path.",
            path=str(path),
        )
    with new_file(path) as draft, closing(open_store(draft, keys=keys)) as store:
        yield store.log(space)


@contextmanager
def open_target(
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
    path = new_path(target)
    if path is None:
        with opened(target, keys=keys) as store:
            yield store
        return
    with new_file(path, resumable=True) as draft:
        _discard_if_foreign(draft, check, keys)
        with closing(open_store(draft, synchronous="normal", keys=keys)) as store:
            yield store


def new_path(target: Address | Store) -> Path | None:
    """Return the path of a target that is a file and does not exist yet; None: it is another."""
    if not isinstance(target, str | Path) or not is_file(target):
        return None
    path = Path(target)
    return None if atomic_files.stands(path) else path


def _discard_if_foreign(draft: Path, check: Callable[[Store], object], keys: Path | None) -> None:
    if draft.exists():
        try:
            with closing(open_store(draft, keys=keys)) as store:
                check(store)
        except (SpaceExists, Corrupt, NotEncrypted):
            for file in draft.parent.glob(f"{STORE}*"):
                file.unlink()


@contextmanager
def open_existing(target: Address | Store, *, keys: Path | None = None) -> Generator[Store | None]:
    """Open the target for reading; None: it does not exist yet."""
    path = new_path(target)
    if path is not None:
        draft = temporary_folders.unfinished(path) / STORE
        atomic_files.checked_new(path)
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
    check_lasting(target, field="target")
    if _identity(source) == _identity(target):
        raise FieldRefused(
            f"{shown(source)} cannot be moved into itself",
            recovery="Name another store to move to.",
            field="target",
        )


def check_lasting(target: Address | Store, *, field: str) -> None:
    """Refuse a target that would be gone with this process.

    Raises:
        FieldRefused: It names a store in memory.
    """
    if isinstance(target, str | Path) and str(target) == IN_MEMORY:
        raise FieldRefused(
            "a copy in the memory of this process would be gone at once",
            recovery="Name a file or an address, or give a MemoryStore of your own.",
            field=field,
        )


def _identity(place: Address | Store) -> object:
    if isinstance(place, str | Path):
        return os.path.realpath(place) if is_file(place) else place
    path = getattr(place, "path", None)
    return os.path.realpath(path) if isinstance(path, Path) else id(place)


def underlying_store(store: Store) -> Store:
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
    kept = underlying_store(store)
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
