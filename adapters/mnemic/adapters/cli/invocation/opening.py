"""Opening of the memory for a command: its file or server, its space and its session handle."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING

from mnemic.adapters.ann.graphs import Graphs
from mnemic.adapters.cli.invocation.options import MemoryOptions
from mnemic.adapters.embedders.shipped import embedder_named
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.sync import EARLY_ALERT, LOST_ALERT
from mnemic.adapters.stores.addresses import IN_MEMORY, is_file, told
from mnemic.adapters.stores.logs.chain import check_end
from mnemic.adapters.stores.opening import Synchronous, open_store
from mnemic.adapters.tokens import counter_named
from mnemic.kernel.errors import (
    FieldRefused,
    LogCorrupt,
    PointOutOfRange,
    SessionState,
    SpaceNotFound,
)

if TYPE_CHECKING:
    from mnemic.kernel.ports import Clock, Extractor, Log, Store

ACTOR = "cli"
"""The default actor in the log."""
SESSION = "--session"
"""The option that names a session."""
UNSET = "Run `unset MNEMIC_SESSION`"
"""What a shell has to do once the session that it has exported is over."""
HOUR_ROUNDED = 0.01
"""Active hours are shown with two decimals, and may be given as they are shown."""
ASKED_ONCE = Graphs(always=True, least=1, builds=False)
"""Graphs for a process that asks a single question: used if they exist, never built."""


@contextmanager
def opened(
    run: MemoryOptions,
    *,
    making: bool,
    read_only: bool,
    asking: bool,
    warn: Callable[[str], None] | None,
    clock: Clock | None = None,
    extractor: Extractor | None = None,
    synchronous: Synchronous = "full",
) -> Generator[SyncMemory]:
    """Open the memory of a command, for a ``with`` block.

    Args:
        run: The options that every command shares.
        making: Whether the file and the space are created if they do not exist.
        read_only: Whether nothing may be written; then a damaged log opens up to its damage.
        asking: Whether a session of the environment that is not open is left out, with a warning.
        warn: Called with a warning about such damage or such a session; None: no warning.
        clock: The wall clock; None: the system's.
        extractor: The extractor of messages; None: there is none but those that need no model.
        synchronous: ``normal`` waits for no disk; a power cut may take the last commands.

    Raises:
        StoreFailed: There is no such file, no such server, or no store on it.
        NotAStore: It is not a store of mnemic.
        FieldRefused: An in-memory store would be lost when the command ends.
        SpaceNotFound: There is no such space in it.
        SessionState: The session to continue is not open, or another actor began it.
    """
    if str(run.path) == IN_MEMORY:
        raise FieldRefused(
            "an in-memory store is lost when the command ends",
            recovery="Name a file or a server with --db or MNEMIC_DB.",
            field="db",
        )
    if not making:
        run.check_is_there()
    # A reading command needs no model for a new space.
    wanted = None if run.embedder is None or read_only else embedder_named(run.embedder)
    if not (making or read_only or is_file(run.path)):
        open_store(run.path, read_only=True).close()  # fails if there is none, and creates nothing
    store = open_store(run.path, synchronous=synchronous, read_only=read_only, keys=run.keys)
    try:
        if not making:
            _check_space(run, store)
        with SyncMemory.open(
            store,
            space=run.space,
            embedder=wanted,
            extractor=extractor,
            tokens=counter_named(run.counter),
            clock=clock,
            actor=actor_of(run),
            read_only=read_only,
            retriever=ASKED_ONCE if run.retriever == "ann" else "exact",
        ) as memory:
            if read_only and warn is not None:
                _warn_of_damage(store.log(run.space), memory, warn)
            if read_only:
                yield memory
                return
            try:
                handle = handle_of(run, memory)
            except SessionState as error:
                if not asking or SESSION in run.given:
                    raise
                handle = memory
                if warn is not None:
                    warn(f"{error.message}: this counts as no active time. {UNSET}.")
            yield handle
    finally:
        store.close()


def check_hour(memory: SyncMemory, hour: float | None) -> None:
    """Refuse an hour that has not come yet.

    The library evaluates decay at such an hour; in a shell it is a mistake, whose answer would look
    like one about the past.

    Raises:
        PointOutOfRange: More active hours than have passed, allowing for how they are rounded.
    """
    if hour is None:
        return
    status = memory.status()
    if hour > status.hour + HOUR_ROUNDED:
        raise PointOutOfRange(
            f"hour {hour:g} has not come yet: {status.hour:.2f} active hours have passed",
            recovery=f"Name an hour up to {status.hour:.2f}; `mnemic timeline` shows what happened "
            "when.",
            point="hour",
            asked=hour,
            head=status.version,
        )


def handle_of(run: MemoryOptions, memory: SyncMemory) -> SyncMemory:
    """Return a session handle that continues the invocation's session; the memory if it has none.

    Raises:
        SessionState: The session is not open, or another actor began it.
    """
    if run.session is None:
        return memory
    try:
        return memory.session_handle(actor=actor_of(run), session=run.session)
    except SessionState as error:
        raise SessionState(
            error.message,
            recovery=f"{'Leave out --session' if SESSION in run.given else UNSET}, or begin one: "
            "`mnemic session start`. Only the --actor that began a session can continue it.",
            session_id=run.session,
        ) from None


def actor_of(run: MemoryOptions) -> str:
    """Return the name of the actor in the log."""
    return ACTOR if run.actor is None else run.actor


def _check_space(run: MemoryOptions, store: Store) -> None:
    spaces = store.spaces()
    if run.space not in spaces:
        known = ", ".join(spaces) or "none yet"
        meant = "".join(
            f" Did you mean {near!r}?" for near in get_close_matches(run.space, spaces, n=1)
        )
        raise SpaceNotFound(
            f"{told(run.path)} has no space {run.space!r}",
            recovery=f"Name one with --space; the file has: {known}.{meant}",
            space=run.space,
        )


def _warn_of_damage(log: Log, memory: SyncMemory, warn: Callable[[str], None]) -> None:
    """Warn if the log was readable only up to some record, or has lost texts."""
    status = memory.status()
    for alert in status.alerts:
        if alert.startswith(LOST_ALERT):
            warn(alert)
    version = status.version
    try:
        head = log.head().version
    except LogCorrupt:
        return  # the command itself will raise the same error
    if version >= head:
        try:
            check_end(log)
        except LogCorrupt as error:
            warn(f"{error.message}. The part before that is shown.")
    else:
        alert = next((each for each in status.alerts if each.startswith(EARLY_ALERT)), EARLY_ALERT)
        warn(f"{alert}. Run `mnemic verify`.")
