"""The word lists of the statement rules. All words are in lower case unless case decides.

A list holds a word only if reading it wrongly cannot merge two different facts: ``5 m`` may be
metres, millions or minutes, so ``m`` is no unit here, and *grey* is a surname too.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mnemic.kernel.months import MONTHS as FOREIGN_MONTHS


def _pairs(table: str) -> Mapping[str, str]:
    """Return the mapping in *table*: ``key:value`` pairs separated by white space."""
    return MappingProxyType(dict(pair.split(":") for pair in table.split()))


def _groups(table: str) -> Mapping[str, str]:
    """Return the first word of each line of *table* for every word of the line."""
    lines = [line.split() for line in table.strip().splitlines()]
    return MappingProxyType({word: line[0] for line in lines for word in line})


# --- sentences ------------------------------------------------------------------------------

ABBREVIATIONS: Final = frozenset(
    """
    approx art ca co corp dept dr ed eq est etc excl fig inc incl inkl ltd max min mme mr mrs ms
    no nos nr pp prof resp sec sr sra st tel vol vs bzw evtl ggf usw vgl
    jan feb mar apr jun jul aug sep sept oct nov dec
    """.split()
)
"""A final dot after these does not end a sentence that continues on the line."""
BEFORE_ORDINAL: Final = frozenset("ab am beim bis das dem den der des die im vom zum".split())
"""German words after which ``3.`` is an ordinal number, not the end of a sentence."""
LEAD_FOLLOWERS: Final = tuple(
    """
    the a an i we you he she it they my our your his her its their these there all no
    """.split()
)
"""Words after which *that* of ``note that`` and ``remember that`` is a conjunction."""
CONTEXTUAL: Final = frozenset(
    """
    he she it they him her them his its their this that these those then there so but and or
    er sie es ihr dies das él ella ellos eso esto il elle ils elles ce cela ça 他 她 它 这 那
    ele ela eles elas isso isto lui lei loro questo questa ciò hij zij ze het dit dat deze die
    """.split()
)
"""First words that refer to the sentence before."""

# --- words ----------------------------------------------------------------------------------

SPELLINGS: Final = _pairs("""
    colour:color colours:colors favourite:favorite favourites:favorites theatre:theater
    centre:center centres:centers harbour:harbor harbours:harbors neighbour:neighbor
    neighbours:neighbors behaviour:behavior organise:organize organises:organizes
    organised:organized cancelled:canceled cancelling:canceling travelling:traveling
    traveller:traveler licence:license catalogue:catalog jewellery:jewelry aluminium:aluminum
    labelled:labeled modelling:modeling realise:realize realised:realized recognise:recognize
    analyse:analyze analysed:analyzed defence:defense honour:honor okay:ok
    """)
"""British spellings that mean the same as the American one, also as names."""
NUMBER_WORDS: Final = _pairs("""
    two:2 three:3 four:4 five:5 six:6 seven:7 eight:8 nine:9 ten:10 eleven:11 twelve:12
    zwei:2 drei:3 vier:4 fünf:5 sechs:6 neun:9 zehn:10 zwölf:12
    deux:2 trois:3 quatre:4 cinq:5 huit:8 douze:12
    tres:3 cuatro:4 cinco:5 seis:6 ocho:8 nueve:9 diez:10
    dois:2 duas:2 três:3 quatro:4 oito:8
    quattro:4 cinque:5 nove:9 dieci:10 undici:11 dodici:12
    twee:2 drie:3 vijf:5 zes:6 zeven:7 negen:9 twaalf:12
    """)
"""*one* is missing: it is a pronoun too. So are words that mean something else in another language
or are names: *elf*, *acht*, *neuf*, *dos*, *once*, *due*, *otto*, *sette*, *siete*, *sete*."""
CONTRACTIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        **{
            f"{auxiliary}n't": (auxiliary, "not")
            for auxiliary in """
                are could did do does had has have is might must need should was were would
                """.split()
        },
        "can't": ("cannot",),
        "won't": ("will", "not"),
        "shan't": ("shall", "not"),
        "i'm": ("i", "am"),
        **{f"{who}'re": (who, "are") for who in ("you", "we", "they")},
        **{f"{who}'ve": (who, "have") for who in ("i", "you", "we", "they")},
        **{
            f"{who}'ll": (who, "will")
            for who in ("i", "you", "he", "she", "it", "we", "they", "there", "that")
        },
    }
)
"""``can not`` is missing, since *you can not go* may permit; so is *let us*, which may ask."""
IS_CONTRACTED: Final = _pairs("""
    he's:he she's:she it's:it that's:that there's:there what's:what who's:who where's:where
    here's:here
    """)
AFTER_IS: Final = frozenset(
    """
    a an the my our your his her its their in on at from with under over near very too
    """.split()
)
"""Words after which *she's* means *she is*; before others it may mean *she has*."""
ARTICLE_COUNTS: Final = frozenset(
    """
    few fewer fewest little less least more most many much same other others last next first only
    rest all who which what how one ones better best worse worst former latter past following
    hundred thousand million and or the a an
    """.split()
) | {*NUMBER_WORDS}
"""*the* is left out before any word but these: *most users* are not *the most users*."""
CASE_DECIDES: Final = frozenset(
    """
    US IT WHO AM IS AS IN ON OR OF TO NO SO DO GO BE BY HE IF ME MY AT AN AND CAN ALL
    MS Ms MW MM Mb Gb Kb Tb PIN AIDS SAT SIM CAT SAD
    May March August Polish Turkey China Chile Jordan Georgia Mark Bill Will Rose Grace Hope Faith
    Frank Jack Rob Sue Pat Bob Art Chase Drew Grant Max Nick Ray Rich Sky Summer Wade
    Sie Ihr Ihnen Ihre
    """.split()
)
"""Words that mean something else in lower case; a text without capitals cannot mean them."""
ENGLISH: Final = frozenset(
    """
    the and are with from this that these those has have our your their which costs needs were
    """.split()
)
"""Words of no language that writes ``1,234`` for a number below two."""

# --- quantities -----------------------------------------------------------------------------

UNITS: Final = _groups("""
    s sec secs seconds
    ms millisecond milliseconds
    min mins minute minutes
    h hr hrs hour hours
    km kilometre kilometres kilometer kilometers
    meter metre metres meters
    kg kilogram kilograms
    gram grams
    liter litre litres liters
    % percent
    eur EUR euro euros Euro Euros €
    """)
"""Units after a number. Without ``m``, ``g``, ``l`` and *second*: each has another meaning."""
BEFORE_DECADE: Final = frozenset("the his her their my our your its early late mid since".split())
"""Words after which ``90s`` are years."""
MONTHS: Final[Mapping[str, str]] = MappingProxyType(
    {
        short: name
        for name in """
            January February March April May June July August September October November December
            """.split()
        for short in (name, name[:3])
    }
    | {"Sept": "September"}
    | {
        name.lower(): name
        for name in """
            January February April June July September October November December
            """.split()
    }
)
"""Names of months. *may*, *march* and *august* are none in lower case."""

# --- order ----------------------------------------------------------------------------------

FRONT_OPENERS: Final = frozenset(
    """
    after before during since until till when whenever if today tomorrow yesterday
    nach seit wenn bis ab
    desde hasta cuando si
    après avant pendant depuis quand
    depois antes durante até dopo prima tijdens sinds wanneer
    """.split()
)
"""First words of adverbials that mean the same at both ends of a sentence."""
TIME_OPENERS: Final = frozenset(
    "in on at every am im um jeden en cada chaque em nel nella ogni op om elke".split()
)
"""The same, if the phrase names a time: *in Berlin* may belong to the last noun.

Neither list has *while* and *because*: *he hit Bob while drunk* does not say who was drunk.
"""
TIMES: Final = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays
    fridays saturdays sundays january february march april may june july august september october
    november december spring summer autumn fall winter morning mornings afternoon evening evenings
    night noon midnight weekend weekends weekdays holidays day week month year lunch
    montag dienstag mittwoch donnerstag freitag samstag sonntag morgen abend tag sommer winter
    lunes martes miércoles jueves viernes sábado domingo día verano invierno
    lundi mardi mercredi jeudi vendredi samedi dimanche jour été hiver
    segunda-feira terça-feira quarta-feira quinta-feira sexta-feira dia verão
    lunedì martedì mercoledì giovedì venerdì sabato domenica giorno sera estate inverno
    maandag dinsdag woensdag donderdag vrijdag zaterdag zondag avond zomer
    """.split()
).union(*FOREIGN_MONTHS.values())
CLAUSES: Final = frozenset(
    """
    that to who whom whose which and or but because if when while although unless whether so than
    only just even also too still always often usually sometimes all every each any some most
    say says said think thinks thought know knows knew believe believes told tell tells asked
    dass zu und oder aber nur auch que y o pero para solo sólo qui et ou mais pour seulement
    e mas porque só também che ma perché anche en of maar omdat ook alleen
    """.split()
)
"""Words of a main clause to whose part a final adverbial may belong."""

# --- contradiction --------------------------------------------------------------------------

NEGATORS: Final = frozenset(
    """
    not never no none nobody nothing nowhere neither nor without hardly
    nicht nie niemals kein keine keinen keinem keiner keines
    nunca jamás ningún ninguna nadie
    ne n' pas jamais aucun aucune
    não nenhum nenhuma ninguém
    non nessun nessuno nessuna
    niet nooit geen niemand
    不 没 沒 未 别 非
    """.split()
)
FILLERS: Final = frozenset(
    "do does did any a an ein eine einen einem einer un une una uno um uma een 有".split()
)
"""Words that come and go with a negator."""


def _opposites(table: str) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for group in table.split(","):
        words = group.split()
        for word in words:
            found.setdefault(word, set()).update({*words} - {word})
    return MappingProxyType({word: frozenset(others) for word, others in found.items()})


OPPOSITES: Final = _opposites("""
    enabled disabled, on off, allowed forbidden prohibited banned, required optional, open closed,
    opened closed, opens closes, public private, approved rejected declined,
    accepted rejected refused, passed failed, succeeded failed, passes fails,
    increased decreased, rose fell, rises falls, up down, left right, high low, higher lower,
    upper lower, running stopped, loves hates, likes dislikes, black white, hot cold, warm cold,
    true false, valid invalid, online offline, alive dead, empty full, always never, early late,
    first last, north south, east west, manual automatic, inside outside, complete incomplete,
    present absent, before after, more less fewer, minimum maximum, min max, least most,
    everybody nobody, everyone nobody, green red, awake asleep, locked unlocked, safe unsafe,
    paid unpaid, possible impossible, visible hidden, active inactive, started stopped,
    an aus, auf zu, offen geschlossen, erlaubt verboten, richtig falsch, voll leer,
    encendido apagado, encendida apagada, abierto cerrado, abierta cerrada, lleno vacío,
    allumé éteint, allumée éteinte, complet incomplet, ouvert fermé, ouverte fermée, plein vide,
    ligado desligado, ligada desligada, aberto fechado, aberta fechada, cheio vazio,
    acceso spento, accesa spenta, aperto chiuso, aperta chiusa, pieno vuoto,
    aan uit, open dicht, open gesloten, toegestaan verboden, vol leeg,
    开 关, 亮 灭, 上 下, 大 小, 多 少
    """)
STATES: Final = frozenset(
    """
    is are was were be been has have lives works requires uses costs holds closes opens ends begins
    starts leaves runs drives weigh weighs needs takes lasts owns prefers
    ist sind war hat haben wohnt lebt kostet liegt arbeitet
    es son está están era tiene vive cuesta trabaja
    est sont était ont habite coûte travaille
    é são tem têm mora custa trabalha
    è ha hanno abita vive costa lavora
    zijn heeft woont kost ligt werkt
    是 在 住
    """.split()
)
"""Verbs behind which a value follows, of which a thing has one."""
