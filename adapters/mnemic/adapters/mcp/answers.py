"""Tool results: the document of the operation's answer, and a text version for the model.

Some clients show their model the text alone, some the document alone. So the document is the whole
answer, and the text holds as much of it as a model needs to continue: for a recall its prompt-ready
text, for a list one line per item, otherwise the line that summarizes the result. Where that line
would leave out what was asked for, the document follows it as JSON.

Blocks are shown in the grammar of ``mnemic.kernel.rendering``: no text of a caller begins a line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import orjson
from mcp.types import CallToolResult, TextContent

from mnemic.adapters.mcp.wording import for_model
from mnemic.adapters.remote import errors
from mnemic.adapters.remote.documents import document_of
from mnemic.adapters.remote.operations import operations
from mnemic.kernel.rendering import json_escaped, on_one_line, quoting
from mnemic.kernel.results import Page, RecallResult, Result

DETAILED = frozenset(
    "compose composed_graph connect_by_query connects deep_reference label learn_many".split()
)
"""Writing operations whose answers an agent needs in more detail than the summary line."""
TEXT_MAX = 24_000
"""Maximum length of a text in characters. The document is never cut."""


def answered(operation: str, result: Any) -> CallToolResult:
    """Return the tool result for the answer of an operation."""
    document = document_of(result)
    return CallToolResult(
        content=[_text(text_of(operation, result, document))], structured_content=document
    )


def refused(error: Exception, offered: Collection[str]) -> CallToolResult:
    """Return the tool result for a refusal or failure, as an error that a model can act on.

    Args:
        error: The refusal or failure.
        offered: The names of the tools in the client's list.
    """
    document = for_model(errors.document_of(error), offered)
    answer = quoting(f"{document['code']}: {document['detail']}")
    recovery = quoting(document.get("recovery") or "")
    return CallToolResult(
        content=[_text(f"{answer}\nNext: {recovery}" if recovery else answer)],
        structured_content=document,
        is_error=True,
    )


def text_of(operation: str, result: Any, document: dict[str, Any]) -> str:
    """Return an answer as text for a model."""
    brief = operation == "guide" or not (
        operations()[operation].reads_only or operation in DETAILED
    )
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
            return f"{result}\n{json_text(document)}"
        case _:
            return json_text(document)


def _recalled(result: RecallResult) -> str:
    """Return a recall as prompt-ready text, with counterpoints, warnings and the decision id."""
    parts = [result.text or "Nothing in memory bears on this."]
    if result.counterpoints:
        parts.append("Against it speaks:\n" + _lines(result.counterpoints))
    if result.suggested_connections:
        parts.append("Worth connecting?\n" + _lines(result.suggested_connections))
    parts += map(on_one_line, result.warnings)
    if result.decision_id is not None:
        parts.append(f"Decision {result.decision_id}.")
    return "\n\n".join(parts)


def _lines(items: Iterable[object]) -> str:
    return "\n".join(on_one_line(str(item)) for item in items) or "None."


def json_text(document: Any) -> str:
    """Return a document as JSON on one line, in which nothing looks like a line of mnemic."""
    return json_escaped(orjson.dumps(document).decode())


def _text(text: str) -> TextContent:
    if len(text) > TEXT_MAX:
        text = f"{text[:TEXT_MAX]}\n... cut; the whole answer is the structured content."
    return TextContent(type="text", text=text)
