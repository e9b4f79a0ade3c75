from __future__ import annotations

import json
import sys

import pytest

from mnemic.adapters.ann.library import is_installed, tried

BROKEN = [
    ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "signal 4"),
    ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
    ("raise ImportError('no such symbol')", "no such symbol"),
    ("pass", "says nothing"),
]


@pytest.mark.parametrize(("program", "said"), BROKEN)
def test_a_crashing_library_ends_only_the_trial_process(program: str, said: str) -> None:
    assert said in str(tried(program))


def test_a_trial_that_finds_something_is_a_success() -> None:
    assert tried("print('found')") is None


def test_an_unknown_module_is_not_installed() -> None:
    assert not is_installed("a_library_that_nobody_has")
    assert is_installed("hashlib")


def test_a_trial_finds_modules_where_this_process_does() -> None:
    program = "import json, sys; print('found' if sys.argv[1:] == json.loads({!r}) else 'lost')"
    assert tried(program.format(json.dumps(sys.path))) is None
