"""What imports that were killed have left in a store, unseen, and how it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from mnemic.adapters.cli.diagnosis.findings import Finding
from mnemic.adapters.cli.diagnosis.premises import ABOUT
from mnemic.adapters.stores.opening import Address, open_store
from mnemic.kernel.errors import MnemicError

if TYPE_CHECKING:
    from mnemic.adapters.stores.drafts import Swept

WATCH_S = 2.0
"""Between two looks. An import writes a thousand times as often, unless it waits for somebody."""


def swept(address: Address, *, watch_s: float = WATCH_S) -> Iterator[Finding]:
    """Remove what is in the making in the store at *address*, and with which nobody goes on.

    Whoever goes on after all meets a conflict and leaves nothing: so nothing is ever torn.

    Args:
        address: Of a store; the keys of its words are not needed.
        watch_s: How long one looks whether anybody goes on.
    """
    try:
        with closing(open_store(address, read_only=True)) as store:
            begun: tuple[str, ...] = getattr(store, "unfinished", tuple)()
        if not begun:
            yield ABOUT.ok("sweep", "nothing was left by an import that was killed")
            return
        with closing(open_store(address)) as store:
            sweep: Callable[[Callable[[], None]], Swept] = store.sweep  # type: ignore[attr-defined]
            found = sweep(partial(time.sleep, watch_s))
    except MnemicError as error:
        yield ABOUT.failure("sweep", error)
        return
    for name in found.gone:
        yield ABOUT.ok("sweep", f"what was there of the space {name!r} is gone")
    for name in found.kept:
        yield ABOUT.warning(
            "sweep",
            f"somebody goes on making the space {name!r}, or has ended",
            remedy="Look again when it is done: `mnemic doctor`.",
        )
