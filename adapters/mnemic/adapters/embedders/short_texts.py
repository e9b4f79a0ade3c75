"""Tokens of short English texts, without the library that reads any text.

Loading ``tokenizers`` with its vocabulary takes longer than a recall on a small store. This module
reads the same file and follows the rules in it, for texts that need few of them: printable ASCII,
and none of the markup of special tokens. A test holds its answers equal to those of the library.

The rules: a text begins with a space, and spaces are written as ``▁``. Its characters are the first
pieces; then the two neighbours that stand earliest in the list of merges become one piece, until no
neighbours are in the list.

That list is not read, since it follows from the numbers of the vocabulary. It holds every division
of a piece into two others, ordered by the numbers of the piece and of its two parts; pieces of
spaces alone come last. A test compares it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec
from attrs import frozen

from mnemic.kernel.values import Value

LENGTH_MAX: Final = 128
"""In characters; the time grows with their square."""
_SPACE: Final = "▁"
_SPECIAL: Final = "<"
"""Begins every special token."""
_NONE: Final = 1 << 60
"""Later than the place of any merge."""


def is_short(text: str) -> bool:
    """Return whether `ShortTexts` can read a text."""
    return (
        len(text) <= LENGTH_MAX and text.isascii() and text.isprintable() and _SPECIAL not in text
    )


class _Model(msgspec.Struct):
    vocab: dict[str, int]


class _Tokeniser(msgspec.Struct):
    """What is read of the file: a quarter of what it takes to decode all of it."""

    model: _Model


@frozen
class ShortTexts(Value):
    """The vocabulary: pieces of text with their numbers."""

    _numbers: Mapping[str, int]

    @classmethod
    def read(cls, file: Path) -> ShortTexts:
        """Read a tokeniser's file, one in which every printable ASCII character is a token."""
        return cls(msgspec.json.decode(file.read_bytes(), type=_Tokeniser).model.vocab)

    def place(self, one: str, other: str) -> int:
        """Return a number that orders merges of two neighbours as the library does.

        Args:
            one: A piece of the vocabulary.
            other: The piece behind it.
        """
        numbers, whole = self._numbers, one + other
        number = numbers.get(whole)
        if number is None:
            return _NONE
        size = len(numbers)
        if not whole.strip(_SPACE):
            number += size
        return (number * size + numbers[one]) * size + numbers[other]

    def tokens(self, text: str) -> list[int]:
        """Return the token numbers of a text that `is_short`."""
        pieces = [*(_SPACE + text.replace(" ", _SPACE))] if text else []
        found = [self.place(one, other) for one, other in pairwise(pieces)]
        while found and (best := min(found)) < _NONE:
            at = found.index(best)
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
            del found[at]
            if at > 0:
                found[at - 1] = self.place(pieces[at - 1], pieces[at])
            if at < len(found):
                found[at] = self.place(pieces[at], pieces[at + 1])
        return [self._numbers[piece] for piece in pieces]
