"""The MCP door as a door of plain methods: each verb is a call of the tool that reaches it."""

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
from mnemic.adapters.inprocess.snapshot import SyncView
from mnemic.adapters.mcp.server import server
from mnemic.adapters.mcp.stdio import reception
from mnemic.adapters.mcp.tools import reaching
from mnemic.adapters.wire.calls import Call
from mnemic.adapters.wire.documents import result_of, spoken
from mnemic.adapters.wire.problems import error_of
from mnemic.adapters.wire.verbs import verbs

OTHER_NAMES = {"dream": "consolidate"}


@frozen
class ToolDoor:
    """A client of ours, with the verbs of ``SyncMemory``."""

    portal: BlockingPortal
    client: Client
    point: str | None = None
    now: str | None = None

    def __getattr__(self, name: str) -> Any:
        verb = OTHER_NAMES.get(name, name)
        if verb not in reaching():
            raise AttributeError(name)
        return partial(self.run, verb)

    @property
    def version(self) -> int:
        """Where the log ends, or the view stands."""
        version: int = self.run("status").version
        return version

    @property
    def hour(self) -> float:
        """The active hours there."""
        hour: float = self.run("status").hour
        return hour

    @property
    def policy(self) -> Any:
        """The policy in force."""
        return self.run("policy")

    def as_of(self, *, now: Any = None, **point: Any) -> ToolDoor:
        """Return the same, as of one point."""
        words = (f"{kind}:{spoken(value)}" for kind, value in point.items())
        return ToolDoor(self.portal, self.client, " ".join(words), spoken(now))

    def run(self, verb: str, *args: Any, **named: Any) -> Any:
        """Call the tool of a verb, and return the result that its document stands for.

        Raises:
            MnemicError: The tool answered with an error.
        """
        given = self._bound(verb, args, named)
        command_id, progress = given.pop("command_id", None), given.pop("progress", None)
        if isinstance(given.get("policies"), list | tuple):  # a document names each
            given["policies"] = {policy.name: policy for policy in given["policies"]}
        given = {name: spoken(value) for name, value in given.items()}
        call = Call(
            verb=verb, arguments=given, as_of=self.point, now=self.now, command_id=command_id
        )
        tool = reaching()[verb]
        answer: CallToolResult = self.portal.call(
            partial(self.client.call_tool, progress_callback=_heard(progress)),
            tool.name,
            tool.arguments(call),
        )
        document = answer.structured_content
        assert isinstance(document, dict)
        if answer.is_error:
            raise error_of(document)
        return result_of(verbs()[verb], document)

    def _bound(self, verb: str, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """Return arguments by name, as the verb itself would take them."""
        method = inspect.getattr_static(SyncMemory if self.point is None else SyncView, verb)
        if not args:
            return dict(named)
        names = [name for name in inspect.signature(method).parameters if name != "self"]
        return {**dict(zip(names, args, strict=False)), **named}


def _heard(told: Callable[[int, int], None] | None) -> ProgressFnT | None:
    """Return what the client calls when it is told how far long work is."""
    if told is None:
        return None

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        assert message is None
        told(int(progress), int(total or 0))

    return heard


@contextmanager
def connected(portal: BlockingPortal, **opening: Any) -> Generator[ToolDoor]:
    """Open a memory behind a server of ours, and connect a client of the SDK to it."""
    opened = partial(Memory.open, **opening)
    door = server(reception(opened, actor="agent", sessions="manual"))
    with portal.wrap_async_context_manager(Client(door)) as client:
        yield ToolDoor(portal, client)
