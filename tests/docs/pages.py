"""Runs the code of a documentation page and collects what it prints.

A block of Python may be followed by a block of text: its output. A block of ``console`` holds
commands after ``$``, each followed by its output. A block with a title is a file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from attrs import frozen

from mnemic.adapters.cli import main

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARYING = (
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,64}\b"), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:T[\d:.+]+)?"), "<date>"),
    (re.compile(r"\b[\d,.]+ (?:KB|MB|bytes)"), "<size>"),
)
"""What differs between two runs of the same code."""

Printed = Callable[[], str]


@frozen
class Output:
    """What one part of a page printed, and what the page says that it prints."""

    source: str
    expected: str
    printed: str


def constant(text: str) -> str:
    """Return *text* with all that differs between two runs replaced."""
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def outputs(page: str, printed: Printed) -> Iterator[Output]:
    """Run a page from top to bottom in the current folder.

    Args:
        page: The text of the page.
        printed: Returns what was printed since it was last called.
    """
    names: dict[str, object] = {"__name__": "page"}
    blocks = list(BLOCK.finditer(page))
    for number, block in enumerate(blocks):
        language, title, code = block.groups()
        if title:
            Path(title).write_text(code, encoding="utf-8")
        elif language == "console":
            yield from _console(code, printed)
        elif language == "python":
            exec(compile(code, "page", "exec"), names)  # noqa: S102 - our own pages
            after = blocks[number + 1] if number + 1 < len(blocks) else None
            follows = after is not None and not page[block.end() : after.start()].strip()
            expected = after[3] if after and follows and after[1] == "text" else ""
            yield Output(code, expected, printed())


def _console(code: str, printed: Printed) -> Iterator[Output]:
    for each in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, _, expected = each.partition("\n")
        program, *arguments = shlex.split(command)
        assert program == "mnemic"
        main(arguments)
        yield Output(command, expected, printed())
