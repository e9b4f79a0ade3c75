"""Texts of many passages: found by one of them, and cited by it."""

from __future__ import annotations

import pytest
from attrs import evolve

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import ContentTooLong
from mnemic.kernel.model.identity import short
from mnemic.kernel.passages import passages
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.rendering import Cited, parse

QUESTION = "which valve leaks above six bar?"
FACT = "Valve twelve of the brewery leaks when the pressure exceeds six bar, says the fitter."


def chapter(number: int) -> str:
    """Return some 45 words that have nothing to do with the question."""
    return (
        f"Chapter {number} tells how the harbour was dredged in spring, when the barges came up the"
        " river with sand and the children counted them from the bridge until supper was called,"
        f" and how the keeper of lock {number} wrote each name into his ledger."
    )


def book(chapters: int, *, fact_after: int) -> str:
    """Return a long text with one fact in it."""
    told = [chapter(number) for number in range(chapters)]
    told.insert(fact_after, f"{FACT} {chapter(chapters)}")
    return "\n".join(told)


@pytest.fixture
def memory() -> SyncMemory:
    return SyncMemory.open(MemoryStore())


def test_a_book_is_found_by_one_passage_and_cited_by_it(memory: SyncMemory) -> None:
    text = book(700, fact_after=417)
    assert 150_000 < len(text) < 200_000
    with memory:
        told = memory.learn(text)
        memory.learn_many([{"content": chapter(number)} for number in range(800, 830)])
        answer = memory.recall(QUESTION, top_k=3, token_budget=400)
        best = answer.blocks[0]
        assert best.id == told.block_id
        assert best.content == text
        assert best.passage is not None
        assert FACT in passages(text)[best.passage - 1]
        assert f"[{short(told.block_id)}:{best.passage}, " in answer.text
        assert FACT in answer.text
        assert answer.tokens <= 400
        (section,) = parse(answer.text)
        cited = [line for line in section.lines if isinstance(line, Cited) and line.passage]
        assert [(line.id, line.passage) for line in cited] == [(short(told.block_id), best.passage)]


def test_a_text_of_few_passages_is_shown_as_a_whole(memory: SyncMemory) -> None:
    text = book(2, fact_after=1)
    assert 1 < len(passages(text)) <= DEFAULT.passages_whole
    with memory:
        told = memory.learn(text)
        answer = memory.recall(QUESTION)
        assert answer.blocks[0].passage is not None
        assert f"[{short(told.block_id)}" in answer.text
        assert chapter(0) in answer.text
        assert f"{short(told.block_id)}:" not in answer.text


def test_a_short_text_has_no_passage(memory: SyncMemory) -> None:
    with memory:
        memory.learn(FACT)
        assert memory.recall(QUESTION).blocks[0].passage is None


def test_a_recall_without_a_question_names_no_passage(memory: SyncMemory) -> None:
    with memory:
        told = memory.learn(book(20, fact_after=3))
        answer = memory.recall()
        assert answer.blocks[0].passage is None
        assert f"[{short(told.block_id)}:1, " in answer.text


def test_a_decision_about_a_book_is_replayed(memory: SyncMemory) -> None:
    with memory:
        memory.learn(book(40, fact_after=17))
        other = memory.learn(book(30, fact_after=29))
        decided = memory.recall(QUESTION, token_budget=300)
        assert decided.decision_id is not None
        memory.erase(memory.learn("The pressure gauge shows bar.").block_id)
        assert memory.replay(decided.decision_id).outcome == "reproduced"
        then = memory.as_of(decision=decided.decision_id)
        assert then.recall(QUESTION, token_budget=300).text == decided.text
        memory.erase(other.block_id)
        assert memory.replay(decided.decision_id).outcome == "sealed"


def test_more_than_the_limit_is_refused_and_the_rest_of_a_batch_learned() -> None:
    policy = evolve(DEFAULT, name="short", content_length_max=1000)
    with SyncMemory.open(MemoryStore(), policy=policy) as memory:
        with pytest.raises(ContentTooLong, match="1001 characters, the limit is 1000"):
            memory.learn("x" * 1001)
        done = memory.learn_many([{"content": "x" * 1001}, {"content": "y" * 1000}])
        assert (len(done.refused), len(memory.blocks().items)) == (1, 1)
    with SyncMemory.open(MemoryStore()) as memory:
        with pytest.raises(ContentTooLong, match="the limit is 200000"):
            memory.learn("x" * 200_001)
        memory.learn("word " * 39_999 + "words")
