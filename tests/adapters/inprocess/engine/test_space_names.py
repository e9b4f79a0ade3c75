"""Names of spaces: a new one has visible characters only; one that exists is opened as it is."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import FieldRefused
from tests.adapters.inprocess.conftest import Open

HIDDEN = "two\nlines"


@pytest.mark.parametrize("space", [HIDDEN, "a\x00", "a\u202eb", "a\u2029b", "a\U000e0041"])
def test_no_space_is_made_with_a_hidden_name(opened: Open, path: Path, space: str) -> None:
    memory = opened(path)
    copy = path.with_name("copy.jsonl")
    memory.export(copy)
    for make in (
        lambda: opened(path, space=space),
        lambda: memory.fork(space),
        lambda: SyncMemory.import_space(copy, path, space=space),
    ):
        with pytest.raises(FieldRefused) as refused:
            make()
        assert refused.value.facts["field"] == "space"
    with closing(SQLiteStore(path, read_only=True)) as store:
        assert store.spaces() == ("default",)


def test_a_space_of_an_older_release_is_still_opened(opened: Open) -> None:
    store = MemoryStore()
    block = opened(store).learn("Ines moved the demo.").block_id
    old = store.log(HIDDEN)
    for record, payloads in store.log("default").read():
        old.append([record], payloads, after=old.head())
    assert opened(store, space=HIDDEN).block(block).content == "Ines moved the demo."
