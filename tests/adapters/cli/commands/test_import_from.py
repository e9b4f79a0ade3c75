"""``mnemic import-from`` imports and reports, and ``mnemic ingest`` names it where it applies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Shell = Callable[..., Any]

FIXTURES = Path(__file__).parents[3] / "fixtures" / "importers"
HISTORY = str(FIXTURES / "mem0" / "history.db")


def test_a_dry_run_reports_and_writes_nothing(shell: Shell, store: Path) -> None:
    ran = shell("import-from", "mem0", HISTORY, "--dry-run")
    assert ran.exit == 0
    assert ran.out.startswith("A new memory would import: 4 learned, 1 revised, 1 forgotten.")
    assert not store.exists()


def test_an_import_is_promoted_and_can_be_repeated(shell: Shell) -> None:
    first = shell("import-from", "mem0", HISTORY, "--json").document
    counts = ("learned", "revised", "forgotten", "known", "refused_count")
    assert [first[name] for name in counts] == [4, 1, 1, 0, 0]
    status = shell("status", "--json").document
    assert (status["active"], status["inbox"], status["archived"]) == (3, 0, 2)
    again = shell("import-from", "mem0", HISTORY, "--json").document
    assert [again[name] for name in counts] == [0, 0, 0, 6, 0]
    assert again["version"] == first["version"]


def test_what_is_left_and_refused_is_reported_with_its_place(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_text(
        '{"type":"entity","name":"Ada","entityType":"person","observations":[]}\n{\n'
        '{"type":"relation","from":"Ada","to":"Ben","relationType":"knows"}\n'
    )
    ran = shell("import-from", "server-memory", str(path), "--no-consolidate")
    assert ran.exit == 1
    assert "memory.jsonl:3 input-refused: 'entity Ben' is not in the source" in ran.out
    assert "Left: 1 x line, since not JSON (memory.jsonl:2)." in ran.out


def test_a_source_of_another_kind_is_not_imported_in_silence(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_text('{"content": "The gate opens at six."}\n')
    ran = shell("import-from", "server-memory", str(path))
    assert ran.exit == 1
    assert "Imported: nothing." in ran.out


def test_a_mapping_has_to_be_a_pair(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a\n1\n")
    ran = shell("import-from", "csv", str(tmp_path / "x.csv"), "--map", "content")
    assert ran.exit == 1
    assert "--map content is no pair" in ran.err


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mem0/history.db", "mem0"),
        ("elfmem.db", "elfmem"),
        ("server-memory.jsonl", "server-memory"),
    ],
)
def test_ingest_names_the_command_for_what_it_does_not_read(
    shell: Shell, store: Path, name: str, kind: str
) -> None:
    ran = shell("ingest", str(FIXTURES / name))
    assert ran.exit != 0
    assert f"mnemic import-from {kind} {FIXTURES / name}" in ran.err
    assert not store.exists()


def test_active_blocks_are_exported_as_pages(shell: Shell, tmp_path: Path) -> None:
    shell("import-from", "mem0", HISTORY)
    ran = shell("export-okf", str(tmp_path / "pages"), "--json")
    assert (ran.exit, ran.document["pages"]) == (0, 3)
    assert len([*(tmp_path / "pages").rglob("*.md")]) == 3
