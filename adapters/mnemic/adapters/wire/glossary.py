"""What names mean, wherever they stand: the words of ``glossary.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from attrs import field, frozen

WORDS = frozenset({"description"})


@frozen(kw_only=True)
class Entry:
    """What is said of one name."""

    description: str = ""
    constraints: Mapping[str, Any] = field(factory=dict)
    """Keywords of JSON Schema: ranges, lengths, patterns, formats, examples."""


@cache
def entry(name: str, *, of: str) -> Entry:
    """Return what is said of a name.

    Args:
        name: Of a field or a parameter.
        of: The class or verb that it belongs to; what is said of it there goes first.
    """
    said = {**_page().get(name, {}), **_page().get(f"{of}.{name}", {})}
    return Entry(
        description=said.get("description", ""),
        constraints={key: value for key, value in said.items() if key not in WORDS},
    )


@cache
def _page() -> Mapping[str, Mapping[str, Any]]:
    page = resources.files("mnemic.adapters.wire") / "glossary.toml"
    return tomllib.loads(page.read_text("utf-8"))
