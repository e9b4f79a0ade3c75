"""Where a copy goes: a store that is there, or a new file that appears once the copy is whole."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from mnemic.adapters.exchange import files
from mnemic.adapters.exchange.asides import aside
from mnemic.adapters.stores.drafts import drafts_of
from mnemic.adapters.stores.mixing import check_unmixed
from mnemic.adapters.stores.opening import IN_MEMORY, Address, is_file, open_store, opened
from mnemic.kernel.errors import FieldRefused, SpaceExists, StoreFailed
from mnemic.kernel.ports import Log, Store


@contextmanager
def target(into: Address | Store, space: str, *, keys: Path | None = None) -> Generator[Log]:
    """Open the log of a space that has nothing in it yet, for a ``with`` block.

    Nothing is seen before the block ends well. In a file that did not exist nothing is left of a
    copy that failed or was killed; in a store, what was killed is cleared away by whoever makes a
    space of that name again. (A store of a host's own that knows no drafts shows the beginning.)

    Args:
        into: Where to.
        space: Its name there.
        keys: What locks its words, if *into* is an address; see ``open_store``.

    Raises:
        SpaceExists: The space has events.
        FieldRefused: *into* is neither a path nor a store.
        KeysMissing, NotEncrypted: The store keeps its words otherwise; see ``mixing``.
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
    if not isinstance(into, str | Path) or not is_file(into) or files.stands(Path(into)):
        with opened(into, keys=keys) as store:
            check_unmixed(store, space)
            with drafts_of(store)(space) as log:
                yield log
        return
    path = Path(into)
    if not path.parent.is_dir():
        raise StoreFailed(
            f"there is no folder {path.parent}",
            recovery=f"Make the folder {path.parent}, or name another path.",
            path=str(path),
        )
    with files.named(path), aside(path) as folder:
        draft = folder / path.name
        with closing(open_store(draft, keys=keys)) as store:
            yield store.log(space)
        try:
            files.settle(draft, path)
        except FileExistsError as error:
            raise SpaceExists(f"{path} was made meanwhile", space=space) from error
