"""A memory that was open when the process was forked: out of use in the child, at once."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio
import pytest

from mnemic.adapters.ann.graphs import Graphs
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.ports import Store
from tests.adapters.inprocess.engine.forked_children import LIMIT_S, in_child, is_refused, writing

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),  # of a fork with threads
]


@pytest.fixture(params=["memory", "sqlite", "encrypted"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[SyncMemory]:
    path: Path | Store = MemoryStore() if request.param == "memory" else tmp_path / "agent.db"
    keys = tmp_path / "keys.db" if request.param == "encrypted" else None
    with SyncMemory.open(path, embedder=HashEmbedder(8), keys=keys) as opened:
        opened.learn_many([f"the gate sticks, said {number}" for number in range(20)])
        yield opened


def test_closing_in_a_child_returns_at_once_while_the_parent_writes(memory: SyncMemory) -> None:
    with writing(memory):
        for _ in range(10):
            time.sleep(0.01)
            assert in_child(memory.close) == "None"
    assert memory.verify().sound


OPERATIONS: dict[str, Callable[[SyncMemory], object]] = {
    "learn": lambda memory: memory.learn("a fact"),
    "recall": lambda memory: memory.recall("gate"),
    "consolidate": lambda memory: memory.consolidate(),
    "status": lambda memory: memory.status(),
    "blocks": lambda memory: memory.blocks(),
    "as_of": lambda memory: memory.as_of(version=1),
    "policy": lambda memory: memory.policy,
    "verify": lambda memory: memory.verify(),
    "start_session": lambda memory: memory.start_session(),
    "session_handle": lambda memory: memory.session_handle(actor="b"),
    "checkpoint": lambda memory: memory.checkpoint(),
    "erase_space": lambda memory: memory.erase_space("default"),
}


def test_every_operation_in_a_child_names_the_fork(memory: SyncMemory) -> None:
    handle, view = memory.session_handle(actor="b"), memory.as_of(version=5)
    with writing(memory):
        answers = {name: in_child(partial(act, memory)) for name, act in OPERATIONS.items()}
        answers["of a handle"] = in_child(lambda: handle.learn("a fact"))
        answers["of a view"] = in_child(view.blocks)
    assert [name for name, answer in answers.items() if not is_refused(answer)] == []
    assert "in each process for itself" in answers["learn"]


def test_an_asynchronous_memory_is_refused_and_closed_in_a_child(tmp_path: Path) -> None:
    answers: list[str] = []

    async def scene() -> None:
        async with Memory.open(tmp_path / "agent.db", embedder=HashEmbedder(8)) as memory:
            handle = await memory.session_handle(actor="b")
            async with anyio.create_task_group() as tasks:
                for number in range(30):
                    tasks.start_soon(memory.learn, f"fact {number}")
                await anyio.sleep(0.01)
                acts = partial(memory.learn, "a fact"), handle.close, memory.close
                answers.extend(in_child(partial(run_in_new_loop, act)) for act in acts)

    def run_in_new_loop(act: Callable[[], Awaitable[object]]) -> object:
        """Await *act* on another thread: a loop runs on this one, as far as it knows."""

        async def run() -> object:
            return await act()

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(anyio.run, run).result()

    anyio.run(scene)
    assert is_refused(answers[0])
    assert answers[1:] == ["None", "None"]


@pytest.mark.extended
def test_background_threads_of_the_parent_hold_up_no_child(tmp_path: Path) -> None:
    """The inbox worker and the builder of graphs are at work."""
    graphs = Graphs(always=True, least=256, sizes=(256, 1024))
    with SyncMemory.open(
        tmp_path / "agent.db", embedder=HashEmbedder(8), retriever=graphs, synchronous="normal"
    ) as memory:
        seen: set[str] = set()
        for round_ in range(4):
            memory.learn_many([f"fact {round_} {number}" for number in range(300)])
            memory.recall("fact")
            memory.consolidate()
            for _ in range(3):
                memory.recall("fact")
            names = {thread.name for thread in threading.enumerate()}
            seen |= names & {"mnemic-inbox", "mnemic-graphs"}
            assert in_child(memory.close) == "None"
        assert memory.verify().sound
        assert seen


def test_a_store_opened_again_in_the_child_is_one_with_that_of_the_parent(tmp_path: Path) -> None:
    """SQLite would take inherited connections for its own, and never lock the file again."""
    path = tmp_path / "agent.db"

    def learn_again() -> int:
        with SyncMemory.open(path, embedder=HashEmbedder(8)) as again:
            os.write(ready_mouth, b"!")
            os.read(go_ear, 1)
            again.learn_many([f"child {number}" for number in range(50)])
            return again.verify().events

    ready_ear, ready_mouth = os.pipe()
    go_ear, go_mouth = os.pipe()
    memory = SyncMemory.open(path, embedder=HashEmbedder(8))
    memory.learn("parent")
    answers: list[str] = []
    child = threading.Thread(target=lambda: answers.append(in_child(learn_again)))
    with writing(memory):
        child.start()
        assert select.select([ready_ear], [], [], LIMIT_S)[0]
    memory.close()  # the last connection of this process: SQLite deletes the log if it may
    os.write(go_mouth, b"!")
    child.join()
    with SyncMemory.open(path, embedder=HashEmbedder(8)) as memory:
        contents = {block.content for block in memory.blocks(limit=1000).items}
        assert {f"child {number}" for number in range(50)} <= contents
        assert memory.verify().events == int(answers[0])
    for each in (ready_ear, ready_mouth, go_ear, go_mouth):
        os.close(each)


def test_a_child_does_not_hold_the_write_lock_of_a_parent_that_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    program = f"""
import os, time
from mnemic.adapters.stores.sqlite import SQLiteStore
store = SQLiteStore({str(path)!r})
with store.write_lock():
    if os.fork() == 0:
        time.sleep({3 * LIMIT_S})
        os._exit(0)
    print("held", flush=True)
    os._exit(1)
"""
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        begun = time.monotonic()
        with closing(SQLiteStore(path)) as store, store.write_lock():
            assert time.monotonic() - begun < LIMIT_S
        process.stdout.close()


def test_a_child_whose_interpreter_exits_does_not_hang(tmp_path: Path) -> None:
    program = f"""
import os, sys, threading
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
memory = SyncMemory.open({str(tmp_path / "agent.db")!r}, embedder=HashEmbedder(8))
threading.Thread(target=lambda: [memory.learn(f"fact {{n}}") for n in range(300)]).start()
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        if _ % 2:
            memory.close()
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
print("done")
"""
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=6 * LIMIT_S,
        check=False,
    )
    assert (found.stdout, found.stderr, found.returncode) == ("done\n", "", 0)
