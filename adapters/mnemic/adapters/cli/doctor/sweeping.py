"""Removal of the hidden data that killed imports have left in a store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from mnemic.adapters.cli.doctor.findings import Finding
from mnemic.adapters.cli.doctor.store_files import ABOUT
from mnemic.adapters.stores.opening import Address, open_store
from mnemic.kernel.errors import MnemicError

if TYPE_CHECKING:
    from mnemic.adapters.stores.logs.staged_spaces import Swept

WATCH_S = 2.0
"""Time between two checks. A running import writes a thousand times as often, unless blocked."""


def swept(address: Address, *, watch_s: float = WATCH_S) -> Iterator[Finding]:
    """Remove unfinished imports from the store at *address* that no process continues.

    An import that continues after all fails with a conflict and leaves nothing behind, so no
    partial space can result.

    Args:
        address: Of the store; its keys are not needed.
        watch_s: How long an import must be idle to count as abandoned.
    """
    try:
        with closing(open_store(address, read_only=True)) as store:
            begun: tuple[str, ...] = getattr(store, "unfinished", tuple)()
        if not begun:
            yield ABOUT.ok("sweep", "no killed import has left anything")
            return
        with closing(open_store(address)) as store:
            sweep: Callable[[Callable[[], None]], Swept] = store.sweep  # type: ignore[attr-defined]
            found = sweep(partial(time.sleep, watch_s))
    except MnemicError as error:
        yield ABOUT.failure("sweep", error)
        return
    for name in found.gone:
        yield ABOUT.ok("sweep", f"the unfinished space {name!r} was removed")
    for name in found.kept:
        yield ABOUT.warning(
            "sweep",
            f"the space {name!r} is still being imported, or just finished",
            remedy="Check again when it is done: `mnemic doctor`.",
        )
