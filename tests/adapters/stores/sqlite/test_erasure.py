"""After an erasure, no file in the folder holds a byte of what was erased."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.ports import Log, PayloadRow
from mnemic.specs.contracts.log_entries import records

SECRET = re.compile(rb"<(?:text|key) of [a-z]+ \d+>")


def secret(space: str, version: int, *, bytes_long: int = 300) -> PayloadRow:
    text = f"<text of {space} {version}>".encode()
    key = f"<key of {space} {version}>".encode()
    data = (text * (1 + bytes_long // len(text)))[: max(bytes_long, len(text))]
    return PayloadRow(version, 0, f"p{version}", key, (f"o{version}",), data)


def secrets(space: str, versions: Iterable[int]) -> set[bytes]:
    return {
        f"<{part} of {space} {version}>".encode()
        for version in versions
        for part in ("text", "key")
    }


def left_in(folder: Path) -> set[bytes]:
    """Return every secret that occurs in any file of *folder*."""
    return {found for file in folder.iterdir() for found in SECRET.findall(file.read_bytes())}


def fill(log: Log, count: int) -> None:
    for version in range(count):
        log.append(records(version, 1), [secret(log.name, version)], after=log.head())


def test_the_secret_is_in_the_files_until_it_is_erased(store: SQLiteStore, tmp_path: Path) -> None:
    log = store.log("home")
    fill(log, 5)
    assert left_in(tmp_path) == secrets("home", range(5))
    log.append(records(5, 1), (), after=log.head(), erase=["o1", "o3"])
    assert left_in(tmp_path) == secrets("home", [0, 2, 4])
    assert store.is_scrubbed


def test_erasing_all_leaves_the_other_spaces(store: SQLiteStore, tmp_path: Path) -> None:
    home, away = store.log("home"), store.log("away")
    fill(home, 5)
    fill(away, 5)
    home.append(records(5, 1), [secret("home", 5)], after=home.head(), erase_all=True)
    assert left_in(tmp_path) == secrets("away", range(5))


def test_erased_bytes_do_not_come_back_when_the_file_is_closed(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        fill(store.log("home"), 5)
        store.log("home").append(records(5, 1), (), after=store.log("home").head(), erase=["o2"])
    assert left_in(path.parent) == secrets("home", [0, 1, 3, 4])


@pytest.mark.parametrize("seed", range(3))
def test_no_copy_is_left_by_pages_that_were_split_or_merged(
    store: SQLiteStore, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - seeded, not secret
    alive: list[tuple[str, int]] = []
    for _ in range(8):
        for _ in range(150):
            log = store.log(chance.choice(["home", "away", "sea"]))
            version = log.head().version + 1
            size = chance.choice([30, 300, 3000])
            log.append(
                records(version, 1), [secret(log.name, version, bytes_long=size)], after=log.head()
            )
            alive.append((log.name, version))
        chance.shuffle(alive)
        gone, alive = alive[:75], alive[75:]
        for name in ("home", "away", "sea"):
            log = store.log(name)
            owners = [f"o{version}" for space, version in gone if space == name]
            log.append(records(log.head().version + 1, 1), (), after=log.head(), erase=owners)
    assert left_in(tmp_path) == {
        each for name, version in alive for each in secrets(name, [version])
    }


def test_an_unfinished_read_does_not_keep_erased_bytes(store: SQLiteStore, tmp_path: Path) -> None:
    log = store.log("home")
    log.append(
        records(0, 2000), [secret("home", version) for version in range(2000)], after=log.head()
    )
    reader = log.read()
    next(reader)
    log.append(records(2000, 1), (), after=log.head(), erase_all=True)
    assert (left_in(tmp_path), store.is_scrubbed) == (set(), True)
    assert [record.version for record, _ in reader] == list(range(1, 2000))


def test_a_reader_in_another_process_delays_scrubbing(store: SQLiteStore, path: Path) -> None:
    log = store.log("home")
    fill(log, 3)
    with closing(SQLiteStore(path, read_only=True)) as other:
        with other.recorder.datastore.transaction(commit=False) as c:
            c.execute("SELECT * FROM contents")
            log.append(records(3, 1), (), after=log.head(), erase=["o1"])
            assert not store.is_scrubbed
            assert [len(transfer_records) for _, transfer_records in log.read()] == [1, 0, 1, 0]
        log.append(records(4, 1), (), after=log.head())
        assert store.is_scrubbed
    assert left_in(path.parent) == secrets("home", [0, 2])


def test_the_next_writer_completes_unfinished_scrubbing(path: Path) -> None:
    writer = SQLiteStore(path)
    fill(writer.log("home"), 3)
    with closing(SQLiteStore(path, read_only=True)) as reader:
        with reader.recorder.datastore.transaction(commit=False) as c:
            c.execute("SELECT * FROM contents")
            writer.log("home").append(
                records(3, 1), (), after=writer.log("home").head(), erase=["o1"]
            )
            writer.close()
        assert left_in(path.parent) == secrets("home", range(3))
        with closing(SQLiteStore(path)):
            assert left_in(path.parent) == secrets("home", [0, 2])
