"""Descriptions and constraints of names: the pages in ``documentation``.

A page has a line per name, ``hour = { description = "…", kind = "hours" }``, or the description
alone. A quoted name, ``"Block.id"``, applies to one class or operation. ``kinds.toml`` defines the
values that a kind allows, in keywords of JSON Schema.
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
    """The description and constraints of one name."""

    description: str = ""
    complete: bool = False
    """Whether the description was written for this class or operation and is complete; otherwise
    the docstring's text is added."""
    constraints: Mapping[str, Any] = field(factory=dict)
    """Keywords of JSON Schema: ranges, lengths, patterns, formats, examples."""


@cache
def entry(name: str, *, of: str, given: bool = False) -> Entry:
    """Return the description and constraints of a name.

    Args:
        name: Of a field or a parameter.
        of: The class or operation that it belongs to. An entry for that class or operation replaces
            the general one, except that the general description holds if it has none.
        given: Whether a caller gives it: of a kind with a second entry, ``block`` and
            ``block_given``, that one then counts.
    """
    here, anywhere = said(f"{of}.{name}"), said(name)
    complete = "description" in here
    found = here or anywhere
    kind, kinds = found.get("kind", ""), _kinds()
    return Entry(
        description=here.get("description") or anywhere.get("description", ""),
        complete=complete,
        constraints={
            **(kinds.get(f"{kind}_given" if given else kind) or kinds.get(kind, {})),
            **{key: value for key, value in found.items() if key not in WORDS},
        },
    )


def said(name: str) -> Mapping[str, Any]:
    """Return the entry of a name, qualified or not."""
    return glossary().get(name, {})


@cache
def glossary() -> Mapping[str, Mapping[str, Any]]:
    """Return every entry of every page.

    Raises:
        ValueError: Two pages have an entry for one name, or a kind is not defined.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for page in sorted(pages()):
        for name, answer in pages()[page].items():
            if name in found:
                raise ValueError(f"{page}: {name} is on another page too")
            found[name] = {"description": answer} if isinstance(answer, str) else answer
            if found[name].get("kind", next(iter(_kinds()))) not in _kinds():
                raise ValueError(f"{page}: the kind of {name} is not defined in {KINDS}")
    return found


@cache
def pages() -> Mapping[str, Mapping[str, Any]]:
    """Return the pages of descriptions by the names of their files."""
    folder = resources.files("mnemic.adapters.remote") / "documentation"
    return {
        page.name: tomllib.loads(page.read_text("utf-8"))
        for page in folder.iterdir()
        if page.name.endswith(".toml") and page.name != KINDS
    }


@cache
def _kinds() -> Mapping[str, Mapping[str, Any]]:
    page = resources.files("mnemic.adapters.remote") / "documentation" / KINDS
    return tomllib.loads(page.read_text("utf-8"))
