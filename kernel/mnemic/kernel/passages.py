"""Passages: the parts of a long text that are searched one by one.

A text is split behind the ends of sentences and at line ends, and the sentences are packed greedily
into passages of up to 60 words. A longer sentence is cut every 60 words. A last passage of fewer
than 15 words joins the one before. Most messages are a single passage.

Chinese and Japanese are written without spaces, so each of their characters counts as a word.

Recipes depend on this rule, so it is frozen with the recipes that use it.
"""

from __future__ import annotations

from typing import Final

from mnemic.kernel.late import late_pattern

WORDS: Final = 60
"""Words of a passage at most."""
REST: Final = 15
"""A last passage with fewer words is joined to the one before."""

_UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_ALONE: Final = late_pattern(f"[{_UNSPACED}]")
_WORD: Final = late_pattern(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
_BETWEEN: Final = late_pattern(rf"(?<=[{_UNSPACED}]) (?=[{_UNSPACED}])")
_SENTENCE: Final = late_pattern(r"(?<=[.!?…])[\"')\]”’]*\s+|(?<=[。！？])|\n+")


def passages(text: str) -> list[str]:
    """Return the passages of *text*, in order, with single spaces between their words.

    Between characters that are written without spaces there are none. A text of one passage is
    returned as it is.

    >>> passages("One sentence. Another one.")
    ['One sentence. Another one.']
    >>> [len(each.split()) for each in passages("word " * 130)]
    [60, 70]
    """
    if len(text.split()) <= WORDS and not _ALONE.search(text):
        return [text]
    found: list[list[str]] = []
    current: list[str] = []
    for sentence in _SENTENCE.split(text):
        words = _WORD.findall(sentence)
        if current and len(current) + len(words) > WORDS:
            found.append(current)
            current = []
        while len(words) > WORDS:
            found.append(words[:WORDS])
            words = words[WORDS:]
        current += words
    if found and len(current) < REST:
        found[-1] += current
    else:
        found.append(current)
    return [text] if len(found) == 1 else [_BETWEEN.sub("", " ".join(words)) for words in found]
