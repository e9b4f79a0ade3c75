"""Which modules does an operation pass through?

Runs ``learn``, ``recall``, ``as_of`` and ``replay`` once each on a small memory in a SQLite file,
and lists the modules of mnemic whose functions were called, in the order of the first call::

    python benchmarks/trace.py                 # print the lists
    python benchmarks/trace.py --write         # renew them in docs/architecture.md

Each operation runs once before it is traced, so that lazy imports and first-use set-up are not
counted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final

from attrs import frozen
from pages import table, written

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "architecture.md"
LAYERS: Final = ("kernel", "projections", "adapters")


@frozen
class Trace:
    """What one call of an operation passed through."""

    operation: str
    calls: Counter[str]
    """Calls of functions by module, in the order of the first call."""

    @property
    def line(self) -> str:
        """The counts in a line."""
        return f"{self.operation}: {len(self.calls)} modules, {self.calls.total()} calls"


def traced(operation: str, call: Callable[[], object]) -> Trace:
    """Run *call* and return the modules of mnemic that it passed through, on every thread."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            name = frame.f_globals.get("__name__", "")
            if name.startswith("mnemic.") and name.split(".")[1] in LAYERS:
                calls[name.removeprefix("mnemic.")] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return Trace(operation, calls)


def traces() -> list[Trace]:
    """Trace each operation on a memory of a few consolidated blocks."""
    with (
        tempfile.TemporaryDirectory(dir=ROOT / ".tmp") as folder,
        SyncMemory.open(
            Path(folder) / "trace.db", space="trace", embedder=HashEmbedder()
        ) as memory,
    ):
        later = iter(range(100, 200))
        for number in range(20):
            memory.learn(f"Service {number} runs in region {number % 3}.")
        memory.consolidate()
        decision = memory.recall("Which region does service 7 run in?").decision_id
        assert decision is not None
        operations: dict[str, Callable[[], object]] = {
            "learn": lambda: memory.learn(f"Service {next(later)} was retired."),
            "recall": lambda: memory.recall("Which services were retired?"),
            "as_of": lambda: memory.as_of(decision=decision).recall("region of service 7"),
            "replay": lambda: memory.replay(decision),
        }
        for call in operations.values():
            call()
        return [traced(name, call) for name, call in operations.items()]


def page(found: list[Trace]) -> list[str]:
    """Return the lists as Markdown: for each operation a table with a row per package."""
    lines: list[str] = []
    for trace in found:
        packages: dict[str, list[str]] = {}
        for module in trace.calls:
            package, _, leaf = module.rpartition(".")
            packages.setdefault(f"`{package}`", []).append(leaf)
        rows = [(package, ", ".join(leaves)) for package, leaves in packages.items()]
        head = f"**`{trace.operation}`**: {len(trace.calls)} modules, {trace.calls.total()} calls"
        lines += [head, "", *table(("package", "modules"), rows, right=()), ""]
    return lines


def main() -> None:
    """Print the lists, or write them into the page."""
    parser = argparse.ArgumentParser(description="List the modules that each operation passes.")
    parser.add_argument(
        "--write", action="store_true", help="renew the lists in docs/architecture.md"
    )
    parser.add_argument("--modules", action="store_true", help="print each module with its calls")
    options = parser.parse_args()
    (ROOT / ".tmp").mkdir(exist_ok=True)
    found = traces()
    for trace in found:
        print(trace.line)
        if options.modules:
            for module, calls in trace.calls.items():
                print(f"  {calls:6d}  {module}")
    if options.write:
        written(PAGE, "trace", page(found))


if __name__ == "__main__":
    main()
