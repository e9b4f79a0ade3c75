"""Compares the goals for speed and memory with the measurements of the other programs.

Reads the results that the other programs saved with ``--json``, each under its own name in one
folder, and prints one table of them, or writes it between the marks of a page. It measures nothing:
missing results are shown as "not measured".
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen
from pages import machine, table, written
from peers.report import rounded

FOUND = Path(__file__).parents[1] / ".tmp" / "found"
LATE_MS = 20.0
SIGNS = {"<=": "≤", ">=": "≥"}
COLUMNS = ("what", "goal", "found", "", "by")

Values = Mapping[tuple[str, str], float]
"""Measurements of one program, by name and unit of the line."""


@frozen
class Goal:
    """One line of the table: a goal, and the program and line that measure it."""

    what: str
    sign: str
    """``<=``, or ``>=`` where more is better; empty where there is no goal."""
    limit: float
    unit: str
    program: str
    line: str

    def row(self, found: Mapping[str, Values]) -> list[str]:
        """Return the cells of its line."""
        wanted = f"{SIGNS[self.sign]} {self.limit:g} {self.unit}" if self.sign else ""
        value = found.get(self.program, {}).get((self.line, self.unit))
        if value is None:
            return [self.what, wanted, "not measured", "", f"`{self.program}.py`"]
        met = {"<=": value <= self.limit, ">=": value >= self.limit}.get(self.sign, True)
        measured = f"{rounded(value)} {self.unit}"
        return [self.what, wanted, measured, "" if met else "missed", f"`{self.program}.py`"]


PEERS = "compare_peers"

GOALS = (
    Goal("a durable `learn`, relative to raw sqlite3", "<=", 1.6, "times", "log", "durable learn"),
    Goal("`await learn`, relative to it", "<=", 2.2, "times", "log", "durable await learn"),
    Goal("32 concurrent learns, faster than it", ">=", 8, "times", "log", "32 learns, faster"),
    Goal("learning 2,000 in bulk, faster than elfmem", ">=", 50, "times", PEERS, "bulk, elfmem"),
    Goal("the same one by one", ">=", 50, "times", PEERS, "writes, elfmem"),
    Goal("a recall in 2,000, relative to FTS5", "<=", 0.8, "times", PEERS, "unrecorded, fts5"),
    Goal("the same, recorded and durable", "<=", 1.6, "times", PEERS, "recall, fts5"),
    Goal("the same, faster than elfmem", ">=", 50, "times", PEERS, "recall, elfmem"),
    Goal("a recall in 100,000, exact", "<=", 20, "ms", "scale", "a recall, exact"),
    Goal("the same, over one product", "<=", 1.5, "times", "scale", "a recall over it"),
    Goal("the same, by graphs", "<=", 10, "ms", "scale", "a recall, ann"),
    Goal("a recall in 1,000,000, exact", "<=", 40, "ms", "million", "exact: recall, p50"),
    Goal("the same, by graphs", "<=", 25, "ms", "million", "ann: recall, p50"),
    Goal(
        "`consolidate` of 50, relative to the matrix product",
        "<=",
        1.5,
        "times",
        "scale",
        "over the product",
    ),
    Goal("`curate`, of 100,000", "<=", 1, "s", "scale", "curate"),
    Goal("`erase` of one of 100,000, over a `learn`", "<=", 100, "times", "scale", "over a learn"),
    Goal("other writers wait for it", "<=", 50, "ms", "scale", "other writers wait for"),
    Goal("private memory of 100,000, opened", "<=", 150, "MB", "scale", "memory, opened"),
    Goal("the same, folded from the log alone", "<=", 450, "MB", "scale", "memory, folded"),
    Goal("private memory of 1,000,000", "<=", 1000, "MB", "million", "exact: private memory"),
    Goal(
        "longest wait of other tasks, during `consolidate`", "<=", 20, "ms", "scale", "consolidate"
    ),
    Goal("during a checkpoint", "<=", 20, "ms", "scale", "checkpoint"),
    Goal("while graphs are swapped in", "<=", 20, "ms", "scale", "graphs built, swapped in"),
    Goal("during any operation, including a backtest", "<=", 20, "ms", "scale", "longest wait"),
    Goal("a recall, at 85 times the blocks", "<=", 85, "times", "scale", "recall"),
    Goal("a recorded one, at 85 times the blocks", "<=", 85, "times", "scale", "recorded"),
    Goal("a `learn`, at 85 times the blocks", "<=", 85, "times", "scale", "learn"),
    Goal("a `connect`, at 85 times the blocks", "<=", 85, "times", "scale", "connect"),
    Goal("folding 1,000,000 events", "<=", 7, "s", "replay", "folding the whole log"),
    Goal("the same, relative to plain cursors", "", 0, "times", "replay", "over plain cursors"),
    Goal("opening them with a checkpoint", "<=", 0.15, "s", "replay", "opening with a checkpoint"),
    Goal(
        "a checkpoint after 1,000 more",
        "<=",
        0.3,
        "s of CPU",
        "scale",
        "a checkpoint after 1,000 more events",
    ),
    Goal("a view of any hour", "<=", 100, "ms", "replay", "a view, 50 hours"),
    Goal("overhead of a recall over HTTP", "<=", 1, "ms", "over_http", "recall over HTTP, above"),
    Goal("overhead of a `learn` over HTTP", "<=", 1, "ms", "over_http", "learn over HTTP, above"),
    Goal(
        "recalls over HTTP by a worker", ">=", 500, "a second", "over_http", "recalls by one worker"
    ),
    Goal("the size of an answer", "<=", 7, "kB", "over_http", "an answer over HTTP"),
    Goal(
        "lost when clients disconnect", "<=", 0, "commands", "over_http", "commands lost or doubled"
    ),
    Goal("decisions replayed", ">=", 200, "a second", "replay", "speed"),
)
"""The performance goals, in the order of the table."""


# --- reading --------------------------------------------------------------------------------


def read(folder: Path) -> dict[str, Values]:
    """Return the measurements, by program."""
    found = {path.stem: json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))}
    return {
        program: dict(ratios(results)) if program == PEERS else dict(lines(results["found"]))
        for program, results in found.items()
    }


def lines(found: Sequence[Mapping[str, Any]]) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield every line of a program, and the longest of the waits that have the usual limit."""
    waits = [
        each["value"] for each in found if (each["unit"], each.get("limit")) == ("ms", LATE_MS)
    ]
    if waits:
        yield ("longest wait", "ms"), max(waits)
    for each in found:
        yield (each["what"].strip(), each["unit"]), each["value"]


def ratios(results: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield the ratios of mnemic's speed to elfmem's, and of its time to that of FTS5."""
    there = {name: each for name, each in results.items() if "skipped" not in each}
    ours = there["mnemic"]
    if elfmem := there.get("elfmem"):
        yield ("writes, elfmem", "times"), ours["writes_per_s"] / elfmem["writes_per_s"]
        if "bulk_per_s" in elfmem:
            yield ("bulk, elfmem", "times"), ours["bulk_per_s"] / elfmem["bulk_per_s"]
        yield ("recall, elfmem", "times"), elfmem["p50_ms"] / ours["p50_ms"]
    if fts5 := there.get("fts5"):
        yield ("recall, fts5", "times"), ours["p50_ms"] / fts5["p50_ms"]
        if unrecorded := there.get("unrecorded"):
            yield ("unrecorded, fts5", "times"), unrecorded["p50_ms"] / fts5["p50_ms"]


# --- the program ----------------------------------------------------------------------------


def main() -> None:
    """Read the results, print the table, and write it into a page with ``--write``."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--found", type=Path, default=FOUND, help="folder with log.json, compare_peers.json etc.")
    add("--date", default=f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}")
    add("--write", type=Path, help="put the table between the marks of this page")
    options = parser.parse_args()
    found = read(options.found)
    page = table(COLUMNS, [goal.row(found) for goal in GOALS], right=(1, 2))
    page += ["", f"{machine()}; {options.date}."]
    print("\n".join(page))
    if options.write is not None:
        written(options.write, "goals", page)


if __name__ == "__main__":
    main()
