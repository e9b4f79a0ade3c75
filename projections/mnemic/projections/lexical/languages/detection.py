"""Detection of the language of a text in Latin script, by function words, letters and endings.

1. Each language counts its function words in the text, each word once. The one with the most is
   taken if it has at least two and no other has as many; English is taken if it has as many.
2. Else letters that few languages have, and endings of words, are counted as well, each once; a
   function word counts twice. The language with the most is taken if that is at least two; of
   equals English, then the one listed first.
3. If nothing decides, it is English, whose analyser leaves most words of other languages as they
   are.

Counts are kept in one integer, with a lane of bits for each language, so a text costs one addition
for each word that some language knows. No list has as many entries as a lane can count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from mnemic.kernel.months import MONTHS
from mnemic.projections.lexical.analysis import STOP_WORDS
from mnemic.projections.lexical.languages.stop_words import ENGLISH, ENGLISH_ALSO, LATIN

CODES: Final = (ENGLISH, *LATIN)
LANE_BYTES: Final = 2
LANE: Final = 2 ** (8 * LANE_BYTES) - 1
_SHIFTS: Final = range(0, 8 * LANE_BYTES * len(CODES), 8 * LANE_BYTES)
WORD_WEIGHT: Final = 2
"""Weight of a function word where letters and endings count too."""
SURE: Final = 2
"""Function words, letters and endings by which a text is recognised."""

_LETTERS: Final[Mapping[str, str]] = {
    "de": "äöüß",
    "fr": "çèêëîïœùû",
    "es": "ñ¿¡",
    "pt": "ãõçâêô",
    "it": "ìòù",
    "nl": "ĳ",
    "sv": "äöå",
    "da": "æøå",
    "no": "æøå",
    "fi": "äö",
    "hu": "őűö",
    "ro": "ășțşţ",
    "tr": "ğışüöç",
    "ca": "ŀç",
    "pl": "ąćęłńśźż",
    "cs": "ěřůčšž",
}
"""Letters by which a language is recognised, though not necessarily it alone."""

_ENDINGS: Final[Mapping[str, str]] = {
    "en": "ing ed ly ion ess ers ght ies ity ful",
    "de": "ung ich sch cht ten hen eit ben gen tet eln aft nis",
    "fr": "eux aux ait ent ère ée és eur que lle tte oir eau ent",
    "es": "ión ado ada dos das ía dad ero eda uel ían ron aba jas",
    "pt": "ção ões ado ada iro ais gem dade ava nto am em ços oso osa",
    "it": "ne ato ata ere ino tto lla to gli ggi chi che mo ono",
    "nl": "ijk aar eer eid oor tje uur oek aat art ten den",
    "sv": "ade rna het igt lig are lar nad tid",
    "da": "ede rne lse hed lig gen ter",
    "no": "ene het lig ter lse gen",
    "fi": "ssa ssä sta stä lla llä lta ltä lle een iin ään aan vat vät nen mme ksi tta ttä ista",
    "hu": "ban ben nak nek hoz tól ról ság ség val vel tás tés",
    "ro": "ul lui ele lor esc ște ția ase",
    "tr": "lar ler yor dan den nda nde ını ini dı di tı mak mek cak cek rım rim",
    "ca": "ció tat ment ny",
    "pl": "ego owy ać ała ość łem ach ych iem uje owa ami ce rze",
    "cs": "ého ová ění ího ých ách ami ost ou",
    "id": "kan nya ang",
}
"""Last letters of words of a language, two or three of them."""


def _lanes(table: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Return, by word or letter, one in the lane of each language that has it."""
    found: dict[str, int] = {}
    for place, code in enumerate(CODES):
        for each in table.get(code, ()):
            found[each] = found.get(each, 0) + (1 << _SHIFTS[place])
    return found


_BY_WORD: Final = _lanes(
    {
        code: [word for word in words if len(word) > 1 or not word.isascii()]
        for code, words in {
            ENGLISH: STOP_WORDS | ENGLISH_ALSO,
            **{code: LATIN[code] | MONTHS.get(code, {}).keys() for code in LATIN},
        }.items()
    }
)
"""Function words and names of months. Without single letters, which are symbols and elisions too.
"""
_WORDS: Final = frozenset(_BY_WORD)
_BY_LETTER: Final = _lanes(_LETTERS)
_SIGNS: Final = frozenset(_BY_LETTER)
_BY_ENDING: Final = _lanes({code: endings.split() for code, endings in _ENDINGS.items()})
_LAST_TWO: Final = frozenset(each for each in _BY_ENDING if len(each) == 2)  # noqa: PLR2004
_LAST_THREE: Final = frozenset(_BY_ENDING) - _LAST_TWO


def language(text: str, words: Collection[str]) -> str:
    """Return the code of the language of *text*.

    Args:
        text: The text, lower case.
        words: Its words, lower case.
    """
    known = sum([_BY_WORD[word] for word in _WORDS.intersection(words)])
    each = known.to_bytes(LANE_BYTES * len(CODES), "little")[::LANE_BYTES]
    most = max(each)
    if most >= SURE:
        if each[0] == most:
            return ENGLISH
        if each.count(most) == 1:
            return CODES[each.index(most)]
    known *= WORD_WEIGHT
    known += sum([_BY_LETTER[letter] for letter in _SIGNS.intersection(text)])
    known += sum([_BY_ENDING[ending] for ending in _LAST_TWO.intersection(_ends(words, 2))])
    known += sum([_BY_ENDING[ending] for ending in _LAST_THREE.intersection(_ends(words, 3))])
    counts = [known >> shift & LANE for shift in _SHIFTS]
    most = max(counts)
    if counts[0] == most or most < SURE:
        return ENGLISH
    return CODES[counts.index(most)]


def _ends(words: Iterable[str], length: int) -> list[str]:
    """Return the last letters of the words that are longer than these and one more."""
    return [word[-length:] for word in words if len(word) > length + 1]
