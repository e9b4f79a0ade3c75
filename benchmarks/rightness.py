"""Measures whether the answers of a memory are right, and compares memories by that.

Every memory plays the same scripts (``checks/``), each in a new memory: what is written, how much
time passes, and what is asked. All get the same vectors, which are computed once, at the start, and
looked up. Each memory runs in a process and an environment of its own, offline; ``make peers`` or
``compare_peers.py --install`` installs the others. What a memory cannot be asked is "n/a": a date
where it keeps none, a verdict, a replay.

The wanted figures are those of experiments on the same conversations and pairs; ``!`` marks a
figure of mnemic that misses its goal. Conversations and pairs are read from a folder next to the
checkout and never committed; without them only the hand-written checks are made.

    python benchmarks/rightness.py                                    mnemic alone, some minutes
    python benchmarks/rightness.py --quick                            a part of it, within a minute
    python benchmarks/rightness.py --adapters elfmem,mem0,langgraph --json peers.json
    python benchmarks/rightness.py --with peers.json --write docs/rightness.md
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
from attrs import asdict
from checks.abstention import Abstention
from checks.ages import Ages
from checks.duplicates import Duplicates
from checks.erasure import Erasure
from checks.facts import Changes, LookAlikes, Readme, Repeats
from checks.figures import Check, Data, Figure, Row
from compare_peers import child
from conversations import DATA, load
from pages import machine, table, written
from peers.port import Peer
from peers.registry import ENTRIES, entry
from peers.scripts import Script
from rich.console import Console
from rich.progress import Progress

from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.kernel.ports import Embedder

FOLDER = DATA.parent
CONVERSATIONS, PAIRS = "locomo-dev.json", "near-duplicates-dev.json"
OURS = "mnemic"
CHECKS: tuple[type[Check], ...] = (
    Duplicates,
    LookAlikes,
    Changes,
    Abstention,
    Ages,
    Erasure,
    Readme,
    Repeats,
)
ABSENT = "n/a"

Scripts = dict[str, list[Script]]
"""By the title of their check."""
Results = dict[str, dict[str, Any]]
"""By memory: its version and figures, or why it was skipped."""


# --- input ----------------------------------------------------------------------------------


def given(folder: Path, *, quick: bool) -> Data:
    """Return what the checks are made from, and print which files are absent."""
    talks, pairs = folder / CONVERSATIONS, folder / PAIRS
    for path in (talks, pairs):
        if not path.is_file():
            print(f"No {path}: rows that need it are left out. See --data.", file=sys.stderr)
    return Data(
        conversations=load(talks) if talks.is_file() else (),
        pairs=json.loads(pairs.read_bytes())["pairs"] if pairs.is_file() else (),
        quick=quick,
    )


def prepare(scripts: Scripts, embedder: Embedder, folder: Path) -> None:
    """Write the scripts and the vectors of their texts, all of length 1, for the children."""
    texts = list(dict.fromkeys(text.strip() for each in all_of(scripts) for text in each.texts()))
    rows = np.asarray(embedder.embed(texts), dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    np.save(folder / "vectors.npy", rows / np.where(lengths > 0, lengths, np.float32(1)))
    plain = {title: [each.plain() for each in some] for title, some in scripts.items()}
    (folder / "scripts.json").write_text(json.dumps({"texts": texts, "scripts": plain}))


def all_of(scripts: Scripts) -> Iterator[Script]:
    """Yield the scripts of all checks."""
    for some in scripts.values():
        yield from some


# --- measuring ------------------------------------------------------------------------------


def played(name: str, scripts: Scripts, folder: Path, limit_s: float) -> dict[str, Any]:
    """Have one memory play all scripts in a process of its own, and return what it wrote."""
    command = child(name, "peers.scripted", folder)
    if command is None:
        return {"skipped": "not installed; compare_peers.py --install does"}
    arguments, environment = command
    result = folder / "outcomes.json"
    result.unlink(missing_ok=True)
    with (folder / "errors.txt").open("w+b") as errors:
        process = subprocess.Popen(  # noqa: S603 - one of ours
            arguments, stdout=subprocess.PIPE, stderr=errors, env=environment
        )
        timer = Timer(limit_s, process.kill)
        timer.start()
        assert process.stdout is not None
        with process.stdout:
            watch(process.stdout, name, scripts)
        code, in_time = process.wait(), timer.is_alive()
        timer.cancel()
        if code == 0:
            found: dict[str, Any] = json.loads(result.read_bytes())
            return found
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    print(said, file=sys.stderr)
    last = " ".join(said.strip().splitlines()[-1:])
    return {"skipped": f"failed: {last}" if in_time else f"took more than {limit_s:g} s"}


def watch(lines: Iterable[bytes], name: str, scripts: Scripts) -> None:
    """Show the progress that a child reports, until it ends."""
    with Progress(console=Console(stderr=True), transient=True) as progress:
        tasks = {
            title: progress.add_task(f"{name}: {title}", total=len(some))
            for title, some in scripts.items()
        }
        for line in lines:
            if line.startswith(b'{"played"'):  # some libraries print
                progress.advance(tasks[json.loads(line)["played"]])


def figures(checks: Sequence[Check], found: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the figures of one memory by the key of their row."""
    return {
        key: figure
        for check in checks
        if found["outcomes"][check.title]
        for key, figure in check.figures(found["outcomes"][check.title]).items()
    }


def compare(names: Sequence[str], checks: Sequence[Check], folder: Path, limit_s: float) -> Results:
    """Measure all memories, one after the other."""
    scripts = {check.title: check.scripts() for check in checks}
    prepare(scripts, BundledEmbedder(), folder)
    results: Results = {}
    for name in names:
        found = played(name, scripts, folder, limit_s)
        if "skipped" not in found:
            found = {"version": found["version"], "figures": figures(checks, found)}
        results[name] = found
    return results


# --- reporting ------------------------------------------------------------------------------


def report(results: Results, rows: Sequence[Row]) -> list[str]:
    """Return the lines of the table, and of the memories that were left out."""
    there = {name: found for name, found in results.items() if "skipped" not in found}
    names = [f"{title(name)} {found['version']}" for name, found in there.items()]
    cells = [
        [row.what, wanted(row), *(cell(row, name, each) for name, each in there.items())]
        for row in rows
    ]
    left = [
        f"{title(name)}: {found['skipped']}."
        for name, found in results.items()
        if "skipped" in found
    ]
    return [
        *table(("what", "wanted", *names), cells),
        *(["", f"Left out. {' '.join(left)}"] if left else []),
    ]


def title(name: str) -> str:
    """Return how a memory is called in the table; its module need not be installed."""
    kind: type[Peer] = entry(name)
    return kind.name


def wanted(row: Row) -> str:
    """Return the cell of what is wanted."""
    sign = {">=": "≥ ", "<=": "≤ "}.get(row.sign, "")
    counted = row.wanted > 1 or row.sign == "="
    return f"{sign}{row.wanted:.0f}" if counted else f"{sign}{row.wanted:.3f}"


def cell(row: Row, name: str, found: Mapping[str, Any]) -> str:
    """Return the cell of one figure."""
    figure: Figure | None = found["figures"].get(row.key)
    if figure is None:
        return ABSENT
    missed = name == OURS and not row.met(figure.value)
    return f"{figure}{' !' * missed}"


def caption(data: Data, options: argparse.Namespace) -> str:
    """Return a line on the input, the machine and the date."""
    asked = sum(len(talk.questions) for talk in data.conversations)
    part = "a part of " * data.quick
    return (
        f"{len(data.pairs)} pairs and {part}{asked} questions about "
        f"{len(data.conversations)} conversations, vectors of wordllama. "
        f"{machine()}; {options.date}."
    )


def saved(path: str) -> Results:
    """Return the results that another run wrote with ``--json``."""
    found: Results = json.loads(Path(path).read_bytes())
    for each in found.values():
        figured = each.get("figures", {})
        figured.update({key: Figure(**figure) for key, figure in figured.items()})
    return found


def plain(results: Results) -> dict[str, Any]:
    """Return the results as values for JSON."""
    return {
        name: found
        if "skipped" in found
        else found | {"figures": {key: asdict(each) for key, each in found["figures"].items()}}
        for name, found in results.items()
    }


# --- the program ----------------------------------------------------------------------------


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of this run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, default=FOLDER, help=f"folder with {CONVERSATIONS} and {PAIRS}")
    add("--adapters", default=OURS, help=f"by commas, of {', '.join(ENTRIES)}; may be empty")
    add("--quick", action="store_true", help="a part of each check; figures are rough")
    add("--limit", type=float, default=3600.0, help="seconds for one memory")
    add("--date", default=f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}")
    add("--json", type=Path, help="also write the numbers here")
    add(
        "--with",
        type=saved,
        action="append",
        default=[],
        dest="others",
        metavar="JSON",
        help="add the memories of another run to the table; may be repeated",
    )
    add("--write", type=Path, help="put the table between the marks of this page")
    options = parser.parse_args(arguments)
    options.adapters = [name for name in options.adapters.split(",") if name]
    if unknown := sorted(set(options.adapters) - ENTRIES.keys()):
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(ENTRIES)}")
    return options


def main() -> None:
    """Measure, print, and save with ``--json`` and ``--write``."""
    options = parsed()
    data = given(options.data, quick=options.quick)
    checks = [kind(data) for kind in CHECKS]
    with tempfile.TemporaryDirectory() as folder:
        results: Results = {}
        if options.adapters:
            results = compare(options.adapters, checks, Path(folder), options.limit)
    for others in options.others:
        results = others | results
    results = {name: results[name] for name in ENTRIES if name in results}
    rows = [row for check in checks for row in check.rows]
    lines = [*report(results, rows), "", caption(data, options)]
    print("\n".join(lines))
    if options.json is not None:
        options.json.write_text(json.dumps(plain(results), indent=2) + "\n")
    if options.write is not None:
        written(options.write, "rightness", lines)


if __name__ == "__main__":
    main()
