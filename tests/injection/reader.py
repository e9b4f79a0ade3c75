"""What a reader sees in a text: its lines, its citations, and its blocks as Markdown."""

from __future__ import annotations

import re
from collections import Counter

from attrs import frozen
from markdown_it import MarkdownIt

_CITATION = re.compile(r"(?<!\\)[\[［【〔〖〚⟦⁅❲⦋⦍⦏]+ ?[0-9a-f]{8}")
"""A short id in brackets of any kind, unless a backslash marks it as a caller's text."""
_MARKDOWN = MarkdownIt("commonmark").enable("table")
_MARKS = frozenset({"image", "link_open", "html_inline", "html_block"})


@frozen
class Seen:
    """What a reader counts."""

    lines: int
    citations: int
    headings: int
    """Lines that are not about a block: mnemic's headings, in a text of blocks."""


def seen(text: str) -> Seen:
    """Return what a reader sees in a text."""
    lines = text.splitlines()
    return Seen(
        lines=len(lines),
        citations=len(_CITATION.findall(text)),
        headings=sum(not line.startswith("[") for line in lines),
    )


def structure(text: str) -> Counter[str]:
    """Return what a text is as Markdown: its paragraphs, headings, links, images and the like."""
    found: Counter[str] = Counter()
    for token in _MARKDOWN.parse(text):
        if token.type.endswith("_open") or token.type in {"fence", "code_block", "hr"}:
            found[token.type] += 1
        for child in token.children or ():
            if child.type in _MARKS:
                found[child.type] += 1
    return found
