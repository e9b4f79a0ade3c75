"""Where the checkpoints of a store are kept, and what may be done with them there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from attrs import frozen

from mnemic.adapters.folders import PRIVATE
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.ports import Store

READ_AND_WRITE = 0o666
Wanted = str | Path | bool | None
"""What a host says: a folder; False: none; None: beside the file, if the store is one."""


@frozen(kw_only=True)
class Shelf:
    """A folder for checkpoints."""

    path: Path
    store: Store
    file: Path | None
    """Of the store; None: it is not one file."""
    is_own: bool
    """Whether nobody else keeps anything there, so that what belongs to no space can go."""
    reads: bool
    """Whether a space may be opened from a checkpoint."""
    writes: bool
    """Whether checkpoints are made and swept."""
    destroys: bool
    """Whether they go when words are erased: also for a host that wants none, since others of the
    same store may have made some."""

    @property
    def mode(self) -> int:
        """Who may read its files: whoever may read the store's file; their owner if it has none."""
        file = self.file
        return PRIVATE if file is None else stat.S_IMODE(file.stat().st_mode) & READ_AND_WRITE


def shelf(store: Store, wanted: Wanted, *, read_only: bool) -> Shelf | None:
    """Return where the checkpoints of *store* are kept; None: nowhere.

    Raises:
        FieldRefused: It is neither a folder nor a yes or no, or there is no file to stand beside.
    """
    if wanted is not None and not isinstance(wanted, str | Path | bool):
        raise FieldRefused(
            f"checkpoints must be a folder, got {wanted!r:.100}",
            recovery="Give a folder, None for one beside the file, or False for none.",
            field="checkpoints",
        )
    may_write, file = not read_only, _file(store)
    if isinstance(wanted, str | Path):
        folder, is_own = Path(wanted).absolute(), False  # wherever the process goes next
    else:
        if file is None and wanted:
            raise FieldRefused(
                "this store has no file that checkpoints could stand beside",
                recovery="Name a folder: checkpoints=...",
                field="checkpoints",
            )
        if file is None:
            return None
        folder, is_own = beside(file), True
    return Shelf(
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

    One folder for all paths to the file: whoever erases must find what those kept who came by a
    link, or have gone to another working directory since.
    """
    file = Path(os.path.realpath(file))
    return file.with_name(f"{file.name}.checkpoints")


def _file(store: Store) -> Path | None:
    """Return the file of a SQLite store, encrypted or not; others have none that we know."""
    if getattr(store, "is_encrypted", False):
        return _file(store.inner)  # type: ignore[attr-defined]  # spares the import as well
    if not isinstance(getattr(store, "path", None), Path):
        return None  # spares whoever brings another store the import
    from mnemic.adapters.stores.sqlite import SQLiteStore

    return Path(os.path.realpath(store.path)) if isinstance(store, SQLiteStore) else None
