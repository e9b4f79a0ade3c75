"""Quantities in a text: amounts as intervals with a unit, so that "at most 5" and "3" agree.

Everything is found by patterns on the lowercased text. What was found is cut out of it, and the
rest is parsed as words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final, NamedTuple

from attrs import frozen

from mnemic.kernel.values import Value
from mnemic.projections.references.vocabulary import STOP, VERBS

CALENDAR: Final = frozenset({"weekday", "date", "month", "year", "clock"})
"""Dimensions of calendar and time of day."""

_UNITS: Final = {
    word: (dimension, Fraction(size))
    for dimension, table in {
        "time": "ms:1/1000 millisecond:1/1000 s:1 sec:1 second:1 min:60 minute:60 h:3600 hour:3600 "
        "day:86400 week:604800 month:2629800 year:31557600",
        "bytes": "b:1 byte:1 kb:1000 kib:1024 mb:1000000 mib:1048576 gb:1000000000 "
        "gib:1073741824 tb:1000000000000 megabyte:1000000 gigabyte:1000000000",
        "length": "mm:1/1000 cm:1/100 m:1 metre:1 meter:1 km:1000 kilometre:1000 kilometer:1000 "
        "mile:1609 foot:1/3 feet:1/3 inch:1/39",
        "mass": "g:1 gram:1 kg:1000 kilo:1000 kilogram:1000 tonne:1000000 ton:1000000 t:1000000",
        "percent": "%:1 percent:1",
        "euro": "€:1 euro:1 eur:1",
        "dollar": "$:1 dollar:1 usd:1",
        "pound": "£:1 pound:1 gbp:1",
        "franc": "chf:1 franc:1",
        "temperature": "°c:1 °:1 degree:1",
        "litre": "l:1 litre:1 liter:1 ml:1/1000",
        "power": "w:1 watt:1 kw:1000",
    }.items()
    for word, size in (entry.split(":") for entry in table.split())
}
_DIGITS: Final = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100}
_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        "january jan,february feb,march mar,april apr,may,june jun,july jul,august aug,"
        "september sep sept,october oct,november nov,december dec".split(","),
        start=1,
    )
    for name in names.split()
}
_WEEKDAYS: Final = tuple(
    map(str, "monday tuesday wednesday thursday friday saturday sunday".split())
)

_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_ISO: Final = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_DAY_MONTH: Final = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\.? (?:of )?({_MONTH})\b\.?(?:,? (\d{{4}}))?"
)
_MONTH_DAY: Final = re.compile(
    rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,? (\d{{4}}))?"
)
_MONTH_ALONE: Final = re.compile(
    rf"\b(?:in|of|by|since|until|this|next|last) ({_MONTH})\b(?: (\d{{4}}))?"
)
_YEAR: Final = re.compile(r"\b(?:in|since|by|of|until|from) ((?:19|20)\d\d)\b(?!-)")
_WEEKDAY: Final = re.compile(rf"\b({'|'.join(_WEEKDAYS)})(s?)\b")
_CLOCK: Final = re.compile(r"\b(?:at )?(\d{1,2}):(\d{2})(?: ?([ap])\.?m\b\.?)?")
_HOUR: Final = re.compile(r"\b(?:at )?(\d{1,2}) ?(?:([ap])\.?m\b\.?|o'clock)")
_WORD_NUMBER: Final = "|".join(sorted(_DIGITS, key=len, reverse=True))
_AT: Final = re.compile(
    rf"\b(?:at|until|till) (\d{{1,2}}|{_WORD_NUMBER})"
    r"(?= *(?:[.,;!?]|and\b|on\b|in\b|every\b|$))"
)
_RANGE: Final = re.compile(
    r"(?:between )?(?<![\d.,])(\d+(?:\.\d+)?) ?(?:-|–|to|and) ?(\d+(?:\.\d+)?) ?([^\W\d_]+|%)?"
)
_NUMBER: Final = re.compile(
    rf"(?P<sign>[€$£])? ?(?<![\w.])(?:v(?=\d))?"
    rf"(?P<value>\d+(?:[,\d]*\d)?(?:\.\d+)*|\b(?:{_WORD_NUMBER})\b)"
    r"(?P<factor>(?:k|m| thousand| million| billion)(?![\w]))? ?(?P<unit>[^\W\d_]+|%|°c?|[€$£])?"
)
_FACTORS: Final = {"k": 10**3, "thousand": 10**3, "m": 10**6, "million": 10**6, "billion": 10**9}

_AT_MOST: Final = re.compile(
    r"\b(?:at most|up to|no more than|not more than|max(?:imum)?(?: of)?|under|below|"
    r"less than|fewer than|within|not exceed|never exceed)$"
)
_AT_LEAST: Final = re.compile(
    r"\b(?:at least|no less than|not less than|no fewer than|min(?:imum)?(?: of)?|over|above|"
    r"more than|upwards of)$"
)
_ABOUT: Final = re.compile(r"(?:\b(?:about|around|roughly|approximately|almost|nearly|circa)|~)$")
_LABEL: Final = re.compile(r"([^\W\d_][\w+#-]*) (?:number |no\. ?|#)?$")
_UNEVEN: Final = frozenset({"month", "year"})
"""Units without a fixed length: three months count as 90 days."""
UNEVENNESS: Final = Fraction(1, 20)
_YEARS: Final = 10_000
"""A date is encoded as year times this, plus month times 100, plus day."""
SLACK: Final = Fraction(1, 5)
"""Tolerance of "about" to either side, as a fraction."""

Bound = Fraction | None
"""An end of an interval; None where it is open."""


@frozen
class Quantity(Value):
    """An amount of something."""

    dimension: str
    """A unit's (``time``), ``count:node``, ``label:port``, or one of ``CALENDAR``."""
    low: Bound
    high: Bound
    said: str
    """As it was written."""
    habitual: bool = False
    """For a weekday: every one of them."""

    def meets(self, other: Quantity) -> bool:
        """Whether one number can satisfy both."""
        if self.dimension == "date" and self.low is not None and other.low is not None:
            return _same_day(self.low, other.low)
        below = self.high is not None and other.low is not None and self.high < other.low
        above = other.high is not None and self.low is not None and other.high < self.low
        return not (below or above)


def _same_day(first: Fraction, second: Fraction) -> bool:
    """Whether two dates are one day; a date without a year fits every year."""
    if min(first, second) < _YEARS:
        return first % _YEARS == second % _YEARS
    return first == second


class Reading(NamedTuple):
    """The numbers of a sentence."""

    rest: str
    """The sentence without them."""
    amounts: tuple[Quantity, ...]
    labels: tuple[Quantity, ...]
    """Numbers that name the subject: gauge 17, room 12."""


Stem = Callable[[str], str]


def read(sentence: str, stem: Stem) -> Reading:
    """Return the numbers of *sentence*, which is in lower case."""
    amounts: list[Quantity] = []
    labels: list[Quantity] = []
    rest = sentence
    for pattern, made in _CALENDAR_PATTERNS:
        rest = _cut(rest, pattern, made, amounts)
    rest = _cut(rest, _RANGE, _range, amounts)
    out: list[str] = []
    last = 0
    for match in _NUMBER.finditer(rest):
        found = _number(rest, match, stem)
        if found is None:
            continue
        quantity, until, is_name = found
        (labels if is_name else amounts).append(quantity)
        out.append(rest[last : match.start()])
        last = until
    out.append(rest[last:])
    return Reading(" ".join(out), tuple(amounts), tuple(labels))


def _cut(
    text: str,
    pattern: re.Pattern[str],
    made: Callable[[re.Match[str]], Quantity | None],
    into: list[Quantity],
) -> str:
    def taken(match: re.Match[str]) -> str:
        quantity = made(match)
        if quantity is None:
            return match[0]
        into.append(quantity)
        return " "

    return pattern.sub(taken, text)


def _number(text: str, match: re.Match[str], stem: Stem) -> tuple[Quantity, int, bool] | None:
    """Return a number, where its phrase ends, and whether it is a label."""
    before = text[: match.start()].rstrip()
    unit_word = match["unit"] or ""
    unit = match["sign"] or _unit(unit_word)
    spelled = match["value"] in _DIGITS
    label = _label(before, match)
    bare = spelled and unit is None and label is None and not _bounded(before)
    if bare and (not unit_word or unit_word in STOP or match["value"] == "one"):
        return None
    said = match[0].strip()
    if unit in _UNITS:
        dimension, size = _UNITS[unit]
        low, high = _around(before, _value(match) * size)
        if unit in _UNEVEN and low == high:
            low, high = _near(_value(match) * size, UNEVENNESS)
        return Quantity(dimension, low, high, said), match.end(), False
    if label is not None:
        bound = before[: len(before) - len(label)].rstrip()
        version = _version(match["value"])
        low, high = _around(bound, version)
        is_name = not set(re.findall(r"[\w']+", bound)) & VERBS
        until = match.end("factor") if match["factor"] else match.end("value")
        quantity = Quantity(f"label:{stem(label)}", low, high, f"{label} {match['value']}")
        return quantity, until, is_name
    if not unit_word or unit_word in STOP or unit_word in VERBS:
        low, high = _around(before, _value(match))
        end = match.end("factor") if match["factor"] else match.end("value")
        return Quantity("number", low, high, said.split()[0]), end, False
    low, high = _around(before, _value(match))
    return Quantity(f"count:{stem(unit_word)}", low, high, said), match.end(), False


def _unit(word: str) -> str | None:
    for form in (word, word.removesuffix("s"), word.removesuffix("es")):
        if form in _UNITS:
            return form
    return None


def _label(before: str, match: re.Match[str]) -> str | None:
    """Return the noun directly before a number, which the number then labels."""
    if match[0].lstrip(" €$£").startswith("v") and not match["sign"]:
        return "version"
    found = _LABEL.search(before + " ")
    if found is None or found[1] in STOP or found[1] in VERBS:
        return None
    counted = match["unit"] and match["unit"] not in STOP | VERBS
    if counted and found[1].endswith(("s", "ed")):
        return None  # includes 3 projects, shipped 3 patches
    if _bounded(before) or _unit(match["unit"] or "") is not None:
        return None
    return found[1]


def _bounded(before: str) -> bool:
    return any(pattern.search(before) for pattern in (_AT_MOST, _AT_LEAST, _ABOUT))


def _around(before: str, value: Fraction) -> tuple[Bound, Bound]:
    """Return the interval for *value* after words such as "at most"."""
    if _AT_MOST.search(before):
        return None, value
    if _AT_LEAST.search(before):
        return value, None
    return _near(value, SLACK) if _ABOUT.search(before) else (value, value)


def _near(value: Fraction, slack: Fraction) -> tuple[Fraction, Fraction]:
    return value * (1 - slack), value * (1 + slack)


def _value(match: re.Match[str]) -> Fraction:
    written = match["value"]
    if written in _DIGITS:
        return Fraction(_DIGITS[written])
    whole, _, rest = written.replace(",", "").partition(".")
    value = Fraction(f"{whole}.{rest.replace('.', '') or 0}")
    return value * _FACTORS.get((match["factor"] or "").strip(), 1)


def _version(written: str) -> Fraction:
    """Return a number that orders versions: 3.11 comes after 3.9."""
    if written in _DIGITS:
        return Fraction(_DIGITS[written])
    value = Fraction(0)
    for place, part in enumerate(written.replace(",", "").split(".")):
        value += Fraction(int(part), 10 ** (4 * place))
    return value


def _range(match: re.Match[str]) -> Quantity | None:
    unit = _unit(match[3] or "")
    if unit is None:
        return None
    dimension, size = _UNITS[unit]
    low, high = sorted((Fraction(match[1]) * size, Fraction(match[2]) * size))
    return Quantity(dimension, low, high, match[0])


# --- the calendar ---------------------------------------------------------------------------


def _exactly(dimension: str, value: int, said: str, *, habitual: bool = False) -> Quantity:
    return Quantity(dimension, Fraction(value), Fraction(value), said, habitual)


def _date(day: str, month: int, year: str | None, said: str) -> Quantity:
    """Return a date; without a year it is that day of any year."""
    place = month * 100 + int(day)
    if year is None:
        return _exactly("date", place, said)
    return _exactly("date", place + _YEARS * int(year), said)


def _clock(hour: str, minute: str, half: str | None, said: str) -> Quantity:
    hours = int(hour) % 12 + 12 * (half == "p") if half else int(hour)
    return _exactly("clock", hours * 60 + int(minute), said)


def _at(match: re.Match[str]) -> Quantity:
    hour = _DIGITS.get(match[1])
    return _exactly("clock", 60 * (int(match[1]) if hour is None else hour), match[0])


_CALENDAR_PATTERNS: Final[
    tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Quantity]], ...]
] = (
    (_ISO, lambda match: _date(match[3], int(match[2]), match[1], match[0])),
    (_DAY_MONTH, lambda match: _date(match[1], _MONTHS[match[2]], match[3], match[0])),
    (_MONTH_DAY, lambda match: _date(match[2], _MONTHS[match[1]], match[3], match[0])),
    (_MONTH_ALONE, lambda match: _exactly("month", _MONTHS[match[1]], match[0])),
    (_YEAR, lambda match: _exactly("year", int(match[1]), match[0])),
    (
        _WEEKDAY,
        lambda match: _exactly(
            "weekday", _WEEKDAYS.index(match[1]), match[0], habitual=bool(match[2])
        ),
    ),
    (_CLOCK, lambda match: _clock(match[1], match[2], match[3], match[0])),
    (_HOUR, lambda match: _clock(match[1], "0", match[2], match[0])),
    (_AT, _at),
)


def pairs(
    first: tuple[Quantity, ...], second: tuple[Quantity, ...]
) -> Iterator[tuple[Quantity, Quantity]]:
    """Yield pairs of quantities of one dimension, if each side has exactly one of it."""
    for dimension in dict.fromkeys(each.dimension for each in first):
        ours = [each for each in first if each.dimension == dimension]
        theirs = [each for each in second if each.dimension == dimension]
        if len(ours) == 1 and len(theirs) == 1:
            yield ours[0], theirs[0]
