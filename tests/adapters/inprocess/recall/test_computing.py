"""One answer at a time is computed in a process, and nothing else waits for it."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.recall import asking_again, recalling
from mnemic.adapters.inprocess.recall.computing import computing
from mnemic.adapters.inprocess.replay import replaying
from mnemic.projections.retrieval.request import answer

SOON_S = 20
THREADS = 4


@pytest.fixture
def stocked(memory: SyncMemory) -> SyncMemory:
    memory.learn("Bees sleep at night.")
    memory.recall("bees")
    return memory


@pytest.mark.parametrize(
    ("module", "ask"),
    [
        (recalling, lambda memory, _: memory.recall("bees")),
        (asking_again, lambda memory, decision: memory.ask_again(decision)),
        (replaying, lambda memory, decision: memory.replay(decision).recall),
    ],
    ids=["recall", "ask_again", "replay"],
)
def test_answers_of_several_threads_are_computed_one_by_one(
    stocked: SyncMemory, monkeypatch: pytest.MonkeyPatch, module: ModuleType, ask: Any
) -> None:
    decision = stocked.recall("bees").decision_id
    at_once: list[int] = []

    def slow(*given: Any, **named: Any) -> Any:
        at_once.append(len(at_once))
        mine = len(at_once)
        time.sleep(0.005)
        assert len(at_once) == mine, "another answer was begun meanwhile"
        return answer(*given, **named)

    monkeypatch.setattr(module, "answer", slow)
    handles = [stocked.session_handle(actor=f"actor {each}") for each in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as threads:
        found = list(threads.map(lambda handle: ask(handle, decision), handles))
    assert len(at_once) == THREADS
    assert len({each.text for each in found}) == 1


def test_a_recall_that_waits_for_a_writer_keeps_no_other_from_its_answer(
    stocked: SyncMemory,
) -> None:
    space = stocked._space  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    other = stocked.session_handle(actor="another")
    with ThreadPoolExecutor(1) as thread:
        with space.log.write_lock(), space.log_state.lock:
            waiting = thread.submit(other.recall, "bees")
            assert stocked.recall("bees", record=False).blocks
            assert not waiting.done()
        assert waiting.result(SOON_S).decision_id


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_computes_although_a_thread_of_its_parent_does() -> None:
    held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with computing():
            held.set()
            may_end.wait(SOON_S)

    holding = threading.Thread(target=hold)
    holding.start()
    assert held.wait(SOON_S)
    child = os.fork()
    if child == 0:
        with SyncMemory.open(":memory:", embedder=HashEmbedder()) as memory:
            memory.learn("Bees sleep at night.")
            os._exit(0 if memory.recall("bees").blocks else 1)
    may_end.set()
    holding.join()
    deadline = time.monotonic() + SOON_S
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
    assert ended == (child, 0)
