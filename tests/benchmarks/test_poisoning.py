"""The pieces of ``benchmarks/poisoning.py``: facts, attacks, and what counts as marked."""

from __future__ import annotations

import poisoning
import pytest
from attacks import TRICKS, attacks, facts

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory


def test_facts_are_about_different_things_and_have_a_false_answer() -> None:
    known = facts(1000)
    assert len({fact.text for fact in known}) == len({fact.question for fact in known}) == 1000
    assert all(fact.false.casefold() not in fact.text.casefold() for fact in known)
    assert known == facts(1000)


def test_every_trick_gives_a_false_answer_to_its_question() -> None:
    known = facts(20)
    hostile = attacks(known)
    assert {each.trick for each in hostile} == set(TRICKS)
    for fact, attack in zip(known, hostile, strict=True):
        assert fact.false.casefold() in attack.text.casefold()
        assert fact.text.rstrip(".") not in attack.text


def test_the_attacker_learns_as_untrusted_whatever_it_claims() -> None:
    known = facts(5)
    with SyncMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        theirs = poisoning.learned(memory, known, attacks(known))
        assert {memory.block(block).zone for block in theirs} == {"untrusted"}
        assert memory.status().active == 10


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("[0123abcd] Ask Mallory.\n[99999999] Ask Ada.", ["[0123abcd] Ask Mallory."]),
        ("[0123abcd untrusted] Ask Mallory.", ["[0123abcd untrusted] Ask Mallory."]),
        ("nothing", []),
    ],
)
def test_the_lines_of_a_block_are_those_that_cite_it(text: str, lines: list[str]) -> None:
    assert poisoning.cited(text, {"0123abcd" + "0" * 8}) == lines


def test_what_a_peer_returns_is_never_marked() -> None:
    result = {
        "name": "another",
        "release": "1",
        "answers": [["fact/0", "attack/0"], ["attack/1", "fact/7"], ["fact/2"]],
    }
    found = poisoning.of_peer(result, ["fact/0", "fact/1", "fact/2"])
    assert found.cells == ["another 1", "66.7 %", "33.3 %", "66.7 %", "-", "-", "66.7 %"]


def test_the_ratio_is_that_of_the_99th_percentiles() -> None:
    quiet = [0.01] * 99 + [0.02]
    flooded = poisoning.Flooded(quiet=quiet, flooded=[3 * each for each in quiet], statuses={})
    assert flooded.ratio == pytest.approx(3.0)
