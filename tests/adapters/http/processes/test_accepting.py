from __future__ import annotations

import asyncio
import os
import socket
from contextlib import closing

import pytest

from mnemic.adapters.http.processes.accepting import SharedListener
from mnemic.adapters.http.processes.shared_counters import SharedCounters
from mnemic.adapters.http.processes.worker_slots import WorkerSlot

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")


def test_closing_waits_for_accepted_connections() -> None:
    """Otherwise that connection would not be notified of the shutdown, and would delay it."""

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
            worker_slot = WorkerSlot(
                number=0,
                listener=listener,
                peer_paths=(),
                peer_listener=listener,
                counters=SharedCounters(1),
                lifeline=-1,
                reports=-1,
            )
            entrance = SharedListener(
                worker_slot=worker_slot, protocol=Serving, held=lambda: len(served)
            )
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
