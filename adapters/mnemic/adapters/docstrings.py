"""Parser of docstrings: their sections, and the texts below the fields of a class."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from attrs import field, frozen

_SECTION = re.compile(r"(Args|Returns|Raises|Source|Yields):(?: (.*))?")
_ENTRY = re.compile(r"([\w, ]+): (.*)")
_ERRORS = re.compile(r"((?:[A-Z]\w+, )*[A-Z]\w+): ")
SEE = frozenset({"See each.", "See the class."})
"""Texts that only refer to other docstrings."""


@frozen(kw_only=True)
class Docstring:
    """The parts of a docstring in Google's style."""

    summary: str = ""
    """Its first sentence."""
    body: str = ""
    """The paragraphs after it, up to the first section."""
    arguments: Mapping[str, str] = field(factory=dict)
    """The description of each argument."""
    raises: Mapping[str, str] = field(factory=dict)
    """The description of each error, by the name of its class; empty for ``See each``."""


@cache
def docstring(of: Callable[..., Any] | type) -> Docstring:
    """Return the parsed docstring of a function or class."""
    text = inspect.cleandoc(of.__doc__ or "")
    sections: dict[str, list[str]] = {"": []}
    here = ""
    for line in text.splitlines():
        heading = _SECTION.fullmatch(line)
        if heading is not None:
            here = heading[1]
            sections[here] = []
        else:
            sections[here].append(line)
    paragraphs = "\n".join(sections[""]).strip().split("\n\n")
    answer = [" ".join(paragraph.split()) for paragraph in paragraphs]
    return Docstring(
        summary=answer[0],
        body="\n\n".join(answer[1:]),
        arguments=_entries(sections.get("Args", [])),
        raises=_errors(sections.get("Raises", [])),
    )


def _entries(lines: list[str]) -> dict[str, str]:
    """Return the entries of a section: ``name: text``, continued on deeper indented lines."""
    found: dict[str, str] = {}
    name = ""
    for line in textwrap.dedent("\n".join(lines)).splitlines():
        entry = None if line.startswith(" ") else _ENTRY.fullmatch(line)
        if entry is not None:
            name = entry[1]
            found[name] = entry[2]
        elif name:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def _errors(lines: list[str]) -> dict[str, str]:
    """Return the entries of a section of errors; several errors may share a text."""
    parts = _ERRORS.split(" ".join(" ".join(lines).split()))
    return {
        name: "" if words.strip() in SEE else words.strip()
        for names, words in zip(parts[1::2], parts[2::2], strict=True)
        for name in names.split(", ")
    }


def plainly(words: str) -> str:
    """Return a text of a docstring for readers who do not know Python."""
    found = re.sub(r"(?<![`\w])\*(\w+)\*", r"`\1`", words.replace("``", "`").strip())
    found = re.sub(r"\bNone\b(?! of\b)", "null", found)
    return re.sub(r"(^|[.] )null\b", lambda begun: f"{begun[1]}Null", found)


@cache
def field_docstrings(of: type) -> Mapping[str, str]:
    """Return the text below each field of a class, its bases included."""
    found: dict[str, str] = {}
    for each in reversed(of.__mro__):
        if each.__module__.startswith("mnemic."):
            found.update(_own_fields(each))
    return found


def _own_fields(of: type) -> dict[str, str]:
    (made,) = ast.parse(textwrap.dedent(inspect.getsource(of))).body
    assert isinstance(made, ast.ClassDef)  # noqa: S101 - the source of a class
    found: dict[str, str] = {}
    for before, after in zip(made.body, made.body[1:], strict=False):
        if not isinstance(before, ast.AnnAssign) or not isinstance(before.target, ast.Name):
            continue
        match after:
            case ast.Expr(value=ast.Constant(value=str(words))):
                found[before.target.id] = " ".join(words.split())
            case _:
                pass
    return found
