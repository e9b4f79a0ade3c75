"""What a tool answers: the document of the verb, and a text that says it to a model.

Some clients show their model the text alone, some the document alone. So the document is the whole
answer, and the text is as much of it as a model needs to go on: of a recall its prompt-ready text,
of a list a line for each item, else the line that sums a result up. Where that line would leave out
what was asked for, the document follows it as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson
from mcp.types import CallToolResult, TextContent

from mnemic.adapters.wire import problems
from mnemic.adapters.wire.documents import document_of
from mnemic.adapters.wire.verbs import verbs
from mnemic.kernel.results import Page, RecallResult, Result

DETAILED = frozenset(
    "compose composed_graph connect_by_query connects deep_reference label learn_many".split()
)
"""Verbs that write, of whose answers an agent needs more than the line that sums them up."""
TEXT_MAX = 24_000
"""Characters of a text. The document is never cut."""


def answered(verb: str, result: Any) -> CallToolResult:
    """Return what a verb answered."""
    document = document_of(result)
    return CallToolResult(
        content=[_text(said(verb, result, document))], structured_content=document
    )


def refused(error: Exception) -> CallToolResult:
    """Return what a verb refused or failed at, as an error that a model can act on."""
    document = problems.document_of(error)
    told = f"{document['code']}: {document['detail']}"
    recovery = document.get("recovery")
    return CallToolResult(
        content=[_text(f"{told}\nNext: {recovery}" if recovery else told)],
        structured_content=document,
        is_error=True,
    )


def said(verb: str, result: Any, document: dict[str, Any]) -> str:
    """Return an answer in words for a model."""
    brief = verb == "guide" or not (verbs()[verb].reads_only or verb in DETAILED)
    match result:
        case RecallResult():
            return _recalled(result)
        case Page(items=items, next_after=after):
            more = [] if after is None else [f"More: after={after}"]
            return _lines([*items, *more])
        case tuple() if all(isinstance(each, Result) for each in result):
            return _lines(result)
        case Result() if brief:
            return str(result)
        case Result():
            return f"{result}\n{_json(document)}"
        case _:
            return _json(document)


def _recalled(result: RecallResult) -> str:
    """Return a recall as prompt-ready text, with what one needs to go on from it."""
    parts = [result.text or "Nothing in memory bears on this."]
    if result.counterpoints:
        parts.append("Against it speaks:\n" + _lines(result.counterpoints))
    if result.suggested_connections:
        parts.append("Worth connecting?\n" + _lines(result.suggested_connections))
    parts += result.warnings
    if result.decision_id is not None:
        parts.append(f"Decision {result.decision_id}.")
    return "\n\n".join(parts)


def _lines(items: Iterable[object]) -> str:
    return "\n".join(map(str, items)) or "None."


def _json(document: dict[str, Any]) -> str:
    return orjson.dumps(document).decode()


def _text(words: str) -> TextContent:
    if len(words) > TEXT_MAX:
        words = f"{words[:TEXT_MAX]}\n... cut; the whole answer is the structured content."
    return TextContent(type="text", text=words)
