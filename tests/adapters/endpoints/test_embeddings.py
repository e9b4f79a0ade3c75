"""Vectors over HTTP: in batches, in order, every number checked."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.endpoints import EndpointEmbedder, EndpointUnavailable, TextTruncated
from mnemic.kernel.errors import FieldRefused, VectorRefused
from mnemic.kernel.events import EmbedderIdentity
from tests.adapters.endpoints.conftest import DIMENSION, Embedding, Reply, Server, texts, vectors

ROW = [0.5] * DIMENSION


def test_texts_become_rows(server: Server, embedding: Embedding) -> None:
    given = ["the gate", "the crane", "the storm"]
    rows = embedding().embed(given)
    assert rows.dtype == np.float32
    assert np.array_equal(rows, HashEmbedder(DIMENSION).embed(given))
    assert [request.document for request in server.requests] == [{"model": "tiny", "input": given}]


def test_many_texts_go_in_batches_and_come_back_in_order(
    server: Server, embedding: Embedding
) -> None:
    rows = embedding(batch_size=4).embed(texts(10))
    assert np.array_equal(rows, HashEmbedder(DIMENSION).embed(texts(10)))
    assert [len(batch) for batch in server.inputs()] == [4, 4, 2]


def test_long_texts_go_in_smaller_batches(server: Server, embedding: Embedding) -> None:
    long = ["w" * 32_000] * 30
    assert embedding().embed(long).shape == (30, DIMENSION)
    assert [len(batch) for batch in server.inputs()] == [12, 12, 6]


def test_no_texts_send_no_request(server: Server, embedding: Embedding) -> None:
    assert embedding().embed([]).shape == (0, DIMENSION)
    assert server.requests == []


def test_vectors_are_ordered_by_index_and_not_by_position(
    server: Server, embedding: Embedding
) -> None:
    shuffled = [{"index": place, "embedding": [float(place)] * DIMENSION} for place in (2, 0, 3, 1)]
    server.script.append(Reply(200, json.dumps({"data": shuffled}).encode()))
    assert embedding().embed(texts(4))[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_text_that_cannot_be_sent_is_sent_with_question_marks(
    server: Server, embedding: Embedding
) -> None:
    embedding().embed(["half a \ud83d"])
    assert server.inputs() == [["half a ?"]]


# --- who it is ----------------------------------------------------------------------------------


def test_the_identity_needs_no_request(server: Server, embedding: Embedding) -> None:
    assert embedding().identity == EmbedderIdentity(name="openai:tiny", dimension=DIMENSION)
    assert server.requests == []


def test_an_unknown_dimension_is_looked_up_once(server: Server, embedding: Embedding) -> None:
    embedder = embedding(dimension=None)
    assert [embedder.identity.dimension for _ in range(3)] == [DIMENSION] * 3
    embedder.embed(["one"])
    assert server.inputs() == [["dimension"], ["one"]]


def test_a_shorter_dimension_is_requested(server: Server, embedding: Embedding) -> None:
    embedding(shorten=True).embed(["one"])
    assert server.requests[0].document["dimensions"] == DIMENSION


@pytest.mark.parametrize(
    "options",
    [
        {"dimension": 0},
        {"dimension": 4097},
        {"dimension": 8.0},
        {"dimension": True},
        {"dimension": None, "shorten": True},
        {"batch_size": 0},
        {"max_input_tokens": 0},
        {"retries": -1},
    ],
)
def test_a_number_out_of_range_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(FieldRefused):
        EndpointEmbedder("http://localhost", "tiny", **options)


@pytest.mark.parametrize("model", ["", " ", "m" * 201, None])
def test_a_model_without_a_name_is_refused(model: Any) -> None:
    with pytest.raises(FieldRefused):
        EndpointEmbedder("http://localhost", model)


# --- answers that are none ----------------------------------------------------------------------


UNUSABLE = {
    "no JSON": b"<html>",
    "not an object": b"[]",
    "no data": b"{}",
    "data of another kind": b'{"data": {"0": []}}',
    "entries of another kind": b'{"data": [1, 2]}',
    "one vector short": vectors([ROW]),
    "one vector more": vectors([ROW] * 3),
    "one number short": vectors([ROW[1:]] * 2),
    "one number more": vectors([[*ROW, 1.0]] * 2),
    "rows of two sizes": vectors([ROW, ROW[1:]]),
    "rows of nothing": vectors([[], []]),
    "NaN": vectors([ROW, [float("nan")] * DIMENSION]),
    "too large for a float": vectors([ROW, [1e300] * DIMENSION]),
    "null": json.dumps(
        {"data": [{"index": place, "embedding": [None] * DIMENSION} for place in range(2)]}
    ).encode(),
    "words": json.dumps(
        {"data": [{"index": place, "embedding": ["a"] * DIMENSION} for place in range(2)]}
    ).encode(),
    "no index": json.dumps({"data": [{"embedding": ROW}] * 2}).encode(),
    "one index twice": json.dumps({"data": [{"index": 0, "embedding": ROW}] * 2}).encode(),
    "an index beyond": json.dumps(
        {"data": [{"index": place, "embedding": ROW} for place in (0, 2)]}
    ).encode(),
    "an index that is a list": json.dumps({"data": [{"index": [], "embedding": ROW}] * 2}).encode(),
}


@pytest.mark.parametrize("body", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_unusable_answer_is_refused_without_a_retry(
    server: Server, embedding: Embedding, body: bytes
) -> None:
    server.script.append(Reply(200, body))
    with pytest.raises(VectorRefused) as caught:
        embedding().embed(texts(2))
    assert caught.value.message.startswith(f"tiny at {server.url} gave ")
    assert caught.value.recovery
    assert len(server.requests) == 1


@pytest.mark.parametrize("row", [[], [0.5] * 4097])
def test_a_dimension_that_no_space_can_hold_is_refused(
    server: Server, embedding: Embedding, row: list[float]
) -> None:
    server.script.append(Reply(200, vectors([row])))
    with pytest.raises(VectorRefused):
        _ = embedding(dimension=None).identity


def test_a_busy_server_is_retried(
    server: Server, embedding: Embedding, pauses: list[float]
) -> None:
    server.script.append(Reply(429, b"slow down", {"Retry-After": "2"}))
    assert embedding().embed(["one"]).shape == (1, DIMENSION)
    assert pauses == [2.0]


def test_a_permanently_failing_server_is_given_up(server: Server, embedding: Embedding) -> None:
    server.script.extend([Reply(500)] * 3)
    with pytest.raises(EndpointUnavailable, match="failed 3 times"):
        embedding(retries=2).embed(["one"])


# --- texts that are too long --------------------------------------------------------------------


class Words:
    """Counts words."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


def test_a_text_that_is_too_long_is_cut_counted_and_reported(
    server: Server, embedding: Embedding
) -> None:
    embedder = embedding(max_input_tokens=3, tokens=Words())
    with pytest.warns(TextTruncated) as said:
        embedder.embed(["one two three", "one two three four five", "one"])
    (warning,) = said
    assert str(warning.message) == (
        "1 of 3 texts are longer than the 3 tokens that tiny reads; "
        "only their beginnings were embedded"
    )
    assert server.inputs() == [["one two three", "one two three ", "one"]]
    assert embedder.truncated == 1


def test_a_token_is_four_characters_unless_the_host_knows_better(
    server: Server, embedding: Embedding
) -> None:
    embedder = embedding(max_input_tokens=2)
    embedder.embed(["12345678"])
    with pytest.warns(TextTruncated):
        embedder.embed(["123456789"])
    assert server.inputs() == [["12345678"], ["12345678"]]


def test_at_least_one_character_is_left(server: Server, embedding: Embedding) -> None:
    class Many(Words):
        def count(self, text: str) -> int:
            return 5 * len(text)

    with pytest.warns(TextTruncated):
        embedding(max_input_tokens=1, tokens=Many()).embed(["abc"])
    assert server.inputs() == [["a"]]
