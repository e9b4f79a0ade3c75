"""Text analysis: the recipes that turn text into searchable terms.

A recipe is frozen once released. Recorded decisions name the one they used, so a better recipe gets
a new name and the old one is kept, never edited: the numbers of an old decision depend on every
term.

``english-1``, in this order:

1. NFKC, typographic apostrophes made plain, lower case.
2. Words are runs of letters and digits. A point between digits stays inside (3.11), a comma
   between digits followed by three more is a thousands separator and removed (1,000), an
   apostrophe inside a word stays (o'neill); everything else splits (well-known, snake_case, a/b).
   Chinese and Japanese write without spaces, so each of their characters is a word.
3. Clitics are removed ('s, 'm, 're, 've, 'll, 'd), then negated auxiliaries (don't) and stop words.
4. The remaining words are stemmed by the Snowball stemmer for English.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import Stemmer

from mnemic.kernel.errors import RecipeRetired
from mnemic.kernel.late import late_pattern

Analyser: TypeAlias = Callable[[str], list[str]]
"""From a text to its terms, in the order of the text, repetitions kept. Pure."""

ANALYSER: Final = "english-1"
"""Name of the recipe that new spaces use."""

# Function words, which carry syntax rather than content. Question words belong here:
# every question has one and hardly any memory that answers it does. "May" and "us" do not: they
# are also a month and a country, and a word that is merely frequent weighs little anyway.
STOP_WORDS: Final = frozenset(
    """
    a an the this that these those
    i me my mine myself we our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves
    who whom whose which what when where why how
    am is are was were be been being do does did doing done have has had having
    will would shall should can cannot could might must
    and or but nor if then else than as so because while though although
    of in on at to from by for with without about into onto over under between among
    during before after above below up down out off again further through against until
    not no yes
    there here all any both each few more most other some such only own same too very just also
    s t
    """.split()
)

_APOSTROPHES: Final = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'"})
_UNSPACED: Final = late_pattern(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
)
_WORD: Final = late_pattern(
    r"""
    [^\W_]+
    (?: (?: (?<=\d)\.(?=\d) | ' ) [^\W_]+ )*
    """,
    re.VERBOSE,
)
_THOUSANDS: Final = late_pattern(r"(?<=\d),(?=\d{3}(?!\d))")
_CLITIC: Final = late_pattern(r"'(?:s|m|re|ve|ll|d)$")
_NEGATION: Final = "n't"


def terms(text: str) -> list[str]:
    """Return the terms of *text* under the recipe that new spaces use.

    >>> terms("The ponies weren't running: they'd walked 3.11 miles")
    ['poni', 'run', 'walk', '3.11', 'mile']
    """
    return _english_1(text)


def analyser(name: str) -> Analyser:
    """Return the recipe called *name*.

    Raises:
        RecipeRetired: This release has no such recipe.
    """
    try:
        return _RECIPES[name]
    except KeyError:
        raise RecipeRetired(
            f"no analyser is called {name!r}; this release carries {', '.join(sorted(_RECIPES))}",
            recipe=name,
        ) from None


def _english_1(text: str) -> list[str]:
    return stemmed(words(text))


def stemmed(found: Iterable[str]) -> list[str]:
    """Return the terms of the words that ``words`` returned."""
    # A stemmer has internal state, so each call creates its own (a third of a microsecond) instead
    # of sharing one between callers. Its cache is off: stemming is a fifth of the work here, and a
    # cache would keep words of texts that were erased.
    stems: list[str] = Stemmer.Stemmer("english", 0).stemWords(kept(found))
    return stems


def kept(found: Iterable[str]) -> list[str]:
    """Return those of the words that are terms, without clitics, not stemmed yet."""
    bare_words: list[str] = []
    for word in found:
        bare = word
        if "'" in word:
            bare = _CLITIC.sub("", word)
            if bare.endswith(_NEGATION):
                continue
        if bare not in STOP_WORDS:
            bare_words.append(bare)
    return bare_words


def words(text: str) -> list[str]:
    """Return the words of *text* in order, in the case and spelling that terms have."""
    if not text.isascii():  # neither step would change ASCII
        text = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
        text = _UNSPACED.sub(r" \g<0> ", text)
    return _WORD.findall(_THOUSANDS.sub("", text.lower()))


_RECIPES: Final[Mapping[str, Analyser]] = MappingProxyType({ANALYSER: _english_1})
