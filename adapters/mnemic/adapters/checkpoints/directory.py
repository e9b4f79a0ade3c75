"""The folder that holds the checkpoints of a store, and what may be done in it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from mnemic.adapters.system.folders import PRIVATE, cache_folder
from mnemic.adapters.system.paths import checked_path
from mnemic.kernel.errors import FieldRefused, StoreFailed
from mnemic.kernel.ports import Store
from mnemic.kernel.values import Value

if TYPE_CHECKING:
    from mnemic.adapters.checkpoints.objects import Objects

READ_AND_WRITE = 0o666
DATABASE = "database"
"""Names the database of the store itself as the place of checkpoints."""


@frozen(kw_only=True)
class SharedCheckpoints(Value):
    """A setting of a host: where it publishes checkpoints, and where it keeps copies of them."""

    at: str
    """``database``, or the URL of a bucket or folder of objects: ``s3://bucket/prefix``."""
    cache: Path = field(factory=lambda: cache_folder() / "checkpoints")
    """Folder of this host for the files that it maps; processes of one host share it."""


Wanted = str | Path | SharedCheckpoints | bool | None
"""A host's setting: a folder; False: none; None: next to the file, if the store is one. A string
may also name a place of ``SharedCheckpoints``: ``database`` or ``s3://bucket/prefix``."""


def is_place(wanted: object) -> bool:
    """Return whether a setting names a place of objects rather than a folder of files."""
    return isinstance(wanted, str) and (wanted == DATABASE or "://" in wanted)


@frozen(kw_only=True)
class CheckpointDirectory(Value):
    """A folder for checkpoints."""

    path: Path
    store: Store
    file: Path | None
    """File of the store; None: it is not one file."""
    is_own: bool
    """Whether the folder is used by this store alone, so that files of unknown spaces can go."""
    reads: bool
    """Whether a space may be opened from a checkpoint."""
    writes: bool
    """Whether checkpoints are made and swept."""
    destroys: bool
    """Whether they are destroyed when text is erased: for a host without checkpoints too, as others
    with the same store may have made some."""
    objects: Callable[[str, str], Objects] | None = None
    """Returns what hosts share of a space, by its name and the beginning of its file names; None:
    nothing."""

    @property
    def is_cache(self) -> bool:
        """Whether its files are copies of what hosts share."""
        return self.reads and self.objects is not None

    @property
    def mode(self) -> int:
        """Permissions of its files: those of the store's file; owner only if there is none."""
        file = self.file
        return PRIVATE if file is None else stat.S_IMODE(file.stat().st_mode) & READ_AND_WRITE


def checkpoint_directory(
    store: Store, wanted: Wanted, *, read_only: bool
) -> CheckpointDirectory | None:
    """Return where the checkpoints of *store* are kept; None: nowhere.

    Raises:
        FieldRefused: It is neither a folder nor a bool, or the store has no file.
    """
    if is_place(wanted):
        wanted = SharedCheckpoints(at=str(wanted))
    if wanted is not None and not isinstance(wanted, str | Path | SharedCheckpoints | bool):
        raise FieldRefused(
            f"checkpoints must be a folder, got {wanted!r:.100}",
            recovery="Give a folder, None for one beside the file, or False for none.",
            field="checkpoints",
        )
    if isinstance(wanted, SharedCheckpoints):
        return _shared(store, wanted, read_only=read_only)
    may_write, file = not read_only, _file(store)
    if isinstance(wanted, str | Path):
        # The working directory may change.
        folder, is_own = checked_path(wanted, "checkpoints").absolute(), False
    else:
        if file is None and wanted:
            raise FieldRefused(
                "this store has no file to keep checkpoints next to",
                recovery="Name a folder: checkpoints=...",
                field="checkpoints",
            )
        if file is None:
            return _in_database(store) if wanted is None else None
        folder, is_own = beside(file), True
    return CheckpointDirectory(
        path=folder,
        store=store,
        file=file,
        is_own=is_own,
        reads=wanted is not False,
        writes=may_write and wanted is not False,
        destroys=may_write,
    )


def _shared(store: Store, wanted: SharedCheckpoints, *, read_only: bool) -> CheckpointDirectory:
    """Return the cache of a host that shares checkpoints with others.

    A host that only reads fetches too, and removes erased text from its cache.

    Raises:
        FieldRefused: The place is the database, and the store is in none, or the URL is invalid.
        StoreFailed: The database cannot be prepared for them, or the cache cannot be made.
    """
    cache = checked_path(wanted.cache, "checkpoints").absolute()
    try:
        cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreFailed(
            f"{cache.parent} cannot be made: {error}",
            recovery="Name another folder for copies of checkpoints: --checkpoint-cache.",
            path=str(cache),
        ) from error
    return CheckpointDirectory(
        path=cache,
        store=store,
        file=None,
        is_own=False,
        reads=True,
        writes=not read_only,
        destroys=True,
        objects=_objects(store, wanted.at),
    )


def _objects(store: Store, at: str) -> Callable[[str, str], Objects]:
    if at != DATABASE:
        from mnemic.adapters.checkpoints.bucket import Bucket, check_place

        check_place(at)
        return lambda _, owner: Bucket(at, owner)
    server = _inner(store)
    found: Callable[[], Callable[[str], Objects]] | None = getattr(
        server, "checkpoint_objects", None
    )
    if found is None:
        raise FieldRefused(
            "this store is in no database that could hold its checkpoints",
            recovery="Name a folder or a bucket: checkpoints=...",
            field="checkpoints",
        )
    objects = found()
    return lambda space, _: objects(space)


def _in_database(store: Store) -> CheckpointDirectory | None:
    """Return what hosts share in the database, for a process that was told nothing of it.

    It neither uses nor makes checkpoints, but can list and drop them.
    """
    has: Callable[[], bool] | None = getattr(_inner(store), "has_checkpoints", None)
    if has is None or not has():
        return None
    return CheckpointDirectory(
        path=SharedCheckpoints(at=DATABASE).cache,
        store=store,
        file=None,
        is_own=False,
        reads=False,
        writes=False,
        destroys=True,
        objects=_objects(store, DATABASE),
    )


def _inner(store: Store) -> Store:
    """Return a store without its encryption."""
    return store.inner if getattr(store, "is_encrypted", False) else store  # type: ignore[attr-defined]


def beside(file: Path) -> Path:
    """Return the folder for the checkpoints of a store in one file.

    It is the same for all paths to the file: an erasure must find the checkpoints of processes that
    opened it through a link, or have changed their working directory since.
    """
    file = Path(os.path.realpath(file))
    return file.with_name(f"{file.name}.checkpoints")


def _file(store: Store) -> Path | None:
    """Return the file of a SQLite store, encrypted or not; None for any other store."""
    if getattr(store, "is_encrypted", False):
        return _file(store.inner)  # type: ignore[attr-defined]  # spares the import as well
    if not isinstance(getattr(store, "path", None), Path):
        return None  # saves users of another store the import
    from mnemic.adapters.stores.sqlite import SQLiteStore

    return Path(os.path.realpath(store.path)) if isinstance(store, SQLiteStore) else None
