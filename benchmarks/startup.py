"""What a start costs: importing mnemic, opening a memory, one command; beside other memories.

Targets: ``import mnemic`` at most 50 ms of CPU time, opening a memory 350 ms, ``mnemic --version``
120 ms, ``mnemic recall`` on a small store 450 ms. For scale, the first rows are an empty program
and ``import numpy``, which mnemic loads too.

    python benchmarks/startup.py --install     mem0 and chroma, each into an environment of its own
    python benchmarks/startup.py --runs 9 --write docs/how-to/install.md

Every row is a process of its own, and its figure the user and system time of that process, which
other work on the machine affects less than the time on a clock. The rows take turns, so that a busy
spell touches all of them. Compiled modules are kept, as in any installation.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import field, frozen
from compare_peers import HOME, OFFLINE, install, interpreter
from pages import machine, table, written

from mnemic.adapters.inprocess import SyncMemory

PYTHON = sys.executable
MNEMIC = str(Path(sys.executable).with_name("mnemic"))
PEERS = ("mem0", "chroma")
QUESTION = "When is the demo?"
MEMORIES = {
    "mem0": """
import sys
from mem0 import Memory
place = {"path": sys.argv[1] + "/faiss", "embedding_model_dims": 8}
Memory.from_config({
    "vector_store": {"provider": "faiss", "config": place},
    "history_db_path": sys.argv[1] + "/history.db",
})
""",
    "chroma": """
import sys, chromadb
chromadb.PersistentClient(sys.argv[1], chromadb.Settings(anonymized_telemetry=False))
""",
}
"""Programs that open the memory of a peer in a folder, without calling a model."""
MODULES = {"mem0": "mem0", "chroma": "chromadb"}
OPENING = "import sys; from mnemic import SyncMemory; memory = SyncMemory.open(sys.argv[1])"

FROZEN = f"{OPENING}; import gc; gc.freeze()"
"""Without the time in which Python takes the modules apart, after the end of the program."""


@frozen(kw_only=True)
class Start:
    """A process to measure."""

    name: str
    command: Sequence[str]
    goal_ms: float | None = None
    cpu_ms: list[float] = field(factory=list)
    wall_ms: list[float] = field(factory=list)

    def run(self, environment: Mapping[str, str]) -> None:
        """Run it once, and keep the time that it took.

        Raises:
            CalledProcessError: It failed.
        """
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(  # noqa: S603 - ours, and peers in their own environments
            self.command, check=True, capture_output=True, env=environment
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.wall_ms.append((time.perf_counter() - began) * 1000)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.cpu_ms.append(used * 1000)

    @property
    def median_ms(self) -> float:
        """The median CPU time."""
        return statistics.median(self.cpu_ms)

    def row(self) -> list[str]:
        """Return the cells of its row."""
        goal = "" if self.goal_ms is None else f"{self.goal_ms:.0f}"
        wall = statistics.median(self.wall_ms)
        return [self.name, f"{self.median_ms:.0f}", goal, f"{wall:.0f}"]


def starts(folder: Path) -> list[Start]:
    """Return what is measured; peers that are not installed are named and left out."""
    store = str(folder / "memory.db")
    with SyncMemory.open(store) as memory:
        memory.learn("Ines moved the demo to Thursday.")
        memory.recall(QUESTION)
    recall = f"{OPENING}; memory.recall({QUESTION!r})"
    found = [
        Start(name="python -c pass", command=(PYTHON, "-c", "pass")),
        Start(name="import numpy", command=(PYTHON, "-c", "import numpy")),
        Start(name="import mnemic", command=(PYTHON, "-c", "import mnemic"), goal_ms=50),
        Start(name="mnemic: open", command=(PYTHON, "-c", OPENING, store), goal_ms=350),
        Start(name="mnemic: open, freeze at the end", command=(PYTHON, "-c", FROZEN, store)),
        Start(name="mnemic: open and recall", command=(PYTHON, "-c", recall, store)),
        Start(name="mnemic --version", command=(MNEMIC, "--version"), goal_ms=120),
        Start(name="mnemic --help", command=(MNEMIC, "--help")),
        Start(name="mnemic status", command=(MNEMIC, "--db", store, "status")),
        Start(
            name="mnemic recall", command=(MNEMIC, "--db", store, "recall", QUESTION), goal_ms=450
        ),
    ]
    for name in PEERS:
        python = str(interpreter(HOME / name))
        if not Path(python).exists():
            print(f"{name} is not installed (--install does): its rows are left out.")
            continue
        module, own = MODULES[name], folder / name
        own.mkdir()
        found += [
            Start(name=f"import {module}", command=(python, "-c", f"import {module}")),
            Start(name=f"{name}: open", command=(python, "-c", MEMORIES[name], str(own))),
        ]
    return found


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of the processes: offline, and with compiled modules."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return kept | OFFLINE | {"HOME": str(folder), "MEM0_DIR": str(folder)}


def main() -> None:
    """Measure all starts in turns, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--install", action="store_true", help="install the peers, and end")
    parser.add_argument("--json", type=Path, help="also write the numbers here")
    parser.add_argument("--write", type=Path, help="put the table between the marks of this page")
    options = parser.parse_args()
    if options.install:
        install(PEERS)
        return
    with tempfile.TemporaryDirectory() as name:
        rows, around = starts(Path(name)), environment(Path(name))
        for each in rows:
            each.run(around)  # compiles the modules
            each.cpu_ms.clear()
            each.wall_ms.clear()
        for _ in range(options.runs):
            for each in rows:
                each.run(around)
    cells = [each.row() for each in rows]
    lines = table(("process", "CPU ms", "goal", "clock ms"), cells)
    lines += ["", f"Medians of {options.runs} runs in turns. {machine()}."]
    print("\n".join(lines))
    if options.write:
        written(options.write, "startup", lines)
    if options.json:
        numbers = {each.name: each.median_ms for each in rows}
        options.json.write_text(json.dumps(numbers, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
