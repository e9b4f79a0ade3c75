"""Tokens of short English texts, without the library that reads any text.

Loading ``tokenizers`` with its vocabulary takes longer than a recall on a small store. This module
reads the same file and follows the rules in it, for texts that need few of them: printable ASCII,
and none of the markup of special tokens. A test holds its answers equal to those of the library.

The rules: a text begins with a space, and spaces are written as ``▁``. Its characters are the first
pieces; then the two neighbours that stand earliest in the list of merges become one piece, until no
neighbours are in the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import orjson
from attrs import frozen

LENGTH_MAX: Final = 128
"""In characters; the time grows with their square."""
_SPACE: Final = "▁"
_SPECIAL: Final = "<"
"""Begins every special token."""


def is_short(text: str) -> bool:
    """Return whether `ShortTexts` can read a text."""
    return (
        len(text) <= LENGTH_MAX and text.isascii() and text.isprintable() and _SPECIAL not in text
    )


@frozen
class ShortTexts:
    """The vocabulary, and the merges in their order."""

    _numbers: Mapping[str, int]
    _ranks: Mapping[str, int]
    """By the two pieces, with a space between them."""

    @classmethod
    def read(cls, file: Path) -> ShortTexts:
        """Read a tokeniser's file, one in which every printable ASCII character is a token."""
        model: dict[str, Any] = orjson.loads(file.read_bytes())["model"]
        merges: list[str] = model["merges"]
        return cls(model["vocab"], dict(zip(merges, range(len(merges)), strict=True)))

    def tokens(self, text: str) -> list[int]:
        """Return the token numbers of a text that `is_short`."""
        pieces = [*(_SPACE + text.replace(" ", _SPACE))] if text else []
        ranks, none = self._ranks, len(self._ranks)
        found = [ranks.get(f"{one} {other}", none) for one, other in pairwise(pieces)]
        while found and (best := min(found)) < none:
            at = found.index(best)
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
            del found[at]
            if at > 0:
                found[at - 1] = ranks.get(f"{pieces[at - 1]} {pieces[at]}", none)
            if at < len(found):
                found[at] = ranks.get(f"{pieces[at]} {pieces[at + 1]}", none)
        return [self._numbers[piece] for piece in pieces]
