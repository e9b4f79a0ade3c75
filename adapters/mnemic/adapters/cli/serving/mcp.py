"""The command mcp: an MCP server over a pipe, started by the client of an agent."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.text import Text

from mnemic.adapters.cli.invocation.context import Flag, Run
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.extras import require
from mnemic.kernel.errors import SpaceNotFound

if TYPE_CHECKING:
    from mnemic.adapters.inprocess import SyncMemory

SHOWN_MAX = 10
"""Maximum number of spaces named in a refusal."""


def mcp(
    *,
    sessions: Literal["auto", "manual"] = "auto",
    scope: Literal["read", "write", "admin"] = "write",
    tools: Literal["core", "all"] = "core",
    interface: Annotated[Literal["mnemic", "server-memory"], Parameter(name="--as")] = "mnemic",
    read_only: Flag = False,
    make: Flag = False,
    run: Run,
) -> int:
    """Serve this memory to one agent, over standard input and output (MCP).

    A client such as an editor or a chat starts this; its configuration names the command:

    ```
    mnemic --db /path/to/agent.db mcp
    ```

    It says on standard error which store it serves, and ends when the client closes its input.

    Args:
        sessions: How sessions begin, in which time passes: auto, at the first call that writes;
            or manual, when the agent calls start_session. One that is open at the end is ended.
        scope: What the agent may do: read; write, which also learns and corrects; or admin, which
            also erases, reverts, and changes policies and zones. Each of those is then a
            separate tool, so that a client can ask before it is called.
        tools: Tools to list: those of everyday work, or all.
        interface: mnemic, or server-memory: the nine tools of @modelcontextprotocol/server-memory
            instead, for an agent that was set up for it. Of the other options, --read-only and
            --make apply to it.
        read_only: Offer only tools that do not write; the same as --scope read.
        make: Create the store and the space if they do not exist, even next to other stores.
        run: The invocation.
    """
    require("mcp", "mcp", "the MCP interface needs a package that is not installed")
    read_only = read_only or scope == "read"
    made = make or (not read_only and _is_new(run))
    with run.memory(making=made, read_only=read_only, extracting=True) as memory:
        _introduce(run, memory)
        if interface == "server-memory":
            _serve_graph(memory, read_only=read_only)
            return Exit.OK
        serving = {"sessions": sessions, "scope": scope, "tool_set": tools, "read_only": read_only}
        _serve(run, memory, **serving)
    return Exit.OK


def _is_new(run: Run) -> bool:
    """Return whether a new store has to be created.

    Raises:
        StoreFailed: Another store is next to it, and probably meant.
        SpaceNotFound: The store has other spaces, one of which is probably meant.
    """
    from mnemic.adapters.hosting.nearby_stores import check_meant, spaces_in

    spaces = spaces_in(run.path)
    if not spaces:
        check_meant(run.path)
        return True
    if run.space not in spaces:
        raise SpaceNotFound(
            f"{run.store} has no space {run.space!r}",
            recovery=f"Name one with --space: {', '.join(spaces[:SHOWN_MAX])}; or give --make to "
            "begin a new one.",
            space=run.space,
        )
    return False


def _introduce(run: Run, memory: SyncMemory) -> None:
    """Print on standard error what is served; standard output carries the protocol."""
    lines = [
        f"mnemic {version('mnemic')} serves MCP on standard input and output",
        f"store {run.store}",
        f"space {memory.status().summary}",
    ]
    if sys.stdin.isatty():
        lines.append("A client should have started this; close the input (Ctrl-D) to end it.")
    for line in lines:
        run.err.print(Text(line), soft_wrap=True)


def _serve(run: Run, memory: SyncMemory, **serving: Any) -> None:
    """Serve the memory; *serving* holds further arguments of ``reception``."""
    import anyio

    from mnemic.adapters.cli.invocation.opening import actor_of
    from mnemic.adapters.inprocess import Memory
    from mnemic.adapters.mcp.server import server
    from mnemic.adapters.mcp.stdio import reception, serve

    # A continued session keeps the actor that began it; the name of the client is ignored.
    opening = reception(
        lambda: Memory(lambda: memory),
        actor=run.actor if run.session is None else actor_of(run),
        session=run.session,
        **serving,
    )
    anyio.run(serve, server(opening))


def _serve_graph(memory: SyncMemory, *, read_only: bool) -> None:
    """Serve the knowledge graph in a memory with the tools of ``server-memory``."""
    import anyio

    from mnemic.adapters.integrations.server_memory import KnowledgeGraph, server
    from mnemic.adapters.mcp.stdio import serve

    anyio.run(serve, server(KnowledgeGraph(memory), read_only=read_only))
