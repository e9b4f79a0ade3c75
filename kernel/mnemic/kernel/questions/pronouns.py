"""Pronouns: whether a question means what its asker said, or what the other side said.

A question in the first person ("where do *I* live?") means what its asker said, one in the second
person alone ("what did *you* suggest?") what the other side of the conversation said. The tables
cover English, German, French, Spanish, Portuguese, Italian, Dutch, and Chinese and Japanese by
their pronouns. Words mean different things in different languages (*mes* is "my" in French and
"month" in Spanish), so the language with the most function words in the question, each counted
once, is taken; of equals the one listed first.

The tables are part of the recipes that use them, and frozen with these.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal

from attrs import frozen

from mnemic.kernel.late import late_pattern
from mnemic.kernel.values import Value

Person = Literal["first", "second"]


@frozen(kw_only=True)
class Language(Value):
    """Words of one language, lower case."""

    function_words: frozenset[str]
    """Frequent words by which the language of a short question is recognised."""
    first: frozenset[str]
    second: frozenset[str]


def _language(*, function_words: str, first: str, second: str) -> Language:
    own, other = frozenset(first.split()), frozenset(second.split())
    return Language(
        function_words=frozenset(function_words.split()) | own | other, first=own, second=other
    )


LANGUAGES: Final = {
    "en": _language(
        function_words="""the a an of to in on at and or is are was were be been do does did has
            have had what when where which who whom whose why how that this it for with from about
            my not can could should would will""",
        first="i me my mine myself we our ours ourselves",
        second="you your yours yourself yourselves",
    ),
    "de": _language(
        function_words="""der die das den dem des ein eine einen einem einer und oder ist sind war
            waren hat habe haben hatte was wann wo wer wem wen welche welcher welches warum wieso
            wie nicht mit von zu zum zur im am auf für über""",
        first="""ich mir mich mein meine meinen meinem meiner meines wir uns unser unsere unseren
            unserem unserer unseres""",
        second="""du dir dich dein deine deinen deinem deiner deines ihr euch euer eure euren""",
    ),
    "fr": _language(
        function_words="""le la les un une des du de et ou est sont était a ont ai as avons que qui
            quoi quand où quel quelle quels quelles pourquoi comment combien ne pas dans sur avec
            pour au aux ce cette""",
        first="""je j me m moi mon ma mes mien mienne miens miennes nous notre nos nôtre nôtres""",
        second="""tu te t toi ton ta tes tien tienne vous votre vos vôtre vôtres""",
    ),
    "es": _language(
        function_words="""el la los las un una unos unas de del y o es son era fue está están ha han
            he qué que quién cuándo dónde cuál cuáles cómo cuánto cuántos por para con en no al se
            lo""",
        first="""yo me mi mis mí mío mía míos mías conmigo nosotros nosotras nos nuestro nuestra
            nuestros nuestras""",
        second="""tú te ti tu tus tuyo tuya contigo usted ustedes vosotros vosotras os vuestro
            vuestra""",
    ),
    "pt": _language(
        function_words="""o a os as um uma de do da dos das e ou é são era foi está estão tem têm
            que quem quando onde qual quais como quanto quantos por para com em no na não ao""",
        first="""eu me mim meu minha meus minhas comigo nós nosso nossa nossos nossas""",
        second="""tu te ti teu tua teus tuas você vocês seu sua seus suas""",
    ),
    "it": _language(
        function_words="""il lo la i gli le un uno una di del della dei delle e o è sono era ha
            hanno ho che chi quando dove quale quali come quanto quanti perché per con in nel nella
            non al alla cosa""",
        first="io mi me mio mia miei mie noi nostro nostra nostri nostre",
        second="tu ti te tuo tua tuoi tue voi vi vostro vostra vostri vostre",
    ),
    "nl": _language(
        function_words="""de het een van en of is zijn was waren heeft heb hebben had wat wanneer
            waar wie welke welk waarom hoe niet met voor op aan in bij naar om te dat dit""",
        first="ik me mij mijn wij we ons onze",
        second="jij je jou jouw jullie u uw",
    ),
}
"""By code, in the order in which equals are taken. English leaves out "us": it is a country too."""

_HAN_FIRST: Final = late_pattern("我|咱|俺")
_HAN_SECOND: Final = late_pattern("你|您")
_KANA: Final = late_pattern("[\u3040-\u30ff]")
_JAPANESE_FIRST: Final = late_pattern("私|わたし|わたくし|あたし|僕|ぼく|ボク|俺|おれ|我々|我が")
_JAPANESE_SECOND: Final = late_pattern("あなた|貴方|君は|君の|君が|きみ|お前")

_WORD: Final = late_pattern(r"[^\W\d_]+")


def person(question: str) -> Person | None:
    """Return the grammatical person of *question*; None: it has no pronoun of either side.

    Where both occur ("can you tell me where I live?") the first counts.
    """
    text = unicodedata.normalize("NFKC", question).lower()
    if _KANA.search(text):
        return _matched(text, _JAPANESE_FIRST, _JAPANESE_SECOND)
    found = _matched(text, _HAN_FIRST, _HAN_SECOND)
    if found is not None:
        return found
    words = frozenset(_WORD.findall(text))
    language = LANGUAGES[languages_of(text)[0]]
    if words & language.first:
        return "first"
    return "second" if words & language.second else None


def languages_of(text: str) -> list[str]:
    """Return the codes of the languages with the most function words in a question, in order.

    Args:
        text: The question, lower case.
    """
    words = frozenset(_WORD.findall(text))
    counts = {code: len(words & each.function_words) for code, each in LANGUAGES.items()}
    most = max(counts.values())
    return [code for code, count in counts.items() if count == most]


def _matched(text: str, first: re.Pattern[str], second: re.Pattern[str]) -> Person | None:
    if first.search(text):
        return "first"
    return "second" if second.search(text) else None
