"""A bundle of the Open Knowledge Format holds the active blocks, and can be imported again."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.adapters.analysts.absent import NoAnalyst
from mnemic.adapters.importers import InputRefused
from mnemic.adapters.importers.memories import kind_named
from mnemic.adapters.importers.memories.changes import Connect, Learn, Options
from mnemic.adapters.importers.memories.okf_export import write_okf
from mnemic.adapters.inprocess import SyncMemory

TEXT = "The gate is green.\n\n## Why\n\n- [[not a link]]: yes"


def test_what_is_exported_is_imported_again(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    with SyncMemory.open(":memory:", analyst=NoAnalyst()) as memory:
        gate = memory.learn(
            TEXT, tags=["gate"], author="Ines", created_at="2026-03-01", valid_until="2027-01-01"
        ).block_id
        tea = memory.learn(
            "Tea is ready.", category="odd/../name", created_at="2026-03-02"
        ).block_id
        gone = memory.learn("It is gone.").block_id
        memory.consolidate()
        memory.connect(gate, tea, "supports")
        memory.forget(gone)
        assert write_okf(memory, folder) == 2
        write_okf(memory, tmp_path / "again")
        with pytest.raises(InputRefused, match="exists"):
            write_okf(memory, folder)
    files = {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*.md")}
    again = tmp_path / "again"
    assert files == {file.relative_to(again): file.read_bytes() for file in again.rglob("*.md")}
    assert len(files) == 2
    changes = list(kind_named("okf").read(folder, Options()))
    lessons = {each.lesson["content"]: each.lesson for each in changes if isinstance(each, Learn)}
    assert lessons.keys() == {TEXT, "Tea is ready."}
    found = lessons[TEXT]
    assert (found["tags"], found["author"]) == (["gate"], "Ines")
    assert found["created_at"] == "2026-03-01T00:00:00+00:00"
    assert found["valid_until"] == "2027-01-01T00:00:00+00:00"
    (edge,) = (each for each in changes if isinstance(each, Connect))
    assert (gate in edge.source, tea in edge.target) == (True, True)
