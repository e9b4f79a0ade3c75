"""Small memories and changed facts, written by hand for these checks."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from attrs import frozen

SOURCE = Path(__file__).with_suffix(".toml")


@frozen(kw_only=True)
class Book:
    """A small memory."""

    name: str
    facts: tuple[tuple[str, str], ...]
    """Each with a question that it answers."""
    unrelated: tuple[str, ...]
    """Questions that nothing in it answers."""


@frozen(kw_only=True)
class Change:
    """A fact, what replaced it, and a question that both answer."""

    old: str
    new: str
    question: str


def _source() -> dict[str, Any]:
    return tomllib.loads(SOURCE.read_text(encoding="utf-8"))


def books() -> tuple[Book, ...]:
    """Return the books."""
    return tuple(
        Book(
            name=each["name"],
            facts=tuple((fact, question) for fact, question in each["facts"]),
            unrelated=tuple(each["unrelated"]),
        )
        for each in _source()["book"]
    )


def changes() -> tuple[Change, ...]:
    """Return the changes."""
    return tuple(Change(**each) for each in _source()["change"])
