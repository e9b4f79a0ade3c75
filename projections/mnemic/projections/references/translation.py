"""Closed-class words of other languages, put into English before a sentence is parsed.

The parser knows English negators, numbers, dates, units and function words. A sentence that is
recognised as German, French, Spanish, Portuguese, Italian or Dutch has its own replaced by these;
all other words stay as they are, so two sentences in one language are compared by them. What a
language says by the order of words or by the form of a verb is not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType
from typing import Final

from mnemic.kernel.months import MONTHS
from mnemic.projections.lexical.languages import words
from mnemic.projections.lexical.languages.stop_words import NUMBER_WORDS

_ENGLISH_MONTHS: Final = tuple(
    map(
        str,
        """january february march april may june july august september october november
        december""".split(),
    )
)
_WEEKDAYS: Final = tuple(
    map(str, "monday tuesday wednesday thursday friday saturday sunday".split())
)
_WEEKDAYS_OF: Final = {
    "de": "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
    "pt": "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
    "it": "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "nl": "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
}
_PHRASES: Final[Mapping[str, str]] = {
    "de": """
        nicht mehr als=at most; nicht mehr=no longer; kein=no; keine=no; keinen=no; keinem=no;
        keiner=no; nicht=not; nie=never; niemals=never; niemand=nobody; nichts=nothing;
        ohne=without; höchstens=at most; maximal=at most; bis zu=up to; mindestens=at least;
        wenigstens=at least; mehr als=more than; weniger als=less than; etwa=about; ungefähr=about;
        rund=about; circa=about; statt=instead of; anstatt=instead of; sondern=but; wenn=if;
        falls=if; außer=except; der=the; die=the; das=the; den=the; dem=the; des=the; ein=a; eine=a;
        einen=a; einem=a; einer=a; ist=is; sind=are; war=was; waren=were; hat=has; haben=have;
        und=and; oder=or; aber=but; im=in; am=on; um=at; auf=on; bei=at; mit=with; von=from;
        aus=from; für=for; seit=since; nach=to; zu=to; wohnt=lives; lebt=lives; arbeitet=works;
        kostet=costs; benutzt=uses; verwendet=uses; nutzt=uses; bevorzugt=prefers; sekunden=seconds;
        minuten=minutes; minute=minute; stunden=hours; stunde=hour; tage=days; tagen=days;
        wochen=weeks; monate=months; monaten=months; jahre=years; jahren=years; kilometer=km;
        prozent=percent; uhr=o'clock""",
    "fr": """
        ne peut plus=can no longer; n'est plus=is no longer; n'est pas=is not; n'a pas=has not;
        n'a plus=has no longer; pas plus de=at most; plus=longer; pas=not; jamais=never; aucun=no;
        aucune=no; rien=nothing; sans=without; au plus=at most; au maximum=at most; jusqu'à=up to;
        au moins=at least; plus de=more than; moins de=less than; environ=about;
        au lieu de=instead of; si=if; sauf=except; le=the; la=the; les=the; l'=the; un=a; une=a;
        est=is; sont=are; était=was; a=has; ont=have; et=and; ou=or; mais=but; dans=in; en=in; à=at;
        sur=on; avec=with; de=of; du=of; pour=for; depuis=since; ne=; n'=; habite=lives; vit=lives;
        travaille=works; coûte=costs; utilise=uses; préfère=prefers; secondes=seconds;
        minutes=minutes; heures=hours; heure=hour; jours=days; semaines=weeks; mois=months;
        ans=years; années=years; kilomètres=km; pour cent=percent""",
    "es": """
        ya no=no longer; no más de=at most; no=not; nunca=never; jamás=never; ningún=no; ninguna=no;
        nadie=nobody; nada=nothing; sin=without; como máximo=at most; hasta=up to;
        al menos=at least; como mínimo=at least; más de=more than; menos de=less than; unos=about;
        aproximadamente=about; en lugar de=instead of; en vez de=instead of; si=if; salvo=except;
        a las=at; el=the; la=the; los=the; las=the; un=a; una=a; es=is; está=is; son=are; era=was;
        tiene=has; tienen=have; y=and; o=or; pero=but; en=in; a=to; sobre=on; con=with; de=of;
        del=of; para=for; por=for; desde=since; vive=lives; trabaja=works; cuesta=costs; usa=uses;
        utiliza=uses; prefiere=prefers; segundos=seconds; minutos=minutes; horas=hours; hora=hour;
        días=days; semanas=weeks; meses=months; años=years; kilómetros=km; por ciento=percent""",
    "pt": """
        já não=no longer; não mais de=at most; não=not; nunca=never; jamais=never; nenhum=no;
        nenhuma=no; ninguém=nobody; nada=nothing; sem=without; no máximo=at most; até=up to;
        pelo menos=at least; no mínimo=at least; mais de=more than; menos de=less than;
        cerca de=about; em vez de=instead of; se=if; exceto=except; às=at; o=the; a=the; os=the;
        as=the; um=a; uma=a; é=is; está=is; são=are; era=was; tem=has; têm=have; e=and; ou=or;
        mas=but; em=in; no=in; na=in; sobre=on; com=with; de=of; do=of; da=of; para=for; por=for;
        desde=since; mora=lives; vive=lives; trabalha=works; custa=costs; usa=uses; utiliza=uses;
        prefere=prefers; segundos=seconds; minutos=minutes; horas=hours; hora=hour; dias=days;
        semanas=weeks; meses=months; anos=years;
        quilómetros=km; quilômetros=km; por cento=percent""",
    "it": """
        non più di=at most; non più=no longer; non=not; mai=never; nessun=no; nessuno=nobody;
        nessuna=no; niente=nothing; senza=without; al massimo=at most; fino a=up to;
        almeno=at least; più di=more than; meno di=less than; circa=about; invece di=instead of;
        se=if; tranne=except; alle=at; il=the; lo=the; la=the; i=the; gli=the; le=the; l'=the; un=a;
        uno=a; una=a; è=is; sono=are; era=was; ha=has; hanno=have; e=and; o=or; ma=but; in=in;
        nel=in; nella=in; a=at; al=at; su=on; sul=on; con=with; di=of; del=of; della=of; per=for;
        da=since; abita=lives; vive=lives; lavora=works; costa=costs; usa=uses; preferisce=prefers;
        secondi=seconds; minuti=minutes; ore=hours; ora=hour; giorni=days; settimane=weeks;
        mesi=months; anni=years; chilometri=km; per cento=percent""",
    "nl": """
        niet meer dan=at most; niet meer=no longer; niet=not; nooit=never; geen=no; niemand=nobody;
        niets=nothing; zonder=without; hoogstens=at most; maximaal=at most; tot=up to;
        minstens=at least; ten minste=at least; meer dan=more than; minder dan=less than;
        ongeveer=about; in plaats van=instead of; als=if; behalve=except; de=the; het=the; een=a;
        is=is; zijn=are; was=was; waren=were; heeft=has; hebben=have; en=and; of=or; maar=but;
        in=in; op=on; om=at; bij=at; met=with; van=of; voor=for; sinds=since; naar=to; woont=lives;
        leeft=lives; werkt=works; kost=costs; gebruikt=uses; verkiest=prefers; seconden=seconds;
        minuten=minutes; uur=hours; dagen=days; weken=weeks; maanden=months; jaar=years;
        jaren=years; kilometer=km; procent=percent""",
}


def _table(language: str) -> Mapping[str, str]:
    """Return the English words for each phrase of a language."""
    phrases = (each.split("=") for each in _PHRASES[language].split(";"))
    weekdays = zip(_WEEKDAYS_OF[language].split(), _WEEKDAYS, strict=True)
    months = ((name, _ENGLISH_MONTHS[month - 1]) for name, month in MONTHS[language].items())
    known = ((phrase.strip(), english.strip()) for phrase, english in phrases)
    return MappingProxyType(dict(chain(NUMBER_WORDS[language].items(), weekdays, months, known)))


def _pattern(phrases: Mapping[str, str]) -> re.Pattern[str]:
    """Return the pattern of any of *phrases*, the longest first."""
    longest = sorted(phrases, key=lambda each: (-len(each), each))
    return re.compile(
        "|".join(
            rf"(?<!\w){re.escape(each)}" + ("" if each.endswith("'") else r"(?!\w)")
            for each in longest
        )
    )


_TABLES: Final = {language: _table(language) for language in _PHRASES}
_PATTERNS: Final = {language: _pattern(table) for language, table in _TABLES.items()}
_NOT_LAST: Final = frozenset({"de", "nl"})
"""Languages whose negator comes after what it denies, at the end of a clause."""
_LAST_NOT: Final = re.compile(r"(\w+) not(?= *(?:[.,;!?]|$))")
_FIGURE: Final = re.compile(r"\d+(?:[.,]\d+)+")


def anglicised(sentence: str) -> str:
    """Return *sentence*, which is in lower case, with English closed-class words.

    One in English, or in a language without a table, is returned as it is.

    >>> anglicised("der zug nach wien kostet nicht mehr als 1.250,50 euro.")
    'the zug to wien costs at most 1250.50 euro.'
    """
    language = words.language(sentence)
    if language not in _TABLES:
        return sentence
    figures = _FIGURE.sub(lambda found: words.plain_number(found[0], language), sentence)
    table = _TABLES[language]

    def english(found: re.Match[str]) -> str:
        word = table[found[0]]
        return f"{word} " if found[0].endswith("'") else word

    found = _PATTERNS[language].sub(english, figures)
    return _LAST_NOT.sub(r"not \1", found) if language in _NOT_LAST else found
