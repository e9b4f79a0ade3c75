"""One spelling for words that have several: contractions, quantities, dates, times, articles.

Each rule looks at the words from one place on, and returns what they are replaced by and how many
they were, or None. The first rule that applies wins. None of them removes a number, a name, a
negator, or an article but *the*.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final, TypeAlias

from attrs import frozen

from mnemic.kernel.late import late_pattern
from mnemic.kernel.statements.vocabulary import (
    AFTER_IS,
    ARTICLE_COUNTS,
    BEFORE_DECADE,
    CONTRACTIONS,
    ENGLISH,
    IS_CONTRACTED,
    MONTHS,
    NUMBER_WORDS,
    SPELLINGS,
    UNITS,
)
from mnemic.kernel.values import Value

Replaced: TypeAlias = tuple[tuple[str, ...], int] | None
"""The new words, and how many old ones they replace."""

_CHANGED: Final = frozenset(
    {"the", "i", "&", *SPELLINGS, *NUMBER_WORDS, *CONTRACTIONS, *IS_CONTRACTED}
    | {month.lower() for month in MONTHS}
)
"""Words at which a rule may apply, apart from those that begin with a digit or a currency."""
_NUMERIC: Final = frozenset("0123456789€$£")

_NUMBER: Final = late_pattern(r"[0-9]+(?:[.,][0-9]+)*")
_GLUED: Final = late_pattern(r"([0-9]+(?:[.,:][0-9]+)*)([A-Za-z%€]+)")
_THOUSANDS: Final = late_pattern(r"[$€£]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_DAY: Final = late_pattern(r"(0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)?")
_YEAR: Final = late_pattern(r"(?:19|20)[0-9]{2}")
_CLOCK: Final = late_pattern(r"(?:0?[1-9]|1[0-2])(?::[0-5][0-9])?")
_NAMED: Final = late_pattern(r"[^\W\d_]{3}")
_DECADE_DIGITS: Final = 4
_PARTICIPLE: Final = late_pattern(r"[a-z]{3,}ing")


@frozen
class _Sentence(Value):
    """The words of a sentence, and what the rules need to know about all of them."""

    words: Sequence[str]
    shouted: bool

    @cached_property
    def is_english(self) -> bool:
        return not ENGLISH.isdisjoint(map(str.lower, self.words))

    def at(self, place: int) -> str:
        return self.words[place] if 0 <= place < len(self.words) else ""

    def month(self, place: int) -> str | None:
        word = self.at(place)
        return MONTHS.get(word) or (MONTHS.get(word.title()) if self.shouted else None)


def respelled(words: Sequence[str], *, shouted: bool) -> list[str]:
    """Return *words*, those of one sentence, each in the spelling that counts.

    Args:
        words: Words and punctuation marks, in order.
        shouted: Whether the text had no lower case letters, so that *may* may be the month.
    """
    found: list[str] = []
    sentence = _Sentence(words, shouted)
    place, end = 0, len(words)
    while place < end:
        word = words[place]
        if word[0] in _NUMERIC or word.lower() in _CHANGED:
            new, count = _replaced(sentence, place)
            found += new
            place += count
        else:
            found.append(word)
            place += 1
    return found


def _replaced(sentence: _Sentence, place: int) -> tuple[tuple[str, ...], int]:
    return (
        _date(sentence, place)
        or _time(sentence, place)
        or _quantity(sentence, place)
        or _article(sentence, place)
        or _is(sentence, place)
        or _word(sentence, place)
    )


def _date(sentence: _Sentence, place: int) -> Replaced:
    """``May 4``, ``4th of May`` and ``4th May`` are ``4 May``; a comma before the year goes."""
    first, second = sentence.at(place), sentence.at(place + 1)
    if (day := _DAY.fullmatch(first)) and (month := sentence.month(place + 1)):
        length = 2
    elif day and second == "of" and (month := sentence.month(place + 2)):
        length = 3
    elif (month := sentence.month(place)) and (day := _DAY.fullmatch(second)):
        length = 2
    else:
        return None
    if sentence.at(place + length) == "," and _YEAR.fullmatch(sentence.at(place + length + 1)):
        return (day[1], month), length + 1
    return (day[1], month), length


def _time(sentence: _Sentence, place: int) -> Replaced:
    """``10 am``, ``10am`` and ``10 AM`` are ``10:00 am``."""
    glued = _GLUED.fullmatch(sentence.words[place])
    clock, half = glued.groups() if glued else (sentence.words[place], sentence.at(place + 1))
    if half not in {"am", "pm", "AM", "PM"} or not _CLOCK.fullmatch(clock):
        return None
    return (clock if ":" in clock else f"{clock}:00", half.lower()), 1 if glued else 2


def _quantity(sentence: _Sentence, place: int) -> Replaced:
    """``30s`` and ``30 seconds`` are ``30 s``, ``€5`` is ``5 eur``, ``1,234`` is ``1234``."""
    word = sentence.words[place]
    if word[0] == "€" and _NUMBER.fullmatch(word[1:]):
        return (_whole(word[1:], sentence), "eur"), 1
    if (glued := _GLUED.fullmatch(word)) and (unit := UNITS.get(glued[2])):
        if _is_decade(glued[1], glued[2], sentence.at(place - 1)):
            return None
        return (_whole(glued[1], sentence), unit), 1
    number = _whole(NUMBER_WORDS.get(word.lower(), word), sentence)
    if _NUMBER.fullmatch(number) and (unit := UNITS.get(sentence.at(place + 1))):
        return (number, unit), 2
    return ((number,), 1) if number != word else None


def _whole(number: str, sentence: _Sentence) -> str:
    """Return *number* without thousands commas.

    One comma may be a decimal comma, so the sentence has to be English. Two are no decimals.
    """
    if "," not in number or not _THOUSANDS.fullmatch(number):
        return number
    if number.count(",") == 1 and not sentence.is_english:
        return number
    return number.replace(",", "")


def _is_decade(number: str, unit: str, before: str) -> bool:
    """Whether *number* and *unit* are years: ``the 90s``, ``her 30s``, ``1990s``."""
    if unit != "s" or not number.endswith("0"):
        return False
    return len(number) == _DECADE_DIGITS or before.lower() in BEFORE_DECADE


def _article(sentence: _Sentence, place: int) -> Replaced:
    """*the* is left out before a word that means the same without it."""
    if sentence.words[place] != "the":
        return None
    following = sentence.at(place + 1)
    if following[:1].isalpha() and following.lower() not in ARTICLE_COUNTS:
        return (), 1
    date = _date(sentence, place + 1) if sentence.at(place + 2) == "of" else None
    return (date[0], date[1] + 1) if date else None


def _is(sentence: _Sentence, place: int) -> Replaced:
    """``she's`` is *she is* where it cannot be *she has*."""
    subject = IS_CONTRACTED.get(sentence.words[place].lower())
    following = sentence.at(place + 1)
    if subject and (following in AFTER_IS or _PARTICIPLE.fullmatch(following)):
        return (subject, "is"), 1
    return None


def _word(sentence: _Sentence, place: int) -> tuple[tuple[str, ...], int]:
    """Contractions, British spellings, ``&`` between names, and *I*, which many write small."""
    word = sentence.words[place]
    low = word.lower()
    if low in CONTRACTIONS:
        return CONTRACTIONS[low], 1
    if low == "i":
        return ("i",), 1
    if word == "&" and all(_NAMED.match(sentence.at(place + step)) for step in (-1, 1)):
        return ("and",), 1
    return (SPELLINGS.get(low, word),), 1
