"""Labels forged without the keys: none makes a payload pass for erased."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import TypeAlias

import orjson
import pytest

from mnemic.adapters.codec.sealing import LOCKED, itself
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.encrypted import EncryptedLog
from mnemic.adapters.stores.encrypted.cipher import CHECK_BYTES
from mnemic.adapters.stores.opening import open_store
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.ports import PayloadRow, Store

Open: TypeAlias = Callable[..., SyncMemory]


def names_of(keys: Path) -> dict[tuple[str, str], bytes]:
    """Return the names of keys in labels, by space and owner."""
    with closing(sqlite3.connect(keys)) as connection:
        rows = connection.execute(
            "SELECT spaces.name, owner, keys.name FROM keys JOIN spaces ON spaces.id = keys.space"
        )
        return {(space, owner): name for space, owner, name in rows}


def row_of(path: Path, owner: str) -> PayloadRow:
    """Return the first row of a block, as stored."""
    with closing(SQLiteStore(path, read_only=True)) as store:
        rows = (row for _, rows in store.log("default").read() for row in rows)
        return next(row for row in rows if row.owners == (owner,))


def relabel(path: Path, row: PayloadRow, names: Sequence[bytes]) -> None:
    """Change the keys that a row names, with a valid checksum."""
    about = orjson.dumps((row.id, row.version, row.slot, *row.owners))
    label = LOCKED + b"".join(names)
    label += blake2b(label + about, digest_size=CHECK_BYTES).digest()
    with closing(sqlite3.connect(path)) as connection, connection:
        changed = connection.execute("UPDATE contents SET key = ? WHERE key = ?", (label, row.key))
        assert changed.rowcount == 1


@pytest.mark.parametrize("is_erased", [False, True])
def test_a_forged_label_does_not_identify_another_space(
    opened: Open,
    path: Path,
    keys: Path,
    is_erased: bool,  # noqa: FBT001
) -> None:
    """Otherwise new text would use keys of the other space, and erasures miss its own."""
    with opened() as memory, opened(space="other") as other:
        block = memory.learn("to be erased").block_id
        other.learn("of another space")
        memory.checkpoint()
        if is_erased:
            other.erase_space("other")
    with closing(open_store(path, keys=keys)) as store:
        number = space_of(store)
    first = row_of(path, itself(0))
    relabel(path, first, [names_of(keys)["other", ""]])
    with closing(open_store(path, keys=keys)) as store:
        assert space_of(store) == number
    with pytest.raises(LogCorrupt) as caught:
        opened().erase(block)
    assert caught.value.facts["version"] == 0


def space_of(store: Store) -> int | None:
    log = store.log("default")
    assert isinstance(log, EncryptedLog)
    return log.space


def copied(path: Path) -> Path:
    copy = path.with_name("backup.db")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    return copy


@pytest.mark.parametrize(
    ("whose", "is_copy"),
    [*product(["another block", "another space", "too many"], [False, True])],
)
def test_a_forged_label_does_not_make_a_payload_erased(
    opened: Open,
    path: Path,
    keys: Path,
    *,
    whose: str,
    is_copy: bool,
) -> None:
    """Nor in a copy that has to record the erasure of something else."""
    memory, other = opened(checkpoints=False), opened(space="other")
    hit, gone = memory.learn("to be hidden").block_id, memory.learn("to be erased").block_id
    far = other.learn("of another space").block_id
    backup = copied(path)
    memory.erase(gone)
    other.erase(far)
    memory.close()
    names = names_of(keys)
    erased = {
        "another block": [names["default", gone]],
        "another space": [names["other", far]],
        "too many": [names["default", gone], names["default", hit]],
    }
    place = backup if is_copy else path
    row = row_of(place, hit)
    relabel(place, row, erased[whose])
    with pytest.raises(LogCorrupt) as caught:
        opened(place, checkpoints=False)
    assert caught.value.facts["version"] == row.version
