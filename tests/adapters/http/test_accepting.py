from __future__ import annotations

import asyncio
import os
import socket
from contextlib import closing

import pytest

from mnemic.adapters.http.accepting import Entrance
from mnemic.adapters.http.board import Board
from mnemic.adapters.http.posts import Post

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")


def test_whoever_is_let_in_when_the_entrance_closes_is_served_by_then() -> None:
    """Or nobody would tell that connection that the server stops, and it would hold it up."""

    async def scene() -> list[asyncio.BaseTransport]:
        served: list[asyncio.BaseTransport] = []
        coming = asyncio.Event()

        class Serving(asyncio.Protocol):
            def __init__(self) -> None:
                coming.set()

            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                served.append(transport)

        with closing(socket.create_server(("127.0.0.1", 0))) as listener:
            listener.settimeout(0)
            post = Post(
                number=0,
                listener=listener,
                rooms=(),
                room=listener,
                board=Board(1),
                lifeline=-1,
                reports=-1,
            )
            entrance = Entrance(post=post, protocol=Serving, held=lambda: len(served))
            entrance.open()
            with closing(socket.create_connection(listener.getsockname())):
                await coming.wait()
                assert served == []
                await entrance.close()
                found = list(served)
            for each in found:
                each.close()
            await asyncio.sleep(0)
        return found

    assert len(asyncio.run(scene())) == 1
