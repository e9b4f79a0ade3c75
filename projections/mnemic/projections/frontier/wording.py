"""Texts for a candidate pair: the reason why it is listed, and a question about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mnemic.kernel.model.texts import BlockText
from mnemic.projections.view import View

PREVIEW_BYTES: Final = 160
ANCHOR_TERMS_SHOWN: Final = 4
QUESTION_TERMS_SHOWN: Final = 3
ALIKE: Final = "a similar meaning"
"""Anchor of two blocks that share neither tag nor term."""


def preview(view: View, number: int) -> str:
    """Return the beginning of a block, on one line, in at most 160 bytes and three dots."""
    text = view.text(number)
    line = text.content.replace("\n", " ") if isinstance(text, BlockText) else ""
    body = line.encode("utf-8", "surrogatepass")
    if len(body) <= PREVIEW_BYTES:
        return line
    return body[:PREVIEW_BYTES].decode("utf-8", "ignore") + "..."


def anchor(tags: Sequence[str], terms: Sequence[str]) -> str:
    """Return a phrase for what a pair has in common."""
    parts = []
    if tags:
        parts.append(f"shared tags ({', '.join(tags)})")
    if terms:
        parts.append(f"shared terms ({', '.join(terms[:ANCHOR_TERMS_SHOWN])})")
    return " and ".join(parts) or ALIKE


def reason(categories: tuple[str, str], boundaries: Sequence[str], held_by: str) -> str:
    """Return why a pair is listed.

    Args:
        categories: Of both.
        boundaries: Boundary tags of either.
        held_by: Their ``anchor``.
    """
    if boundaries:
        return f"Untried bridge across {', '.join(boundaries)} with {held_by}"
    if categories[0] != categories[1]:
        return f"Untried {categories[0]} -> {categories[1]} composition with {held_by}"
    return f"Never composed despite {held_by}"


def question(categories: tuple[str, str], through: Sequence[str], terms: Sequence[str]) -> str:
    """Return the question to answer before composing a pair; it is never empty.

    Args:
        categories: Of both.
        through: Boundary tags of either, or else shared tags.
        terms: Shared terms, the most specific first; used if there are no such tags.
    """
    named = ", ".join(through or terms[:QUESTION_TERMS_SHOWN]) or ALIKE
    one, other = categories
    return f"What changes if a {one} memory and a {other} memory are composed through {named}?"
