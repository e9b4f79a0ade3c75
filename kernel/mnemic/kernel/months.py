"""Names of months in other languages than English, by the code of the language.

Abbreviations are missing: *mar* is a sea, *set* a number, *jan* a name. The table is part of the
recipes that use it, and frozen with these.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final


def _numbered(names: str) -> Mapping[str, int]:
    """Return the number of each month; spellings of one are separated by a slash."""
    return MappingProxyType(
        {
            name: number
            for number, spellings in enumerate(names.split(), start=1)
            for name in spellings.split("/")
        }
    )


MONTHS: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType(
    {
        "de": _numbered(
            """januar/jänner februar/feber märz/maerz april mai juni juli august september oktober
            november dezember"""
        ),
        "fr": _numbered(
            """janvier février/fevrier mars avril mai juin juillet août/aout septembre octobre
            novembre décembre/decembre"""
        ),
        "es": _numbered(
            """enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre
            noviembre diciembre"""
        ),
        "pt": _numbered(
            """janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro
            dezembro"""
        ),
        "it": _numbered(
            """gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre
            dicembre"""
        ),
        "nl": _numbered(
            """januari februari maart april mei juni juli augustus september oktober november
            december"""
        ),
    }
)
