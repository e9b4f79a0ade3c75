"""Aggregate questions: those that many texts answer together.

"Summarise my project" asks for an overview, "list all the books I read" and "how many did I read?"
for every instance. One best text answers neither, so such questions get more blocks
(``Policy.top_k_aggregate``). A summary covers what both sides said, so its "my" refers to neither
of them in particular (``mnemic.kernel.questions.pronouns``).

The language of a question is that of its pronouns; where several are equally likely, it is any of
them. A table for each is needed: *résumé* is a summary in French and not in English. Phrases are
sequences of whole words; a final ``*`` means any ending. The tables are part of the recipes
that use them, and frozen with these.
"""

from __future__ import annotations

import re
import unicodedata
from operator import methodcaller
from typing import Final, Literal

from attrs import frozen

from mnemic.kernel.late import late_pattern
from mnemic.kernel.questions.pronouns import languages_of
from mnemic.kernel.values import Value

Aggregate = Literal["summary", "list"]


@frozen(kw_only=True)
class Phrases(Value):
    """What an aggregate question says in one language; lower case."""

    summary: re.Pattern[str]
    list: re.Pattern[str]


def _phrases(*, summary: str, listing: str) -> Phrases:
    return Phrases(summary=_pattern(summary), list=_pattern(listing))


def _pattern(phrases: str) -> re.Pattern[str]:
    """Return a pattern of any of the *phrases*, which commas separate."""
    words = (re.escape(each.strip()).replace(r"\*", r"\w*") for each in phrases.split(","))
    return late_pattern(rf"\b(?:{'|'.join(words)})\b")


PHRASES: Final = {
    "en": _phrases(
        summary="summary, summaries, summaris*, summariz*, overview, recap, recapitulat*",
        listing="""how many, how often, list, list of, all the, all of, all my, each of, every,
            in total, altogether, in order, in what order, in which order, which order""",
    ),
    "de": _phrases(
        summary="zusammenfass*, zusammengefasst, überblick, übersicht, fass, fasse",
        listing="""wie viele, wie viel, wie oft, liste, aufzählen, zähle, alle, jede, jeder, jedes,
            insgesamt, der reihe nach, reihenfolge""",
    ),
    "fr": _phrases(
        summary="résum*, récapitul*, vue d'ensemble, synthèse, bilan",
        listing="combien, liste, tous les, toutes les, chaque, au total, en tout, dans l'ordre",
    ),
    "es": _phrases(
        summary="resum*, resúm*, recapitul*, visión general, panorama",
        listing="""cuántos, cuántas, cuántas veces, lista, enumera, todos los, todas las, cada,
            en total, en orden, en qué orden""",
    ),
    "pt": _phrases(
        summary="resum*, recapitul*, visão geral, panorama",
        listing="""quantos, quantas, quantas vezes, lista, liste, enumere, todos os, todas as, cada,
            no total, ao todo, em ordem, em que ordem""",
    ),
    "it": _phrases(
        summary="riassu*, riepilog*, sintesi, panoramica, ricapitol*",
        listing="""quanti, quante, quante volte, elenco, elenca, lista, tutti i, tutti gli,
            tutte le, ogni, in totale, in ordine, in che ordine""",
    ),
    "nl": _phrases(
        summary="samenvat*, overzicht, vat",
        listing="hoeveel, hoe vaak, lijst, alle, elke, elk, in totaal, op volgorde, volgorde",
    ),
}
"""By the codes of ``mnemic.kernel.questions.pronouns.LANGUAGES``."""

_UNSPACED_SUMMARY: Final = late_pattern("总结|總結|概述|概括|摘要|概要|要約|まとめ")
_UNSPACED_LIST: Final = late_pattern(
    "多少|几个|幾個|几次|幾次|所有|列出|全部|一覧|いくつ|何回|すべて|全て"
)


def aggregate(question: str) -> Aggregate | None:
    """Return what kind of aggregate *question* asks for; None: it asks for one thing.

    >>> aggregate("Can you summarise my week?"), aggregate("How many books did I read?")
    ('summary', 'list')
    >>> aggregate("Where did I buy the book?") is None
    True
    """
    text = unicodedata.normalize("NFKC", question).lower().replace("\u2019", "'")
    phrases = [PHRASES[code] for code in languages_of(text)]
    finds = methodcaller("search", text)
    if any(map(finds, [_UNSPACED_SUMMARY, *[each.summary for each in phrases]])):
        return "summary"
    if any(map(finds, [_UNSPACED_LIST, *[each.list for each in phrases]])):
        return "list"
    return None
