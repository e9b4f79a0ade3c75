"""Several workers over a PostgreSQL store, in a host's program with its own model."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import httpx
import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from tests.adapters.http.live_servers import stream, take
from tests.adapters.http.worker_processes import (
    PATIENCE_S,
    Several,
    eventually,
    hosted,
    learn_all,
)
from tests.adapters.stores.postgres import server as servers

pytestmark = pytest.mark.extended

SPACE = "/v1/spaces/default"
WORKERS = 3
COMMANDS = 15
"""Of each client."""


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    """Return the address of a store that does not exist yet."""
    with servers.SHARED.served() as server, servers.schema(server) as made:
        yield made


@pytest.fixture
def server(tmp_path: Path, address: str) -> Generator[Several]:
    with hosted(tmp_path, address) as running, running.client() as client:
        client.put(SPACE).raise_for_status()
        yield running


def test_what_one_worker_writes_all_others_read(server: Several) -> None:
    with ExitStack() as stack:
        reader, *writers = server.one_at_each(stack)
        version = reader.get(SPACE).json()["version"]
        with stream(reader, f"{SPACE}/events", params={"after": version}) as followed:
            for number, writer in enumerate(writers):
                learned = {"content": f"Writer {number} was here."}
                writer.post(f"{SPACE}/blocks", json=learned).raise_for_status()
            assert [event.name for event in take(followed, 2)] == ["block-learned"] * 2
        found = [each.post(f"{SPACE}/recall", json={"query": "writer"}) for each in writers]
        assert {len(each.json()["block_ids"]) for each in found} == {2}


def test_a_worker_that_is_killed_loses_nothing(server: Several, address: str) -> None:
    before, answered = server.workers, list[str]()

    with ThreadPoolExecutor(4) as people:
        done = [people.submit(learn_all, server, person, COMMANDS, answered) for person in range(4)]
        eventually(lambda: len(answered) > COMMANDS)
        os.kill(before[1], signal.SIGKILL)
        for each in done:
            each.result(PATIENCE_S)
    eventually(partial(_is_replaced, server, before[1]))
    assert server.stop() == 0
    with SyncMemory.open(address, embedder=HashEmbedder(), read_only=True) as memory:
        assert memory.verify().sound
        said = Counter(block.content for block in memory.blocks(limit=1000).items)
    promised = {f"content of {person}-{each}" for person in range(4) for each in range(COMMANDS)}
    assert {content: said[content] for content in promised} == dict.fromkeys(promised, 1)
    assert len(set(answered)) == 4 * COMMANDS


def _is_replaced(server: Several, pid: int) -> bool:
    return pid not in server.workers and len(server.workers) == WORKERS


def test_unauthenticated_requests_learn_nothing(server: Several) -> None:
    with httpx.Client(base_url=server.url, timeout=PATIENCE_S) as stranger:
        assert stranger.get(SPACE).status_code == 401
        assert stranger.get("/readyz").status_code == 200
