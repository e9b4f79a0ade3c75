"""Texts in another language change no earlier answer and no replay of one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore

QUESTIONS = (
    "Was hat Mullers Hund getan, und wer war bei der Brücke",
    "Mullers dog gate",
    "Was machte Muller mit dem dog",
    "Les chats de Muller",
)
ENGLISH = (
    ("The dog ran over the bridge and the old gate", "Jürgen Müller"),
    ("Ann fed the cats behind the harbour gate", "Ann"),
    ("A crane lifts the dog house", "Bob"),
)
GERMAN = ("Anna hat die Katzen ihrer Nachbarin gefüttert und die Milch geholt", "Eva")
FRENCH = ("Les chats dorment sous la table et dans la cuisine", "Eva Müller")
LONG = " ".join(f"{text}." for text, _ in 3 * ENGLISH)
"""More than one passage."""
TEXTS = st.lists(
    st.sampled_from(
        (
            *ENGLISH,
            GERMAN,
            FRENCH,
            ("und das ist nicht 1.234,5", "Ann"),
            ("猫は夜に庭を歩く", "Jürgen Müller"),
            (f"{LONG} {GERMAN[0]}.", "Jürgen Müller"),
            (f"{LONG} {LONG}", "Bob"),
        )
    ),
    min_size=1,
    max_size=5,
    unique=True,
)


def learn(memory: SyncMemory, texts: list[tuple[str, str]]) -> None:
    for content, author in texts:
        memory.learn(content, author=author, thread=author, category="message")


def answers(memory: SyncMemory, version: int) -> list[Any]:
    past = memory.as_of(version=version)
    return [[(each.id, each.score) for each in past.recall(ask).blocks] for ask in QUESTIONS]


def check(before: list[tuple[str, str]], after: list[tuple[str, str]]) -> None:
    """Record recalls after some texts, learn others, and compare and replay."""
    with SyncMemory.open(MemoryStore(), embedder=HashEmbedder(8)) as memory:
        learn(memory, before)
        memory.consolidate()
        decisions = [memory.recall(ask).decision_id for ask in QUESTIONS]
        version = memory.status().version
        expected = answers(memory, version)
        learn(memory, after)
        for is_promoted in (False, True):  # first while the later texts are in the inbox
            if is_promoted:
                memory.consolidate()
            memory.recall(QUESTIONS[0])
            assert answers(memory, version) == expected
            outcomes = {memory.replay(each or "").outcome for each in decisions}
            assert outcomes == {"reproduced"}


@pytest.mark.parametrize("later", [GERMAN, FRENCH, (f"{LONG} {GERMAN[0]}.", "Eva")])
def test_a_text_in_a_new_language_changes_no_earlier_answer(later: tuple[str, str]) -> None:
    check([*ENGLISH], [later])


@given(before=TEXTS, after=TEXTS)
def test_no_text_changes_an_earlier_answer(
    before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    check(before, after)
