"""The pieces of ``benchmarks/retrieval.py``: format, grains, baselines, scores, the product.

The conversations here are made up; the real ones are in no checkout.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import retrieval
import retrieval_scores as scores
from baselines import BM25, FTS5, Cosine, Fused, Ranker
from conversations import Conversation, NoData, Question, data_sets, lessons, load
from grains import grains
from retrieval_tables import Measured, page, signed

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.kernel.policy import DEFAULT
from mnemic.projections.retrieval import recipes

LINES = (
    ("user", "My boat is green."),
    ("assistant", "Green suits a boat."),
    ("user", "The dentist is on Tuesday."),
    ("assistant", "I will remind you of the dentist."),
    ("user", "The boat is blue now."),
    ("assistant", "Blue suits a boat too."),
)


def plain(*speakers: str, **question: Any) -> dict[str, Any]:
    """Return a conversation as a file has it: two turns a session, and one question."""
    roles = ("user", "assistant")
    names: dict[str, str] = dict(zip(roles, speakers or roles, strict=True))
    turns = [
        {
            "id": f"t{place}",
            "session": 1 + place // 2,
            "at": f"2026-03-0{1 + place // 2}T18:0{place}:00",
            "speaker": names[who],
            "text": text,
        }
        for place, (who, text) in enumerate(LINES)
    ]
    asked = {"question": "What colour is the boat?", "kind": "colours", "evidence": ["t0", "t4"]}
    return {"id": "one", "turns": turns, "questions": [asked | question]}


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Conversation]:
    def through_a_file(*speakers: str, **question: Any) -> Conversation:
        path = tmp_path / "made-up.json"
        path.write_text(json.dumps({"note": "x", "conversations": [plain(*speakers, **question)]}))
        (conversation,) = load(path)
        return conversation

    return through_a_file


# --- the format -----------------------------------------------------------------------------


def test_a_question_without_a_time_is_asked_when_all_is_known(
    read: Callable[..., Conversation],
) -> None:
    conversation = read()
    (question,) = conversation.questions
    assert question == Question(
        text="What colour is the boat?", kind="colours", evidence=frozenset({"t0", "t4"})
    )
    assert conversation.known(question) == 6


def test_evidence_that_was_said_later_does_not_count(read: Callable[..., Conversation]) -> None:
    conversation = read(asked_before="t4")
    (question,) = conversation.questions
    assert (question.evidence, conversation.known(question)) == (frozenset({"t0"}), 4)


@pytest.mark.parametrize("question", [{"asked_before": "t0"}, {"evidence": ["elsewhere"]}])
def test_a_question_without_evidence_is_left_out(
    read: Callable[..., Conversation], question: dict[str, Any]
) -> None:
    assert read(**question).questions == ()


def test_a_time_that_is_no_turn_is_refused(read: Callable[..., Conversation]) -> None:
    with pytest.raises(SystemExit, match="before 't9', and there is no such turn"):
        read(asked_before="t9")


def test_further_fields_of_a_turn_are_ignored(tmp_path: Path) -> None:
    given = plain()
    given["turns"][0]["mood"] = "glad"
    path = tmp_path / "made-up.json"
    path.write_text(json.dumps({"conversations": [given]}))
    assert len(load(path)[0].turns) == 6


def test_data_sets_are_the_files_with_conversations(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text('{"conversations": []}')
    (tmp_path / "a.json").write_text('{"note": "", "conversations": []}')
    (tmp_path / "pairs.json").write_text('{"pairs": []}')
    assert data_sets(tmp_path) == [tmp_path / "a.json", tmp_path / "b.json"]


def test_a_folder_without_data_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NoData):
        data_sets(tmp_path)


def test_a_lesson_has_author_date_and_session(read: Callable[..., Conversation]) -> None:
    conversation = read()
    assert lessons(conversation.id, conversation.turns)[2] == {
        "content": "The dentist is on Tuesday.",
        "category": "message",
        "author": "user",
        "created_at": "2026-03-02T18:02:00",
        "thread": "one/2",
    }


def test_a_named_conversation_is_looked_for_in_every_data_set(tmp_path: Path) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, name in zip(paths, ("one", "two"), strict=True):
        path.write_text(json.dumps({"conversations": [plain() | {"id": name}]}))
    options = argparse.Namespace(data=paths, conversation=["two"], quick=True)
    ((path, (conversation,)),) = retrieval.chosen_data(options)
    assert (path, conversation.id) == (paths[1], "two")
    options.conversation.append("three")
    with pytest.raises(SystemExit, match="no conversation three"):
        retrieval.chosen_data(options)


# --- grains ---------------------------------------------------------------------------------


def test_talks_with_an_assistant_are_cut_into_messages_and_exchanges(
    read: Callable[..., Conversation],
) -> None:
    conversation = read(evidence=["t1", "t4"])
    cut = grains([conversation])
    assert list(cut) == ["", "user messages", "exchange = item"]
    assert cut[""] == [conversation]
    (messages,), (exchanges,) = cut["user messages"], cut["exchange = item"]
    assert [turn.id for turn in messages.turns] == ["t0", "t2", "t4"]
    assert messages.questions[0].evidence == {"t4"}
    assert [turn.id for turn in exchanges.turns] == ["t0", "t2", "t4"]
    assert exchanges.turns[0].text == "user: My boat is green.\nassistant: Green suits a boat."
    assert exchanges.questions[0].evidence == {"t0", "t4"}


def test_other_talks_are_cut_into_sessions(read: Callable[..., Conversation]) -> None:
    cut = grains([read("Ann", "Bob", evidence=["t1"])])
    assert list(cut) == ["", "session = item"]
    (sessions,) = cut["session = item"]
    assert [turn.speaker for turn in sessions.turns] == ["session"] * 3
    assert sessions.questions[0].evidence == {"t0"}


def test_a_session_that_is_one_item_is_not_cut(read: Callable[..., Conversation]) -> None:
    (sessions,) = grains([read("Ann", "Bob")])["session = item"]
    assert list(grains([sessions])) == [""]


@pytest.mark.parametrize(
    ("grain", "before", "known"),
    [
        ("user messages", "t3", 2),
        ("user messages", "t5", 3),
        ("exchange = item", "t3", 1),
        ("exchange = item", "t4", 2),
    ],
)
def test_the_time_of_a_question_is_that_of_the_item(
    read: Callable[..., Conversation], grain: str, before: str, known: int
) -> None:
    (conversation,) = grains([read(asked_before=before)])[grain]
    assert conversation.known(conversation.questions[0]) == known


# --- baselines ------------------------------------------------------------------------------

TEXTS = ("green boat", "an oven", "green boat", "green", "a very green boat of Bob")


@pytest.fixture(params=retrieval.BASELINES)
def ranker(request: pytest.FixtureRequest) -> Iterator[Ranker]:
    words, vectors = BM25(TEXTS), Cosine(TEXTS, HashEmbedder(64))
    with closing(FTS5(TEXTS)) as search:
        made: tuple[Ranker, ...] = (words, search, vectors, Fused(words, vectors))
        yield dict(zip(retrieval.BASELINES, made, strict=True))[request.param]


def test_equal_texts_rank_in_order_of_learning(ranker: Ranker) -> None:
    assert ranker.ranked("green boat")[:2] == [0, 2]


def test_a_ranker_of_the_past_knows_the_first_texts_only(ranker: Ranker) -> None:
    ranked = ranker.first(2).ranked("green boat")
    assert ranked[0] == 0
    assert set(ranked) <= {0, 1}


def test_statistics_of_the_past_are_those_of_the_first_texts() -> None:
    texts = ("boat", "green boat of Ann", "green", "green", "green")
    assert BM25(texts).ranked("green boat")[0] == 1
    past = BM25(texts).first(2)
    assert past.scores("green boat").tolist() == BM25(texts[:2]).scores("green boat").tolist()


def test_full_text_search_finds_nothing_for_no_words() -> None:
    with closing(FTS5(TEXTS)) as search:
        assert search.ranked("?!") == []


# --- scores ---------------------------------------------------------------------------------


def found(recall: float, kind: str = "colours", seconds: float = 0.0) -> scores.Found:
    return scores.Found(
        conversation="one",
        kind=kind,
        recall_5=recall,
        recall_10=recall,
        hit=float(recall > 0),
        reciprocal_rank=recall,
        seconds=seconds,
    )


def test_ranks_count_from_one_and_end_at_ten() -> None:
    turns = [f"t{place}" for place in range(12)]
    assert scores.ranks(turns, frozenset({"t0", "t9", "t10", "elsewhere"})) == [1, 10]


def test_evidence_among_the_first_five_and_ten_and_its_first_rank(
    read: Callable[..., Conversation],
) -> None:
    conversation = read(evidence=["t0", "t1", "t4", "t5"])
    answer = ["t2", "t4", "t3", "x", "y", "t0"]
    (judged,) = scores.judged(conversation, lambda _: answer)
    assert (judged.recall_5, judged.recall_10) == (0.25, 0.5)
    assert (judged.hit, judged.reciprocal_rank) == (1.0, 0.5)


def test_questions_are_asked_in_order_of_their_time(read: Callable[..., Conversation]) -> None:
    late, early = read(), read(asked_before="t3", question="What colour was the boat?")
    both = Conversation(id="one", turns=late.turns, questions=(*late.questions, *early.questions))
    asked: list[str] = []

    def ask(question: Question) -> list[str]:
        asked.append(question.text)
        return []

    scores.judged(both, ask)
    assert asked == ["What colour was the boat?", "What colour is the boat?"]


def test_the_standard_error_of_a_difference_is_that_of_the_pairs() -> None:
    """Differences 1, 0, 0, 1: variance 1/3, over 4."""
    ours = [found(recall) for recall in (1.0, 1.0, 0.0, 1.0)]
    theirs = [found(recall) for recall in (0.0, 1.0, 0.0, 0.0)]
    difference = scores.difference("BM25", ours, theirs)
    assert (difference.other, difference.mean) == ("BM25", 0.5)
    assert difference.error == pytest.approx((1 / 3 / 4) ** 0.5)


def test_a_constant_difference_has_no_error_however_much_questions_differ() -> None:
    ours, theirs = [found(0.5), found(1.0)], [found(0.0), found(0.5)]
    assert scores.difference("BM25", ours, theirs).error == 0.0


def test_one_question_has_no_standard_error() -> None:
    difference = scores.difference("BM25", [found(1.0)], [found(0.5)])
    assert difference.error is None
    assert signed(difference) == "+50.0 ± ?"


def test_systems_with_other_numbers_of_questions_are_not_compared() -> None:
    with pytest.raises(ValueError, match="zip"):
        scores.difference("BM25", [found(1.0)], [])


def test_the_first_of_equally_good_baselines_is_the_best() -> None:
    results = {"BM25": [found(0.5)], "FTS5": [found(0.5)], "vectors": [found(0.0)]}
    assert scores.best(results, ("BM25", "FTS5", "vectors")) == "BM25"


def paired() -> scores.Table:
    results = {
        "BM25": [found(1.0), found(0.0, "temporal")],
        "vectors": [found(0.0), found(0.5, "temporal")],
        "old": [found(1.0), found(0.5, "temporal")],
        "new": [found(0.5), found(1.0, "temporal")],
    }
    return scores.paired_table(results, ("BM25", "vectors"), ("old", "new"))


def test_recipes_are_compared_with_the_best_of_each_group_and_with_the_first_recipe() -> None:
    table = paired()
    assert list(table) == ["all", "temporal", "colours"]
    compared = {
        group: {
            system: [(d.other, d.mean) for d in row.differences] for system, row in rows.items()
        }
        for group, rows in table.items()
    }
    nothing: list[tuple[str, float]] = []
    assert compared["temporal"] == {
        "BM25": nothing,
        "vectors": nothing,
        "old": [("vectors", 0.0)],
        "new": [("vectors", 0.5), ("old", 0.5)],
    }
    assert compared["colours"]["new"] == [("BM25", -0.5), ("old", -0.5)]


def test_a_page_says_which_data_its_numbers_are_of() -> None:
    measured = Measured(
        data="made-up",
        digest="0123456789ab",
        grain="",
        embedder="bundled",
        conversations=1,
        items=6,
        seconds=1.0,
        table=paired(),
    )
    lines = list(page([measured]))
    assert lines[2] == "| made-up | `0123456789ab` | 1 | 6 | 2 |"
    assert "| data set | BM25 | vectors | old | new | new − best | new − old |" in lines
    assert "| made-up | 50.0 | 25.0 | 75.0 | 75.0 | +25.0 ± 75.0 (BM25) | +0.0 ± 50.0 |" in lines
    assert "| colours | 1 | 100.0 | 0.0 | 100.0 | 50.0 | −50.0 ± ? (BM25) | −50.0 ± ? |" in lines


# --- the product ----------------------------------------------------------------------------

OPTIONS = argparse.Namespace(asked_at="end", no_threads=False, floor=False)


def test_a_question_is_asked_of_the_memory_as_it_was_then(
    read: Callable[..., Conversation],
) -> None:
    conversation = read(asked_before="t4")
    (question,) = conversation.questions
    assert retrieval.stops(conversation) == [4, 6]
    with retrieval.learned(conversation, HashEmbedder(64), OPTIONS, DEFAULT) as space:
        then = space.ask(question)
        now = space.ask(Question(text=question.text, kind="", evidence=frozenset({"t4"})))
    assert set(then) == {"t0", "t1", "t2", "t3"}
    assert set(now) == {"t0", "t1", "t2", "t3", "t4", "t5"}


def test_each_recipe_answers_by_itself(read: Callable[..., Conversation]) -> None:
    conversation = read()
    with retrieval.learned(conversation, HashEmbedder(64), OPTIONS, DEFAULT) as space:
        systems = retrieval.product(space)
        assert list(systems) == ["recall-2", recipes.CURRENT.name]
        for name, ask in systems.items():
            assert set(ask(conversation.questions[0])) == {turn.id for turn in conversation.turns}
            decision = space.memory.recall("boat").decision_id
            assert decision is not None
            assert space.memory.explain(decision).recipe == name


def test_all_systems_answer_the_same_questions_and_a_run_that_was_stopped_goes_on(
    read: Callable[..., Conversation], tmp_path: Path
) -> None:
    options = argparse.Namespace(**vars(OPTIONS), runner="inprocess", rows=tmp_path / "rows.jsonl")
    tasks = [
        retrieval.Task(
            measure="compared",
            conversation=read(asked_before=turn),
            embedder="bundled",
            policies=(DEFAULT,),
        )
        for turn in ("t4", None)
    ]
    with retrieval.running(options) as rows:
        first = next(rows.of(tasks))
    with retrieval.running(options) as rows:
        again, second = rows.of(tasks)
    assert again == first
    assert len(options.rows.read_text("utf-8").splitlines()) == len(tasks)
    results = retrieval.by_system([first, second])
    assert list(results) == [*retrieval.BASELINES, *(each.name for each in retrieval.RECIPES)]
    assert {len(each) for each in results.values()} == {2}
    assert {each[0].recall_10 for each in results.values()} == {1.0}
