"""One remote call of an operation: its scope, its arguments, and its execution on a memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from mnemic.adapters.embedders.shipped import embedder_named
from mnemic.adapters.inprocess.memory import Memory
from mnemic.adapters.inprocess.registry import Scope
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.inprocess.view import SyncView
from mnemic.adapters.remote.documents import arguments_of
from mnemic.adapters.remote.operations import Operation, operations
from mnemic.adapters.remote.time_points import view_named
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.ports import Embedder

Progress = Callable[[int, int], None]
"""Called on a worker thread with the amounts done and to do in all."""


@frozen(kw_only=True)
class Call:
    """An operation with everything that a caller gave."""

    operation: str
    arguments: Mapping[str, Any] = field(factory=dict)
    """By name, as in the document."""
    as_of: str | None = None
    """A point of the past, see ``time_points``; None: now."""
    now: str | None = None
    """For a point of the past: evaluate ages at this instant."""
    command_id: str | None = None

    @property
    def spec(self) -> Operation:
        """The operation's entry in the table.

        Raises:
            FieldRefused: There is no such operation.
        """
        found = operations().get(self.operation)
        if found is None:
            raise FieldRefused(
                f"no operation is called {self.operation!r:.80}",
                recovery=f"Call one of: {', '.join(operations())}.",
                field="operation",
            )
        return found

    @property
    def scope(self) -> Scope:
        """The scope that a caller needs for it: a recall that is not recorded only reads."""
        unrecorded = self.spec.can_skip_record and self.arguments.get("record") is False
        if self.as_of is not None or unrecorded:
            return "read"
        if self.operation == "composed_graph" and self.arguments.get("action") != "label":
            return "read"
        return self.spec.scope

    @property
    def other_space(self) -> str | None:
        """The other space that it names, as the operation will read it; None: it names none."""
        parameter = self.spec.declaration.other_space
        named = None if parameter is None else self.arguments.get(parameter)
        return named.strip() if isinstance(named, str) else None


async def perform(memory: Memory, call: Call, progress: Progress | None = None) -> Any:
    """Perform a call on an async memory. See ``answered``, which runs on its worker thread."""
    return await memory.run(answered, call, progress)


def answered(memory: SyncMemory, call: Call, progress: Progress | None = None) -> Any:
    """Perform a call, and return the operation's result.

    Args:
        memory: The memory.
        call: The call.
        progress: Called with the progress of long work, on this thread.

    Raises:
        FieldRefused: The arguments are not those of the operation, or it has no view of the past.
        MnemicError: Any refusal or failure of the operation.
    """
    operation = call.spec
    if call.as_of is not None:
        view = _view(memory, operation, call)
        return getattr(view, operation.name)(**arguments_of(operation, call.arguments, past=True))
    arguments = arguments_of(operation, call.arguments)
    if call.now is not None:
        raise FieldRefused(
            "now belongs to a point of the past", recovery="Give as_of too.", field="now"
        )
    if operation.name == "policy":
        return memory.policy
    if operation.name == "reembed":
        arguments["embedder"] = _embedder(arguments["embedder"])
    if operation.repeatable:
        arguments["command_id"] = call.command_id
    if operation.long:
        arguments["progress"] = progress
    return getattr(memory, operation.name)(**arguments)


def _view(memory: SyncMemory, operation: Operation, call: Call) -> SyncView:
    if operation.past_parameters is None:
        raise FieldRefused(
            f"{operation.name} cannot be asked of the past",
            recovery="Leave out as_of; a decision is read by its id.",
            field="as_of",
        )
    return view_named(memory, call.as_of or "", call.now)


def _embedder(name: object) -> Embedder:
    match name:
        case "bundled":
            return embedder_named("bundled")
        case "minilm":
            return embedder_named("minilm")
        case _:
            raise FieldRefused(
                f"no shipped embedder is called {name!r:.40}",
                recovery="Name bundled or minilm; another one can only be adopted in the process.",
                field="embedder",
            )
