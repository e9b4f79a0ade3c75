"""A memory with models behind an address, from learning to a replay without them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.adapters.endpoints import ChatAnalyst, EndpointEmbedder, EndpointUnavailable
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.results import RecallResult
from tests.adapters.endpoints.conftest import Chatting, Embedding, Reply, Server, said

Open = Callable[..., SyncMemory]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Open a handle on the one file of the test."""

    def handle(
        embedder: EndpointEmbedder | None = None, analyst: ChatAnalyst | None = None
    ) -> SyncMemory:
        return SyncMemory.open(
            tmp_path / "agent.db",
            embedder=embedder,
            analyst=analyst,
            clock=ManualClock(),
            entropy=SeededEntropy("endpoints"),
            synchronous="normal",
        )

    return handle


def written(memory: SyncMemory) -> RecallResult:
    """Learn three blocks and recall one."""
    memory.learn("The harbour gate opens at six.", category="observation")
    memory.learn("The crane needs oil.", category="task")
    memory.learn("A storm is coming.")
    return memory.recall("When does the gate open?")


def test_blocks_embedded_by_an_endpoint_are_found(
    server: Server, embedding: Embedding, chatting: Chatting, opened: Open
) -> None:
    with opened(embedding(), chatting(concurrency=2)) as memory:
        answer = written(memory)
        assert "harbour gate" in answer.blocks[0].content
        assert memory.block(answer.block_ids[0]).tags == ("observation",)
    paths = [request.path for request in server.requests]
    # The first block, which may load a model, the other two, and the question.
    assert (paths.count("/v1/embeddings"), paths.count("/v1/chat/completions")) == (3, 3)


def test_a_replay_sends_no_request(
    server: Server, embedding: Embedding, chatting: Chatting, opened: Open
) -> None:
    with opened(embedding(), chatting()) as memory:
        decision = written(memory).decision_id
    assert decision is not None
    asked = len(server.requests)
    server.script.extend([Reply(503)] * 100)
    with opened(embedding(), chatting()) as memory:
        assert memory.replay(decision).outcome == "reproduced"
        assert memory.verify().sound
        assert memory.status().active == 3
    assert len(server.requests) == asked


def test_a_replay_needs_no_endpoint_at_all(
    embedding: Embedding, chatting: Chatting, opened: Open
) -> None:
    with opened(embedding(), chatting()) as memory:
        decision = written(memory).decision_id
    assert decision is not None
    with opened() as memory:
        assert memory.replay(decision).outcome == "reproduced"


def test_an_unreachable_embedder_loses_nothing(
    server: Server, embedding: Embedding, opened: Open
) -> None:
    with opened(embedding(retries=0)) as memory:
        memory.learn("alpha")
        server.script.append(Reply(503))
        with pytest.raises(EndpointUnavailable):
            memory.consolidate()
        assert memory.status().inbox == 1
        assert memory.consolidate().promoted == 1


def test_an_unreachable_analyst_blocks_nothing(
    server: Server, chatting: Chatting, embedding: Embedding, opened: Open
) -> None:
    with opened(embedding(), chatting(retries=0)) as memory:
        server.script.extend(
            [Reply(200, _rows(2)), Reply(200, said({"tags": ["fine"]})), Reply(500)]
        )
        blocks = [memory.learn(content).block_id for content in ("alpha", "bravo")]
        done = memory.consolidate()
        assert (done.promoted, done.analyses_failed) == (2, 1)
        assert [memory.block(block).tags for block in blocks] == [("fine",), ()]


def _rows(count: int) -> bytes:
    """Return *count* vectors that have nothing in common."""
    entries = [
        {"index": place, "embedding": [float(axis == place) for axis in range(8)]}
        for place in range(count)
    ]
    return json.dumps({"data": entries}).encode()
