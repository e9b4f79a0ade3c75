"""Detection of a log that ends too early."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.stores.logs.chain import check_end
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import LogCorrupt
from mnemic.kernel.ports import Head, Log
from mnemic.specs.contracts.log_entries import records


def test_a_complete_log_passes_the_end_check() -> None:
    log: Log = MemoryStore().log("home")
    check_end(log)
    log.append(records(0, 3), (), after=log.head())
    check_end(log)
    assert log.head().version == 2


def test_an_acknowledged_record_missing_at_the_end_is_reported(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "agent.db")) as store:
        log = store.log("home")
        log.append(records(0, 3), (), after=log.head())
        check_end(log)
        with store.recorder.datastore.transaction(commit=True) as c:
            c.execute("UPDATE spaces SET version = 1, digest = ?", (log.digest_at(1),))
        with pytest.raises(LogCorrupt):
            check_end(log)
        assert log.head() == Head(1, log.digest_at(1) or b"")
