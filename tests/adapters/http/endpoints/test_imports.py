"""Imports into one of several workers are atomic for the other workers."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event as Flag

import httpx
import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.logs.write_lock import WriteLock
from mnemic.adapters.transfer.exports.archive import Packed
from tests.adapters.http.live_servers import stream
from tests.adapters.http.worker_processes import PATIENCE_S, several

pytestmark = pytest.mark.extended

BLOCKS = 2000
"""Number of stored commands, and thus of transactions of an import."""
EXPORT = "export"
BROUGHT = "/v1/spaces/brought"
OFFER = {
    "content-type": "application/x-tar",
    "accept": "text/event-stream",
}


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return an export that takes a while to import."""
    path = tmp_path_factory.mktemp(EXPORT) / EXPORT
    with SyncMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        for number in range(BLOCKS):
            content = f"Gull {number} was seen at the pier."
            memory.learn(content, command_id=f"sighting {number}")
        memory.export(path)
    with Packed(path) as packed:
        return b"".join(packed)


def events_in(store: Path) -> int:
    """Return the number of events in all spaces, including invisible ones."""
    with closing(sqlite3.connect(store)) as connection:
        (found,) = connection.execute("SELECT count(*) FROM stored_events").fetchone()
    return int(found)


@contextmanager
def held_halfway(queue: WriteLock, store: Path, before: int) -> Generator[None]:
    """Pause an import after a part of it is written, for a ``with`` block.

    The write lock is FIFO: a writer that releases it queues behind the waiting ones. So acquiring
    it repeatedly lets the other writer proceed by few transactions at a time.
    """
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with queue.write_lock():
            if events_in(store) > before:
                assert events_in(store) < before + BLOCKS, "nothing is left that could be cut off"
                yield
                return
        assert time.monotonic() < deadline


def test_an_imported_space_is_invisible_until_complete(tmp_path: Path, export: bytes) -> None:
    with several(tmp_path) as server, ExitStack() as stack:
        bringing, *others = server.one_at_each(stack)
        over = Flag()

        def look(client: httpx.Client) -> set[tuple[bool, int]]:
            """Return all observations: whether it is listed, and its version."""
            seen: set[tuple[bool, int]] = set()
            while not over.is_set():
                answer = client.get(BROUGHT)  # in this order: it may appear between the two
                named = "brought" in client.get("/v1/spaces").text
                seen.add((named, answer.json().get("version", -1)))
            return seen

        with ThreadPoolExecutor(2) as people:
            looking = [people.submit(look, each) for each in others]
            with stream(
                bringing, f"{BROUGHT}/import", method="POST", content=export, headers=OFFER
            ) as reply:
                *_, result = reply
            over.set()
            seen = set[tuple[bool, int]]().union(*(each.result(PATIENCE_S) for each in looking))
        assert (result.name, result.data["events"]) == ("result", BLOCKS + 2)
        assert seen <= {(False, -1), (True, -1), (True, BLOCKS + 1)}
        assert [each.get(BROUGHT).json()["inbox"] for each in others] == [BLOCKS] * 2


def test_an_import_whose_worker_is_killed_leaves_no_space_and_can_be_repeated(
    tmp_path: Path, export: bytes
) -> None:
    with several(tmp_path, workers=2) as server, ExitStack() as stack:
        bringing, other = server.one_at_each(stack)
        path, before = f"{BROUGHT}/import", events_in(server.store)
        with (
            closing(WriteLock(server.store, patience_s=PATIENCE_S)) as queue,
            ExitStack() as coming,
        ):
            with queue.write_lock():  # nothing is written as yet
                reply = coming.enter_context(
                    stream(bringing, path, method="POST", content=export, headers=OFFER)
                )
            with held_halfway(queue, server.store, before):
                os.kill(server.workers[0], signal.SIGKILL)
            with pytest.raises(httpx.TransportError):
                list(reply)
        assert "brought" not in other.get("/v1/spaces").text
        assert other.get(BROUGHT).status_code == 404
        again = other.post(
            f"{BROUGHT}/import", content=export, headers={**OFFER, "accept": "application/json"}
        )
        assert (again.status_code, again.json()["events"]) == (201, BLOCKS + 2)
        assert server.stop() == 0
        with closing(sqlite3.connect(server.store)) as store:
            events = store.execute("SELECT count(*) FROM stored_events").fetchone()
            spaces = store.execute("SELECT name FROM spaces ORDER BY name").fetchall()
        assert spaces == [("brought",), ("default",)]
        assert events == (BLOCKS + 2 + 2,)
