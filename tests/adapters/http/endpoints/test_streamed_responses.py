"""Responses in pieces: no faster than they are read, and stopped when the client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest
from attrs import evolve

from mnemic.adapters.http.messages.streamed_responses import Pieces

pytestmark = pytest.mark.anyio
GET = {"type": "http", "method": "GET"}
START = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/x")]}
END = {"type": "http.response.body", "body": b""}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Source:
    """Endless pieces, which record how many were generated and how the generator ended."""

    def __init__(self, count: int = 1 << 30) -> None:
        self.made = 0
        self.ends: list[str] = []
        self._count = count

    async def pieces(self) -> AsyncGenerator[bytes]:
        try:
            while self.made < self._count:
                self.made += 1
                yield b"%d" % self.made
        finally:
            self.ends.append("pieces")

    def answer(self) -> Pieces:
        return Pieces(
            pieces=self.pieces,
            headers={"content-type": "text/x"},
            done=lambda: self.ends.append("done"),
        )


async def forever() -> Any:
    await anyio.sleep_forever()


async def test_pieces_are_generated_one_at_a_time() -> None:
    source, sent = Source(2), list[Any]()

    async def send(message: Any) -> None:
        sent.append(message)

    await source.answer()(GET, forever, send)
    assert sent == [
        START,
        {"type": "http.response.body", "body": b"1", "more_body": True},
        {"type": "http.response.body", "body": b"2", "more_body": True},
        END,
    ]
    assert source.ends == ["pieces", "done"]


async def test_head_generates_no_pieces() -> None:
    source, sent = Source(), list[Any]()

    async def send(message: Any) -> None:
        sent.append(message)

    await source.answer()({"type": "http", "method": "HEAD"}, forever, send)
    assert (sent, source.made, source.ends) == ([START, END], 0, ["done"])


async def test_a_stalled_reader_costs_one_piece() -> None:
    source, taking = Source(), anyio.Event()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            taking.set()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(source.answer(), GET, forever, send)
        await taking.wait()
        await anyio.wait_all_tasks_blocked()
        assert (source.made, source.ends) == (1, [])
        tasks.cancel_scope.cancel()
    assert source.ends == ["pieces", "done"]


async def test_a_disconnect_stops_the_pieces() -> None:
    source, gone = Source(), anyio.Event()

    async def receive() -> Any:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message.get("body") == b"3":
            gone.set()
            await anyio.sleep_forever()

    await source.answer()(GET, receive, send)
    assert (source.made, source.ends) == (3, ["pieces", "done"])


async def test_a_stopping_server_aborts_stalled_readers() -> None:
    source, stopping = Source(), asyncio.Event()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            stopping.set()
            await anyio.sleep_forever()

    with anyio.fail_after(20):
        await evolve(source.answer(), stopping=stopping)(GET, forever, send)
    assert (source.made, source.ends) == (1, ["pieces", "done"])


async def test_an_error_within_the_pieces_releases_everything() -> None:
    source = Source()

    async def send(message: Any) -> None:
        if message.get("body") == b"2":
            raise OSError("the line is dead")

    with pytest.raises(ExceptionGroup):
        await source.answer()(GET, forever, send)
    assert source.ends == ["pieces", "done"]
