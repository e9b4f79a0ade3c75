"""Check in a separate process whether hnswlib can be used on this machine.

It is compiled on the machine that installs it, for that machine's processor. On another one it may
end the process at its first instruction. So a child process tries it first.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec

from mnemic.adapters.extras import pip_install

TRIAL_S = 60
TRIAL = """
import sys
sys.path[:] = sys.argv[1:]
import hnswlib, numpy
rows = numpy.random.default_rng(1).standard_normal((200, 64)).astype(numpy.float32)
graph = hnswlib.Index("ip", 64)
graph.init_index(200, M=8, ef_construction=32, random_seed=1)
graph.add_items(rows, num_threads=1)
copy = hnswlib.Index.__new__(hnswlib.Index)
copy.__setstate__(graph.__getstate__())
found = copy.knn_query(rows[:8], k=4, num_threads=1)[0]
print("found", found.shape)
"""
"""Every call that ``hnsw`` makes, with vectors long enough for the widest instructions. Modules
are searched where this process searches them."""


@cache
def obstacle() -> str | None:
    """Return why hnswlib cannot be used, in a sentence; None if it can."""
    if not is_installed("hnswlib"):
        return f"hnswlib is not installed ({pip_install('hnsw')}, which takes a C++ compiler)"
    if not sys.executable:
        return "hnswlib cannot be tried out: the path of the interpreter is not known"
    return tried(TRIAL)


def is_installed(module: str) -> bool:
    """Return whether the module exists, without importing it."""
    try:
        return find_spec(module) is not None
    except ValueError:  # ``sys.modules`` holds something else under that name
        return False


def tried(program: str) -> str | None:
    """Return what is wrong with a trial, run in a child process; None if nothing is."""
    import subprocess

    try:
        trial = subprocess.run(  # noqa: S603 - this interpreter, and a program of ours
            [sys.executable, "-I", "-c", program, *sys.path],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRIAL_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"hnswlib cannot be tried out: {error}"
    if trial.returncode < 0:
        return f"hnswlib does not run on this processor (signal {-trial.returncode})"
    if trial.returncode or trial.stdout.split()[:1] != [b"found"]:
        said = trial.stderr.decode(errors="replace").strip().splitlines()
        return f"hnswlib does not work: {said[-1] if said else 'it says nothing'}"
    return None
