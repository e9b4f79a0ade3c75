"""Many policies over several spaces: in this process, on a pool of processes, and on Ray.

Each of the spaces is a synthetic life (``synthetic_life.py``) of another length; its last decisions
are answered under policies drawn at random, a batch of them at a time, as a search does. Every
runner keeps its workers, with the space that they have folded, from one batch to the next.

Printed are wall-clock time, processor time of all processes that a run started, the most memory
that they had together (proportional set size, sampled every half second), and a digest of all rows,
which has to be the same for each runner.

    python benchmarks/experiments.py                               1,000 policies x 4 spaces
    python benchmarks/experiments.py --policies 100 --runners processes ray
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from attrs import frozen
from replay import ROOT, lived, short

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.replay.policy_answers import Answering, answering
from mnemic.adapters.inprocess.replay.policy_search import Candidates
from mnemic.adapters.inprocess.replay.reevaluation import decision_versions
from mnemic.adapters.inprocess.replay.space_work import SpaceWork, started
from mnemic.adapters.runners import NAMES
from mnemic.adapters.runners.kept_rows import KeptRows
from mnemic.kernel.policy import Policy

EVENTS: Final = (8_000, 12_000, 16_000, 20_000)
FRAME: Final = "attention"
"""Most recalls of a life are in this frame."""
SAMPLED_EVERY_S: Final = 0.5
BECOME_REAPER: Final = 36
"""``PR_SET_CHILD_SUBREAPER``: processes whose parent has ended are waited for here, Ray's too."""


def drawn(count: int, in_force: Policy) -> list[Policy]:
    """Return policies with other weights of a frame, and rates, drawn at random."""
    candidates, luck = Candidates(in_force, FRAME, ("weights", "rates")), Random(7)
    return [
        candidates.policy([luck.uniform(low, high) for _, low, high, _ in candidates.axes()])
        for _ in range(count)
    ]


def child(runner: str, path: Path, options: argparse.Namespace) -> str:
    """Answer all batches on one space, and return the digest of the rows."""
    found = hashlib.sha256()
    with SyncMemory.open(path, read_only=True) as memory:
        # No operation takes so many policies at once.
        space, models = memory._open(), memory._models  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        now = space.view()
        versions = decision_versions(now)[-options.decisions :]
        policies = drawn(options.policies, now.policy)
        work = SpaceWork.on(space, models, answering)
        with started(runner, work, answers=0) as workers, KeptRows(options.rows) as kept:
            answers = Answering(now, space, kept, workers)
            for first in range(0, len(policies), options.batch):
                for each in answers.answers(versions, policies[first : first + options.batch]):
                    found.update(json.dumps([each.recorded, each.policies]).encode())
    return found.hexdigest()[:16]


# --- measuring a run ------------------------------------------------------------------------


@frozen(kw_only=True)
class Run:
    """What one runner took for all spaces."""

    runner: str
    wall_s: float
    processor_s: float
    memory_mb: float
    digest: str


def run(runner: str, options: argparse.Namespace) -> Run:
    """Do all spaces one after the other, in processes of their own."""
    start, before, most = time.perf_counter(), processor_seconds(), 0.0
    digests: list[str] = []
    for events in options.events:
        command = [sys.executable, __file__, "--child", runner, "--events", str(events)]
        for name in ("policies", "batch", "decisions", "rows"):
            given = getattr(options, name)
            command += [] if given is None else [f"--{name}", str(given)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - this very program
            while process.poll() is None:
                most = max(most, sum(map(memory_mb, descendants(process.pid))))
                time.sleep(SAMPLED_EVERY_S)
            assert process.stdout is not None
            digests.append(process.stdout.read().strip())
        if process.returncode:
            raise SystemExit(f"{runner} failed on {short(events)} events")
    wall = time.perf_counter() - start
    reap()
    return Run(
        runner=runner,
        wall_s=wall,
        processor_s=processor_seconds() - before,
        memory_mb=most,
        digest=hashlib.sha256(" ".join(digests).encode()).hexdigest()[:16],
    )


def reap() -> None:
    """Wait for what is left of the processes of a run, so that their time is counted."""
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return


def processor_seconds() -> float:
    """Return the processor time of all processes that have been waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def descendants(process: int) -> Iterator[int]:
    """Yield a process, and those that it started, and those that these started."""
    yield process
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        for each in _read(thread).split():
            yield from descendants(int(each))


def memory_mb(process: int) -> float:
    """Return the memory of a process, its part of what is shared included; 0 if it has ended."""
    for line in _read(Path(f"/proc/{process}/smaps_rollup")).splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1000
    return 0.0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


# --- the program ----------------------------------------------------------------------------


def table(runs: Sequence[Run]) -> None:
    """Print a line for each run."""
    print(f"{'runner':12}{'wall s':>9}{'CPU s':>9}{'MB':>8}  rows")
    for each in runs:
        print(
            f"{each.runner:12}{each.wall_s:9.1f}{each.processor_s:9.1f}{each.memory_mb:8.0f}"
            f"  {each.digest}",
            flush=True,
        )


def main() -> None:
    """Make the spaces that are missing, measure each runner, and compare the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add: Any = parser.add_argument
    add("--policies", type=int, default=1000)
    add("--batch", type=int, default=100, help="policies that are asked at once")
    add("--decisions", type=int, default=64, help="the last ones of each space")
    add("--events", type=int, nargs="+", default=EVENTS, help="length of each space")
    add("--runners", nargs="+", choices=NAMES, default=NAMES)
    add("--rows", type=Path, metavar="FILE", help="keeps rows: a run that was killed goes on")
    add("--child", choices=NAMES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    paths = [lived(ROOT / f"space-{short(events)}.db", events) for events in options.events]
    if options.child is not None:
        print(child(options.child, paths[0], options))
        return
    ctypes.CDLL(None).prctl(BECOME_REAPER, 1, 0, 0, 0)
    runs = [run(runner, options) for runner in options.runners]
    table(runs)
    if len({each.digest for each in runs}) > 1:
        raise SystemExit("The rows differ.")


if __name__ == "__main__":
    main()
