"""Forked children of a process with threads: what they answer, and whether they hang."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import MnemicError

LIMIT_S = 10.0
"""A child that takes longer hangs."""


def in_child(act: Callable[[], object]) -> str:
    """Return what *act* returns in a forked child, or the code of its error and its recovery."""
    ear, mouth = os.pipe()
    pid = os.fork()
    if pid == 0:
        answer = "crashed"
        with suppress(BaseException):
            try:
                answer = str(act())
            except MnemicError as error:
                answer = f"{error.code}: {error.message} {error.recovery}"
            except BaseException as error:  # noqa: BLE001 - a forked child must never return
                answer = repr(error)
        os.write(mouth, answer.encode())
        os._exit(0)
    os.close(mouth)
    try:
        ready, _, _ = select.select([ear], [], [], LIMIT_S)
        return os.read(ear, 10_000).decode() if ready else "hangs"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(ear)


def is_refused(answer: str) -> bool:
    return answer.startswith("store-failed: the memory was opened before this process was forked")


@contextmanager
def writing(memory: SyncMemory) -> Generator[None]:
    """Learn without a pause on another thread."""
    stopping = threading.Event()

    def learn() -> None:
        number = 0
        while not stopping.is_set():
            memory.learn(f"fact {number}")
            number += 1

    thread = threading.Thread(target=learn)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
