"""Opening and writing behind a process that was stopped while it held the file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
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


def opening(path: Path, held: str) -> None:
    """Open a store whose file is held."""
    with stopped(path, held):
        check_patience(seconds_until_busy(lambda: SyncMemory.open(path)))
    SyncMemory.open(path).close()


def making(path: Path, held: str) -> None:
    """Make another space in it."""
    with stopped(path, held):
        check_patience(seconds_until_busy(lambda: SyncMemory.open(path, space="second")))


def writing(path: Path, held: str) -> None:
    """Open a space, which does not wait while only the write lock is held, and write to it."""
    with stopped(path, held):
        begun = time.monotonic()
        with SyncMemory.open(path) as memory:
            assert time.monotonic() - begun < MARGIN_S
            check_patience(seconds_until_busy(lambda: memory.learn("a fact")))
    with SyncMemory.open(path) as memory:
        assert memory.learn("a fact").action == "created"


def check_patience(took_s: float) -> None:
    assert PATIENCE_S - 1 <= took_s <= PATIENCE_S + MARGIN_S


CASES: tuple[tuple[Callable[[Path, str], None], str], ...] = (
    (opening, "file"),
    (opening, "lock and file"),
    (making, "lock"),
    (making, "lock and file"),
    (writing, "lock"),
)


def test_all_wait_as_long_as_documented_and_once(tmp_path: Path) -> None:
    """All at the same time, each with a store of its own: each waits for half a minute."""
    paths = [tmp_path / f"{number}.db" for number in range(len(CASES))]
    for path in paths:
        SyncMemory.open(path).close()
    with ThreadPoolExecutor(len(CASES)) as threads:
        ended = [
            threads.submit(act, path, held) for path, (act, held) in zip(paths, CASES, strict=True)
        ]
        for each in ended:
            each.result()
