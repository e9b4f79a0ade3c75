"""Targets of a copied space: an existing store, or a new file that appears once it is complete."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from mnemic.adapters.files import atomic_files
from mnemic.adapters.files.temporary_folders import aside
from mnemic.adapters.stores.encryption_consistency import check_unmixed
from mnemic.adapters.stores.logs.staged_spaces import staged_spaces_of
from mnemic.adapters.stores.opening import IN_MEMORY, Address, is_file, open_store, opened
from mnemic.kernel.errors import FieldRefused, SpaceExists, StoreFailed
from mnemic.kernel.ports import Log, Store


@contextmanager
def target(into: Address | Store, space: str, *, keys: Path | None = None) -> Generator[Log]:
    """Open the log of an empty space for a ``with`` block.

    It stays hidden until the block has succeeded. In a file that did not exist nothing is left of a
    copy that failed or was killed; in a store, what a killed process left is cleared by the next
    one that makes a space of that name. (A host's own store that has no staging shows the
    beginning.)

    Args:
        into: The store, or its address.
        space: Its name there.
        keys: Keys that encrypt it, if *into* is an address; see ``open_store``.

    Raises:
        SpaceExists: The space has events.
        FieldRefused: *into* is neither a path nor a store.
        KeysMissing, NotEncrypted: The store encrypts differently; see ``encryption_consistency``.
        NotAStore, StoreTooNew, StoreFailed: The file cannot be opened.
    """
    if not isinstance(into, str | Path) and not callable(getattr(into, "log", None)):
        raise FieldRefused(f"neither a path nor a store: {into!r:.100}", field="into")
    if str(into) == IN_MEMORY:
        raise FieldRefused(
            "a copy in the memory of this process would be gone at once",
            recovery="Name a file, or give a MemoryStore of your own.",
            field="into",
        )
    if not isinstance(into, str | Path) or not is_file(into) or atomic_files.stands(Path(into)):
        with opened(into, keys=keys) as store:
            check_unmixed(store, space)
            with staged_spaces_of(store)(space) as log:
                yield log
        return
    path = Path(into)
    if not path.parent.is_dir():
        raise StoreFailed(
            f"there is no folder {path.parent}",
            recovery=f"Make the folder {path.parent}, or name another path.",
            path=str(path),
        )
    with atomic_files.named(path), aside(path) as folder:
        draft = folder / path.name
        with closing(open_store(draft, keys=keys)) as store:
            yield store.log(space)
        try:
            atomic_files.settle(draft, path)
        except FileExistsError as error:
            raise SpaceExists(f"{path} was made meanwhile", space=space) from error
