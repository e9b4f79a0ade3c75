"""mnemic checkpoints: list, make, drop."""

from __future__ import annotations

from pathlib import Path

from tests.adapters.cli.conftest import Shell


def test_checkpoints_are_made_listed_and_dropped(noted: Shell, store: Path) -> None:
    assert noted("checkpoints").out == "No checkpoints.\n"
    assert noted("checkpoints", "--json").document == {"checkpoints": []}
    made = noted("checkpoints", "make", "--json").document
    assert (made["state"], made["problem"]) == ("valid", None)
    assert noted("checkpoints", "list", "--json").document == {"checkpoints": [made]}
    assert "valid" in noted("checkpoints").out
    assert noted("recall", "When is the demo?", "--json").exit == 0
    (file,) = store.with_name(f"{store.name}.checkpoints").glob("*.checkpoint")
    assert file.name == made["name"]
    file.write_bytes(b"torn")
    assert "torn" in noted("checkpoints").out
    assert noted("checkpoints", "drop").out.startswith("Dropped 1 checkpoint; ")
    assert not file.exists()


def test_another_word_is_refused(noted: Shell) -> None:
    assert noted("checkpoints", "shred").exit == 2
