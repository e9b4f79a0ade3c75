"""Campaign: a newer release writes what this one does not know, somewhere in a random history."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.transfer.backup import backup
from mnemic.adapters.transfer.migration import migrate
from mnemic.adapters.transfer.salvage import salvage
from mnemic.kernel.errors import MnemicError, StoreTooNew
from mnemic.kernel.policy import DEFAULT
from mnemic.kernel.ports import PayloadRow, Record
from tests.torture.erasure import History
from tests.torture.figures import Effort, Figures
from tests.torture.file_faults import spread
from tests.torture.invariants import Findings

HISTORIES: Final = 120
STEPS: Final = 20
EMBEDDER: Final = HashEmbedder(8)
SPACE: Final = "default"

Written = tuple[Record, tuple[PayloadRow, ...]]
"""What the newer release writes."""


@frozen
class Job:
    """One history, and what a newer release adds to it."""

    folder: Path
    seed: int
    what: str


def campaign(folder: Path, effort: Effort) -> Figures:
    """Add something unknown to random histories, and use every operation that reads them."""
    names = list(NEWER)
    jobs = [
        Job(folder / str(number), effort.seed * 10_000 + number, names[number % len(names)])
        for number in range(effort.of(HISTORIES, least=len(names)))
    ]
    found = Findings()
    for each in spread(met, jobs):
        found.add(each)
    counts = found.counts
    return Figures(
        promise="What a newer release wrote is too new, and not damaged: the log is read up to "
        "there, nothing is written after it, and no copy drops it.",
        facts={
            "histories": len(jobs),
            "by what is unknown": ", ".join(
                f"{name} {sum(job.what == name for job in jobs)}" for name in names
            ),
            "operations refused as store-too-new": counts["refused"],
            "of these in a process that was open": counts["open"],
            "of these behind a checkpoint": counts["checkpoint"],
            "read-only openings that showed all before it": counts["read"],
            "salvages refused": counts["salvage refused"],
            "salvages up to it, on request": counts["salvaged"],
            "copies with the same bytes": counts["copied"],
            "copies refused": counts["copy refused"],
            "copies that dropped something": counts["dropped"],
            "called damage": counts["damage"],
        },
        failures=tuple(found.wrong),
    )


def met(job: Job) -> Findings:
    """Write a history, let a newer release continue it, and use it."""
    found, chance = Findings(), random.Random(job.seed)  # noqa: S311 - seeded, not secret
    job.folder.mkdir(parents=True)
    path = job.folder / "agent.db"
    try:
        _meet(job, path, chance, found)
    except (MnemicError, AssertionError) as error:
        found.wrong.append(f"seed {job.seed}, {job.what}: {error!r}")
    return found


def _meet(job: Job, path: Path, chance: random.Random, found: Findings) -> None:
    has_checkpoint = chance.random() < 1 / 2
    with _opened(path) as memory:
        history = History(path=path, keys=None, chance=chance, memory=memory)
        history.live(STEPS)
        if not has_checkpoint:
            memory.drop_checkpoints()
        before = _shown(memory)
        version = _continue(path, NEWER[job.what])
        for act in (lambda: memory.learn("a word of today"), memory.consolidate):
            found.counts["open"] += _too_new(act, version, found)
    records = _records(path)
    with closing(SQLiteStore(path, read_only=True)) as store:
        assert store.log(SPACE, create=False).head().version == version + 1
    found.counts["checkpoint"] += _too_new(lambda: _opened(path), version, found) * has_checkpoint
    with _opened(path, read_only=True) as memory:
        status = memory.status()
        is_whole = status.version == version - 1 and _shown(memory) == before
        is_whole &= any(f"before version {version}" in alert for alert in status.alerts)
        found.counts["read"] += is_whole
        found.expect(right=is_whole, otherwise=f"{path}: {status.summary} {status.alerts}")
        verified = memory.verify()
        is_named = verified.too_new and verified.first_bad_version == version
        found.expect(right=is_named, otherwise=f"{path}: {verified.summary}")
        assert memory.export(path.with_name("known.jsonl"), upto=version - 1).version == version - 1
        _copied(memory.export, path.with_name("all.jsonl"), found)
    _salvaged(path, version, found)
    copies: Mapping[str, Callable[..., object]] = {"backup": backup, "migrate": migrate}
    for name, copy in copies.items():
        into = path.with_name(f"{name}.db")
        if _copied(partial(copy, path), into, found):
            is_same = _records(into) == records
            found.counts["dropped"] += not is_same
            found.expect(right=is_same, otherwise=f"{into} differs")
    found.expect(right=_records(path) == records, otherwise=f"{path} was written to")


def _salvaged(path: Path, version: int, found: Findings) -> None:
    into = path.with_name("saved.db")
    found.counts["salvage refused"] += _too_new(lambda: salvage(path, into), version, found)
    assert not into.exists()
    (saved,) = salvage(path, into, drop_newer=True).spaces
    found.counts["salvaged"] += saved.version == version - 1
    found.expect(right=saved.version == version - 1, otherwise=f"{path}: {saved.summary}")


def _copied(copy: Callable[[Path], object], to: Path, found: Findings) -> bool:
    """Return whether a copy was made; if not, it was refused as too new, and left nothing."""
    try:
        copy(to)
    except StoreTooNew:
        found.counts["copy refused"] += 1
        found.expect(right=not to.exists(), otherwise=f"{to} was left")
        return False
    except MnemicError as error:
        found.counts["damage"] += 1
        found.wrong.append(f"{to}: {error!r}")
        return False
    found.counts["copied"] += 1
    return True


def _too_new(act: Callable[[], object], version: int, found: Findings) -> bool:
    """Expect that an operation is refused as too new at *version*."""
    try:
        act()
    except StoreTooNew as error:
        found.counts["refused"] += 1
        found.expect(right=error.facts.get("version") == version, otherwise=f"{error.facts}")
        return True
    except MnemicError as error:
        found.counts["damage"] += 1
        found.wrong.append(f"{error!r}")
    else:
        found.wrong.append(f"it was done after version {version}")
    return False


def _opened(path: Path, *, read_only: bool = False) -> SyncMemory:
    return SyncMemory.open(path, embedder=EMBEDDER, synchronous="normal", read_only=read_only)


def _shown(memory: SyncMemory) -> list[tuple[str, str | None, str]]:
    """Return what does not depend on the hour."""
    return [(each.id, each.content, each.status) for each in memory.blocks(limit=1000).items]


def _records(path: Path) -> list[Written]:
    with closing(SQLiteStore(path, read_only=True)) as store:
        return list(store.log(SPACE, create=False).read())


# --- what is unknown ----------------------------------------------------------------------------


def _continue(path: Path, newer: Callable[[int, Mapping[str, Record]], Written]) -> int:
    """Append what is unknown and one event that is known, and return the version of the former."""
    with closing(SQLiteStore(path)) as store:
        log = store.log(SPACE)
        known = {record.topic: record for record, _ in log.read()}
        version = log.head().version + 1
        record, rows = newer(version, known)
        after = _body({"session_id": "of tomorrow"})
        log.append(
            [record, Record(version + 1, "session-started.1", after)], rows, after=log.head()
        )
    return version


def _body(event: Mapping[str, Any], **around: Any) -> bytes:
    return json.dumps({"h": 0, "t": 0, "c": "tomorrow", "e": event, **around}).encode()


def _topic(version: int, _: Mapping[str, Record]) -> Written:
    return Record(version, "block-dreamt.1", _body({"block_id": "0" * 16})), ()


def _topic_version(version: int, known: Mapping[str, Record]) -> Written:
    return Record(version, "block-learned.2", known["block-learned.1"].body), ()


def _event_field(version: int, _: Mapping[str, Record]) -> Written:
    return Record(version, "session-started.1", _body({"session_id": "s", "mood": "good"})), ()


def _part_field(version: int, known: Mapping[str, Record]) -> Written:
    document = json.loads(known["blocks-promoted.1"].body)
    document["e"]["promotions"][0]["mood"] = "good"
    return Record(version, "blocks-promoted.1", json.dumps(document).encode()), ()


def _envelope_key(version: int, _: Mapping[str, Record]) -> Written:
    return Record(version, "session-started.1", _body({"session_id": "s"}, z="east")), ()


def _payload_field(version: int, _: Mapping[str, Record]) -> Written:
    block, key, data = "0123456789abcdef", b"k" * 16, b'{"content":"x","mood":"good"}'
    message = json.dumps(["block-text", block], separators=(",", ":")).encode() + data
    mac = b64encode(blake2b(message, digest_size=16, key=key).digest(), b"-_").decode().rstrip("=")
    row = PayloadRow(version=version, slot=0, id="p" * 16, key=key, owners=(block,), data=data)
    event = {
        "block_id": block,
        "text": row.id + mac,
        "category": "knowledge",
        "source": "api",
        "zone": "trusted",
        "confidence": 500_000_000,
    }
    return Record(version, "block-learned.1", _body(event)), (row,)


def _policy(version: int, body: dict[str, Any]) -> Written:
    event = {"policy_id": "f" * 16, "body": json.dumps(body)}
    return Record(version, "policy-adopted.1", _body(event)), ()


def _policy_field(version: int, _: Mapping[str, Record]) -> Written:
    return _policy(version, json.loads(DEFAULT.body) | {"mood": "good"})


def _frame_field(version: int, _: Mapping[str, Record]) -> Written:
    body = json.loads(DEFAULT.body)
    body["frames"][0]["mood"] = "good"
    return _policy(version, body)


NEWER: Final[Mapping[str, Callable[[int, Mapping[str, Record]], Written]]] = {
    "topic": _topic,
    "version of a topic": _topic_version,
    "field of an event": _event_field,
    "field of a part": _part_field,
    "key of the envelope": _envelope_key,
    "field of a payload": _payload_field,
    "field of a policy": _policy_field,
    "field of a frame": _frame_field,
}
