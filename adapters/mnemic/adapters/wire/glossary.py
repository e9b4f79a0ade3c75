"""What names mean wherever they stand, and what values they take: the pages in ``words``.

A page holds a line per name, ``hour = { description = "…", kind = "hours" }``, or the description
alone. A quoted name, ``"Block.id"``, is for one class or verb. ``kinds.toml`` says what values a
kind takes, in the words of JSON Schema.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from attrs import field, frozen

WORDS = frozenset({"description", "kind"})
KINDS = "kinds.toml"


@frozen(kw_only=True)
class Entry:
    """What is said of one name."""

    description: str = ""
    complete: bool = False
    """Whether the description was written for this class or verb, so that nothing is to be added
    to it; else the words of the code go with it."""
    constraints: Mapping[str, Any] = field(factory=dict)
    """Keywords of JSON Schema: ranges, lengths, patterns, formats, examples."""


@cache
def entry(name: str, *, of: str) -> Entry:
    """Return what is said of a name.

    Args:
        name: Of a field or a parameter.
        of: The class or verb that it belongs to. What is said of it there has its own meaning and
            takes nothing from elsewhere, unless it comes without a description.
    """
    here, anywhere = said(f"{of}.{name}"), said(name)
    complete = "description" in here
    found = here if complete else {**anywhere, **here}
    return Entry(
        description=found.get("description", ""),
        complete=complete,
        constraints={
            **_kinds().get(found.get("kind", ""), {}),
            **{key: value for key, value in found.items() if key not in WORDS},
        },
    )


def said(name: str) -> Mapping[str, Any]:
    """Return what the pages say under a name, quoted or not."""
    return glossary().get(name, {})


@cache
def glossary() -> Mapping[str, Mapping[str, Any]]:
    """Return every entry of every page.

    Raises:
        ValueError: Two pages say something of one name, or a kind is none.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for page in sorted(pages()):
        for name, told in pages()[page].items():
            if name in found:
                raise ValueError(f"{page}: {name} stands on another page too")
            found[name] = {"description": told} if isinstance(told, str) else told
            if found[name].get("kind", next(iter(_kinds()))) not in _kinds():
                raise ValueError(f"{page}: {name} is of no kind that {KINDS} knows")
    return found


@cache
def pages() -> Mapping[str, Mapping[str, Any]]:
    """Return the pages of words by the names of their files."""
    folder = resources.files("mnemic.adapters.wire") / "words"
    return {
        page.name: tomllib.loads(page.read_text("utf-8"))
        for page in folder.iterdir()
        if page.name.endswith(".toml") and page.name != KINDS
    }


@cache
def _kinds() -> Mapping[str, Mapping[str, Any]]:
    page = resources.files("mnemic.adapters.wire") / "words" / KINDS
    return tomllib.loads(page.read_text("utf-8"))
