"""Campaign: one file under two names, by links, mounts and moves, with a writer at each."""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from attrs import frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import MnemicError
from tests.crash.writers import child
from tests.torture.figures import Effort, Figures
from tests.torture.file_faults import spread
from tests.torture.invariants import Findings

ROUNDS: Final = 240
COMMANDS: Final = 30
"""Commands of each of the two writers of a round."""
HEAD_START_S: Final = 0.15
"""Longest time by which one writer may begin before the other."""
LIFE_MAX_S: Final = 0.2
REFUSED: Final = "store-has-two-names"
EMBEDDER: Final = HashEmbedder(8)


@frozen
class Round:
    """One file, reached by two paths."""

    folder: Path
    seed: int
    kind: str


def campaign(folder: Path, effort: Effort) -> Figures:
    """Let two processes write one file under two names, and look for what was acknowledged."""
    kinds = list(KINDS)
    rounds = [
        Round(folder / f"round-{number}", effort.seed * 10_000 + number, kinds[number % len(kinds)])
        for number in range(effort.of(ROUNDS, least=len(kinds)))
    ]
    found = Findings()
    for each in spread(played, rounds):
        found.add(each)
    counts = found.counts
    return Figures(
        promise="A file under two names is refused; under one, by any path, it is shared.",
        facts={
            "rounds": counts["rounds"],
            "rounds that could not be tried here": counts["not tried"],
            "openings refused as store-has-two-names": counts["refused at opening"],
            "commands refused as store-has-two-names": counts["refused later"],
            "commands refused otherwise": counts["refused otherwise"],
            "commands acknowledged": counts["acknowledged"],
            "of these through links and folders mounted elsewhere": counts["shared"],
            "writers killed": counts["killed"],
            "commands lost": counts["lost"],
        },
        failures=tuple(found.wrong),
    )


def played(game: Round) -> Findings:
    """Write one file through two paths at once, and check what is in it afterwards."""
    found, chance = Findings(), random.Random(game.seed)
    path = game.folder / "here" / "agent.db"
    for each in ("here", "there"):
        (game.folder / each).mkdir(parents=True)
    SyncMemory.open(path, embedder=EMBEDDER).close()
    kind = KINDS[game.kind]
    try:
        with kind.reached(path, game.folder / "there") as other:
            processes = [_writer(path, game.folder / "one", chance)]
            time.sleep(chance.uniform(0, HEAD_START_S))
            kind.change(path, other)
            processes.append(_writer(other, game.folder / "two", chance))
            if kind.is_one_name and chance.random() < 1 / 2:
                time.sleep(chance.uniform(0, LIFE_MAX_S))
                os.kill(processes[chance.randrange(2)], signal.SIGKILL)
                found.counts["killed"] += 1
            for process in processes:
                os.waitpid(process, 0)
            kind.undo(path, other)
    except NotPossibleError:
        found.counts["not tried"] += 1
        return found
    found.counts["rounds"] += 1
    lines = [line for each in ("one", "two") for line in _lines(game.folder / each)]
    _check(path, lines, found, game)
    return found


def _check(path: Path, lines: list[tuple[str, str]], found: Findings, game: Round) -> None:
    place = f"{game.kind}, seed {game.seed}"
    learned = [text for word, text in lines if word == "learned"]
    refused = [text for word, text in lines if word == "refused"]
    found.counts["acknowledged"] += len(learned)
    found.counts["refused at opening"] += ("opening", REFUSED) in lines
    found.counts["refused later"] += refused.count(REFUSED)
    found.counts["refused otherwise"] += len(refused) - refused.count(REFUSED)
    if KINDS[game.kind].is_one_name:
        found.counts["shared"] += len(learned)
        wrong = [line for line in lines if line[0] != "learned"]
        found.expect(right=not wrong, otherwise=f"{place}: refused {wrong[:3]}")
    try:
        with SyncMemory.open(path, embedder=EMBEDDER) as memory:
            found.expect(right=memory.verify().sound, otherwise=f"{place}: not sound")
            known = {block.content for block in memory.blocks(limit=1000).items}
    except MnemicError as error:
        found.wrong.append(f"{place}: {error!r}")
        return
    lost = [text for text in learned if text not in known]
    found.counts["lost"] += len(lost)
    found.expect(right=not lost, otherwise=f"{place}: lost {len(lost)}, {lost[:3]}")


# --- writers ------------------------------------------------------------------------------------


def _writer(path: Path, told: Path, chance: random.Random) -> int:
    """Start a process that learns; it writes what is acknowledged or refused to *told*."""
    pause_s = chance.choice([0.0, 0.001, 0.005])
    return child(lambda: _learn(path, told, pause_s))


def _learn(path: Path, told: Path, pause_s: float) -> None:
    lines = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def tell(word: str, text: str) -> None:
        os.write(lines, f"{word}\t{text}\n".encode())

    try:
        memory = SyncMemory.open(path, embedder=EMBEDDER, actor=told.name)
    except MnemicError as error:
        tell("opening", error.code)
        return
    with memory:
        for number in range(COMMANDS):
            text = f"{told.name} learned {number}"
            try:
                memory.learn(text)
                tell("learned", text)
            except MnemicError as error:
                tell("refused", error.code)
            time.sleep(pause_s)


def _lines(told: Path) -> list[tuple[str, str]]:
    if not told.exists():  # killed before its first line
        return []
    whole = [line for line in told.read_text("utf-8").splitlines(keepends=True) if line[-1] == "\n"]
    return [(word, text) for word, _, text in (line[:-1].partition("\t") for line in whole)]


# --- names --------------------------------------------------------------------------------------


class NotPossibleError(Exception):
    """This machine or user cannot make a second name of this kind."""


def _nothing(_path: Path, _other: Path) -> None:
    pass


@frozen(kw_only=True)
class Kind:
    """A way in which a file comes to two names."""

    reached: Callable[[Path, Path], AbstractContextManager[Path]]
    """Yields the other path, given the file and a folder."""
    change: Callable[[Path, Path], None] = _nothing
    """Called while the file is open."""
    undo: Callable[[Path, Path], None] = _nothing
    is_one_name: bool = False
    """Whether SQLite has one write-ahead log for both, and nothing may be refused."""


@contextmanager
def _hard_link(path: Path, folder: Path) -> Generator[Path]:
    other = folder / "other.db"
    other.hardlink_to(path)
    yield other
    other.unlink()


@contextmanager
def _symbolic_link(path: Path, folder: Path) -> Generator[Path]:
    (folder / "link.db").symlink_to(path)
    yield folder / "link.db"


@contextmanager
def _file_mount(path: Path, folder: Path) -> Generator[Path]:
    (folder / path.name).touch()
    with _mounted(path, folder / path.name):
        yield folder / path.name


@contextmanager
def _folder_mount(path: Path, folder: Path) -> Generator[Path]:
    with _mounted(path.parent, folder):
        yield folder / path.name


@contextmanager
def _mounted(source: Path, target: Path) -> Generator[None]:
    made = subprocess.run(["mount", "--bind", source, target], capture_output=True, check=False)  # noqa: S607
    if made.returncode:
        raise NotPossibleError
    try:
        yield
    finally:
        subprocess.run(["umount", target], check=True)  # noqa: S607


@contextmanager
def _elsewhere(_path: Path, folder: Path) -> Generator[Path]:
    yield folder / "other.db"


def _link(path: Path, other: Path) -> None:
    other.hardlink_to(path)


def _move(path: Path, other: Path) -> None:
    path.rename(other)


KINDS: Final[Mapping[str, Kind]] = {
    "two links": Kind(reached=_hard_link),
    "a link made while it is open": Kind(
        reached=_elsewhere,
        change=_link,
        undo=lambda _, other: other.unlink(),
    ),
    "a file mounted by itself": Kind(reached=_file_mount),
    "a file moved while it is open": Kind(
        reached=_elsewhere,
        change=_move,
        undo=lambda path, other: _move(other, path),
    ),
    "a symbolic link": Kind(reached=_symbolic_link, is_one_name=True),
    "a folder mounted elsewhere": Kind(reached=_folder_mount, is_one_name=True),
}
