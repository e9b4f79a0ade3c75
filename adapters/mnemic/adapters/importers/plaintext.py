"""Plain text: paragraphs, joined until a passage is full."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from mnemic.adapters.importers.parsed_items import (
    NO_LABELS,
    Labels,
    Sitting,
    Source,
    item,
)
from mnemic.adapters.importers.passages import Piece, packed, sentences


def sitting(source: Source, text: str, labels: Labels = NO_LABELS) -> Sitting:
    """Return a text as one sitting; its thread is the file.

    Args:
        source: The file.
        text: The whole of it, lines ending in a line feed.
        labels: Values for the whole file.
    """
    pieces = (piece for paragraph in _paragraphs(text) for piece in sentences(paragraph))
    items = [
        item(
            source.at(passage.line),
            {"content": passage.text},
            labels,
            derived={"thread": source.thread},
        )
        for passage in packed(pieces)
    ]
    return Sitting(name=source.name, items=items, size=len(items))


def _paragraphs(text: str) -> Iterator[Piece]:
    numbered = enumerate(text.split("\n"), start=1)
    for filled, lines in groupby(numbered, key=lambda line: bool(line[1].strip())):
        if filled:
            numbers, written = zip(*lines, strict=True)
            yield Piece(text="\n".join(written).rstrip(), line=numbers[0])
