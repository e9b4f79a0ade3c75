"""The memory suggests connections; the agent decides on their relations."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.policy import Policy
from tests.scenarios.conftest import Learn, Open

Near = Callable[..., ScriptedEmbedder]


@pytest.fixture
def memory(opened: Open, near: Near) -> SyncMemory:
    """A memory in which a question returns two blocks that are not similar."""
    return opened(embedder=near(["question", "tide", "moon"], tide=0.5, moon=0.5))


def test_a_pair_is_suggested_before_coretrieval_connects_it(
    memory: SyncMemory, learn: Learn
) -> None:
    tide, moon = learn(memory, "tide", "moon")
    with memory.session():
        memory.recall("question")
    with memory.session():
        answer = memory.recall("question", suggest=True)
        (suggestion,) = answer.suggested_connections
        assert {suggestion.source_id, suggestion.target_id} == {tide, moon}
        assert {suggestion.source_content, suggestion.target_content} == {"tide", "moon"}
        assert (suggestion.suggested_relation, bool(suggestion.reason)) == ("co_occurs", True)
        assert 0.0 < suggestion.confidence <= 1.0
        made = memory.connect(
            suggestion.source_id, suggestion.target_id, "supports", note="the moon pulls the tide"
        )
    assert (made.action, made.relation) == ("created", "supports")
    with memory.session():
        assert memory.recall("question", suggest=True).suggested_connections == ()
    assert [edge.relation for edge in memory.edges(tide)] == ["supports"]


def test_without_action_the_third_session_connects_the_pair(
    memory: SyncMemory, learn: Learn
) -> None:
    tide, _ = learn(memory, "tide", "moon")
    for _ in range(3):
        with memory.session():
            memory.recall("question")
            memory.recall("question")
    (edge,) = memory.edges(tide)
    assert (edge.relation, edge.weight, edge.origin) == ("co_occurs", 0.55, "co_retrieval")


def test_very_similar_blocks_without_an_edge_are_suggested(
    opened: Open, near: Near, learn: Learn
) -> None:
    policy = Policy(name="no edges by likeness", edge_threshold=1.0)
    memory = opened(embedder=near(["tide", "flood", "cargo"], flood=0.85), policy=policy)
    tide, flood, _ = learn(memory, "tide", "flood", "cargo")
    (suggestion,) = memory.recall("tide", top_k=1, suggest=True).suggested_connections
    assert {suggestion.source_id, suggestion.target_id} == {tide, flood}
    assert suggestion.suggested_relation == "similar"
    assert suggestion.confidence > 0.8


def test_at_most_three_suggestions_and_none_by_default(
    opened: Open, near: Near, learn: Learn
) -> None:
    alike = [f"flood{number}" for number in range(6)]
    policy = Policy(name="no edges by likeness", edge_threshold=1.0)
    cosines = {text: 0.82 + 0.01 * place for place, text in enumerate(alike)}
    memory = opened(embedder=near(["tide", *alike], **cosines), policy=policy)
    _, *blocks = learn(memory, "tide", *alike)
    assert memory.recall("tide").suggested_connections == ()
    answer = memory.recall("tide", top_k=1, suggest=True).suggested_connections
    assert len(answer) == 3
    assert sorted((each.confidence for each in answer), reverse=True) == [
        each.confidence for each in answer
    ]
    assert [{each.source_id, each.target_id} & set(blocks) for each in answer] == [
        {blocks[5]},
        {blocks[4]},
        {blocks[3]},
    ]
