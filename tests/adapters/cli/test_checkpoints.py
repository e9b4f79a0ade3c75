"""mnemic checkpoints: list, make, drop."""

from __future__ import annotations

from pathlib import Path

from tests.adapters.cli.conftest import Shell


def test_checkpoints_are_made_listed_and_dropped(told: Shell, store: Path) -> None:
    assert told("checkpoints").out == "No checkpoints.\n"
    assert told("checkpoints", "--json").document == {"checkpoints": []}
    made = told("checkpoints", "make", "--json").document
    assert (made["state"], made["problem"]) == ("valid", None)
    assert told("checkpoints", "list", "--json").document == {"checkpoints": [made]}
    assert "valid" in told("checkpoints").out
    assert told("recall", "When is the demo?", "--json").exit == 0
    (file,) = store.with_name(f"{store.name}.checkpoints").iterdir()
    assert file.name == made["name"]
    file.write_bytes(b"torn")
    assert "torn" in told("checkpoints").out
    assert told("checkpoints", "drop").out.startswith("Dropped 1 checkpoint; ")
    assert not file.exists()


def test_another_word_is_refused(told: Shell) -> None:
    assert told("checkpoints", "shred").exit == 2
