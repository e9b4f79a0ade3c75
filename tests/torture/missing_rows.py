"""Campaign: rows of payloads vanish from files with random histories, erasures and checkpoints."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from attrs import frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.transfer.salvage import salvage
from mnemic.kernel.errors import MnemicError, PayloadsMissing
from mnemic.kernel.results import Block
from tests.torture.erasure import History
from tests.torture.figures import Effort, Figures
from tests.torture.file_faults import spread
from tests.torture.invariants import Findings

HISTORIES: Final = 120
STEPS: Final = 30
LOSSES: Final = 12
"""Per history."""
EMBEDDER: Final = HashEmbedder(8)
SALVAGED_EVERY: Final = 3
LISTED_MAX: Final = 100
"""Versions that an error lists."""


@frozen
class Job:
    """One history, and the losses that its file suffers one at a time."""

    folder: Path
    seed: int


def campaign(folder: Path, effort: Effort) -> Figures:
    """Delete random payload rows, and compare what is said of them with what was deleted."""
    jobs = [
        Job(folder / str(number), effort.seed * 10_000 + number)
        for number in range(effort.of(HISTORIES, least=2))
    ]
    found = Findings()
    for each in spread(suffered, jobs):
        found.add(each)
    counts = found.counts
    return Figures(
        promise="A missing payload that no erasure covers is lost: it is named and shown as lost, "
        "never as erased, and nothing is written after it.",
        facts={
            "histories": len(jobs),
            "of these encrypted": counts["encrypted"],
            "blocks erased before": counts["erased"],
            "sound files refused": counts["false alarms"],
            "files with losses": counts["files"],
            "of these behind a checkpoint": counts["checkpoint"],
            "rows deleted": counts["rows"],
            "refused for writing, every loss named": counts["named"],
            "losses unnoticed": counts["unnoticed"],
            "blocks shown as lost": counts["lost blocks"],
            "erased blocks shown as lost": counts["erased as lost"],
            "lost blocks shown as erased": counts["lost as erased"],
            "decisions replayed": counts["decisions"],
            "of these lost": counts["lost decisions"],
            "of these differing": counts["differ"],
            "salvaged": counts["salvaged"],
        },
        failures=tuple(found.wrong),
    )


def suffered(job: Job) -> Findings:
    """Write a history, and check every loss that its file suffers."""
    found, chance = Findings(), random.Random(job.seed)  # noqa: S311 - seeded, not secret
    job.folder.mkdir(parents=True)
    path = job.folder / "agent.db"
    keys = job.folder / "keys" if chance.random() < 1 / 4 else None
    found.counts["encrypted"] += keys is not None
    try:
        with _opened(path, keys) as memory:
            history = History(path=path, keys=keys, chance=chance, memory=memory)
            history.live(STEPS)
            for secret in chance.sample(history.secrets, k=len(history.secrets) // 3):
                memory.erase(secret.block)
                found.counts["erased"] += 1
            memory.checkpoint()
            before = _blocks(memory)
        for number in range(LOSSES):
            place = job.folder / f"loss-{number}"
            place.mkdir()
            _suffer(_Loss(path, place, keys, before), number, chance, found)
    except (MnemicError, AssertionError) as error:
        found.wrong.append(f"seed {job.seed}: {error!r}")
    return found


@frozen
class _Loss:
    """A copy of a file that suffers a loss."""

    source: Path
    folder: Path
    keys: Path | None
    before: dict[str, Block]
    """What the file shows without the loss."""

    def made(self, *, checkpoint: bool) -> Path:
        """Copy the file, with or without its checkpoints, and return the path."""
        path = self.folder / self.source.name
        for name in (path.name, f"{path.name}-wal", f"{path.name}.heads"):
            if (self.source.with_name(name)).exists():
                shutil.copy(self.source.with_name(name), path.with_name(name))
        if checkpoint:
            name = f"{path.name}.checkpoints"
            shutil.copytree(self.source.with_name(name), path.with_name(name))
        return path


def _suffer(loss: _Loss, number: int, chance: random.Random, found: Findings) -> None:
    checkpoint = chance.random() < 1 / 2
    path = loss.made(checkpoint=checkpoint)
    if number == 0:
        with _opened(path, loss.keys) as memory:
            found.counts["false alarms"] += not memory.verify().sound
    gone = _delete(path, chance)
    found.counts.update(files=1, checkpoint=checkpoint, rows=len(gone))
    where = f"{path}: {gone[:5]}"
    try:
        _opened(path, loss.keys).close()
        found.counts["unnoticed"] += 1
        found.wrong.append(f"unnoticed: {where}")
    except PayloadsMissing as error:
        versions = sorted({version for version, _, _ in gone})
        is_exact = error.facts["versions"] == versions[:LISTED_MAX]
        is_exact &= error.facts["payloads"] == len(gone)
        found.counts["named"] += is_exact
        found.expect(right=is_exact, otherwise=f"{error}, and gone are {where}")
    _read(loss, path, {owner for _, slot, owner in gone if slot == 0}, found)
    if number % SALVAGED_EVERY == 0:
        into = path.with_name("saved.db")
        result = salvage(path, into, keys=loss.keys)
        lost = sum(len(each.slots) for each in result.spaces[0].payloads_lost)
        found.expect(right=lost > 0 or not result.complete, otherwise=f"salvage: {where}")
        if result.spaces[0].version >= 0:
            with _opened(into, loss.keys) as memory:
                found.counts["salvaged"] += memory.verify().sound


def _delete(path: Path, chance: random.Random) -> list[tuple[int, int, str]]:
    """Delete some payloads, and return version, slot and owner of each."""
    with ExitStack() as stack:
        file = stack.enter_context(closing(sqlite3.connect(path)))
        stack.enter_context(file)
        rows = file.execute("SELECT version, slot, owner, content FROM payloads").fetchall()
        amount = chance.choice([1, 1, 1, 2, 5, len(rows)])
        gone = sorted(chance.sample(rows, k=min(amount, len(rows))))
        table, key = chance.choice([("payloads", "content"), ("contents", "id")])
        statement = f"DELETE FROM {table} WHERE {key} = ?"  # noqa: S608
        file.executemany(statement, [(content,) for *_, content in gone])
        return [(version, slot, owner) for version, slot, owner, _ in gone]


def _read(loss: _Loss, path: Path, owners: set[str], found: Findings) -> None:
    """Open the file to read, and compare what it shows with what it had."""
    with _opened(path, loss.keys, read_only=True) as memory:
        assert any("lacks" in alert for alert in memory.status().alerts)
        assert not memory.verify().sound
        for block in _blocks(memory).values():
            known = loss.before[block.id]
            found.counts["lost blocks"] += block.lost
            found.counts["erased as lost"] += block.lost and known.content is None
            is_hidden = block.content is None and known.content is not None
            found.counts["lost as erased"] += is_hidden and not block.lost
            right = block.lost if is_hidden else block.content == known.content and not block.lost
            found.expect(right=right, otherwise=f"{path}: {block.summary}")
            found.expect(
                right=not block.lost or block.id in owners, otherwise=f"{path}: {block.id} lost"
            )
        replayed = memory.replay_all()
        found.counts["decisions"] += replayed.decisions
        found.counts["lost decisions"] += replayed.lost
        found.counts["differ"] += replayed.differs
        found.expect(right=replayed.differs == 0, otherwise=f"{path}: {replayed.summary}")


def _blocks(memory: SyncMemory) -> dict[str, Block]:
    return {block.id: block for block in memory.blocks(limit=1000).items}


def _opened(path: Path, keys: Path | None, *, read_only: bool = False) -> SyncMemory:
    return SyncMemory.open(
        path, embedder=EMBEDDER, synchronous="normal", keys=keys, read_only=read_only
    )
