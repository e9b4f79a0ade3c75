"""Questions that memory answers, and questions that it does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mnemic.adapters.inprocess import SyncMemory

FACTS = (
    "The boiler in the cellar was serviced on 3 March.",
    "Tomasz keeps the spare fuses in the blue drawer.",
    "The night shift starts at 21:30 and ends at 05:30.",
    "Orders above 2,000 EUR are approved by two managers.",
    "Our supplier for seals is Havel & Sons in Brno.",
    "Valve 12 leaks when the pressure exceeds 6 bar.",
    "Lena is on parental leave until September.",
    "The forklift may be driven with a licence of class B only.",
    *(
        f"Locker {number} belongs to the {team} team."
        for number, team in enumerate(
            ("paint", "press", "weld", "store", "lab", "gate", "yard", "sales") * 4, start=1
        )
    ),
)


@pytest.fixture(scope="module")
def factory() -> Iterator[SyncMemory]:
    """A memory of forty facts, with the bundled embedder."""
    with SyncMemory.open(":memory:") as memory:
        memory.learn_many(list(FACTS))
        memory.consolidate()
        yield memory


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("where are the spare fuses?", FACTS[1]),
        ("when does the night shift start?", FACTS[2]),
        ("which supplier do we buy seals from?", FACTS[4]),
        ("what is wrong with valve 12?", FACTS[5]),
    ],
)
def test_one_fact_of_forty_is_one_block(factory: SyncMemory, question: str, fact: str) -> None:
    answer = factory.recall(question, record=False)
    assert [block.content for block in answer.blocks] == [fact]
    assert answer.verdict == "yes"
    assert answer.text.startswith("What I remember that bears on this:")


@pytest.mark.parametrize(
    "question", ["Who painted the Mona Lisa?", "How do I knit a scarf?", "Which song won?"]
)
def test_an_unrelated_question_gets_no_for_an_answer(factory: SyncMemory, question: str) -> None:
    answer = factory.recall(question, record=False)
    assert answer.verdict == "no"
    assert answer.text.startswith("Nothing in memory bears on this. What comes closest:")
    assert len(answer.blocks) >= 1
    assert all(block.doubtful for block in answer.blocks)
    strict = factory.recall(question, min_probability=0.5, record=False)
    assert (strict.blocks, strict.text) == ((), "Nothing in memory bears on this.")
    assert strict.answerable == answer.answerable
