"""Detection of a misspelt store name, by looking for other stores in the same folder."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from itertools import islice
from pathlib import Path

from mnemic.adapters.stores.opening import Address, is_file, open_store
from mnemic.kernel.errors import MnemicError, StoreFailed

LOOKED_AT_MAX = 100
"""Maximum number of files of one folder that are examined."""
NAMED_MAX = 3


def check_meant(address: Address) -> None:
    """Refuse a store that does not exist or has no spaces, if another in its folder has some.

    Raises:
        StoreFailed: Names the other stores.
    """
    if not is_file(address) or spaces_in(address):
        return
    path = Path(address)
    full = [each for each in _beside(path) if spaces_in(each)]
    if full:
        there = "is not there" if not path.exists() else "has no spaces"
        named = ", ".join(each.name for each in full[:NAMED_MAX])
        raise StoreFailed(
            f"{path} {there}, but in the same folder there is {named}",
            recovery="Name that one with --db or MNEMIC_DB; or give --make to create a new store.",
            path=str(path),
            beside=[str(each) for each in full[:NAMED_MAX]],
        )


def spaces_in(address: Address) -> tuple[str, ...]:
    """Return the names of the spaces in a store; empty if it is not a readable store."""
    try:
        if is_file(address) and not Path(address).is_file():
            return ()
        with closing(open_store(address, read_only=True)) as store:
            return store.spaces()
    except (MnemicError, OSError):
        return ()


def _beside(path: Path) -> Iterable[Path]:
    """Return the files that are named like stores in the folder of *path*."""
    try:
        found = sorted(islice(path.parent.glob("*.db"), LOOKED_AT_MAX))
    except OSError:
        return ()
    return (each for each in found if each.name != path.name)
