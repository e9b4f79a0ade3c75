from __future__ import annotations

import pytest

from mnemic.adapters.proximity.library import tried

BROKEN = [
    ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "signal 4"),
    ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
    ("raise ImportError('no such symbol')", "no such symbol"),
    ("pass", "says nothing"),
]


@pytest.mark.parametrize(("program", "said"), BROKEN)
def test_a_library_that_ends_its_process_ends_another_one(program: str, said: str) -> None:
    assert said in str(tried(program))


def test_a_trial_that_finds_something_is_a_success() -> None:
    assert tried("print('found')") is None
