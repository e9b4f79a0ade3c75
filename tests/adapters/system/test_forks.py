"""A fork while another thread imports a module: the child can import it as well."""

from __future__ import annotations

import importlib
import os
import select
import signal
import sys
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from mnemic.adapters.system import forks

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

NAME = "imported_during_a_fork"
HANGS_S = 10.0
began = threading.Event()
may_end = threading.Event()


class Opened:
    """Something open that has nothing to put in order."""

    def before_fork(self) -> None:
        pass

    def after_fork(self, *, in_child: bool) -> None:
        pass


@pytest.fixture
def slow_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """Make a module whose import waits, once it began, until it may end."""
    body = f"import {__name__} as test\ntest.began.set()\ntest.may_end.wait({HANGS_S})\n"
    (tmp_path / f"{NAME}.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    began.clear()
    may_end.clear()
    yield NAME
    sys.modules.pop(NAME, None)


def test_a_child_imports_what_another_thread_was_importing(slow_module: str) -> None:
    opened = Opened()
    forks.take_part(opened)
    importing = threading.Thread(target=importlib.import_module, args=(slow_module,))
    importing.start()
    assert began.wait(HANGS_S)
    threading.Timer(0.1, may_end.set).start()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        importlib.import_module(slow_module)
        os.write(writing, b"imported")
        os._exit(0)
    os.close(writing)
    is_readable = bool(select.select([reading], [], [], HANGS_S)[0])
    if not is_readable:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    answer = os.read(reading, 100)
    os.close(reading)
    importing.join()
    assert answer == b"imported"


def test_a_fork_does_not_wait_for_ever(slow_module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "IMPORT_MAX_S", 0.1)
    opened = Opened()
    forks.take_part(opened)
    importing = threading.Thread(target=importlib.import_module, args=(slow_module,))
    importing.start()
    assert began.wait(HANGS_S)
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    may_end.set()
    importing.join()


def test_both_processes_import_after_a_fork(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_after_a_fork.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    opened = Opened()
    forks.take_part(opened)
    child = os.fork()
    if child == 0:
        worker = threading.Thread(target=importlib.import_module, args=("imported_after_a_fork",))
        worker.start()
        worker.join(HANGS_S)
        os._exit(worker.is_alive())
    worker = threading.Thread(target=importlib.import_module, args=("imported_after_a_fork",))
    worker.start()
    worker.join(HANGS_S)
    assert (worker.is_alive(), os.waitpid(child, 0)[1]) == (False, 0)
