"""Grounding: whether a proposed fact is borne out by the words that it quotes.

Rules of this module:

1. In doubt a fact is refused: what is missing can still be read in the message, what is made up is
   believed.
2. A quotation is in its message word for word, but for white space.
3. Numbers, names and dates of a fact are in the words that it quotes. The name of the speaker is
   allowed as well: it replaces *I*.
4. A fact denies something exactly if the clause that it quotes does.
5. At least half of its other words are in the quotation, but for inflection; a question states
   nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from attrs import Factory, field, frozen

from mnemic.kernel.months import MONTHS
from mnemic.kernel.ports.extractors import RELATIONS, Fact, Message
from mnemic.kernel.statements import Statement, Wording
from mnemic.kernel.values import Value

FACT_LENGTH_MAX: Final = 1000
"""Characters of a fact; a longer text is no single fact."""
QUOTES_MAX: Final = 8
"""Quotations of one fact."""
MESSAGES_MAX: Final = 2
"""Messages that one fact may quote, since a payload has at most two owners."""
REASONS: Final = {
    "malformed": "it does not have the fields of a fact",
    "empty": "it has no text, or quotes nothing",
    "too-long": "it is longer than a single fact",
    "no-such-message": "it quotes a message that was not shown",
    "too-many-messages": "it quotes more than two messages",
    "quote-not-in-message": "what it quotes is not in the message",
    "question": "what it quotes is a question",
    "number-not-in-quote": "a number of it is not in what it quotes",
    "name-not-in-quote": "a name of it is not in what it quotes",
    "date-not-in-quote": "its date is not in what it quotes",
    "negation-not-in-quote": "it denies what the quotation does not deny",
    "negation-dropped": "it affirms what the quotation denies",
    "not-in-quote": "most of its words are not in what it quotes",
    "mixed-scopes": "it quotes messages of several users, agents or runs",
    "no-such-block": "it relates to a block that was not shown",
    "message-gone": "a message that it quotes is erased, archived or in quarantine by now",
    "refused": "it cannot be learned",
    "too-many-facts": "the answer has more facts than one answer may have",
}
"""Codes of refusals, and what they mean."""

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE_END: Final = re.compile(r"[.!?。！？\n]+")
_CLAUSE_END: Final = re.compile(
    r"[.!?。！？\n,;:—–]+|\b(?:and|but|or|und|aber|oder|et|mais|ou|y|pero|o|sino|sondern)\b",
    re.IGNORECASE,
)
_MIN: Final = 4
"""Letters of a word that is compared as content."""
_PREFIX: Final = 4
"""Letters that two inflections of a word share, or all but two of the shorter."""
_NOT_NAMES: Final = frozenset(
    """
    the a an i he she they we it my his her their our your this that user speaker person
    der die das ein eine ich er sie wir es mein meine ihr sein nutzer nutzerin benutzer sprecher
    le la les un une je il elle ils nous mon ma sa son utilisateur utilisatrice
    el los las una yo ella ellos nosotros mi su usuario usuaria
    """.split()
)
_COMMON: Final = frozenset(
    """
    with from that this have will would about into their they them been being were when what which
    than then some other also very just does user speaker
    eine einen einem einer eines nach wird wurde sind habe haben sich auch noch über seit
    dans avec pour cette elle sont être avoir aussi très depuis
    para como esta este están desde sobre también entre
    """.split()
)
_DENYING: Final = frozenset(
    """
    dislike dislikes disliked hate hates hated avoid avoids refuse refuses refused unable without
    stopped quit rejected declined
    hasst vermeidet meidet ohne déteste refuse évite sans odia evita rechaza sin
    """.split()
)
"""Words with which a fact denies something without a negator."""
_CHANGING: Final = frozenset(
    """
    now longer anymore moved move moving changed change switched instead new left quit became
    become resigned retired replaced divorced married
    jetzt nun mehr gezogen umgezogen ziehe gewechselt statt stattdessen neu neue neuer neues
    geändert gekündigt geworden
    maintenant désormais plus déménagé changé remplacé devenu devenue nouveau nouvelle quitté
    ahora ya mudé mudado cambié cambiado nuevo nueva dejé dejado
    """.split()
)
"""Words with which a speaker says that something is no longer as it was."""
_CALENDAR: Final = frozenset(
    """
    today yesterday tomorrow tonight now last next this ago since until week month year monday
    tuesday wednesday thursday friday saturday sunday january february march april may june july
    august september october november december
    heute gestern morgen jetzt seit bis woche monat jahr montag dienstag mittwoch donnerstag
    freitag samstag sonntag letzten letzte nächsten nächste vor
    aujourd hier demain maintenant depuis semaine mois année lundi mardi mercredi jeudi vendredi
    samedi dimanche dernier dernière prochain prochaine
    hoy ayer mañana ahora desde hasta semana mes año lunes martes miércoles jueves viernes sábado
    domingo pasado pasada próximo próxima
    """.split()
).union(*MONTHS.values())


@frozen
class Ungrounded(Exception):
    """A fact that is not borne out, and the code of the reason."""

    reason: str


@frozen(kw_only=True)
class Spot(Value):
    """Where a quotation is: a message, by place, and characters of its content."""

    message: int
    start: int
    end: int


@frozen(kw_only=True)
class _Words(Value):
    """The words of some texts, as they are compared."""

    folded: frozenset[str]
    tokens: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> _Words:
        kept = list(texts)
        tokens = (token.lower() for text in kept for token in Statement.of(text).tokens)
        words = (word.casefold() for text in kept for word in _WORD.findall(text))
        return cls(folded=frozenset(words), tokens=frozenset(tokens))

    def has(self, word: str) -> bool:
        """Whether a word is among them, in this or another inflection."""
        given = word.casefold()
        return given in self.folded or any(_inflects(given, each) for each in self.folded)


def may_replace(old: str, new: str, quoted: Iterable[str], speaker: str | None) -> bool:
    """Whether one statement may replace another, apart from who says it.

    They share a word that is not common, the speaker's name aside, or the words that are quoted for
    the new one say that something has changed.
    """
    words = {word.casefold() for text in quoted for word in _WORD.findall(text)}
    if not words.isdisjoint(_CHANGING):
        return True
    names = {word.casefold() for word in _WORD.findall(speaker or "")}
    known = _Words.of([old])
    given = {word.casefold().removesuffix("'s") for word in _WORD.findall(new)} - names
    return any(len(word) >= _MIN and word not in _COMMON and known.has(word) for word in given)


def _names(evidence: Evidence) -> frozenset[str]:
    authors = (message.author for message in evidence.messages if message.author)
    return frozenset(word.casefold() for name in authors for word in _WORD.findall(name))


@frozen(kw_only=True)
class Evidence(Value):
    """Messages as a fact may quote them; parsed once per call."""

    messages: Sequence[Message]
    names: frozenset[str] = field(init=False, default=Factory(_names, takes_self=True))

    def check(self, fact: Fact) -> tuple[Spot, ...]:
        """Return where the quotations of *fact* are.

        Raises:
            Ungrounded: It is not borne out by them.
        """
        _check_form(fact)
        spots = tuple(self._spot(each.message, each.text) for each in fact.quotes)
        if len({each.message for each in spots}) > MESSAGES_MAX:
            raise Ungrounded("too-many-messages")
        clauses = [self._around(each, _CLAUSE_END) for each in spots]
        if all(self._asks(each) for each in spots):
            raise Ungrounded("question")
        quoted = _Words.of(
            self.messages[each.message].content[each.start : each.end] for each in spots
        )
        speakers = _Words.of(self.messages[each.message].author or "" for each in spots)
        _check_numbers(fact.text, quoted)
        _check_names(fact, quoted, speakers)
        for date in (fact.since, fact.until):
            _check_date(date, quoted)
        _check_negation(fact.text, clauses)
        _check_words(fact.text, quoted, speakers)
        return spots

    def has_all(self, text: str) -> bool:
        """Whether every word of *text* is in the messages, but for inflection and the speaker."""
        words = _Words.of(each.content for each in self.messages)
        return all(
            words.has(word) or word.casefold() in self.names | _NOT_NAMES
            for word in _WORD.findall(text)
        )

    def _spot(self, place: int, quoted: str) -> Spot:
        if not 0 <= place < len(self.messages):
            raise Ungrounded("no-such-message")
        content, words = self.messages[place].content, quoted.split()
        if not words:
            raise Ungrounded("empty")
        found = re.search(r"\s+".join(map(re.escape, words)), content)
        if found is None:
            raise Ungrounded("quote-not-in-message")
        return Spot(message=place, start=found.start(), end=found.end())

    def _around(self, spot: Spot, ends: re.Pattern[str]) -> str:
        """Return a quotation with the rest of the clauses or sentences that it is part of."""
        content = self.messages[spot.message].content
        before = [each.end() for each in ends.finditer(content, 0, spot.start)]
        after = ends.search(content, spot.end)
        return content[before[-1] if before else 0 : after.start() if after else len(content)]

    def _asks(self, spot: Spot) -> bool:
        content = self.messages[spot.message].content
        if content[spot.start : spot.end].rstrip().endswith(("?", "？")):
            return True
        if content[spot.start : spot.end].rstrip().endswith((".", "!", "。")):
            return False
        after = _SENTENCE_END.search(content, spot.end)
        return after is not None and ("?" in after[0] or "？" in after[0])


def _check_form(fact: Fact) -> None:
    if not fact.text.strip() or not fact.quotes or fact.relation not in RELATIONS:
        raise Ungrounded("malformed" if fact.relation not in RELATIONS else "empty")
    if len(fact.text) > FACT_LENGTH_MAX or len(fact.quotes) > QUOTES_MAX:
        raise Ungrounded("too-long")


def _check_numbers(text: str, quoted: _Words) -> None:
    for token in Statement.of(text).tokens:
        if not any(map(str.isdigit, token)) or token.lower() in quoted.tokens:
            continue
        if not set(re.findall(r"\d+", token)) <= quoted.folded:
            raise Ungrounded("number-not-in-quote")


def _check_names(fact: Fact, quoted: _Words, speakers: _Words) -> None:
    about = () if fact.about is None else tuple(_WORD.findall(fact.about))
    for word in (*_WORD.findall(fact.text), *(each.capitalize() for each in about)):
        name = word.removesuffix("'s").removesuffix("’s")
        if not name[0].isupper() or name.casefold() in _NOT_NAMES:
            continue
        if not quoted.has(name) and name.casefold() not in speakers.folded:
            raise Ungrounded("name-not-in-quote")


def _check_date(date: str | None, quoted: _Words) -> None:
    if date is None:
        return
    try:
        year = datetime.fromisoformat(date).year
    except (TypeError, ValueError):
        raise Ungrounded("date-not-in-quote") from None
    if str(year) not in quoted.folded and quoted.folded.isdisjoint(_CALENDAR):
        raise Ungrounded("date-not-in-quote")


def _check_negation(text: str, clauses: Sequence[str]) -> None:
    denies = _denies(text)
    denied = any(map(_denies, clauses))
    if denies and not denied:
        raise Ungrounded("negation-not-in-quote")
    if denied and not denies:
        words = {word.casefold() for word in _WORD.findall(text)}
        if words.isdisjoint(_DENYING):
            raise Ungrounded("negation-dropped")


def _denies(text: str) -> bool:
    return bool(Wording.of(Statement.of(text)).negators)


def _check_words(text: str, quoted: _Words, speakers: _Words) -> None:
    words = {word.casefold() for word in _WORD.findall(text)} - speakers.folded
    content = {word for word in words if len(word) >= _MIN} - _COMMON or words - _NOT_NAMES
    found = sum(quoted.has(word) for word in content)
    if 2 * found < len(content):
        raise Ungrounded("not-in-quote")


def _inflects(one: str, other: str) -> bool:
    """Whether two words may be forms of one: they share their beginning."""
    shorter = min(len(one), len(other))
    if shorter < _MIN - 1 or abs(len(one) - len(other)) > _PREFIX:
        return False
    shared = max(_MIN - 1, min(_PREFIX, shorter), shorter - 2)
    return shorter >= shared and one[:shared] == other[:shared]
