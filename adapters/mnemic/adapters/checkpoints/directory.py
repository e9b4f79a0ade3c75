"""The folder that holds the checkpoints of a store, and what may be done in it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from attrs import frozen

from mnemic.adapters.system.folders import PRIVATE
from mnemic.adapters.system.paths import checked_path
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.ports import Store
from mnemic.kernel.values import Value

READ_AND_WRITE = 0o666
Wanted = str | Path | bool | None
"""A host's setting: a folder; False: none; None: next to the file, if the store is one."""


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
    if wanted is not None and not isinstance(wanted, str | Path | bool):
        raise FieldRefused(
            f"checkpoints must be a folder, got {wanted!r:.100}",
            recovery="Give a folder, None for one beside the file, or False for none.",
            field="checkpoints",
        )
    may_write, file = not read_only, _file(store)
    if isinstance(wanted, str | Path):
        folder, is_own = (
            checked_path(wanted, "checkpoints").absolute(),
            False,
        )  # the working directory may change
    else:
        if file is None and wanted:
            raise FieldRefused(
                "this store has no file to keep checkpoints next to",
                recovery="Name a folder: checkpoints=...",
                field="checkpoints",
            )
        if file is None:
            return None
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
