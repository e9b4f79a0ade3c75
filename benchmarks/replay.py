"""Measures opening a long memory, viewing any hour of it, and replaying all of its decisions.

One synthetic life (``synthetic_life.py``) of 1,000,000 events, with 100,000 blocks of 256
dimensions, 450,000 edges at some time and 10,000 recorded decisions. Generating it takes some ten
minutes; the file stays in ``.tmp`` and is used again.

Targets, each relative to something of the same run:

* folding the whole log, without checkpoint: at most 7 s; also as a multiple of the time that plain
  cursors take to fetch the same rows
* opening with a checkpoint: at most 0.15 s, and at most 5 % of folding the whole log
* a view of a random active hour: at most 100 ms; a recall in it: at most 1.5 times a live one
* ``replay_all``: at least 200 decisions a second, every one reproduced
* a checkpoint: at most 1.5 times the bytes of its arrays

Opening is measured in fresh processes, without imports, alternately with and without checkpoints:
the file is in the cache of the system for both. Recalls are exact and not recorded. Views are of 50
hours; early ones hold few blocks, so a view of the last hour is added, where as many blocks compete
as in a live recall.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import synthetic_life
from attrs import asdict, frozen
from rich.console import Console
from rich.progress import track

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.projections.state.checkpoint import freeze

T = TypeVar("T")

ROOT = Path(__file__).parents[1] / ".tmp" / "replay"
HOURS = 50
WARM_UP = 5
"""Untimed live recalls at the start."""
OPENINGS = 5
FOLDS = 3
TOP_K = 10
ALL = 100
"""Percent."""
EVENTS = "SELECT * FROM stored_events ORDER BY originator_version"
PAYLOADS = "SELECT * FROM payloads JOIN contents ON contents.id = content ORDER BY version, slot"


@frozen(kw_only=True)
class Found:
    """One line of the table."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    """The limit; None: shown for comparison."""
    at_least: float | None = None

    @property
    def missed(self) -> bool:
        """Whether there is a target, and it was missed."""
        too_much = self.limit is not None and self.value > self.limit
        return too_much or (self.at_least is not None and self.value < self.at_least)

    @property
    def goal(self) -> str:
        """The target as text, and whether it was missed."""
        missed = "   missed" if self.missed else ""
        if self.limit is not None:
            return f"<= {self.limit:g}{missed}"
        if self.at_least is not None:
            return f">= {self.at_least:g}{missed}"
        return ""


# --- the space ------------------------------------------------------------------------------


def lived(path: Path, events: int) -> Path:
    """Return the file of a life of *events* events, generating it if there is none.

    Raises:
        SystemExit: There is a file that this program did not create.
    """
    note = path.with_name(f"{path.name}.json")
    wanted = {"edition": synthetic_life.EDITION, "events": events}
    if path.exists() and not note.is_file():
        raise SystemExit(f"{path} is not of this program: name another with --space.")
    if path.exists() and json.loads(note.read_bytes()) == wanted:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    _removed(part)
    sessions = range(synthetic_life.session_count(events))
    bar = Console(stderr=True)
    synthetic_life.live(part, events, track(sessions, "living", console=bar, transient=True))
    _removed(path)
    note.write_text(json.dumps(wanted))
    part.replace(path)
    _removed(part)
    return path


def _removed(path: Path) -> None:
    """Remove a store and its side files."""
    for beside in ("", "-wal", "-shm", ".gate", ".heads", ".lock"):
        path.with_name(path.name + beside).unlink(missing_ok=True)


def short(events: int) -> str:
    """Return 1m for 1,000,000 and 20k for 20,000."""
    for size, letter in ((1_000_000, "m"), (1_000, "k")):
        if events % size == 0:
            return f"{events // size}{letter}"
    return str(events)


def opened(path: Path, *, checkpoints: bool | None) -> tuple[SyncMemory, float]:
    """Return the memory at its last instant, and how long opening took."""
    clock, embedder = ManualClock(), synthetic_life.embedder()
    start = time.perf_counter()
    memory = SyncMemory.open(
        path, embedder=embedder, clock=clock, read_only=True, checkpoints=checkpoints
    )
    seconds = time.perf_counter() - start
    recorded_at = memory.status().recorded_at
    assert recorded_at is not None
    clock.set(datetime.fromisoformat(recorded_at))
    return memory, seconds


# --- measuring ------------------------------------------------------------------------------


def timed(act: Callable[..., T], *given: Any, **named: Any) -> tuple[T, float]:
    """Return what *act* returns of what it is given, and its seconds."""
    start = time.perf_counter()
    found = act(*given, **named)
    return found, time.perf_counter() - start


def checkpointed(path: Path) -> Iterator[Found]:
    """Write a checkpoint, the only one."""
    with SyncMemory.open(path, embedder=synthetic_life.embedder(), clock=ManualClock()) as memory:
        memory.drop_checkpoints()
        written, seconds = timed(memory.checkpoint)
        # No operation returns the number of arrays, nor how long others wait for them.
        space = memory._space  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        with space.log_state.lock:
            parts, held = timed(freeze, space.state)
        arrays = sum(part.nbytes for part in parts.values())
    yield Found(what="a checkpoint", value=written.bytes / 1e6, unit="MB")
    yield Found(what="  over its arrays", value=written.bytes / arrays, unit="times", limit=1.5)
    yield Found(what="  written in", value=seconds, unit="s")
    yield Found(what="  others wait for", value=1000 * held, unit="ms")


def child(kind: str, path: Path, events: int) -> dict[str, float]:
    """Open in this fresh process, recall twice, and return the seconds."""
    (question,) = synthetic_life.questions(1, events=events)
    memory, seconds = opened(path, checkpoints=None if kind == "open" else False)
    with memory:
        _, first = timed(memory.recall, question, top_k=TOP_K, record=False)
        _, second = timed(memory.recall, question, top_k=TOP_K, record=False)
    return {"open": seconds, "first": first, "second": second}


def in_child(kind: str, path: Path, events: int) -> dict[str, float]:
    """Do ``child`` in a process of its own."""
    done = subprocess.run(  # noqa: S603 - this very program
        [sys.executable, __file__, "--child", kind, "--space", str(path), "--events", str(events)],
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def fetched(path: Path) -> None:
    """Read every event and every payload with plain cursors, and discard them."""
    with closing(sqlite3.connect(path)) as connection:
        for rows in (EVENTS, PAYLOADS):
            deque(connection.execute(rows), maxlen=0)


def openings(path: Path, events: int) -> Iterator[Found]:
    """Open alternately with and without a checkpoint."""
    plain = median([timed(fetched, path)[1] for _ in range(FOLDS)])
    runs: dict[str, list[dict[str, float]]] = {"fold": [], "open": []}
    for turn in range(OPENINGS):
        if turn < FOLDS:
            runs["fold"].append(in_child("fold", path, events))
        runs["open"].append(in_child("open", path, events))
    fold, open_ = (median(run["open"] for run in runs[kind]) for kind in ("fold", "open"))
    yield Found(what="folding the whole log", value=fold, unit="s", limit=7)
    yield Found(what="  over plain cursors", value=fold / plain, unit="times")
    yield Found(what="opening with a checkpoint", value=open_, unit="s", limit=0.15)
    yield Found(what="  over folding", value=100 * open_ / fold, unit="%", limit=5)
    for kind, what in (("fold", "after folding"), ("open", "with a checkpoint")):
        first = 1000 * median(run["first"] for run in runs[kind])
        yield Found(what=f"  first recall {what}", value=first, unit="ms")


def views(memory: SyncMemory, events: int) -> Iterator[Found]:
    """View the memory at random hours, and recall in the views and live."""
    chance, last = Random(7), memory.status()
    questions = synthetic_life.questions(HOURS + WARM_UP, events=events)
    for question in questions[HOURS:]:
        memory.recall(question, top_k=TOP_K, record=False)
    seeing, first, again, live, head = [], [], [], [], []
    end = memory.as_of(version=last.version)
    for question in questions[:HOURS]:
        view, seconds = timed(memory.as_of, hour=chance.uniform(0, last.hour))
        seeing.append(seconds)
        first.append(timed(view.recall, question, top_k=TOP_K)[1])
        again.append(timed(view.recall, question, top_k=TOP_K)[1])
        live.append(timed(memory.recall, question, top_k=TOP_K, record=False)[1])
        head.append(timed(end.recall, question, top_k=TOP_K)[1])
    yield Found(what="a live recall", value=1000 * median(live), unit="ms")
    yield Found(what=f"a view, {HOURS} hours", value=1000 * median(seeing), unit="ms", limit=100)
    yield Found(what="  the slowest", value=1000 * max(seeing), unit="ms")
    for what, found in (
        ("  first recall in it", first),
        ("  next recall in it", again),
        ("  recall in a view of the end", head),
    ):
        ratio = median(found) / median(live)
        yield Found(what=what, value=ratio, unit="times live", limit=1.5)


def replays(memory: SyncMemory) -> Iterator[Found]:
    """Replay every decision of the log."""
    summary, seconds = timed(memory.replay_all)
    yield Found(what="replay_all, decisions", value=summary.decisions, unit="")
    yield Found(
        what="  reproduced",
        value=100 * summary.reproduced / max(1, summary.decisions),
        unit="%",
        at_least=ALL,
    )
    yield Found(what="  speed", value=summary.decisions / seconds, unit="a second", at_least=200)


def median(seconds: Iterator[float] | Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(seconds)


# --- the program ----------------------------------------------------------------------------


def measured(path: Path, events: int) -> Iterator[Found]:
    """Measure everything, one after the other."""
    yield from checkpointed(path)
    yield from openings(path, events)
    memory, _ = opened(path, checkpoints=None)
    with memory:
        status = memory.status()
        print(status.summary, file=sys.stderr)
        yield from views(memory, events)
        yield from replays(memory)


def main() -> None:
    """Generate the life if it is missing, measure, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--events", type=int, default=1_000_000, help="length of the life")
    add("--space", type=Path, help="path of the space, existing or new")
    add("--live-only", action="store_true", help="make the space and measure nothing")
    add("--json", type=Path, help="write what was found here, too")
    add("--child", choices=("fold", "open"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    path = options.space or ROOT / f"space-{short(options.events)}.db"
    if options.child is not None:
        print(json.dumps(child(options.child, path, options.events)))
        return
    lived(path, options.events)
    if options.live_only:
        return
    print(f"{'':34}{'found':>12} {'':12}{'goal':8}")
    lines = []
    for found in measured(path, options.events):
        print(f"{found.what:34}{found.value:>12,.3f} {found.unit:12}{found.goal}", flush=True)
        lines.append(asdict(found))
    if options.json is not None:
        options.json.write_text(json.dumps({"events": options.events, "found": lines}, indent=2))
    if any(line["at_least"] == ALL and line["value"] < ALL for line in lines):
        raise SystemExit("Not every decision was reproduced.")


if __name__ == "__main__":
    main()
