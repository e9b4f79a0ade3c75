"""Campaign: files that may not grow, full disks, and missing permissions."""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import os
import random
import subprocess
import warnings
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final

from attrs import frozen

from mnemic.kernel.errors import Refused, StoreBusy, StoreFailed, StoreFull
from tests.crash.limits import files_of
from tests.crash.writers import child
from tests.torture.figures import Effort, Figures
from tests.torture.file_faults import spread
from tests.torture.histories import (
    BORNE,
    OPERATIONS,
    Agent,
    Nature,
    heard,
)
from tests.torture.invariants import Findings, Warden
from tests.torture.permissions import PERMISSIONS

ROUNDS: Final = 120
"""Agents that are given little room, one after the other, over some files."""
OF_ONE_FILE: Final = 10
COMMANDS: Final = 30
"""Commands of an agent while there is little space."""
LATER: Final = 3
"""Commands when there is space again: none may fail for lack of it."""
MIN_BYTES: Final = 10_000
ROOM_BYTES: Final = 300_000
"""Most of what a file may grow by, or of what is left on a disk."""
DISK_BYTES: Final = 16_000_000
FILLER: Final = "filler"
FULL: Final = (Refused, StoreBusy, StoreFull, StoreFailed)


@frozen
class Lot:
    """The rounds over one file."""

    folder: Path
    seed: int
    rounds: int
    is_disk: bool
    """Whether it is on a small disk of its own; else its files may not grow."""


@frozen
class Denied:
    """One thing that a store is denied."""

    folder: Path
    name: str


def campaign(folder: Path, effort: Effort) -> Figures:
    """Leave agents no space, and deny them files; check their errors, and what they leave."""
    lots = [
        Lot(folder / f"lot-{number}", effort.seed * 10_000 + number * 100, rounds, is_disk)
        for number, rounds in enumerate(_shares(effort.of(ROUNDS, least=3)))
        for is_disk in [number % 3 == 2]
    ]
    found = Findings()
    permissions = [Denied(folder / name.replace(" ", "-"), name) for name in PERMISSIONS]
    jobs: list[Lot | Denied] = [*lots, *permissions]
    for each in spread(_tried, jobs):
        found.add(each)
    counts = found.counts
    return Figures(
        promise="Without space or permission a store loses nothing, and continues afterwards.",
        facts={
            "agents without room": counts["rounds"],
            "of these on a full disk": counts["disks"],
            "commands refused as store-full": counts["store-full"],
            "commands refused as store-failed": counts["store-failed"],
            "commands acknowledged": counts["acknowledged"],
            "commands lost": counts["lost"],
            "files and folders denied": counts["denials"],
            "denials that could not be tried here": counts["not tried"],
        },
        failures=tuple(found.wrong),
    )


def _tried(job: Lot | Denied) -> Findings:
    return starve(job) if isinstance(job, Lot) else deny(job)


def _shares(total: int) -> list[int]:
    """Return the rounds of each file: three files at least, so that one has its own disk."""
    size = max(1, min(OF_ONE_FILE, total // 3))
    whole, rest = divmod(total, size)
    return [size] * whole + [rest] * (rest > 0)


# --- no room ------------------------------------------------------------------------------------


def starve(lot: Lot) -> Findings:
    """Give the agents of one file little space, one after the other, and check after each."""
    lot.folder.mkdir()
    found, chance = Findings(), random.Random(lot.seed)
    path = lot.folder / "agent.db"
    warden = Warden(path, found)
    with _disk(lot, found) as is_small:
        for number in range(lot.rounds):
            place, room = f"round {number} of seed {lot.seed}", chance.randrange(ROOM_BYTES)
            scarcity = _filled(lot.folder, room) if is_small else files_of(_limit(path, chance))
            nature = Nature(seed=lot.seed + number, bears=FULL, loved=chance.choice([*OPERATIONS]))
            status, lines = _told(path, nature, scarcity)
            (lot.folder / FILLER).unlink(missing_ok=True)
            promised, asked = heard(lines)
            found.expect(right=status == 0, otherwise=f"{place}: fell over {asked}")
            found.counts.update(each.error for each in promised if each.error is not None)
            found.counts["rounds"] += 1
            warden.look(place, promised, [])
            for file in lot.folder.glob("a*.jsonl*"):
                file.unlink()
        warden.close(f"seed {lot.seed}")
    return found


def _limit(path: Path, chance: random.Random) -> int:
    """Return how long a file may get: shorter than the store, as often as not."""
    largest = path.stat().st_size if path.exists() else 0
    return chance.randrange(MIN_BYTES, MIN_BYTES + largest + ROOM_BYTES)


def _told(
    path: Path, nature: Nature, scarcity: AbstractContextManager[None]
) -> tuple[int, list[str]]:
    """Let an agent work without room and with room again; return how it ended and what it said."""
    ear, mouth = os.pipe()

    def work() -> None:
        warnings.simplefilter("ignore")  # that a graph could not be kept
        agent = None
        with scarcity, suppress(*FULL):  # there may not be room to open anything
            agent = Agent(path, f"a{nature.seed}", nature, mouth=mouth)
            agent.live(COMMANDS)
        agent = agent or Agent(path, f"a{nature.seed}", nature, mouth=mouth)
        agent.bears = BORNE
        agent.live(LATER)
        agent.close()

    process = child(work)
    os.close(mouth)
    with os.fdopen(ear) as lines:
        said = list(lines)
    return os.waitpid(process, 0)[1], said


@contextmanager
def _filled(folder: Path, room_bytes: int) -> Generator[None]:
    """Leave so much room on the disk of a folder, and make more in the end."""
    status = os.statvfs(folder)
    free = status.f_bavail * status.f_frsize
    filler = folder / FILLER
    filler.write_bytes(bytes(max(0, free - room_bytes)))
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def _disk(lot: Lot, found: Findings) -> Generator[bool]:
    """Put a small disk into the folder if that is asked for, and say whether there is one."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(lot.folder)]
    if not lot.is_disk or not _is_mounted(mount):
        found.counts["not tried"] += lot.is_disk
        yield False
        return
    found.counts["disks"] += lot.rounds
    try:
        yield True
    finally:
        subprocess.run(["umount", str(lot.folder)], check=True)  # noqa: S607


def _is_mounted(command: list[str]) -> bool:
    """Mount something, and return whether that is permitted and possible here."""
    try:
        return not subprocess.run(command, check=False, capture_output=True).returncode
    except OSError:  # no such program
        return False


# --- no rights ----------------------------------------------------------------------------------


def deny(job: Denied) -> Findings:
    """Deny a store one thing, in a process of its own, and check its error."""
    found = Findings()
    ear, mouth = os.pipe()
    process = child(lambda: _say(mouth, PERMISSIONS[job.name](job.folder)))
    os.close(mouth)
    with os.fdopen(ear) as lines:
        why_not = lines.read()
    if os.waitpid(process, 0)[1]:
        found.wrong.append(f"denied: {job.name}")
    else:
        found.counts["not tried" if why_not else "denials"] += 1
    return found


def _say(mouth: int, said: str | None) -> None:
    os.write(mouth, (said or "").encode())
