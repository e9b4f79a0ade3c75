"""Commands on sessions: session start, session end, session list."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from attrs import evolve
from cyclopts import App
from rich.text import Text

from mnemic.adapters.cli.invocation.context import Run, plain
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.kernel.errors import FieldRefused, SessionState

if TYPE_CHECKING:
    from mnemic.adapters.inprocess import SyncMemory
    from mnemic.adapters.inprocess.queries import Queries
    from mnemic.kernel.results import SessionResult, SessionSpan

PAGE = 1000
"""Sessions that one query returns at most."""

session = App(
    name="session",
    help="Begin, end or list sessions: active hours pass inside sessions only.",
    version_flags=[],
    print_error=False,
    exit_on_error=False,
)


@session.command
def start(*, command_id: str | None = None, run: Run) -> int:
    """Begin a session and print its id, for --session or MNEMIC_SESSION of later commands.

    ```
    export MNEMIC_SESSION=$(mnemic session start)
    mnemic learn "Ines moved the demo to Thursday."
    mnemic recall "When is the demo?"
    mnemic session end
    ```

    The time between its commands counts as active, an hour at most each. It continues until it is
    ended; if it never is, it ends silently at its last command.

    Args:
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    with evolve(run, session=None).memory(making=True) as memory:
        started = memory.start_session(command_id=command_id)
    if run.as_json:
        run.show(started)
        return Exit.OK
    # Only the id goes to standard output, so that a shell can capture it.
    run.out.print(Text(started.session_id))
    actor = "" if run.actor is None else f" and --actor {plain(run.actor)}"
    run.remark(f"{started.summary} Continue it with --session{actor}, or")
    run.remark(f"export MNEMIC_SESSION={started.session_id}")
    return Exit.OK


@session.command
def end(*, command_id: str | None = None, run: Run) -> int:
    """End the session that --session or MNEMIC_SESSION names, after consolidating the inbox.

    Args:
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.

    Raises:
        SessionState: None was named.
    """
    from mnemic.adapters.cli.invocation.opening import handle_of

    with evolve(run, session=None).memory() as memory:
        ended = None if command_id is None else _ended_before(memory, command_id)
        if ended is None and run.session is None:
            known = ", ".join(memory.status().open_sessions) or "none"
            raise SessionState(
                "no session was named",
                recovery=f"Name one with --session or MNEMIC_SESSION; open: {known}.",
            )
        if ended is None:
            with run.progress("consolidating"):
                ended = handle_of(run, memory).end_session(command_id=command_id)
    run.show(ended)
    if not run.as_json and os.environ.get("MNEMIC_SESSION") == ended.session_id:
        run.remark("unset MNEMIC_SESSION")
    return Exit.OK


@session.command(name="list")
def list_(*, limit: int = 20, run: Run) -> int:
    """List the last sessions, and which are open.

    Args:
        limit: Maximum number of sessions, from 1.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import history

    if limit < 1:
        raise FieldRefused(f"limit must be from 1, got {limit}", field="limit")
    with run.looking() as known:
        last = deque(_sessions(known), limit)
    document = {"sessions": [each.to_dict() for each in last]}
    drawn = history.sessions(last) if last else Text("There was no session yet.")
    run.show_document(document, drawn)
    return Exit.OK


def _sessions(known: Queries) -> Iterator[SessionSpan]:
    """Yield all sessions in the order of their starts."""
    after = None
    while True:
        page = known.timeline(bins=1, after=after, limit=PAGE)
        yield from page.sessions
        after = page.next_after
        if after is None:
            return


def _ended_before(memory: SyncMemory, command_id: str) -> SessionResult | None:
    """Return the first answer of a repeated command; None: no session is open."""
    try:
        return memory.end_session(command_id=command_id)
    except SessionState:
        return None
