"""Compares mnemic with other memories on the same work.

Every memory gets the same items: the turns of real conversations, and synthetic sentences if more
are wanted. All get the same vectors, which are computed beforehand and looked up, so that no time
in the table includes that of a model. Each runs with its documented defaults, offline, in a process
and an environment of its own; a memory that is not installed is left out with the reason.

* ``writes/s``: one call for each item, and the time until all of them can be found
* ``in bulk``: the same through the fastest documented way, for one conversation at a time
* ``p50``, ``p95``: ms from a question to ten items, in the memory that was written one by one
* ``R@10``: mean share of a question's evidence among ten, a memory for each conversation
* ``disk``, ``RAM``: MB of files, and of the process beyond one that holds only the input

In brackets: how many times as fast mnemic is. ``--json`` also has processor time of each question.
Targets: elfmem's bracket at least 50 for writes and for p50, that of FTS5 at least 1/3 for p50.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from attrs import asdict, frozen
from conversations import DATA, Conversation, NoData, load
from pages import machine, written
from peers.port import Item
from peers.registry import ENTRIES, entry
from peers.report import comparison_tables
from recall import made_up

from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.kernel.ports import Embedder

HERE = Path(__file__).parent
HOME = HERE.parent / ".tmp" / "peers"
"""An environment for each memory; ``make clean`` removes them."""
OURS = "mnemic"
NEEDED = ("attrs", "numpy")
"""Requirements of the harness itself in every environment."""
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "ANONYMIZED_TELEMETRY": "False",
    "MEM0_TELEMETRY": "False",
    "LANGSMITH_TRACING": "false",
    "OPENAI_API_KEY": "none",  # asked for at construction, and never used
}

Numbers = dict[str, Any]


@frozen(kw_only=True)
class Work:
    """The workload of every memory."""

    items: list[Item]
    stream: list[str]
    """Items that are written one by one, by id."""
    questions: list[str]
    """The timed questions."""
    conversations: list[dict[str, Any]]
    """Their items by id, and their questions with evidence."""

    @property
    def texts(self) -> list[str]:
        """All texts whose vectors a memory may need; some embed lower case."""
        asked = [each["text"] for talk in self.conversations for each in talk["questions"]]
        said = [text for item in self.items for text in (item.text, item.line, item.line.lower())]
        return list(dict.fromkeys(text.strip() for text in [*said, *asked, *self.questions]))


# --- input ----------------------------------------------------------------------------------


def given(options: argparse.Namespace) -> Work:
    """Return real turns and questions, and synthetic ones if more are wanted."""
    try:
        talks = load(options.data)
    except NoData:
        talks = []
    turns = [item for talk in talks for item in turns_of(talk)]
    asked = [question.text for talk in talks for question in talk.questions]
    Random(1).shuffle(asked)
    beyond = made_up(max(0, options.items - len(turns)), options.questions)
    synthetic = [
        Item(id=f"made-up/{number}", text=lesson["content"])
        for number, lesson in enumerate(beyond.lessons)
    ]
    return Work(
        items=turns + synthetic,
        stream=[item.id for item in (turns + synthetic)[: options.items]],
        questions=(asked or beyond.questions)[: options.questions],
        conversations=[judged(talk) for talk in talks],
    )


def turns_of(talk: Conversation) -> list[Item]:
    """Return the turns of one conversation as items."""
    return [
        Item(
            id=f"{talk.id}/{turn.id}",
            text=turn.text,
            author=turn.speaker,
            at=turn.at,
            thread=f"{talk.id}/{turn.session}",
        )
        for turn in talk.turns
    ]


def judged(talk: Conversation) -> dict[str, Any]:
    """Return one conversation with its questions."""
    return {
        "items": [item.id for item in turns_of(talk)],
        "questions": [
            {"text": each.text, "evidence": [f"{talk.id}/{turn}" for turn in sorted(each.evidence)]}
            for each in talk.questions
        ],
    }


def prepare(work: Work, embedder: Embedder, folder: Path) -> None:
    """Write the work and its vectors, all of length 1, for the child processes."""
    texts = work.texts
    rows = np.asarray(embedder.embed(texts), dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    np.save(folder / "vectors.npy", rows / np.where(lengths > 0, lengths, np.float32(1)))
    (folder / "work.json").write_text(json.dumps(asdict(work) | {"texts": texts}))


# --- environments ---------------------------------------------------------------------------


def install(names: Iterable[str]) -> None:
    """Create an environment for each memory that needs one; pip's environment variables apply."""
    for name in names:
        wanted, home = entry(name), HOME / name
        if wanted.home:
            continue  # in that of another
        try:
            if wanted.requirements:
                venv.create(home, with_pip=True, symlinks=os.name != "nt")
                pip = [str(interpreter(home)), "-m", "pip", "install", "--quiet"]
                _run([*pip, *wanted.requirements, *NEEDED])
            elif wanted.npm:
                home.mkdir(parents=True, exist_ok=True)
                _run(["npm", "install", "--silent", "--prefix", str(home), wanted.npm])
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{name}: not installed: {error}", file=sys.stderr)


def _run(command: list[str]) -> None:
    print("+", *command, file=sys.stderr)
    subprocess.run(command, check=True)  # noqa: S603 - pip and npm


def interpreter(home: Path) -> Path:
    """Return the Python of the environment in *home*."""
    return home / ("Scripts" if os.name == "nt" else "bin") / "python"


# --- measuring ------------------------------------------------------------------------------


def trial(name: str, folder: Path, limit_s: float) -> Numbers:
    """Measure one memory in a process of its own."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        for each in ("work.json", "vectors.npy"):
            (Path(own) / each).hardlink_to(folder / each)
        command = child(name, "peers.trial", Path(own))
        if command is None:
            return {"skipped": "not installed; --install does"}
        arguments, environment = command
        try:
            ended = subprocess.run(  # noqa: S603 - one of ours
                arguments, capture_output=True, check=False, env=environment, timeout=limit_s
            )
        except subprocess.TimeoutExpired:
            return {"skipped": f"took more than {limit_s:g} s"}
    if ended.returncode != 0:
        sys.stderr.buffer.write(ended.stderr)
        last = ended.stderr.decode().strip().splitlines()[-1:]
        return {"skipped": f"failed: {' '.join(last)}"}
    numbers: Numbers = json.loads(ended.stdout.splitlines()[-1])
    return numbers


def child(name: str, program: str, folder: Path) -> tuple[list[str], dict[str, str]] | None:
    """Return the command and the environment of a program that measures one memory.

    Args:
        name: Of the memory, the second argument of the program.
        program: A module with a ``main``.
        folder: Its input and its files, the first argument.

    Returns:
        None if the memory is not installed.
    """
    wanted = entry(name)
    home = HOME / (wanted.home or name)
    python = interpreter(home) if wanted.requirements else Path(sys.executable)
    if not python.exists():
        return None
    path = [str(HERE)] if wanted.requirements else [str(HERE), *filter(None, sys.path)]
    places = {"PYTHONPATH": os.pathsep.join(path), "PEER_HOME": str(home)}
    places |= {"HOME": str(folder), "MEM0_DIR": str(folder)}
    return (
        [str(python), "-P", "-m", program, str(folder), name],
        dict(os.environ) | OFFLINE | places,
    )


def middle(runs: Sequence[Numbers]) -> Numbers:
    """Return the median of every number over *runs*."""
    if bad := [run for run in runs if "skipped" in run]:
        return bad[0]
    return {
        name: statistics.median(run[name] for run in runs)
        if isinstance(value, int | float)
        else value
        for name, value in runs[0].items()
    }


def timed(run: Numbers) -> Numbers:
    """Return *run* with the median and the 95th percentile in place of its times."""
    if "skipped" in run:
        return run
    seconds = run.pop("seconds")
    p95 = statistics.quantiles(seconds, n=20)[-1]
    return run | {"p50_ms": 1000 * statistics.median(seconds), "p95_ms": 1000 * p95}


def compare(names: Sequence[str], folder: Path, options: argparse.Namespace) -> dict[str, Numbers]:
    """Measure all, every memory once in each round, so that noise is spread over all of them."""
    runs: dict[str, list[Numbers]] = {name: [] for name in names}
    for number in range(options.runs):
        for name in names:
            if any("skipped" in run for run in runs[name]):
                continue
            print(f"run {number + 1} of {options.runs}: {name}", file=sys.stderr, flush=True)
            runs[name].append(timed(trial(name, folder, options.limit)))
    results = {name: middle(found) for name, found in runs.items()}
    assert "skipped" not in results[OURS], results[OURS]
    return results


# --- the program ----------------------------------------------------------------------------


def caption(work: Work, options: argparse.Namespace) -> str:
    """Return a line on the input, the machine and the date."""
    real = sum(not each.startswith("made-up/") for each in work.stream)
    return (
        f"{len(work.stream):,} items ({real:,} turns of conversations, the rest made up), "
        f"{len(work.questions)} questions, vectors of {options.embedder}; "
        f"medians of {options.runs} run{'s' * (options.runs > 1)}. {machine()}; {options.date}."
    )


def parsed() -> argparse.Namespace:
    """Return the options of this run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=f"only these of {', '.join(ENTRIES)}")
    add("--install", action="store_true", help=f"install them, each into {HOME.name}/NAME, and end")
    add("--data", type=Path, default=DATA, help="conversations and their questions")
    add("--items", type=int, default=2000, help="written one by one; beyond the data: synthetic")
    add("--questions", type=int, default=200)
    add("--runs", type=int, default=1)
    add("--limit", type=float, default=1800.0, help="seconds for one memory")
    add("--embedder", choices=("wordllama", "hash"), default="wordllama")
    add("--date", default=f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}")
    add("--json", type=Path, help="also write the numbers here")
    add("--write", type=Path, help="put the table between the marks of this file, as docs/peers.md")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - ENTRIES.keys()):
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(ENTRIES)}")
    return options


def main() -> None:
    """Install the peers, or measure, print, and write the tables with ``--write``."""
    options = parsed()
    names = [name for name in ENTRIES if not options.names or name in {OURS, *options.names}]
    if options.install:
        install(names)
        return
    work = given(options)
    embedder = BundledEmbedder() if options.embedder == "wordllama" else HashEmbedder(256)
    with tempfile.TemporaryDirectory() as folder:
        prepare(work, embedder, Path(folder))
        results = compare(names, Path(folder), options)
    lines = [*comparison_tables(results, OURS), "", caption(work, options)]
    print("\n".join(lines))
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    if options.write is not None:
        written(options.write, "peers", lines)


if __name__ == "__main__":
    main()
