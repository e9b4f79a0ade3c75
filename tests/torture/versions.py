"""Campaign: other releases write the same file, before, after and concurrently."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from attrs import frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import MnemicError, StoreTooNew
from mnemic.kernel.ports import Record
from tests.adapters.checkpoints.forging import forge
from tests.adapters.checkpoints.states import restored, told, told_by_log
from tests.torture.figures import Effort, Figures
from tests.torture.file_faults import spread
from tests.torture.invariants import Findings

ROOT: Final = Path(__file__).parents[2]
READER: Final = Path(__file__).with_name("reader.py")
RELEASES: Final[Mapping[str, str]] = {
    "0.4.0": "5078df4ac2e4554158922bb95a9bd3e3bb3b1201",
    "0.3.0": "c329a105e970426f9f61566612a6abf3f1f13eb0",
    "0.2.0": "1ef8ae79e53c8d42b3952d1ad220c7a7017d6a18",
}
"""The last commit of each, by which its code is found."""
FOLDERS: Final = ("kernel", "projections", "adapters", "specs")
EMBEDDER: Final = HashEmbedder(8)
TURNS: Final = 6
COMMANDS: Final = 8
"""Rounds of commands of one process."""


def _opened(path: Path, *, read_only: bool = False) -> SyncMemory:
    return SyncMemory.open(path, embedder=EMBEDDER, synchronous="normal", read_only=read_only)


def campaign(folder: Path, effort: Effort) -> Figures:
    """Write one file by several releases, later ones included, as far as they are available."""
    found = Findings()
    for name, trick in TRICKS.items():
        place = folder / trick.__name__
        place.mkdir()
        try:
            trick(place)
        except Exception as error:  # noqa: BLE001 - any of them is a finding
            found.wrong.append(f"{name}: {error!r}")
        found.counts["tricks"] += 1
    wanted = list(RELEASES.items())[: effort.of(len(RELEASES))]
    turns = effort.of(TURNS, least=2)
    visits = [Visit(folder / release, release, commit, turns) for release, commit in wanted]
    for each in spread(visited, visits):
        found.add(each)
    counts = found.counts
    return Figures(
        promise="Two releases share a file, or the older one refuses it as too new.",
        facts={
            "marks of releases to come, all refused by name": counts["tricks"],
            "older releases run on one file with this one": counts["releases"],
            "turns of theirs and ours": counts["turns"],
            "turns at once": counts["at once"],
            "commands acknowledged": counts["acknowledged"],
            "commands lost": counts["lost"],
            "commands that an older release refused as store-too-new": counts["store-too-new"],
        },
        failures=tuple(found.wrong),
    )


# --- releases to come ---------------------------------------------------------------------------


def newer_topic(folder: Path) -> None:
    """A later release writes a new kind of event, while we have the file open."""
    path = folder / "agent.db"
    with _opened(path) as memory, closing(SQLiteStore(path)) as store:
        memory.learn("what we know")
        log = store.log("default")
        version = log.head().version + 1
        log.append([Record(version, "block-learned.99", b'{"e":{}}')], (), after=log.head())
        for act in (lambda: memory.learn("more"), memory.consolidate, memory.curate):
            _too_new(act, version=version, topic="block-learned.99")
        assert log.head().version == version, "something was written behind it"
    _too_new(lambda: _opened(path), version=version, topic="block-learned.99")
    _still_reads(path, folder, version)


def newer_field(folder: Path) -> None:
    """A later release writes an event that we know, with a field that we do not."""
    path = folder / "agent.db"
    with _opened(path) as memory, closing(SQLiteStore(path)) as store:
        memory.learn("what we know")
        log = store.log("default")
        version = log.head().version + 1
        body = b'{"h":0,"t":0,"c":"c","e":{"session_id":"s","mood":"good"}}'
        log.append([Record(version, "session-started.1", body)], (), after=log.head())
        _too_new(lambda: memory.learn("more"), version=version, topic="session-started.1")
    _still_reads(path, folder, version)


def newer_format(folder: Path) -> None:
    """A later release moves the file to its own format, while we have it open."""
    path = folder / "agent.db"
    with _opened(path) as memory:
        memory.learn("what we know")
        version = memory.status().version
        with closing(sqlite3.connect(path)) as file:
            file.execute("PRAGMA user_version = 2")
        _too_new(lambda: memory.learn("more"), path=str(path), format=2)
        assert memory.status().version == version
    _too_new(lambda: _opened(path), path=str(path), format=2)
    _too_new(lambda: _opened(path, read_only=True), path=str(path), format=2)


def other_fold(folder: Path) -> None:
    """A checkpoint is of another release's fold."""
    path = folder / "agent.db"
    with _opened(path) as memory:
        memory.learn_many([f"fact {number}" for number in range(30)])
        memory.consolidate()
        name = memory.checkpoint().name
    file = path.with_name(f"{path.name}.checkpoints") / name
    with _opened(path, read_only=True) as memory:
        assert restored(memory) is not None
    forge(file, lambda manifest: manifest.replace(b'"fold":', b'"fold":9', 1))
    with _opened(path) as memory:
        assert restored(memory) is None
        assert told(memory) == told_by_log(memory)
        assert [each.state for each in memory.checkpoints()] == ["other-fold"]


def _too_new(act: Callable[[], object], **facts: object) -> None:
    with pytest.raises(StoreTooNew) as caught:
        act()
    assert caught.value.facts == facts
    assert "newer release" in caught.value.recovery


def _still_reads(path: Path, folder: Path, version: int) -> None:
    """Check that the events before a newer one can be read, queried and exported."""
    with _opened(path, read_only=True) as memory:
        assert memory.status().version == version - 1
        assert any(f"before version {version}" in alert for alert in memory.status().alerts)
        assert len(memory.blocks().items) == 1
        assert memory.verify().first_bad_version == version
        assert memory.export(folder / "prefix.jsonl", upto=version - 1).version == version - 1


TRICKS: Final[Mapping[str, Callable[[Path], None]]] = {
    "a kind of event to come": newer_topic,
    "a field to come": newer_field,
    "a format to come": newer_format,
    "a checkpoint of another fold": other_fold,
}


# --- releases that were -------------------------------------------------------------------------


@frozen
class Visit:
    """An older release that writes our files."""

    folder: Path
    release: str
    commit: str
    turns: int


def visited(visit: Visit) -> Findings:
    """Let an older release and this one write a file alternately, and then at once."""
    found = Findings()
    code = visit.folder / "code"
    code.mkdir(parents=True)
    if not _unpacked(visit.commit, code):
        return found
    found.counts["releases"] += 1
    path = visit.folder / "agent.db"
    said: list[tuple[str, str]] = []
    for turn in range(visit.turns):
        where = code if turn % 2 == 0 else ROOT
        said.append(_output(_reader(where, path, f"turn-{turn}")))
        found.counts["turns"] += 1
    together = [_reader(where, path, f"{where.name}-at-once") for where in (code, ROOT)]
    said += map(_output, together)
    found.counts["at once"] += len(together)
    try:
        _check(path, [json.loads(line) for out, _ in said for line in out.splitlines()], found)
    except (MnemicError, AssertionError) as error:
        found.wrong.append(f"{visit.release}: {error!r}")
    found.wrong += [f"{visit.release}: {trouble}" for _, trouble in said if trouble]
    return found


def _unpacked(commit: str, folder: Path) -> bool:
    """Unpack the code of a commit, if there is a history to take it from."""
    made = subprocess.run(
        ["git", "-C", str(ROOT), "archive", commit, *FOLDERS],  # noqa: S607
        capture_output=True,
        check=False,
    )
    if made.returncode:
        return False
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
        archive.extractall(folder, filter="data")
    # Releases up to 0.4.0 are a namespace package: without this file the installed one would win.
    for each in FOLDERS:
        shutil.copy(ROOT / each / "mnemic/__init__.py", folder / each / "mnemic/__init__.py")
    return True


def _reader(where: Path, path: Path, name: str) -> subprocess.Popen[str]:
    paths = [str(where / each) for each in FOLDERS]
    return subprocess.Popen(
        [sys.executable, str(READER), str(path), name, str(COMMANDS)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _output(reader: subprocess.Popen[str]) -> tuple[str, str]:
    """Return the output of a reader, and its errors."""
    out, wrong = reader.communicate()
    return out, wrong if reader.returncode or wrong else ""


def _check(path: Path, said: list[tuple[str, str, str | None]], found: Findings) -> None:
    """Compare what both releases acknowledged with the content of the file."""
    with _opened(path) as memory:
        assert memory.verify().sound
        assert told(memory) == told_by_log(memory)
        known = [block.content for block in memory.blocks(limit=1000).items]
        assert len(known) == len(set(known))
        replayed = memory.replay_all()
        assert replayed.is_exact, replayed.summary
    for asked, content, code in said:
        found.counts[code or "acknowledged"] += 1
        if asked == "learn" and code is None:
            found.counts["lost"] += content not in known
            found.expect(right=content in known, otherwise=f"lost: {content}")
        elif code is not None:
            found.expect(right=code == "store-too-new", otherwise=f"{asked}: {code}")
