"""Splitting of a text into passages: one spelling per character, and the meaning of line breaks.

1. Characters that differ in width, ligature or typographic form only get one spelling.
   Superscripts, fractions and circled digits keep theirs: NFKC, which would read ``x³`` as ``x3``,
   is not used.
2. Bullets, the marks of headings, and a leading *note that* are dropped. ``- 5`` may be a negative
   number, ``# rm x`` a command that is commented out, ``> x`` a comparison, ``2.`` the number of an
   item, so all of these stay.
3. A line break is white space after a colon and in wrapped text, and else ends a passage. Between a
   short line and one that begins in lower case it may be either, and is kept as ``BREAK``.
4. Lines indented more than others keep their indentation: in code it decides what is meant.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from mnemic.kernel.late import late_pattern
from mnemic.kernel.statements.vocabulary import LEAD_FOLLOWERS

BREAK: Final = "␤"
"""Token of a line break that may or may not end a sentence."""
INDENT: Final = "␉"
"""Token of indentation, followed by its width in columns."""
WRAPPED_MIN: Final = 40
"""Length of a line from which the next one may be its continuation."""

_CJK: Final = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
_COMPATIBLE: Final = [*range(0xFB00, 0xFB07), *range(0xFF01, 0xFFE7), 0x2007, 0x202F, 0xA0, 0x3000]
"""Ligatures, characters of other width, and spaces of other width."""
_CHARACTERS: Final = (
    {code: unicodedata.normalize("NFKC", chr(code)) for code in _COMPATIBLE}
    | dict.fromkeys(map(ord, "‘’ʼ‚′"), "'")
    | dict.fromkeys(map(ord, "“”„«»「」『』"), '"')
    | {ord("…"): "...", ord("。"): ".", ord("、"): ",", ord("−"): "-", ord("µ"): "μ"}
    # Soft hyphen, byte order mark, word joiner, directional marks, and variation selectors.
    | dict.fromkeys((0xAD, 0xFEFF, 0x2060, 0x200E, 0x200F, 0x61C, 0xFE0E, 0xFE0F))
)
_CJK_BORDERS: Final = late_pattern(
    rf"(?<=[{_CJK}])(?=\w)|(?<=\w)(?=[{_CJK}])|(?<=[{_CJK}][.,;:!?])(?=\w)|(?<=[.,;:!?])(?=[{_CJK}])"
)
_EMPHASIS: Final = late_pattern(
    r"(?<![^\s(\"'])(\*{1,3})(?=[^\W\d_])([^*\n]*[\w.!?)\"'])\1(?![\w*])"
)
_ITEM: Final = late_pattern(r"([-*•–]|#{1,6})\s+")
_SHORT_WORD: Final = late_pattern(r"[AaI]\s[a-z]{2}")
_LEAD: Final = late_pattern(
    r"(?:please\s+)?(?:(?:(?:note|remember|nota bene|n\.?b\.?|fyi):\s+)"
    rf"|(?:note|remember)\s+that\s+(?=(?:{'|'.join(LEAD_FOLLOWERS)})\s))",
    re.IGNORECASE,
)
_ENDED: Final = tuple(f"{mark}{closer}" for mark in ".!?" for closer in ("", '"', "'", ")"))


def plain(text: str) -> str:
    """Return *text* with one spelling for each character, and each CJK character set apart."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.translate(_CHARACTERS))
        text = _CJK_BORDERS.sub(" ", text)
    return _EMPHASIS.sub(r"\2", text) if "*" in text else text


def passages(text: str) -> list[str]:
    """Return the parts of *text*, as of `plain`, between the line breaks that end a sentence."""
    found: list[list[str]] = []
    above = ""
    lines = text.expandtabs().splitlines()
    margin = min((_indentation(line) for line in lines if line.strip()), default=0)
    for line in lines:
        body = line.strip()
        content = body[_mark_length(body) :]
        is_item = len(content) < len(body)
        if not above and not found:
            content = content[_lead_length(content) :]
        width = _indentation(line) - margin
        if body and width:
            content = f"{INDENT}{width} {content}"
        joint = _joint(above, content, starts=is_item or width > 0)
        if joint is None:
            found.append([content])
        elif content:
            found[-1] += joint, content
        # A heading and a blank line are never joined to other lines.
        above = "" if is_item and body.startswith("#") else body
    return [" ".join(parts) for parts in found]


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _mark_length(body: str) -> int:
    """Return the length of the mark of an item or a heading, with the white space behind it."""
    item = _ITEM.match(body)
    if item is None:
        return 0
    first, second = body[item.end() : item.end() + 1], body[item.end() + 1 : item.end() + 2]
    if item[1].startswith("#"):
        is_text = first.isalpha() and not "a" <= first <= "z"
    else:
        # A single letter may be a variable, and the hyphen its sign.
        is_text = first in "\"'`([" or (first.isalpha() and (second.isalpha() or first > "z"))
        is_text = is_text or _SHORT_WORD.match(body, item.end()) is not None
    return item.end() if is_text else 0


def _lead_length(content: str) -> int:
    lead = _LEAD.match(content)
    return lead.end() if lead else 0


def _joint(above: str, below: str, *, starts: bool) -> str | None:
    """Return what to put for a line break; None if it ends a sentence.

    Args:
        above: The line before; empty if it is blank, a heading, or if there is none.
        below: The line after it, without bullet; empty if it is blank.
        starts: Whether the line after it has a bullet, or other indentation.
    """
    if not above or not below:
        return None if below else ""
    if above.endswith(":"):
        return ""
    if not starts and len(above) >= WRAPPED_MIN:
        return ""
    if not starts and below[0].islower() and not above.endswith(_ENDED):
        return BREAK
    return None
