"""receipt, export, import, fork, and verify with a receipt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.inprocess import SyncMemory
from tests.adapters.cli.conftest import Shell


@pytest.fixture
def asked(noted: Shell) -> tuple[Shell, str]:
    """A command line with three notes and one decision."""
    return noted, noted("recall", "when is the demo?", "--json").document["decision_id"]


@pytest.fixture
def receipt(asked: tuple[Shell, str], tmp_path: Path) -> Path:
    """The receipt of that decision, in a file."""
    shell, decision = asked
    path = tmp_path / "receipt.json"
    path.write_text(shell("receipt", decision).out, encoding="utf-8")
    return path


def test_a_receipt_is_printed_as_json_either_way(asked: tuple[Shell, str]) -> None:
    shell, decision = asked
    noted = shell("receipt", decision)
    assert (noted.exit, noted.document["decision_id"]) == (0, decision)
    assert shell("receipt", decision, "--json").document == noted.document
    assert shell("receipt", "d1", "--json").error["code"] == "decision-not-found"


def test_a_true_receipt_is_confirmed(asked: tuple[Shell, str], receipt: Path) -> None:
    shell, decision = asked
    noted = shell("verify", "--receipt", str(receipt), "--replay")
    assert (noted.exit, noted.out) == (
        0,
        f"{decision} confirmed by the log of default. Replayed: reproduced.\n",
    )


def test_it_is_confirmed_from_an_export_without_the_store(
    asked: tuple[Shell, str], receipt: Path, store: Path, tmp_path: Path
) -> None:
    shell, _ = asked
    log = str(tmp_path / "log.ndjson")
    assert shell("export", log, "--no-words").exit == 0
    store.unlink()
    noted = shell("verify", "--receipt", str(receipt), "--export", log, "--replay", "--json")
    assert (noted.exit, noted.document["verdict"], noted.document["replayed"]) == (
        0,
        "confirmed",
        "no-words",
    )


@pytest.mark.parametrize(("field", "value"), [("chain", "0" * 64), ("genesis", "0" * 64)])
def test_a_forged_receipt_is_damage_to_the_shell(
    asked: tuple[Shell, str], receipt: Path, field: str, value: Any
) -> None:
    document = json.loads(receipt.read_text(encoding="utf-8"))
    receipt.write_text(json.dumps({**document, field: value}), encoding="utf-8")
    noted = asked[0]("verify", "--receipt", str(receipt), "--json")
    assert (noted.exit, noted.document["holds"]) == (4, False)


@pytest.mark.parametrize("text", ["", "{}", "[]", "not json", "[" * 100_000])
def test_a_file_that_is_no_receipt_is_refused(
    asked: tuple[Shell, str], tmp_path: Path, text: str
) -> None:
    (tmp_path / "r.json").write_text(text, encoding="utf-8")
    noted = asked[0]("verify", "--receipt", str(tmp_path / "r.json"), "--json")
    assert (noted.exit, noted.error["code"]) == (1, "field-refused")


def test_a_receipt_that_is_not_there_and_an_export_without_one(asked: tuple[Shell, str]) -> None:
    shell, _ = asked
    assert shell("verify", "--receipt", "nowhere.json").exit == 5
    assert shell("verify", "--export", "nowhere.ndjson").exit == 1
    assert shell("verify", "--replay").exit == 1


def test_a_memory_moves_by_export_and_import(asked: tuple[Shell, str], tmp_path: Path) -> None:
    shell, decision = asked
    log = str(tmp_path / "log.ndjson")
    noted = shell("export", log, "--json")
    made = shell("--space", "moved", "import", log, "--json")
    assert (noted.exit, made.exit) == (0, 0)
    assert made.document["chain"] == noted.document["chain"]
    assert shell("--space", "moved", "verify").exit == 0
    assert shell("--space", "moved", "replay", decision).exit == 0
    again = shell("--space", "moved", "import", log, "--json")
    assert (again.exit, again.error["code"]) == (1, "space-exists")


def test_an_import_makes_the_file(asked: tuple[Shell, str], store: Path, tmp_path: Path) -> None:
    shell, decision = asked
    log = str(tmp_path / "log.ndjson")
    shell("export", log)
    store.unlink()
    assert shell("import", log).out.startswith("Imported default as default up to version ")
    assert shell("replay", decision).exit == 0


def test_a_damaged_export_is_not_imported(
    asked: tuple[Shell, str], store: Path, tmp_path: Path
) -> None:
    shell, _ = asked
    log = tmp_path / "log.ndjson"
    shell("export", str(log))
    store.unlink()
    log.write_bytes(log.read_bytes().replace(b'"version":2', b'"version":1', 1))
    noted = shell("import", str(log), "--json")
    assert (noted.exit, noted.error["code"], store.exists()) == (4, "export-corrupt", False)
    assert "line" in noted.error


def test_a_fork_is_made_in_the_same_or_another_file(
    asked: tuple[Shell, str], tmp_path: Path
) -> None:
    shell, decision = asked
    beside = shell("fork", "trial", "--decision", decision)
    assert (beside.exit, "Forked default as trial" in beside.out) == (0, True)
    assert len(shell("--space", "trial", "blocks", "--json").document["items"]) == 3
    assert shell("fork", "trial", "--json").error["code"] == "space-exists"
    other = tmp_path / "other.db"
    assert shell("fork", "early", "--into", str(other), "--version", "2").exit == 0
    with SyncMemory.open(other, space="early", read_only=True) as early:
        assert early.status().version == 2
