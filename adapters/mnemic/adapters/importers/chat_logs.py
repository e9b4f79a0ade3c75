"""Chat logs: lines of text that begin with the speaker, and mostly with the time.

    [2024-03-01, 10:15] Ann: hello
    01/03/2024, 10:15 - Ann: hello
    Ann: hello

or, as some programs copy them, a line ``Ann  10:15 AM`` above the message. Lines that begin in
no such way continue the message before them. Dates without a zone count as UTC; a time without a
date is ignored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from attrs import field, frozen

from mnemic.adapters.importers.conversations import CATEGORY
from mnemic.adapters.importers.dates import (
    DATE,
    TIME,
    DateOrder,
    Stamp,
    order,
    read,
)
from mnemic.adapters.importers.parsed_items import (
    NO_LABELS,
    Labels,
    Sitting,
    Source,
    item,
)
from mnemic.kernel.decisions.learning import UNDATED

_STAMP: Final = rf"(?P<date>{DATE}),?[ \u00a0](?P<time>{TIME})"
_SAID: Final = r"(?:(?P<author>[^:\n]{1,64}?):(?:[ \u00a0]|$))?(?P<text>.*)$"
"""Without an author: the messenger's own notices, such as who joined."""
_DATED: Final = tuple(
    re.compile(pattern + _SAID) for pattern in (rf"\[{_STAMP}\][ \u00a0]?", rf"{_STAMP} [-–] ")
)
_HEADED: Final = re.compile(r"(?P<author>\S[^:\n]{0,63}?)[ \u00a0]{2,}\d{1,2}:\d{2} ?[AP]M$")
_NAMED: Final = re.compile(r"(?P<author>[^\W\d_][^:\n/]{0,39}?):(?:[ \u00a0]+(?P<text>.*)|$)")

_INVISIBLE: Final = str.maketrans("", "", "\u200e\u200f\u202a\u202c")
"""Marks of writing direction, with which exports begin some lines."""
_SAMPLE: Final = 200
"""Lines that decide the format of a file."""


@frozen(kw_only=True)
class Said:
    """One message of a log."""

    line: int
    author: str | None
    stamp: Stamp | None
    text: list[str] = field(factory=list)
    """Its lines."""


def is_chatlog(text: str) -> bool:
    """Whether a text looks like a chat log.

    One dated line at the beginning is proof. Names alone are not, since ``Note: …`` is prose: two
    of them have to recur, and to begin most lines.
    """
    lines = [line for line in text.split("\n") if line.strip()][:_SAMPLE]
    if lines and (_dated(lines[0]) or _HEADED.match(_clean(lines[0]))):
        return True
    names = Counter(found["author"] for line in lines if (found := _NAMED.match(_clean(line))))
    returning = [name for name, times in names.items() if times > 1]
    return len(returning) > 1 and sum(names.values()) * 2 > len(lines)


def sitting(
    source: Source,
    text: str,
    labels: Labels = NO_LABELS,
    *,
    date_order: DateOrder | None = None,
) -> Sitting:
    """Return a log as one sitting; its thread is the file.

    Args:
        source: The file.
        text: The whole of it, lines ending in a line feed.
        labels: Values for the whole file.
        date_order: The order of its dates; None: detected from them.

    Raises:
        InputRefused: The dates are ambiguous.
    """
    said = list(messages(text))
    stamps = [each.stamp for each in said if each.stamp is not None]
    written = order(source.name, stamps, date_order)
    items = [
        item(
            source.at(each.line),
            {
                "content": "\n".join(each.text).strip(),
                "author": each.author,
                "created_at": None if each.stamp is None else read(each.stamp, written),
            },
            labels,
            derived={"category": CATEGORY, "thread": source.thread, "created_at": UNDATED},
        )
        for each in said
    ]
    return Sitting(name=source.name, items=items, size=len(items))


def messages(text: str) -> Iterator[Said]:
    """Yield the messages of a log, in order."""
    lines = text.split("\n")
    begins = _form(lines)
    current: Said | None = None
    for number, line in enumerate(lines, start=1):
        begun = begins(number, line)
        if begun is not None:
            if current is not None:
                yield current
            current = begun
        elif current is not None:
            current.text.append(line)
        elif line.strip():
            current = Said(line=number, author=None, stamp=None, text=[line])
    if current is not None:
        yield current


# --- how a message begins -----------------------------------------------------------------------


def _form(lines: Sequence[str]) -> Callable[[int, str], Said | None]:
    """Return the one form that a log uses, so that ``Note: …`` does not split a message."""
    if any(map(_dated, lines)):
        return _begun_with_date
    if any(_HEADED.match(_clean(line)) for line in lines):
        return _begun_with_head
    return _begun_with_name


def _begun_with_date(number: int, line: str) -> Said | None:
    found = _dated(line)
    if found is None:
        return None
    stamp = Stamp(date=found["date"], time=found["time"])
    return Said(line=number, author=found["author"], stamp=stamp, text=[found["text"]])


def _begun_with_head(number: int, line: str) -> Said | None:
    found = _HEADED.match(_clean(line))
    return found and Said(line=number, author=found["author"], stamp=None)


def _begun_with_name(number: int, line: str) -> Said | None:
    found = _NAMED.match(_clean(line))
    return found and Said(
        line=number, author=found["author"], stamp=None, text=[found["text"] or ""]
    )


def _dated(line: str) -> re.Match[str] | None:
    clean = _clean(line)
    return next((found for form in _DATED if (found := form.match(clean))), None)


def _clean(line: str) -> str:
    return line.translate(_INVISIBLE)
