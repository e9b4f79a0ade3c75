"""The patterns of ``patterns.toml``, compiled when they are first needed."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Final

from attrs import frozen

TABLE: Final = Path(__file__).with_name("patterns.toml")
EMPTY: Final = re.compile(
    r"\b(?:please|bitte|s'il (?:te|vous) pla[iî]t|por favor)\b|[\"“”«»„`{}]|https?:", re.IGNORECASE
)
"""A request, or words that may be another's."""
OPENERS_MAX: Final = 3
"""How many words may open a sentence before its statement."""


@frozen(kw_only=True)
class Pattern:
    """One way of saying something."""

    kind: str
    """``identity``, ``preference``, ``plan``, ``decision``, ``commitment``, ``ownership``,
    ``place`` or ``date``."""
    slot: str | None
    """What it gives a value to, of which a speaker has one at a time; None: of which there may be
    several. A group of the pattern called ``of`` is added to it."""
    matches: re.Pattern[str]


@frozen(kw_only=True)
class Language:
    """The patterns of one language."""

    openers: re.Pattern[str]
    """Words that only open a sentence; matches at every beginning."""
    unsure: re.Pattern[str]
    """Words that take a statement back, or make it depend on something."""
    patterns: tuple[Pattern, ...]


@cache
def languages() -> tuple[Language, ...]:
    """Return the languages of the table."""
    return tuple(
        _language(table) for table in tomllib.loads(TABLE.read_text(encoding="utf-8")).values()
    )


def _language(table: dict[str, str]) -> Language:
    names = {f"{{{name}}}": value for name, value in table.items()}
    found = []
    for line in table["patterns"].strip().splitlines():
        kind, slot, expression = line.split(maxsplit=2)
        for name, value in names.items():
            expression = expression.replace(name, value)
        matches = re.compile(expression, re.IGNORECASE)
        found.append(Pattern(kind=kind, slot=None if slot == "-" else slot, matches=matches))
    openers = rf"(?:(?:{table['openers']})\b[,!.:]?\s+){{0,{OPENERS_MAX}}}"
    return Language(
        openers=re.compile(openers, re.IGNORECASE),
        unsure=re.compile(rf"\b(?:{table['unsure']})\b", re.IGNORECASE),
        patterns=tuple(found),
    )
