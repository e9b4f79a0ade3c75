"""Event streams: the whole log, then new events, while the client has permission."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.inprocess import SyncMemory
from tests.adapters.http.live_servers import (
    COMMENT,
    Event,
    Running,
    running,
    stream,
    take,
)

EVENTS = "events"
SPACES = (f"harbour-{number}" for number in count())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with running(tmp_path_factory.mktemp("streams")) as found:
        yield found


@pytest.fixture
def space() -> str:
    return next(SPACES)


@pytest.fixture
def client(server: Running, space: str) -> Generator[httpx.Client]:
    with server.inside(space) as found:
        yield found


def learn(client: httpx.Client, content: str) -> dict[str, Any]:
    answer = client.post("blocks", json={"content": content})
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def logged(client: httpx.Client) -> list[Event]:
    items = client.get("log").json()["items"]
    return [Event(each["kind"], each, str(each["version"])) for each in items]


def test_a_stream_begins_with_the_first_event_and_goes_on_with_what_is_written(
    client: httpx.Client,
) -> None:
    with stream(client, EVENTS) as found:
        before = take(found, 2)
        learn(client, "the gate opens at six")
        learn(client, "the crane needs oil")
        assert [*before, *take(found, 2)] == logged(client)


def test_a_long_log_comes_whole_and_in_order(client: httpx.Client) -> None:
    lessons = [f"fact {number}" for number in range(250)]
    client.post("blocks/batch", json={"lessons": lessons}).raise_for_status()
    with stream(client, EVENTS) as found:
        assert [each.id for each in take(found, 252)] == [str(each) for each in range(252)]


@pytest.mark.parametrize(
    ("query", "headers", "first"),
    [
        ("", {}, "0"),
        ("?after=-1", {}, "0"),
        ("?after=0", {}, "1"),
        ("", {"last-event-id": "1"}, "2"),
        ("?after=0", {"last-event-id": "1"}, "2"),
        ("?after=0", {"last-event-id": ""}, "1"),
    ],
)
def test_a_stream_continues_after_the_last_version_read(
    client: httpx.Client, query: str, headers: dict[str, str], first: str
) -> None:
    learn(client, "the gate opens at six")
    with stream(client, EVENTS + query, headers=headers) as found:
        assert next(found).id == first


@pytest.mark.parametrize("word", ["x", "-2", "1.5", "1e3", "", "²", "9" * 40, "--1", "2"])
def test_a_version_outside_of_the_log_is_refused(client: httpx.Client, word: str) -> None:
    answer = client.get(EVENTS, params={"after": word})
    assert (answer.status_code, answer.json()["code"]) == (422, "field-refused")


def test_an_invalid_version_is_refused_even_if_the_header_wins(client: httpx.Client) -> None:
    answer = client.get(EVENTS, params={"after": "x"}, headers={"last-event-id": "0"})
    assert (answer.status_code, answer.json()["field"]) == (422, "after")


def test_a_reconnect_with_a_version_of_another_log_is_refused(
    client: httpx.Client,
) -> None:
    answer = client.get(EVENTS, headers={"last-event-id": "900"})
    assert (answer.status_code, answer.json()["head"]) == (422, 1)


def test_unknown_query_fields_are_refused(client: httpx.Client) -> None:
    answer = client.get(EVENTS, params={"since": "1"})
    assert (answer.status_code, answer.json()["field"]) == (422, "since")


def test_writes_of_another_process_are_streamed(
    server: Running, client: httpx.Client, space: str
) -> None:
    with stream(client, f"{EVENTS}?after=1") as found:
        with SyncMemory.open(server.store, space=space, embedder=HashEmbedder()) as other:
            written = other.learn("written elsewhere", source="user")
        event = next(found)
        assert (event.name, event.id) == ("block-learned", "2")
        assert event.data["detail"].startswith(written.block_id[:8])


def test_erased_texts_are_not_streamed(client: httpx.Client) -> None:
    block = learn(client, "the secret of the harbour")["block_id"]
    client.post("erase", json={"block_ids": [block]}).raise_for_status()
    with stream(client, EVENTS) as found:
        result = take(found, 4)
    assert result[2].data["detail"] == f"{block[:8]} [erased]"
    assert "secret" not in str(result)


def test_the_response_has_the_version_of_the_log(client: httpx.Client) -> None:
    with client.stream("GET", EVENTS) as answer:
        assert answer.headers["mnemic-version"] == "1"
        assert answer.headers["cache-control"] == "no-store"


def test_head_returns_the_headers_alone(client: httpx.Client) -> None:
    answer = client.head(EVENTS)
    assert (answer.status_code, answer.content) == (200, b"")


def test_a_silent_stream_sends_comments(tmp_path: Path) -> None:
    with (
        running(tmp_path, Settings(heartbeat_s=0.01)) as server,
        server.inside("a") as client,
        stream(client, f"{EVENTS}?after=1") as found,
    ):
        assert take(found, 2) == [Event(COMMENT, ""), Event(COMMENT, "")]


def test_a_token_that_is_revoked_ends_its_stream(
    server: Running, client: httpx.Client, space: str
) -> None:
    with server.inside(space, "read") as reader, stream(reader, EVENTS) as found:
        take(found, 2)
        token = server.keyring.list()[-1]
        server.keyring.revoke(token.id)
        learn(client, "what they must not hear")
        (end,) = found
        assert (end.name, end.data["code"], end.data["status"]) == (
            "problem",
            "unauthenticated",
            401,
        )


@pytest.mark.parametrize("written_on", [0, 1, 3], ids=["shorter", "as long", "longer"])
def test_a_log_that_was_put_back_ends_its_streams_with_the_error(
    tmp_path: Path, written_on: int
) -> None:
    """Otherwise they would go on with events of another history, as if they followed."""
    with (
        closing(sqlite3.connect(":memory:")) as kept,
        running(tmp_path) as server,
        server.inside("a") as client,
    ):
        learn(client, "common to both")
        with closing(sqlite3.connect(server.store)) as source:
            source.backup(kept)
        learn(client, "lost")
        with stream(client, EVENTS) as found:
            take(found, 4)
            with closing(sqlite3.connect(server.store)) as target:
                kept.backup(target)
            server.store.with_name(f"{server.store.name}.heads").unlink()
            with SyncMemory.open(server.store, space="a", embedder=HashEmbedder()) as other:
                for number in range(written_on):
                    other.learn(f"written elsewhere {number}")
            (end,) = found
        assert (end.name, end.data["code"], end.data["status"]) == (
            "problem",
            "history-replaced",
            409,
        )
        assert (end.data["version"], end.data["acknowledged"]) == (3, [[3, 3]])
        with stream(client, EVENTS) as again:
            assert len(take(again, 3 + written_on)) == 3 + written_on


def test_a_hidden_space_answers_like_a_missing_one(server: Running, space: str) -> None:
    with server.inside(space), server.client(elsewhere="admin") as stranger:
        hidden = stranger.get(f"/v1/spaces/{space}/events", headers={"x-request-id": "same"})
        missing = stranger.get("/v1/spaces/nowhere/events", headers={"x-request-id": "same"})
    assert (hidden.status_code, hidden.text) == (404, missing.text.replace("nowhere", space))


def test_a_stream_beyond_the_limit_gets_retry_after(tmp_path: Path) -> None:
    with running(tmp_path, Settings(streams_max=1)) as server, server.inside("a") as client:
        with stream(client, EVENTS):
            refused = client.get(EVENTS)
            assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
            assert refused.headers["retry-after"]
        assert any(freed(client) for _ in count())


def freed(client: httpx.Client) -> bool:
    return client.head(EVENTS).status_code == 200


def test_streams_of_many_readers_are_the_same(client: httpx.Client) -> None:
    with ExitStack() as stack:
        readers = [stack.enter_context(stream(client, EVENTS)) for _ in range(20)]
        learn(client, "the gate opens at six")
        result = [take(each, 3) for each in readers]
    assert result == [logged(client)] * 20


def test_a_stopping_server_ends_its_streams_with_a_comment(tmp_path: Path) -> None:
    with running(tmp_path) as server, server.inside("a") as client:
        with stream(client, EVENTS) as found:
            take(found, 2)
            server.server.should_exit = True
            assert [each.name for each in found] == [COMMENT]
        server.stop()
