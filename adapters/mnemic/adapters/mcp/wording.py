"""Refusals in the terms of a model: tools and their arguments, not calls of a Python program.

Errors are worded once, for a reader of the library: ``Use an id from compose(), or list them with
ledger()``. A model has tools in front of it, and perhaps not all of them. So calls of operations
become tools (``mnemic_ledger with operation ledger``), commands for which there is a tool become
that tool, names of Python's types become those of JSON, and a tool that is not in the client's list
is marked as such.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from mnemic.adapters.mcp.tools import COMMAND_ID, OPERATION, reaching, tools
from mnemic.adapters.remote.operations import operations

MISSING = "(not in your list of tools)"
IN_PYTHON: Mapping[str, str] = MappingProxyType(
    {
        "NoneType": "null",
        "dict": "an object",
        "list": "a list",
        "tuple": "a list",
        "str": "a text",
        "int": "a number",
        "float": "a number",
        "bool": "true or false",
    }
)
"""The kinds of JSON values, by the names of Python's types."""
PREDICATES = "knows no|needs|takes|cannot|would write"
"""What a refusal may say of an operation that it names first."""


def for_model(document: Mapping[str, Any], offered: Collection[str]) -> dict[str, Any]:
    """Return the document of a refusal, worded for a model.

    Args:
        document: With ``detail`` and ``recovery``.
        offered: The names of the tools in the client's list.
    """
    worded = {
        name: _worded(document[name])
        for name in ("detail", "recovery")
        if isinstance(document.get(name), str)
    }
    if "recovery" in worded:
        worded["recovery"] = _marked(worded["recovery"], offered)
    return {**document, **worded}


def _worded(text: str) -> str:
    for pattern, replace in _replacements():
        text = pattern.sub(replace, text)
    return text


@cache
def _replacements() -> tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]:
    names = "|".join(sorted(reaching(), key=len, reverse=True))
    commands, kinds = names.replace("_", "-"), "|".join(IN_PYTHON)
    return (
        (re.compile(rf"`mnemic ({commands})\b[^`]*`"), _of_command),
        (re.compile(rf"(?<![\w.`])({names})\(([^()]*)\)"), _of_call),
        (re.compile(rf"^({names})(?= (?:{PREDICATES}))"), lambda found: _tool(found[1])),
        (
            re.compile(rf"\bgot ({kinds})\b"),
            lambda found: f"got {IN_PYTHON[found[1]]}",
        ),
        (re.compile(r"\bgot None\b"), lambda _: "got null"),
        (re.compile(r"(\w+)='([^']*)'"), lambda found: f"{found[1]} {found[2]}"),
        (re.compile(r"\bIdempotency-Key\b"), lambda _: COMMAND_ID),
    )


def _of_command(found: re.Match[str]) -> str:
    return _tool(found[1].replace("-", "_"))


def _of_call(found: re.Match[str]) -> str:
    """Return the tool of a call, with the arguments that the call names."""
    operation, given = found[1], found[2]
    words = [each.strip() for each in given.split(",") if each.strip() not in {"", "..."}]
    return _tool(operation, *map(_argument, words, operations()[operation].parameters))


def _argument(word: str, parameter: str) -> str:
    name, _, value = word.rpartition("=")
    shown = value.strip("'\"")
    return name or parameter if shown == "..." else f"{name or parameter} {shown}"


def _tool(operation: str, *arguments: str) -> str:
    tool = reaching()[operation]
    given = [f"{OPERATION} {operation}"] * tool.is_shared + list(arguments)
    return f"{tool.name} with {' and '.join(given)}" if given else tool.name


def _marked(text: str, offered: Collection[str]) -> str:
    """Return a text in which tools that are not in the client's list are marked."""
    missing = [name for name in tools() if name not in offered]
    if not missing:
        return text
    pattern = rf"\b({'|'.join(missing)})\b( with (?:\w+ \w+)(?: and \w+ \w+)*)?"
    return re.sub(pattern, lambda found: f"{found[0]} {MISSING}", text)
