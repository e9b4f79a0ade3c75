"""Opening and writing behind a process that was stopped while it held the file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.logs.write_lock import PATIENCE_S
from mnemic.kernel.errors import StoreBusy

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes are stopped"),
]
MARGIN_S = 6.0
HOLDER = """
import os, signal, sys
from contextlib import ExitStack
from mnemic.adapters.stores.sqlite import SQLiteStore
store = SQLiteStore(sys.argv[1])
with ExitStack() as stack:
    if "lock" in sys.argv[2]:
        stack.enter_context(store.write_lock())
    if "file" in sys.argv[2]:
        stack.enter_context(store.recorder.datastore.transaction(commit=True))
    print("holds it", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@contextmanager
def stopped(path: Path, held: str) -> Generator[None]:
    """Stop a process that holds the write lock, SQLite's own, or both."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), held], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "holds it\n"
        os.waitpid(process.pid, os.WUNTRACED)
        try:
            yield
        finally:
            process.kill()


def seconds_until_busy(act: Callable[[], object]) -> float:
    begun = time.monotonic()
    with pytest.raises(StoreBusy):
        act()
    return time.monotonic() - begun


@pytest.mark.parametrize("held", ["file", "lock and file"])
def test_opening_waits_as_long_as_documented_and_once(tmp_path: Path, held: str) -> None:
    path = tmp_path / "agent.db"
    SyncMemory.open(path).close()
    with stopped(path, held):
        took_s = seconds_until_busy(lambda: SyncMemory.open(path))
        assert PATIENCE_S - 1 <= took_s <= PATIENCE_S + MARGIN_S
    SyncMemory.open(path).close()


@pytest.mark.parametrize("held", ["lock", "lock and file"])
def test_a_new_space_waits_as_long_as_documented_and_once(tmp_path: Path, held: str) -> None:
    path = tmp_path / "agent.db"
    SyncMemory.open(path).close()
    with stopped(path, held):
        took_s = seconds_until_busy(lambda: SyncMemory.open(path, space="second"))
        assert PATIENCE_S - 1 <= took_s <= PATIENCE_S + MARGIN_S


def test_an_existing_space_opens_while_only_the_write_lock_is_held(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    SyncMemory.open(path).close()
    with stopped(path, "lock"):
        begun = time.monotonic()
        with SyncMemory.open(path) as memory:
            assert time.monotonic() - begun < MARGIN_S
            took_s = seconds_until_busy(lambda: memory.learn("a fact"))
        assert PATIENCE_S - 1 <= took_s <= PATIENCE_S + MARGIN_S
    with SyncMemory.open(path) as memory:
        assert memory.learn("a fact").action == "created"
