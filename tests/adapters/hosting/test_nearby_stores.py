"""An empty store next to a full one is taken for a misspelt name."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.adapters.hosting.nearby_stores import check_meant, spaces_in
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import StoreFailed


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A store with one space."""
    with SyncMemory.open(tmp_path / "memory.db", space="notes", synchronous="normal"):
        return tmp_path / "memory.db"


def test_a_store_with_spaces_is_accepted(full: Path) -> None:
    check_meant(full)
    assert spaces_in(full) == ("notes",)


def test_a_store_alone_in_its_folder_is_accepted(tmp_path: Path) -> None:
    check_meant(tmp_path / "memory.db")


def test_a_missing_store_next_to_another_is_refused(full: Path) -> None:
    with pytest.raises(
        StoreFailed, match=r"is not there, but in the same folder there is memory\.db"
    ) as refusal:
        check_meant(full.with_name("memroy.db"))
    assert refusal.value.facts["beside"] == [str(full)]
    assert not full.with_name("memroy.db").exists()


def test_an_empty_store_next_to_a_full_one_is_refused(full: Path) -> None:
    empty = full.with_name("empty.db")
    SQLiteStore(empty, synchronous="normal").close()
    with pytest.raises(StoreFailed, match="has no spaces"):
        check_meant(empty)


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\x00" + bytes(100)])
def test_a_file_of_another_kind_is_ignored(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other.db").write_bytes(content)
    check_meant(tmp_path / "memory.db")


def test_a_missing_folder_has_no_stores(tmp_path: Path) -> None:
    check_meant(tmp_path / "nowhere" / "memory.db")
