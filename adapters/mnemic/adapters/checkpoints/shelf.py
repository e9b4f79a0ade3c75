"""Where the checkpoints of a store are kept, and what may be done with them there."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.ports import Store

Wanted = str | Path | bool | None
"""What a host says: a folder; False: none; None: beside the file, if the store is one."""


@frozen(kw_only=True)
class Shelf:
    """A folder for checkpoints."""

    path: Path
    store: Store
    is_own: bool
    """Whether nobody else keeps anything there, so that what belongs to no space can go."""
    reads: bool
    """Whether a space may be opened from a checkpoint."""
    writes: bool
    """Whether checkpoints are made and swept."""
    destroys: bool
    """Whether they go when words are erased: also for a host that wants none, since others of the
    same store may have made some."""


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
    may_write = not read_only
    if isinstance(wanted, str | Path):
        folder, is_own = Path(wanted), False
    else:
        file = _file(store)
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
        is_own=is_own,
        reads=wanted is not False,
        writes=may_write and wanted is not False,
        destroys=may_write,
    )


def beside(file: Path) -> Path:
    """Return the folder for the checkpoints of a store in one file."""
    return file.with_name(f"{file.name}.checkpoints")


def _file(store: Store) -> Path | None:
    """Return the file of a SQLite store; other stores have none that we know."""
    if not isinstance(getattr(store, "path", None), Path):
        return None  # spares whoever brings another store the import
    from mnemic.adapters.stores.sqlite import SQLiteStore

    return store.path if isinstance(store, SQLiteStore) else None
