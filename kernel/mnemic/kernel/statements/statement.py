"""A text as sentences of tokens, which is all that the rules compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Final, TypeAlias

from attrs import frozen

from mnemic.kernel.late import late_pattern
from mnemic.kernel.statements.characters import passages, plain
from mnemic.kernel.statements.spelling import respelled
from mnemic.kernel.statements.vocabulary import ABBREVIATIONS, BEFORE_ORDINAL, CASE_DECIDES
from mnemic.kernel.values import Value

Token: TypeAlias = str
"""A word in its one spelling, or a punctuation mark inside a sentence. Never white space."""

_OPENING: Final = "\"'`([{¿¡"
_CLOSING: Final = "\"'`)]}.,;:!?"
_ENDING: Final = frozenset(".!?")
_INVERTED: Final = frozenset("¿¡")
_MARKS: Final = frozenset({*_OPENING, *_CLOSING, "..."})
_RUN: Final = late_pattern(r"\.\.\.+|.")
_INITIALS: Final = late_pattern(r"[^\W\d_](?:\.[^\W\d_])*")
_ORDINAL: Final = late_pattern(r"[0-9]{1,2}")
_EXACT: Final = late_pattern(r"[/\\=_@]|[a-z][A-Z]")
_KEY_LENGTH_MIN: Final = 8
_KEY_BITS: Final = 63


@frozen
class Statement(Value):
    """A parsed text: what `same`, `extends` and `relation` compare. It holds the text's words."""

    spelled: str
    """Sentences, one per line, as tokens separated by single spaces."""
    caseless: bool
    """Whether the text has no capitals, or nothing else, so that its case says nothing."""

    @classmethod
    def of(cls, text: str) -> Statement:
        """Parse *text*, in time proportional to its length."""
        bare = plain(text)
        shouted = bare.isupper() and " " in bare.strip()
        is_small = not shouted and bare == bare.lower()
        lines = (
            " ".join(respelled(_cased(words, shouted=shouted), shouted=shouted))
            for passage in passages(bare)
            for words in _sentences(passage.split(), is_small=is_small)
        )
        return cls("\n".join(filter(None, lines)), shouted or is_small)

    @property
    def tokens(self) -> tuple[Token, ...]:
        """All tokens, in order."""
        return tuple(self.spelled.split())

    @property
    def sentences(self) -> tuple[tuple[Token, ...], ...]:
        """The tokens of each sentence, in order; none is empty."""
        return tuple(tuple(line.split(" ")) for line in self.spelled.splitlines())

    @cached_property
    def key(self) -> int:
        """Equal for the same statements; see `same.statement_key`."""
        return _key(self.spelled)

    @cached_property
    def sentence_keys(self) -> tuple[int, ...]:
        """One key per sentence; see `same.sentence_keys`."""
        lines = self.spelled.splitlines()
        return (self.key,) if len(lines) == 1 else tuple(map(_key, lines))


def words_of(tokens: Iterable[Token]) -> list[str]:
    """Return the tokens that are no punctuation marks, in lower case."""
    return [token.lower() for token in tokens if token not in _MARKS]


def keeps_case(word: str) -> bool:
    """Whether *word* means something else in other case: a path, a key, a name of code, *US*."""
    if word in CASE_DECIDES or _EXACT.search(word):
        return True
    if len(word) < _KEY_LENGTH_MIN or not word.isascii():
        return False
    return any(map(str.isdigit, word)) and any(map(str.isalpha, word))


def _key(spelled: str) -> int:
    words = sorted(words_of(spelled.split()))
    if not words:
        return 0
    digest = blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - _KEY_BITS)


def _sentences(chunks: Sequence[str], *, is_small: bool) -> Iterator[list[str]]:
    """Yield the words and marks of each sentence; marks that end one are left out, but not ``?``.

    Args:
        chunks: The parts of a passage between white space.
        is_small: Whether the text has no capitals, so that a sentence may begin without one.
    """
    sentence: list[str] = []
    asked = False
    for place, chunk in enumerate(chunks):
        if chunk.isalnum():
            sentence.append(chunk)
            continue
        opened = chunk.lstrip(_OPENING)
        opening = chunk[: len(chunk) - len(opened)]
        word = opened.rstrip(_CLOSING)
        run = opened[len(word) :]
        asked = asked or "¿" in opening
        sentence += (mark for mark in opening if mark not in _INVERTED)
        if word:
            sentence.append(word)
        ended = not _ENDING.isdisjoint(run) and (
            place + 1 == len(chunks) or _ends(chunks, place, word, run, is_small=is_small)
        )
        if not ended:
            sentence += run
            continue
        sentence += (mark for mark in _RUN.findall(run) if mark not in _ENDING)
        if asked or "?" in run:
            sentence.append("?")
        yield sentence
        sentence, asked = [], False
    if asked:
        sentence.append("?")
    yield sentence


def _ends(chunks: Sequence[str], place: int, word: str, run: str, *, is_small: bool) -> bool:
    """Whether *run*, the marks after *word*, ends a sentence that is not the passage's last."""
    following = chunks[place + 1].lstrip(_OPENING)
    if not following or (following[0].islower() and not is_small):
        return False
    if not run.startswith(".") or "!" in run or "?" in run:
        return True
    if _ORDINAL.fullmatch(word):
        return place == 0 or chunks[place - 1].lower() not in BEFORE_ORDINAL
    return word.lower() not in ABBREVIATIONS and not (word.isascii() and _INITIALS.fullmatch(word))


def _cased(words: list[str], *, shouted: bool) -> list[str]:
    """Return *words* without case that says nothing: of shouting, of a sentence's first word."""
    if shouted:
        return [word if _keeps_case_shouted(word) else word.lower() for word in words]
    for place, word in enumerate(words):
        if word not in _MARKS:
            if word in {"A", "I"} or (word[1:].islower() and word[0].isupper()):
                words[place] = word[0].lower() + word[1:]
            break
    return words


def _keeps_case_shouted(word: str) -> bool:
    """As `keeps_case`, in a text of capitals, where *IT* is most likely the pronoun."""
    return keeps_case(word) and word not in CASE_DECIDES
