"""Division of long texts into pieces, and packing of pieces into passages of useful size.

A passage is one thought to recall and one line of an answer's budget; beyond about 1,000
characters it contains several, and a small model no longer reads it to the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from attrs import evolve, frozen

SIZE: Final = 1_000
"""Maximum characters of a passage packed from several pieces."""
ATOM_SIZE: Final = 16_000
"""Characters up to which code or a table is not split; half of what a block may hold."""

_WORD: Final = re.compile(r"\S")
_SENTENCE_END: Final = re.compile(r"[.!?…。！？][\"')\]»”’]*(?=\s)")


@frozen(kw_only=True)
class Piece:
    """A range of a document that stays in one passage."""

    text: str
    """Without blank lines around it."""
    line: int
    """Its first line in the file, from 1."""
    apart: bool = True
    """Whether a blank line precedes it."""


def packed(pieces: Iterable[Piece], size: int = SIZE) -> Iterator[Piece]:
    """Yield *pieces*, joined as long as they fit into *size* characters."""
    whole: Piece | None = None
    for piece in pieces:
        joined = None if whole is None else _joined(whole, piece)
        if joined is not None and len(joined.text) <= size:
            whole = joined
            continue
        if whole is not None:
            yield whole
        whole = piece
    if whole is not None:
        yield whole


def sentences(piece: Piece, size: int = SIZE) -> Iterator[Piece]:
    """Yield prose in pieces of *size* characters at most.

    Cut after a sentence if one ends in the second half, else at white space, else anywhere.
    """
    text, line, at = piece.text.rstrip(), piece.line, 0
    while len(text) - at > size:
        end = _cut(text, at, size)
        if part := text[at:end].rstrip():  # else an indentation longer than a passage
            yield evolve(piece, text=part, line=line)
        begin = _WORD.search(text, end)
        assert begin is not None  # noqa: S101 - the text ends in a word
        line += text.count("\n", at, begin.start())
        at = begin.start()
    yield evolve(piece, text=text[at:], line=line)


def whole_lines(piece: Piece, size: int = ATOM_SIZE) -> Iterator[Piece]:
    """Yield code or a table: whole, unless it is longer than *size*; then in groups of lines."""
    if len(piece.text) <= size:
        yield piece
        return
    each = (
        Piece(text=text, line=piece.line + number, apart=False)
        for number, text in enumerate(piece.text.split("\n"))
        if text.strip()
    )
    yield from packed((part for line in each for part in sentences(line, size)), size)


def _joined(first: Piece, second: Piece) -> Piece:
    gap = "\n\n" if second.apart else "\n"
    return evolve(first, text=f"{first.text}{gap}{second.text}")


def _cut(text: str, at: int, size: int) -> int:
    """Return where to cut *text*, which has more than *size* characters after *at*."""
    last = at + size
    ends = [match.end() for match in _SENTENCE_END.finditer(text, at, last + 1)]
    if ends and ends[-1] >= at + size // 2:
        return ends[-1]
    spaces = (number for number in range(last, at, -1) if text[number].isspace())
    return next(spaces, last)
