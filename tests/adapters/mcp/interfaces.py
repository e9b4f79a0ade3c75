"""The MCP interface as plain methods: each operation calls the tool that reaches it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

from anyio.from_thread import BlockingPortal
from attrs import frozen
from mcp import Client
from mcp.shared.dispatcher import ProgressFnT
from mcp.types import CallToolResult

from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.adapters.inprocess.view import SyncView
from mnemic.adapters.mcp.server import server
from mnemic.adapters.mcp.stdio import reception
from mnemic.adapters.mcp.tools import reaching
from mnemic.adapters.remote.calls import Call
from mnemic.adapters.remote.documents import result_of, spoken
from mnemic.adapters.remote.errors import error_of
from mnemic.adapters.remote.operations import operations

OTHER_NAMES = {"dream": "consolidate"}


@frozen
class ToolInterface:
    """An MCP client with the operations of ``SyncMemory``."""

    portal: BlockingPortal
    client: Client
    point: str | None = None
    now: str | None = None

    def __getattr__(self, name: str) -> Any:
        operation = OTHER_NAMES.get(name, name)
        if operation not in reaching():
            raise AttributeError(name)
        return partial(self.run, operation)

    @property
    def version(self) -> int:
        """The version of the log, or of the view."""
        version: int = self.run("status").version
        return version

    @property
    def hour(self) -> float:
        """The active hours at that version."""
        hour: float = self.run("status").hour
        return hour

    @property
    def policy(self) -> Any:
        """The policy in force."""
        return self.run("policy")

    def as_of(self, *, now: Any = None, **point: Any) -> ToolInterface:
        """Return the same interface as of a point in time."""
        words = (f"{kind}:{spoken(value)}" for kind, value in point.items())
        return ToolInterface(self.portal, self.client, " ".join(words), spoken(now))

    def run(self, operation: str, *args: Any, **named: Any) -> Any:
        """Call the tool of an operation, and return the result decoded from its document.

        Raises:
            MnemicError: The tool answered with an error.
        """
        given = self._bound(operation, args, named)
        command_id, progress = given.pop("command_id", None), given.pop("progress", None)
        if isinstance(given.get("policies"), list | tuple):  # a document names each
            given["policies"] = {policy.name: policy for policy in given["policies"]}
        given = {name: spoken(value) for name, value in given.items()}
        call = Call(
            operation=operation,
            arguments=given,
            as_of=self.point,
            now=self.now,
            command_id=command_id,
        )
        tool = reaching()[operation]
        answer: CallToolResult = self.portal.call(
            partial(self.client.call_tool, progress_callback=_progress_callback(progress)),
            tool.name,
            tool.arguments(call),
        )
        document = answer.structured_content
        assert isinstance(document, dict)
        if answer.is_error:
            raise error_of(document)
        return result_of(operations()[operation], document)

    def _bound(
        self, operation: str, args: tuple[Any, ...], named: dict[str, Any]
    ) -> dict[str, Any]:
        """Return arguments by name, bound as the operation itself would bind them."""
        method = inspect.getattr_static(SyncMemory if self.point is None else SyncView, operation)
        if not args:
            return dict(named)
        names = [name for name in inspect.signature(method).parameters if name != "self"]
        return {**dict(zip(names, args, strict=False)), **named}


def _progress_callback(report: Callable[[int, int], None] | None) -> ProgressFnT | None:
    """Return the progress callback of the client, which calls *report*."""
    if report is None:
        return None

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        assert message is None
        report(int(progress), int(total or 0))

    return on_progress


@contextmanager
def connected(portal: BlockingPortal, **opening: Any) -> Generator[ToolInterface]:
    """Open a memory behind an MCP server, and connect an SDK client to it."""
    opened = partial(Memory.open, **opening)
    serving: dict[str, Any] = {"sessions": "manual", "scope": "admin", "tool_set": "all"}
    interface = server(reception(opened, actor="agent", **serving))
    with portal.wrap_async_context_manager(Client(interface)) as client:
        yield ToolInterface(portal, client)
