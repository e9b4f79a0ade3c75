"""Erasing where files cannot grow: refused without a change, or done and reported."""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import MnemicError, StoreFailed, StoreFull

Open: TypeAlias = Callable[..., SyncMemory]

STORY = "the vault code is mellifluous zanzibar"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a limit is set on a child")


def erased_within(size: int, path: Path, keys: Path, block: str) -> Any:
    """Erase in a child process whose files may not grow beyond *size*, and return what it saw."""
    out, into = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        child = os.fork()
    if not child:
        try:
            seen = _erase(size, path, keys, block)
            os.write(into, json.dumps(seen).encode())
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as answer:
        seen = json.loads(answer.read())
    os.waitpid(child, 0)
    return seen


def _erase(size: int, path: Path, keys: Path, block: str) -> list[object]:
    memory = SyncMemory.open(path, keys=keys, embedder=HashEmbedder(16))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        left = memory.erase(block).left
    except (StoreFull, StoreFailed):
        return ["refused", memory.block(block).content, bool(memory.status().alerts)]
    except MnemicError as error:
        return [repr(error)]
    return ["left" if left else "erased", memory.block(block).content, bool(memory.status().alerts)]


@pytest.mark.parametrize("size", [0, 24_000, 31_000, 37_000, 43_000, 50_000, 10**6])
def test_an_erasure_is_refused_or_certain(opened: Open, path: Path, keys: Path, size: int) -> None:
    with opened() as memory:
        block = memory.learn(STORY).block_id
        others = [memory.learn(f"stays {number}").block_id for number in range(12)]
    with closing(sqlite3.connect(keys)) as connection:
        ((secret,),) = connection.execute(
            "SELECT secret FROM keys JOIN secrets USING (id) WHERE owner = ?", (block,)
        )
    seen = erased_within(size, path, keys, block)
    assert seen in (["refused", STORY, False], ["left", None, True], ["erased", None, False])
    with opened() as memory:
        assert memory.block(block).content == (STORY if seen[0] == "refused" else None)
        assert [memory.block(other).content for other in others] == [
            f"stays {number}" for number in range(12)
        ]
        assert memory.verify().sound
    held = b"".join(file.read_bytes() for file in keys.parent.iterdir())
    assert (secret in held) is (seen[0] == "refused")


def test_both_outcomes_occur(opened: Open, path: Path, keys: Path) -> None:
    with opened() as memory:
        block = memory.learn(STORY).block_id
    assert erased_within(0, path, keys, block)[0] == "refused"
    assert erased_within(10**6, path, keys, block)[0] == "erased"
