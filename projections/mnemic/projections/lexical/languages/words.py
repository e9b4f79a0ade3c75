"""Analyser ``words-1``: terms of a text in its language, in addition to those of ``english-1``.

A text has all terms of ``english-1``, so what is counted by these is what it always was. A text
that is not recognised as English has others too, which begin with a tag and a colon, so that no
term of ``english-1`` is one of them:

1. A word in Latin script has the tag of the language of the text (``detection``), a word in another
   script that of the script; it is stemmed by the Snowball stemmer of the language. Function
   words are left out. Marks that are often left out in writing are removed from the stem.
2. Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese, in texts of any language: of a run of
   their characters, every two neighbours are a term (tag ``c``). A character takes the marks
   on it along.
3. Numbers, in digits or in words, have the same tag in all languages (``n``): 1.000 and
   *tausend* in German are 1000. In digits they are terms only where they are spelled differently.

A question has one term for each of its words that is no function word in the language of the
question. It is found in a text of any language, by the stem that the word has there: these are its
variants. A Chinese character in it is a term too, as many of them are words. So it does not matter
much in which language a short question is believed to be, and the number of its terms depends on
the question alone.

Frozen once released.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

import Stemmer

from mnemic.kernel.errors import RecipeRetired
from mnemic.kernel.late import late_pattern
from mnemic.projections.lexical import analysis
from mnemic.projections.lexical.languages import detection
from mnemic.projections.lexical.languages.stop_words import (
    ENGLISH,
    LATIN,
    NUMBER_WORDS,
    OTHER_SCRIPTS,
)

NAME: Final = "words-1"

Variants: TypeAlias = tuple[str, ...]
"""The terms by which a word of a question is found, one for each language."""

_STEMMERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "en": "english",
        "de": "german",
        "fr": "french",
        "es": "spanish",
        "pt": "portuguese",
        "it": "italian",
        "nl": "dutch",
        "sv": "swedish",
        "da": "danish",
        "no": "norwegian",
        "fi": "finnish",
        "hu": "hungarian",
        "ro": "romanian",
        "tr": "turkish",
        "ca": "catalan",
        "pl": "polish",
        "cs": "czech",
        "id": "indonesian",
        "ru": "russian",
        "el": "greek",
        "hy": "armenian",
        "ar": "arabic",
        "hi": "hindi",
        "ta": "tamil",
    }
)
_UNMARKED: Final = frozenset("fr es pt it ca ro nl".split())
"""Languages whose accents are often left out in writing."""
_SCRIPTS: Final = (
    (0x0000, ""),
    (0x0370, "el"),
    (0x0400, "ru"),
    (0x0530, "hy"),
    (0x0590, "w"),
    (0x0600, "ar"),
    (0x0700, "w"),
    (0x0900, "hi"),
    (0x0980, "w"),
    (0x0B80, "ta"),
    (0x0C00, "w"),
    (0x1E00, ""),
    (0x1F00, "el"),
    (0x2000, ""),
    (0x2C80, "w"),
)
"""First character of each range of scripts, and its tag: "" for Latin, ``w`` without a stemmer."""
_FIRSTS: Final = [first for first, _ in _SCRIPTS]
_TAGS: Final = [tag for _, tag in _SCRIPTS]
_UNSPACED: Final = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f\u1100-\u11ff\uac00-\ud7af"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
)
"""Chinese, Japanese, Korean, Thai, Lao, Burmese, Khmer."""
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963"
    "\u0981-\u0983\u09bc-\u09d7\u0a01-\u0d7f"
)
"""Signs within words that are no letters, in scripts that have some."""
_TOKEN: Final = late_pattern(
    rf"(?P<run>[{_UNSPACED}]+)"
    r"|(?P<number>\d+(?:[.,]\d+)*)(?![^\W_])"
    rf"|(?P<word>(?:(?![{_UNSPACED}])[^\W_]|[{_MARKS}])+)"
)
_CLUSTER: Final = late_pattern(
    r"[\u0e40-\u0e44\u0ec0-\u0ec4]?.[\u0e30-\u0e3a\u0e45-\u0e4e\u0eb0-\u0ebc\u0ec6-\u0ecd"
    r"\u102b-\u103e\u17b4-\u17d3]*"
)
"""A character with the vowels and marks around it, which Thai, Lao, Burmese and Khmer have."""
_OTHER_SCRIPT: Final = late_pattern(
    "[\u0370-\u1dff\u1f00-\u1fff\u2c80-\u2dff\u3005-\ud7ff\uf900-\ufaff\U00020000-\U0003134f]"
)
_INVISIBLE: Final[dict[int, None]] = dict.fromkeys(
    (0xAD, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060)
)
_GROUPS: Final = late_pattern(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+,\d+")
"""A number with thousands points or a decimal comma."""
_ENGLISH_GROUPS: Final = late_pattern(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_HAN: Final = late_pattern("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_MARK: Final = ":"
"""Between a tag and what follows."""
_CHARACTERS: Final = "c"
_NUMBER: Final = "n"


class Analysed(NamedTuple):
    """The terms of a text."""

    terms: list[str]
    """Those of ``english-1``, in the order of the text, repetitions kept."""
    others: list[str]
    """Those with a tag; none in English texts."""
    language: str
    """Of its words in Latin script."""


def analysed(text: str) -> Analysed:
    """Return the terms of *text*.

    >>> analysed("Anna hat die Katzen ihrer Nachbarin gefüttert").others
    ['de:anna', 'de:katz', 'de:nachbarin', 'de:gefuttert']
    >>> analysed("Ann fed the cats").others
    []
    """
    words = analysis.words(text)
    low = _plain(text)
    language = detection.language(low, words)
    others = [] if _is_plain(low, language) else [*_others(low, language)]
    return Analysed(analysis.stemmed(words), others, language)


def asked(question: str, languages: Collection[str]) -> list[Variants]:
    """Return the terms of *question*, each by its variants, in order and without repetitions.

    Their number does not depend on *languages*.

    Args:
        question: The question.
        languages: Those of the texts that are searched, besides English. Only the variants in these
            are returned.
    """
    words, low, language = _read(question)
    stems = _Stems()
    found: dict[str, Variants] = {}
    if _is_plain(low, language):
        for word in analysis.kept(words):
            stem = stems.of(ENGLISH, word)
            found.setdefault(stem, (stem, *_variants(word, ENGLISH, languages, stems)))
        return [*found.values()]
    for match in _TOKEN.finditer(low):
        for key, variants in _asked(match, language, languages, stems):
            found.setdefault(key, variants)
    return [*found.values()]


def plain_terms(question: str) -> list[str]:
    """Return the terms of ``english-1`` in *question* in order, repetitions kept."""
    return analysis.stemmed(_read(question)[0])


def content(question: str) -> str:
    """Return the words of *question* that are no function words of its language, in order.

    If all are, it is *question* itself.

    >>> content("When did Ann's sister move to Oslo?"), content("Wo wohnt die Schwester von Anna?")
    ('ann sister move oslo', 'wohnt schwester anna')
    """
    found, low, language = _read(question)
    if _is_plain(low, language):
        return " ".join(analysis.kept(found)) or question
    tokens = (match[0] for match in _TOKEN.finditer(low))
    kept = (each for each in tokens if each not in _stop_words(_tag(each) or language))
    return " ".join(kept) or question


def is_tagged(term: str) -> bool:
    """Whether *term* is none of ``english-1``, whose words hold no colon."""
    return _MARK in term


def tag(term: str) -> str:
    """Return the tag of *term*; "" if it has none."""
    return term[: max(0, term.find(_MARK))]


def is_character(term: str) -> bool:
    """Whether *term* is a single Chinese character."""
    return _HAN.fullmatch(term) is not None


def language(text: str) -> str:
    """Return the code of the language of the words of *text* in Latin script."""
    return _read(text)[2]


def analyser(name: str) -> Callable[[str], Analysed]:
    """Return the analyser called *name*.

    Raises:
        RecipeRetired: This release has no such analyser for documents.
    """
    if name != NAME:
        raise RecipeRetired(
            f"no analyser of documents is called {name!r}; this release has {NAME}", recipe=name
        )
    return analysed


class _Stems:
    """Stemmers of the languages that are needed, for one text.

    They have internal state, so they are not shared; they keep no words.
    """

    def __init__(self) -> None:
        self._stemmers: dict[str, Stemmer.Stemmer] = {}

    def of(self, language: str, word: str) -> str:
        """Return the stem of *word*, without marks where the language is often written so."""
        if language not in _STEMMERS:
            return word
        stemmer = self._stemmers.get(language)
        if stemmer is None:
            stemmer = self._stemmers[language] = Stemmer.Stemmer(_STEMMERS[language], 0)
        stem: str = stemmer.stemWord(word)
        return _unmarked(stem) if language in _UNMARKED and not stem.isascii() else stem


@lru_cache(maxsize=64)
def _read(question: str) -> tuple[list[str], str, str]:
    """Return the words of a question, its plain text and its language; each is asked repeatedly."""
    words = analysis.words(question)
    low = _plain(question)
    return words, low, detection.language(low, words)


def forget_questions() -> None:
    """Drop the questions that were read lately: a text may have been erased that one quotes."""
    _read.cache_clear()


def _plain(text: str) -> str:
    """Return *text* in lower case, with one spelling for each character."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).translate(_INVISIBLE).lower()


def _is_plain(text: str, language: str) -> bool:
    """Whether a text has no terms but those of ``english-1``."""
    return language == ENGLISH and (text.isascii() or _OTHER_SCRIPT.search(text) is None)


def _others(text: str, language: str) -> Iterator[str]:
    """Yield the terms with a tag."""
    stems = _Stems()
    for match in _TOKEN.finditer(text):
        token = match[0]
        if match.lastgroup == "run":
            yield from _grams(token)
        elif match.lastgroup == "number":
            number = plain_number(token, language)
            if number != token:
                yield f"{_NUMBER}{_MARK}{number}"
        elif (tag := _tag(token) or language) != ENGLISH and token not in _stop_words(tag):
            yield _term(tag, token, stems)


def _asked(
    match: re.Match[str], language: str, languages: Collection[str], stems: _Stems
) -> Iterator[tuple[str, Variants]]:
    """Yield the terms of a token of a question, each with the key that distinguishes it."""
    token = match[0]
    if match.lastgroup == "run":
        for gram in (*_grams(token), *_HAN.findall(token)):
            yield gram, (gram,)
    elif match.lastgroup == "number":
        number = plain_number(token, language)
        yield number, (*dict.fromkeys((token, number)), f"{_NUMBER}{_MARK}{number}")
    else:
        script = _tag(token)
        own = script or language
        if token in _stop_words(own):
            return
        plain = stems.of(ENGLISH, token)
        if script:
            term = _term(script, token, stems)
            yield term, (plain, term)
        else:
            key = plain if own == ENGLISH else _term(own, token, stems)
            yield key, (plain, *_variants(token, own, languages, stems))


def _variants(word: str, language: str, languages: Collection[str], stems: _Stems) -> Iterator[str]:
    """Yield the terms with a tag by which *word* of a question in *language* is found."""
    number = word if word.isdecimal() else NUMBER_WORDS.get(language, {}).get(word)
    if number is not None:
        yield f"{_NUMBER}{_MARK}{number}"
        if language != ENGLISH:
            yield number
    for other in sorted(languages):
        if word not in _stop_words(other):
            yield _term(other, word, stems)


def _term(tag: str, word: str, stems: _Stems) -> str:
    """Return the term of a word, which is a number if it says one."""
    number = NUMBER_WORDS.get(tag, {}).get(word)
    return f"{tag}{_MARK}{stems.of(tag, word)}" if number is None else f"{_NUMBER}{_MARK}{number}"


def _stop_words(tag: str) -> Collection[str]:
    if tag == ENGLISH:
        return analysis.STOP_WORDS
    return LATIN[tag] if tag in LATIN else OTHER_SCRIPTS.get(tag, ())


def _tag(word: str) -> str:
    """Return the tag of the script of *word*; "" for Latin."""
    return _TAGS[bisect_right(_FIRSTS, ord(word[0])) - 1]


def _grams(run: str) -> list[str]:
    """Return every two neighbouring characters of a run; the character of a run of one."""
    clusters = _CLUSTER.findall(run)
    pairs = [first + second for first, second in pairwise(clusters)] or clusters
    return [f"{_CHARACTERS}{_MARK}{pair}" for pair in pairs]


def plain_number(digits: str, language: str) -> str:
    """Return a number without thousands separators and with a decimal point."""
    if language != ENGLISH:
        if _GROUPS.fullmatch(digits):
            return digits.replace(".", "").replace(",", ".")
    elif _ENGLISH_GROUPS.fullmatch(digits):
        return digits.replace(",", "")
    return digits


def _unmarked(stem: str) -> str:
    apart = unicodedata.normalize("NFD", stem)
    return "".join(sign for sign in apart if not unicodedata.combining(sign))
