"""Texts in the order of learning, their passages and neighbours (DOMAIN sections 3 and 6).

A text is what a block was learned as, once: a block that is learned again has a second text, and
the first one is no longer active.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
from attrs import frozen

from mnemic.kernel.events import BlockLearned, BlocksPromoted
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR
from mnemic.kernel.roles import role_of
from mnemic.specs.reference.fold import PlainState

Analyse = Callable[[str], list[str]]
"""From a text to its terms, in order, repetitions kept."""


def nothing(text: str) -> list[str]:
    """Return no terms: what a text has in its own language, if that does not matter."""
    del text
    return []


PAUSE_US = 3 * MICROS_PER_HOUR
"""A longer time between two texts of a thread ends a conversation."""
NAMELESS = ""
"""The thread of messages without one."""
WORDS = 60
"""Words of a passage at most."""
REST = 15
"""A last passage with fewer is joined to the one before."""
CLOSING = "\"')]”’"
UNSPACED = (
    ("\u3040", "\u30ff"),
    ("\u3400", "\u4dbf"),
    ("\u4e00", "\u9fff"),
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U0003134f"),
)
"""Scripts without spaces: each sign is a word."""


@frozen(kw_only=True)
class Said:
    """One text."""

    number: int
    """Its place in the order of learning."""
    block: BlockId
    words: tuple[str, ...]
    """Terms, repetitions included; none once erased."""
    others: tuple[str, ...] = ()
    """Terms in its language, if that is not English: each has a tag, so none is among `words`."""
    author: str | None
    names: frozenset[str]
    """The terms of the author's name."""
    role: str | None
    """Which side of a conversation it comes from."""
    thread: str | None
    """None: it belongs to no thread."""
    created_us: int | None
    """When it was first said."""
    content: str = ""
    """The text itself; "" once erased."""
    rarity: int | None = None
    """How unusual its words were, as recorded at its promotion; None: it was not recorded."""

    def count(self, term: str | tuple[str, ...]) -> int:
        """Return how often a term occurs; of several variants, the most frequent one."""
        variants = (term,) if isinstance(term, str) else term
        everything = (*self.words, *self.others)
        return max((everything.count(each) for each in variants), default=0)


def everything_said(state: PlainState, analyse: Analyse, others: Analyse = nothing) -> list[Said]:
    """Return every text that was ever learned, in the order of learning."""
    said: list[Said] = []
    latest: dict[BlockId, int] = {}
    for recorded in state.log:
        event = recorded.event
        if isinstance(event, BlocksPromoted):
            for promotion in event.promotions:
                place = latest[promotion.block_id]
                if promotion.rarity >= 0:
                    said[place] = attrs.evolve(said[place], rarity=promotion.rarity)
        if not isinstance(event, BlockLearned):
            continue
        text = event.text if isinstance(event.text, BlockText) else None
        author = text.author if text else None
        created_us = event.created_at_us
        if created_us is None and not event.undated:
            created_us = recorded.recorded_us
        latest[event.block_id] = len(said)
        said.append(
            Said(
                number=len(said),
                block=event.block_id,
                words=tuple(analyse(text.content)) if text else (),
                author=author,
                others=tuple(others(text.content)) if text else (),
                names=frozenset([*analyse(author), *others(author)]) if author else frozenset(),
                role=role_of(text.author, text.metadata) if text else None,
                thread=_thread(text, event.category),
                created_us=created_us,
                content=text.content if text else "",
            )
        )
    return said


def _thread(text: BlockText | None, category: str) -> str | None:
    if text is None:
        return None
    if text.thread:
        return text.thread
    return NAMELESS if category == "message" else None


def living(state: PlainState, said: list[Said]) -> dict[BlockId, Said]:
    """Return the text of each active block, by number: the one that it was last learned as."""
    last = {text.block: text for text in said}
    return {block: last[block] for block in state.with_status("active")}


def sittings(said: list[Said]) -> list[list[Said]]:
    """Return the texts in threads, thread by thread, split where hours lie between them.

    A text of unknown age never splits; the next one is compared with the last that has a date.
    """
    threads: dict[str, list[Said]] = {}
    for text in said:
        if text.thread is not None:
            threads.setdefault(text.thread, []).append(text)
    found: list[list[Said]] = []
    for thread in threads.values():
        dated_us: int | None = None
        found.append([])
        for text in thread:
            if text.created_us is not None:
                if dated_us is not None and abs(text.created_us - dated_us) > PAUSE_US:
                    found.append([])
                dated_us = text.created_us
            found[-1].append(text)
    return found


def neighbours(said: list[Said], reach: int) -> dict[int, list[tuple[int, int]]]:
    """Return, by text, the others of its conversation within *reach* steps: number and distance."""
    found: dict[int, list[tuple[int, int]]] = {text.number: [] for text in said}
    for sitting in sittings(said):
        for place, text in enumerate(sitting):
            for other_place, other in enumerate(sitting):
                steps = abs(place - other_place)
                if 1 <= steps <= reach:
                    found[text.number].append((other.number, steps))
    return found


# --- passages ----------------------------------------------------------------------------------


def cut(text: str) -> list[str]:
    """Return the passages of a text."""
    found: list[list[str]] = [[]]
    for words in _sentences(text):
        rest = words
        if found[-1] and len(found[-1]) + len(words) > WORDS:
            found.append([])
        while len(rest) > WORDS:
            found[-1:] = [rest[:WORDS], []]
            rest = rest[WORDS:]
        found[-1] += rest
    if len(found) > 1 and len(found[-1]) < REST:
        last = found.pop()
        found[-1] += last
    return [text] if len(found) == 1 else [_joined(words) for words in found]


def _joined(words: list[str]) -> str:
    """Return *words* with spaces between them, but not between signs that are words."""
    text = ""
    for word in words:
        is_apart = text and not (_is_alone(text[-1]) and _is_alone(word[0]))
        text += f" {word}" if is_apart else word
    return text


def _is_alone(sign: str) -> bool:
    return any(low <= sign <= high for low, high in UNSPACED)


def _sentences(text: str) -> list[list[str]]:
    """Return the words of each sentence; some sentences may be empty."""
    sentences: list[list[str]] = [[]]
    word = ""
    for sign in f"{text} ":
        alone = _is_alone(sign)
        if not alone and not sign.isspace():
            word += sign
            if sign in "。！？":
                sentences[-1].append(word)
                sentences.append([])
                word = ""
            continue
        if word:
            sentences[-1].append(word)
        if alone:
            sentences[-1].append(sign)
        ends = word.rstrip(CLOSING).endswith((".", "!", "?", "…")) and sign.isspace()
        if ends or sign == "\n":
            sentences.append([])
        word = ""
    return sentences


def passages_said(said: list[Said], analyse: Analyse, others: Analyse) -> dict[int, list[Said]]:
    """Return the passages of each text, by its number.

    A passage is a text with a number of its own; those of one text follow each other, in a thread
    or without one.
    """
    found: dict[int, list[Said]] = {}
    number = 0
    for text in said:
        found[text.number] = []
        for part in cut(text.content):
            found[text.number].append(
                attrs.evolve(
                    text,
                    number=number,
                    content=part,
                    words=tuple(analyse(part)),
                    others=tuple(others(part)),
                    thread=f"\0{text.number}" if text.thread is None else text.thread,
                )
            )
            number += 1
    return found
