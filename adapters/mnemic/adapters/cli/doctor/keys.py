"""The checks of the file of keys: intact, private, and not copied together with the store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.adapters.cli.doctor.findings import About, Finding
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.results import plural

if TYPE_CHECKING:
    from mnemic.adapters.stores.encrypted import KeyTable

ABOUT = About(name="keys")


def table(keys: Path) -> KeyTable | None:
    """Return the file of keys, open for reading; None if it cannot be opened."""
    from mnemic.adapters.stores.encrypted import KeyTable

    try:
        return KeyTable(keys, read_only=True)
    except MnemicError:
        return None


def locks(keys: Path, store: Path | None) -> Iterator[Finding]:
    """Check the file of keys.

    Args:
        keys: Its path.
        store: The file that it encrypts; None: a store on a server.
    """
    from mnemic.adapters.stores.encrypted import KeyTable

    keys = Path(os.path.realpath(keys))
    if not keys.exists():
        yield ABOUT.problem(
            "file",
            f"there is no file {keys}",
            remedy="Name it with --keys or MNEMIC_KEYS; without it the texts cannot be read.",
        )
        return
    try:
        with closing(KeyTable(keys, read_only=True)) as found:
            holdings = found.holdings()
    except MnemicError as error:
        yield ABOUT.failure("file", error)
        return
    live, gone = sum(each.live for each in holdings), sum(each.erased for each in holdings)
    spaces = plural(len(holdings), "space")
    yield ABOUT.ok("file", f"{plural(live, 'key')} of {spaces}, {gone} destroyed; private to you")
    if store is not None and keys.parent == store.parent:
        yield ABOUT.warning(
            "place",
            f"{keys.name} is next to the store that it encrypts",
            remedy="A copy of the folder contains both. Keep it elsewhere, and a copy of it too: "
            "without keys no text can be read.",
        )
