"""Progress reports over HTTP, and the result or problem at their end."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Generator
from functools import partial
from typing import Any

import anyio
import httpx
import orjson
import pytest
from anyio import to_thread

from mnemic.adapters.http.endpoints.progress import reported
from mnemic.adapters.http.messages.responses import Answer
from mnemic.adapters.http.messages.streamed_responses import Pieces
from mnemic.adapters.http.middleware.request_ids import REQUEST_ID
from mnemic.adapters.remote.calls import Progress
from mnemic.kernel.errors import StoreFull
from tests.adapters.http.live_servers import (
    COMMENT,
    Event,
    Running,
    events,
    running,
    stream,
)

STREAM = {"accept": "text/event-stream"}
REQUEST = {REQUEST_ID: "r", "headers": []}
DONE = Answer(body=b'{"ok":true}', headers={"mnemic-version": "7"})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with running(tmp_path_factory.mktemp("progress")) as found:
        yield found


def learned(client: httpx.Client, count: int) -> None:
    lessons = [f"fact {number} about gulls" for number in range(count)]
    client.post("blocks/batch", json={"lessons": lessons}).raise_for_status()


# --- on a server ----------------------------------------------------------------------------------


def test_long_work_reports_progress_and_ends_with_its_result(server: Running) -> None:
    with server.inside("a") as client:
        learned(client, 40)
        with stream(client, "consolidate", method="POST", headers=STREAM) as found:
            *progress, result = found
    assert {each.name for each in progress} == {"progress"}
    assert progress[-1].data == {"done": 40, "todo": 40}
    assert (result.name, result.data["promoted"]) == ("result", 40)


def test_the_result_is_what_the_plain_answer_would_have_been(server: Running) -> None:
    with server.inside("b") as client:
        plain = client.post("verify")
        with stream(client, "verify", method="POST", headers=STREAM) as found:
            *_, result = found
    assert result == Event("result", plain.json(), plain.headers["mnemic-version"])


@pytest.mark.parametrize(
    ("headers", "kind"),
    [({}, "application/json"), ({"accept": "application/json"}, "application/json")],
)
def test_without_accept_there_is_no_stream(
    server: Running, headers: dict[str, str], kind: str
) -> None:
    with server.inside("c") as client:
        assert client.post("verify", headers=headers).headers["content-type"] == kind


def test_what_is_refused_at_once_is_answered_with_its_own_status(server: Running) -> None:
    with server.inside("d") as client:
        answer = client.post("consolidate", headers=STREAM, json={"limit": -1})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")


def test_a_quick_operation_does_not_stream(server: Running) -> None:
    with server.inside("e") as client:
        either = {"accept": "text/event-stream, application/json"}
        answer = client.post("blocks", json={"content": "gulls"}, headers=either)
    assert answer.headers["content-type"] == "application/json"


def test_a_disconnected_reader_does_not_stop_the_work(server: Running) -> None:
    with server.inside("f") as client:
        learned(client, 300)
        with client.stream("POST", "consolidate", headers=STREAM) as answer:
            next(answer.iter_lines())
        # The next one waits for the promotion in progress.
        client.post("consolidate").raise_for_status()
        assert client.get(".").json()["active"] + client.get(".").json()["archived"] == 300


def test_asking_for_a_stream_grants_no_permissions(server: Running) -> None:
    with server.inside("g", "read") as client:
        assert client.post("consolidate", headers=STREAM).status_code == 403


# --- alone ----------------------------------------------------------------------------------------


async def streamed_events(answer: Answer | Pieces) -> list[Event]:
    assert isinstance(answer, Pieces)
    text = b"".join([piece async for piece in _pieces(answer)]).decode()
    return [each for each in events(iter(text.split("\n"))) if each.name != COMMENT]


def _pieces(answer: Pieces) -> AsyncGenerator[bytes]:
    return answer.pieces()


def on_a_thread(act: Callable[[Progress], Answer]) -> Any:
    """Return work that runs on a worker thread."""

    async def work(report: Progress) -> Answer:
        return await to_thread.run_sync(partial(act, report))

    return work


@pytest.mark.anyio
async def test_the_last_progress_report_is_always_sent() -> None:
    def act(report: Progress) -> Answer:
        for done in range(1, 100_001):
            report(done, 100_000)
        return DONE

    found = await streamed_events(await reported(on_a_thread(act), request=REQUEST, heartbeat_s=15))
    assert found[-2:] == [
        Event("progress", {"done": 100_000, "todo": 100_000}),
        Event("result", {"ok": True}, "7"),
    ]
    assert len(found) < 100


@pytest.mark.anyio
async def test_what_fails_on_the_way_is_the_last_event() -> None:
    go_on = threading.Event()

    def act(report: Progress) -> Answer:
        report(1, 2)
        assert go_on.wait(20)
        raise StoreFull("no room", path="disk")

    answer = await reported(on_a_thread(act), request=REQUEST, heartbeat_s=15)
    go_on.set()
    progress, problem = await streamed_events(answer)
    assert progress == Event("progress", {"done": 1, "todo": 2})
    assert (problem.name, problem.data["code"], problem.data["status"]) == (
        "problem",
        "store-full",
        507,
    )


@pytest.mark.anyio
async def test_a_bug_reveals_no_details() -> None:
    go_on = threading.Event()

    def act(report: Progress) -> Answer:
        report(1, 2)
        assert go_on.wait(20)
        raise ValueError("the secret of the harbour")

    answer = await reported(on_a_thread(act), request=REQUEST, heartbeat_s=15)
    go_on.set()
    *_, problem = await streamed_events(answer)
    assert (problem.data["code"], problem.data["status"]) == ("internal", 500)
    assert "secret" not in str(problem)


@pytest.mark.anyio
async def test_a_silent_stream_sends_comments() -> None:
    go_on = threading.Event()

    def act(report: Progress) -> Answer:
        report(1, 2)
        assert go_on.wait(20)
        return DONE

    answer = await reported(on_a_thread(act), request=REQUEST, heartbeat_s=0.01)
    assert isinstance(answer, Pieces)
    pieces = answer.pieces()
    text = [await anext(pieces) for _ in range(3)]
    go_on.set()
    text += [piece async for piece in pieces]
    assert text[2] == b": \n\n"
    assert orjson.loads(text[-1].split(b"data: ")[1]) == {"ok": True}


@pytest.mark.anyio
async def test_work_continues_after_a_disconnect() -> None:
    go_on, ended = threading.Event(), anyio.Event()

    async def work(report: Progress) -> Answer:
        report(1, 2)
        await to_thread.run_sync(go_on.wait, 20)
        ended.set()
        return DONE

    answer = await reported(work, request=REQUEST, heartbeat_s=15)
    assert isinstance(answer, Pieces)
    pieces = answer.pieces()
    await anext(pieces)
    await pieces.aclose()
    go_on.set()
    with anyio.fail_after(20):
        await ended.wait()
