"""How a command comes by its memory: which file, which space, whose seat."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING

from mnemic.adapters.embedders.shipped import embedder_named
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.whereabouts import are_on_server
from mnemic.adapters.proximity.keeper import Graphs
from mnemic.adapters.stores.addresses import IN_MEMORY, is_file, told
from mnemic.adapters.stores.ends import check_end
from mnemic.adapters.stores.opening import open_store
from mnemic.adapters.tokens import counter_named
from mnemic.kernel.errors import (
    FieldRefused,
    LogCorrupt,
    PointOutOfRange,
    SessionState,
    StoreFailed,
)

if TYPE_CHECKING:
    from mnemic.adapters.cli.invocation import Invocation
    from mnemic.kernel.ports import Store

ACTOR = "cli"
"""Who acts, as the log names it, if nobody else is named."""
ASKED_ONCE = Graphs(always=True, least=1, builds=False)
"""Graphs for a process that asks a single question: taken as they are, never built."""


@contextmanager
def opened(
    run: Invocation, *, making: bool, read_only: bool, warning: bool
) -> Generator[SyncMemory]:
    """Open the memory of an invocation, for a ``with`` block.

    Args:
        run: The options that every command shares.
        making: Whether the file and the space are made if they are not there.
        read_only: Whether nothing may be written; then a damaged log opens up to its damage.
        warning: Whether that is said.

    Raises:
        StoreFailed: There is no such file, no such server, or no store on it.
        NotAStore: It is none of ours.
        FieldRefused: The store would be gone when the command ends.
        PointOutOfRange: There is no such space in it.
        SessionState: The session to go on with is not open, or somebody else began it.
    """
    if str(run.path) == IN_MEMORY:
        raise FieldRefused(
            "what is only in memory is gone when the command ends",
            recovery="Name a file or a server with --db or MNEMIC_DB.",
            field="db",
        )
    if not making and not run.is_there():
        raise StoreFailed(
            f"there is no file {run.path}",
            recovery="Name another with --db or MNEMIC_DB, or let `mnemic ingest` or "
            "`mnemic learn` make it.",
            path=str(run.path),
        )
    # Whoever only reads needs no model of a new space.
    wanted = None if run.embedder is None or read_only else embedder_named(run.embedder)
    if not (making or read_only or is_file(run.path)):
        open_store(run.path, read_only=True).close()  # it is there, or nothing is made
    are_far = are_on_server(run.vectors, retriever=run.retriever)
    store = open_store(run.path, read_only=read_only, keys=run.keys, vectors=are_far)
    try:
        if not making:
            _check_space(run, store)
        with SyncMemory.open(
            store,
            space=run.space,
            embedder=wanted,
            tokens=counter_named(run.counter),
            actor=actor_of(run),
            read_only=read_only,
            retriever=ASKED_ONCE if run.retriever == "ann" else "exact",
            vectors=run.vectors,
        ) as memory:
            if read_only and warning:
                _warn_of_damage(run, store, memory)
            yield memory if read_only else seated(run, memory)
    finally:
        store.close()


def seated(run: Invocation, memory: SyncMemory) -> SyncMemory:
    """Return the seat of whoever goes on with the session of an invocation; without, the memory.

    Raises:
        SessionState: It is not open, or somebody else began it.
    """
    if run.session is None:
        return memory
    try:
        return memory.seat(actor=actor_of(run), session=run.session)
    except SessionState as error:
        raise SessionState(
            error.message,
            recovery="Leave out --session and unset MNEMIC_SESSION, or begin one: `mnemic session "
            "start`. Whoever goes on with one is the --actor that began it.",
            session_id=run.session,
        ) from None


def actor_of(run: Invocation) -> str:
    """Return who acts, as the log names them."""
    return ACTOR if run.actor is None else run.actor


def _check_space(run: Invocation, store: Store) -> None:
    spaces = store.spaces()
    if run.space not in spaces:
        known = ", ".join(spaces) or "none yet"
        meant = "".join(
            f" Did you mean {near!r}?" for near in get_close_matches(run.space, spaces, n=1)
        )
        raise PointOutOfRange(
            f"{told(run.path)} has no space {run.space!r}",
            recovery=f"Name one with --space; the file has: {known}.{meant}",
            space=run.space,
        )


def _warn_of_damage(run: Invocation, store: Store, memory: SyncMemory) -> None:
    """Say so when the log was readable up to a damaged record only."""
    version, log = memory.status().version, store.log(run.space)
    try:
        head = log.head().version
    except LogCorrupt:
        return  # whoever asked for the memory is told by the error that it meets itself
    if version >= head:
        try:
            check_end(log)
        except LogCorrupt as error:
            run.warn(f"{error.message}. What stands before that is shown.")
    else:
        run.warn(
            f"the log is damaged at version {version + 1}; what stands before it is shown. "
            "Run `mnemic verify`."
        )
