"""Erased texts leave the memory of the process: nothing that is in use holds a word of them.

The process is read from outside, by another. Its allocators overwrite what they free, so that every
word that is found belongs to something alive: an object, a cache of a library, a buffer of SQLite.
"""

from __future__ import annotations

import os
import platform
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.inprocess.blocks.life_with_erasures import LIVES, masked

OVERWRITES_FREED = {
    "PYTHONMALLOC": "malloc",
    "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.perturb=85",
}
SYLLABLES = "zor vex mulq drin hupf kyl wexa jor quon blith tarv ghoz".split()
CORE, REST = LIVES[-1:], LIVES[:-1]
EXTENDED = pytest.mark.extended
"""Each life takes some seconds; the one from a checkpoint has the most in it."""
MARK = "Qxzjvwk"
"""Begins every word of the secrets, and occurs nowhere else."""

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or not os.access("/proc/self/mem", os.R_OK),
    reason="reads /proc, of a process under glibc",
)


def made_up(chance: random.Random) -> str:
    """Return a sentence of six words that occur nowhere else."""
    return " ".join(MARK + "".join(chance.choices(SYLLABLES, k=4)) for _ in range(6))


def writable(process: int) -> Iterator[bytes]:
    """Yield the contents of the writable memory of a process, range by range."""
    maps = Path(f"/proc/{process}/maps").read_text(encoding="ascii", errors="replace")
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        for line in maps.splitlines():
            ends, rights, *_ = line.split()
            first, end = (int(each, 16) for each in ends.split("-"))
            if "w" in rights:
                memory.seek(first)
                yield memory.read(end - first)


def found(process: int, text: str) -> int:
    """Return how often a text is in the memory of a process, in any case and encoding."""
    needles = [text.casefold().encode(code) for code in ("utf-8", "utf-16-le", "utf-32-le")]
    return sum(held.lower().count(each) for held in writable(process) for each in needles)


@pytest.mark.parametrize("life", [*CORE, *(pytest.param(e, marks=EXTENDED) for e in REST)])
def test_nothing_alive_holds_an_erased_word(tmp_path: Path, life: str) -> None:
    secrets = [made_up(random.Random(seed)) for seed in range(3)]  # noqa: S311 - not secret
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.adapters.inprocess.blocks.life_with_erasures",
            tmp_path,
            life,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **OVERWRITES_FREED},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(masked("\n".join(secrets).encode()).replace(masked(b"\n"), b"\n"))
        process.stdin.flush()
        assert process.stdout.readline() == b"erased\n"
        assert found(process.pid, MARK) == 0
        assert found(process.pid, "ordinary note") > 0  # else it reads the wrong memory
