"""Visible and hidden characters of a text.

Hidden are control characters, line and paragraph separators, bidirectional controls, tag
characters, fillers and other characters without a shape. A zero-width joiner, a non-joiner and a
variation selector are needed to write names and emoji. They are not hidden where they join or
select something: directly after a visible character (a selector: one at most), a joiner also
directly before one.

The ranges are listed here and not read from ``unicodedata``, whose contents differ between
releases of Python: the rendered length of a text decides whether it fits into an answer.

Source: Unicode 15.1, Default_Ignorable_Code_Point, General_Category Cc, Zl and Zp, Bidi_Control;
UTS 51 (emoji sequences).
"""

from __future__ import annotations

from typing import Final

from mnemic.kernel.late import late_pattern

_HIDDEN: Final = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_JOINERS: Final = "\u200c\u200d"
_SELECTORS: Final = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_SPACES: Final = " \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
_NO_BASE: Final = f"{_HIDDEN}{_JOINERS}{_SELECTORS}{_SPACES}"

HIDDEN: Final = late_pattern(
    f"[{_HIDDEN}]"
    f"|(?<![^{_NO_BASE}])[{_SELECTORS}]"
    f"|(?<![^{_HIDDEN}{_JOINERS}{_SPACES}])[{_JOINERS}]"
    f"|[{_JOINERS}](?![^{_NO_BASE}])"
)
"""Pattern of one hidden character."""


def hidden_in(text: str) -> str | None:
    """Return the first hidden character of a text as ``U+202E``, or None if there is none."""
    found = None if text.isascii() and text.isprintable() else HIDDEN.search(text)
    return None if found is None else f"U+{ord(found[0]):04X}"
