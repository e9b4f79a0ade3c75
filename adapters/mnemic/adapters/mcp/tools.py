"""The tools: the operations of each, and the translation of tool calls into operation calls.

The list of tools takes up space in the agent's context at every step. So the operations of an
agent's daily work have a tool each, named after them; operations that look at one thing, or that
are used together, share a tool and are selected by ``operation``; the rare ones are in
``mnemic_upkeep``, where the arguments are nested and only the guide describes them. By default only
the everyday tools are listed, and each operation of the scope ``admin`` has a separate tool, so
that a host can ask a person before any of it. A list decides what is shown, the scope what may be
called. Every operation is reached by exactly one tool, except those that need a file of the
server's machine, such as ``export``, which a remote client may not name.

Names of arguments, fields of answers and codes of refusals are those of the operations, in every
tool. Added to them are ``operation``, ``as_of`` and ``now`` (a point of the past, where
the operation supports one) and ``command_id`` (to repeat a command that writes).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from attrs import evolve, field, frozen

from mnemic.adapters.docstrings import plainly
from mnemic.adapters.inprocess.operations.guide import guide
from mnemic.adapters.inprocess.registry import SCOPES, Scope
from mnemic.adapters.remote.calls import Call
from mnemic.adapters.remote.operations import Operation, operations
from mnemic.kernel.errors import FieldRefused

PREFIX = "mnemic_"
OPERATION = "operation"
ARGUMENTS = "arguments"
AS_OF = "as_of"
NOW = "now"
COMMAND_ID = "command_id"
ToolSet: TypeAlias = Literal["core", "all"]
"""Which tools are listed: those of everyday work, or every one."""

Allows = Callable[[Scope], bool]
"""Whether a caller has a scope."""


@frozen(kw_only=True)
class Narrowing:
    """What the core list shows of a tool; calls take everything."""

    operations: Sequence[str] = ()
    """Names; empty: all."""
    arguments: Sequence[str] = ()
    """Names, besides those for the interface; empty: all."""
    values: Mapping[str, Sequence[str]] = field(factory=dict)
    """The values of an argument, by its name."""


@frozen(kw_only=True)
class Tool:
    """One tool, independent of its caller."""

    name: str
    title: str
    description: str
    """When to use it and when not."""
    operations: Mapping[str, str]
    """The purpose of each operation by name; empty where ``description`` says it all."""
    set: Literal["core", "all", "admin"] = "all"
    """The list that it is in; ``admin``: in both, for a client with that scope."""
    aliases: Sequence[str] = ()
    """Former names, which calls may use."""
    core: Narrowing = field(factory=Narrowing)
    groups: Sequence[str] = ()
    """Headings whose reading operations join the tool if no tool names them."""
    nested: bool = False
    """Whether the arguments of the operation are nested in an object."""

    @property
    def is_shared(self) -> bool:
        """Whether several operations share the tool, selected by ``operation``."""
        return len(self.operations) > 1

    def allowed(self, allows: Allows, tool_set: ToolSet = "all") -> tuple[Operation, ...]:
        """Return the listed operations that a caller may use, at least in their unrecorded form."""
        if tool_set == "core" and self.set == "all":
            return ()
        shown = (tool_set == "core" and self.core.operations) or self.operations
        return tuple(operations()[name] for name in shown if allows(least_scope(name)))

    def call(self, arguments: Mapping[str, Any]) -> Call:
        """Return the call that arguments of this tool describe; null arguments count as omitted.

        Raises:
            FieldRefused: They name no operation of the tool, or an envelope argument is invalid.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        operation = self._operation(given)
        as_of, now, command_id = (
            _word(given, name, operation) for name in (AS_OF, NOW, COMMAND_ID)
        )
        if self.nested:
            given = self._unfolded(given)
        return Call(
            operation=operation.name, arguments=given, as_of=as_of, now=now, command_id=command_id
        )

    def arguments(self, call: Call) -> dict[str, Any]:
        """Return the arguments of this tool that describe a call: the inverse of ``call``."""
        envelope = {OPERATION: call.operation if self.is_shared else None}
        envelope |= {AS_OF: call.as_of, NOW: call.now, COMMAND_ID: call.command_id}
        given = {name: word for name, word in envelope.items() if word is not None}
        return (
            {**given, ARGUMENTS: {**call.arguments}} if self.nested else {**given, **call.arguments}
        )

    def _operation(self, given: dict[str, Any]) -> Operation:
        if not self.is_shared:
            (name,) = self.operations
            return operations()[name]
        name = given.pop(OPERATION, None)
        if not isinstance(name, str) or name not in self.operations:
            raise FieldRefused(
                f"{self.name} has no operation {name!r:.80}"
                if name
                else f"{self.name} needs an operation",
                recovery=f"Give operation, one of: {', '.join(self.operations)}.{_elsewhere(name)}",
                field=OPERATION,
            )
        return operations()[name]

    def _unfolded(self, given: dict[str, Any]) -> dict[str, Any]:
        inner = given.pop(ARGUMENTS, {})
        if not isinstance(inner, Mapping) or given:
            strange = ", ".join(given) or f"{ARGUMENTS} {inner!r:.80}"
            raise FieldRefused(
                f"{self.name} cannot read {strange:.200}",
                recovery="Give the arguments of the operation as an object in arguments.",
                field=ARGUMENTS,
            )
        return dict(inner)


def _word(given: dict[str, Any], name: str, operation: Operation) -> str | None:
    """Remove and return an argument that is for the interface, not for the operation.

    Raises:
        FieldRefused: It is not a text, or the operation does not support it.
    """
    if name not in given:
        return None
    word = given.pop(name)
    if not isinstance(word, str):
        raise FieldRefused(f"{name} {word!r:.80} is no text", recovery="Give a text.", field=name)
    if name == COMMAND_ID and not operation.repeatable:
        raise FieldRefused(
            f"{operation.name} takes no command_id", recovery="Leave it out.", field=COMMAND_ID
        )
    return word


def _elsewhere(name: object) -> str:
    """Return a sentence that names the right tool for an operation."""
    tool = reaching().get(name) if isinstance(name, str) else None
    return f" {name} is called by {tool.name}." if tool is not None else ""


@cache
def least_scope(operation: str) -> Scope:
    """Return the scope that an operation needs in its least demanding form."""
    unrecorded = Call(operation=operation, arguments={"record": False})
    needed = {operations()[operation].scope, unrecorded.scope}
    return next(scope for scope in SCOPES if scope in needed)


@cache
def tools() -> Mapping[str, Tool]:
    """Return every tool by name, in the order of listing."""
    page = resources.files("mnemic.adapters.mcp") / "tools.toml"
    pages = tomllib.loads(page.read_text("utf-8"))
    found = {name: _worded(name, entry) for name, entry in pages.items()}
    named = {name for tool in found.values() for name in tool.operations}
    for operation in operations().values():
        if operation.name not in named and not operation.needs_files:
            tool = _own(operation) if operation.scope == "admin" else _joined(operation, found)
            found[tool.name] = tool
    return MappingProxyType(found)


def _worded(name: str, entry: Mapping[str, Any]) -> Tool:
    """Return a tool as the page words it."""
    given: dict[str, Any] = {**entry, "core": Narrowing(**entry.get("core", {}))}
    return Tool(name=name, **{**given, "description": entry["description"].strip()})


def _own(operation: Operation) -> Tool:
    """Return a tool for one operation, worded by its docstring and its card."""
    card, summary = guide(operation.name), plainly(operation.docs.summary)
    return Tool(
        name=f"{PREFIX}{operation.name}",
        title=operation.name.replace("_", " ").capitalize(),
        description=f"{summary} Use it when: {card.when}" if card.when else summary,
        operations={operation.name: ""},
        set="admin",
    )


def _joined(operation: Operation, among: Mapping[str, Tool]) -> Tool:
    """Return the tool that an operation joins, with that operation."""
    tool = next(
        tool
        for tool in among.values()
        if tool.nested or (operation.reads_only and operation.declaration.group in tool.groups)
    )
    summary = plainly(operation.docs.summary).removesuffix(".")
    purpose = summary[:1].lower() + summary[1:]
    return evolve(tool, operations={**tool.operations, operation.name: purpose})


def called(name: str, arguments: Mapping[str, Any]) -> Tool | None:
    """Return the tool that a call is for; None: there is none of that name.

    A former name may stand for operations that are in several tools by now.
    """
    if name in tools():
        return tools()[name]
    tool = next((each for each in tools().values() if name in each.aliases), None)
    if tool is None or not tool.is_shared:
        return tool
    operation = arguments.get(OPERATION)
    return reaching().get(operation, tool) if isinstance(operation, str) else tool


@cache
def reaching() -> Mapping[str, Tool]:
    """Return the tool of each operation, by the operation's name."""
    return MappingProxyType(
        {operation: tool for tool in tools().values() for operation in tool.operations}
    )
