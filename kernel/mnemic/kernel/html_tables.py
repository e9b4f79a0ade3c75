"""HTML tables of plain values, for notebooks.

Text from callers is shown as text: hidden characters by their numbers, and nothing of it as
markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mnemic.kernel.rendering import on_one_line

ROWS_MAX: Final = 50
"""Entries of a list that are shown."""
TEXT_MAX: Final = 300
"""Characters of a value that are shown."""
NOTHING: Final[tuple[object, ...]] = (None, "", [], {})
MARKUP: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
)
"""As ``html.escape`` has it; its module takes longer to import than all of this package."""


def paragraph(text: str) -> str:
    """Return a text as a paragraph."""
    return f"<p>{_text(text)}</p>"


def table_of_fields(fields: Mapping[str, Any]) -> str:
    """Return a table of names and values."""
    return _table(fields.items(), ("field", "value"))


def table_of_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of the first 50 rows, each with its cells by column.

    A column in which no row has anything is left out.
    """
    shown = rows[:ROWS_MAX]
    said = {name for row in shown for name, value in row.items() if value not in NOTHING}
    heads = [name for name in dict.fromkeys(name for row in shown for name in row) if name in said]
    table = _table(([row.get(name) for name in heads] for row in shown), heads)
    more = len(rows) - ROWS_MAX
    return table + (paragraph(f"and {more} more") if more > 0 else "")


def _table(rows: Iterable[Iterable[Any]], heads: Iterable[str]) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    match value:
        case None:
            return "<td></td>"
        case float():
            return f"<td>{value:.6g}</td>"
        case list() if all(isinstance(each, str) for each in value):
            return f"<td>{_text(', '.join(value))}</td>"
        case list():
            count = len(value)
            return f"<td>{count} {'entry' if count == 1 else 'entries'}</td>"
        case _:
            return f"<td>{_text(str(value))}</td>"


def _text(words: str) -> str:
    shown = words if len(words) <= TEXT_MAX else f"{words[: TEXT_MAX - 1]}…"
    return on_one_line(shown).translate(MARKUP)
