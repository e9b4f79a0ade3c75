"""Measures one memory, in a process of its own that ``compare_peers.py`` starts.

First everything is written one by one and questions are asked, with the clock running. Then every
conversation gets a memory of its own, written in bulk, and answers are compared with the turns
that hold the evidence. The last line of the output is the numbers, in JSON.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field
from peers.port import (
    Item,
    Peer,
    Unfit,
    Vectors,
)
from peers.registry import entry

WARM_UP = 10
"""Untimed questions at the start, which fill caches."""
MEGA = 1e6
USER_TICKS, SYSTEM_TICKS = 11, 12
"""Places in /proc/PID/stat, counted behind the name of the process."""

Numbers = dict[str, Any]


@define(kw_only=True)
class Trial:
    """One memory and where it may write."""

    kind: type[Peer]
    folder: Path
    vectors: Vectors
    _number: count[int] = field(factory=count)

    def speed(self, items: Sequence[Item], questions: Sequence[str]) -> Numbers:
        """Write *items* one by one, then ask *questions*."""
        with closing(self._fresh()) as peer:
            start = time.perf_counter()
            for item in items:
                peer.write(item)
            written = time.perf_counter() - start
            peer.settle()
            settled = time.perf_counter() - start
            for question in questions[:WARM_UP]:
                peer.ask(question)
            busy = processor(peer)
            seconds = [answered(peer, question) for question in questions]
            busy = processor(peer) - busy
            gc.collect()
            memory = resident() + sum(resident(child) for child in peer.children())
        return {
            "writes_per_s": len(items) / settled,
            "settling_share": 1 - written / settled,
            "seconds": seconds,
            "cpu_ms": 1000 * busy / len(questions),
            "memory_mb": memory / MEGA,
            "disk_mb": disk(peer.folder) / MEGA,
        }

    def quality(self, items: dict[str, Item], conversations: Sequence[Numbers]) -> Numbers:
        """Write each conversation in bulk and ask its questions."""
        recalls: list[float] = []
        seconds, written = 0.0, 0
        for conversation in conversations:
            turns = [items[each] for each in conversation["items"]]
            with closing(self._fresh()) as peer:
                start = time.perf_counter()
                peer.write_many(turns)
                peer.settle()
                seconds += time.perf_counter() - start
                written += len(turns)
                recalls += [found(peer, question) for question in conversation["questions"]]
        if not recalls:
            return {}
        return {"bulk_per_s": written / seconds, "recall_at_10": sum(recalls) / len(recalls)}

    def _fresh(self) -> Peer:
        folder = self.folder / f"{self.kind.__name__}-{next(self._number)}"
        folder.mkdir()
        return self.kind(folder, self.vectors)


def answered(peer: Peer, question: str) -> float:
    """Return how many seconds an answer takes."""
    start = time.perf_counter()
    peer.ask(question)
    return time.perf_counter() - start


def found(peer: Peer, question: Numbers) -> float:
    """Return the share of a question's evidence that is among the answer."""
    evidence = set(question["evidence"])
    return len(evidence.intersection(peer.ask(question["text"]))) / len(evidence)


# --- the machine ----------------------------------------------------------------------------


def resident(process: int | str = "self") -> int:
    """Return the resident bytes of a process; the peak, where the OS reports no more."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return 0 if process != "self" else peak * (1 if sys.platform == "darwin" else 1024)
    return pages * resource.getpagesize()


def processor(peer: Peer) -> float:
    """Return for how many seconds the processor has worked for *peer*, in all threads."""
    seconds = time.process_time()
    for child in peer.children():
        places = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        ticks = int(places[USER_TICKS]) + int(places[SYSTEM_TICKS])
        seconds += ticks / os.sysconf("SC_CLK_TCK")
    return seconds


def disk(folder: Path) -> int:
    """Return how many bytes the files below *folder* have."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


# --- the program ----------------------------------------------------------------------------


def measured(folder: Path, name: str) -> Numbers:
    """Return the numbers of the memory called *name*.

    Args:
        folder: Holds the input, ``work.json`` and ``vectors.npy``. All files are written to it.
        name: As in ``peers.registry``.
    """
    work = json.loads((folder / "work.json").read_bytes())
    vectors = Vectors(work["texts"], np.load(folder / "vectors.npy"))
    items = {each["id"]: Item(**each) for each in work["items"]}
    stream = [items[each] for each in work["stream"]]
    bare = resident() / MEGA
    kind = entry(name)
    trial = Trial(kind=kind, folder=folder, vectors=vectors)
    numbers = trial.speed(stream, work["questions"])
    numbers["memory_mb"] -= bare
    return numbers | trial.quality(items, work["conversations"]) | {"version": kind.release()}


def main() -> None:
    """Measure, or report why it cannot be measured."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    try:
        numbers = measured(folder, name)
    except Unfit as reason:
        numbers = {"skipped": str(reason)}
    print("\n" + json.dumps(numbers))


if __name__ == "__main__":
    main()
