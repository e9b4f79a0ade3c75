"""--keys on every command, and mnemic keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.adapters.cli.commands.transfer import NOT_ENCRYPTED
from tests.adapters.cli.conftest import Ran, Shell

STORY = "the vault code is mellifluous zanzibar"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    folder = tmp_path / "safe"
    folder.mkdir()
    return folder / "agent.keys"


@pytest.fixture
def locked(shell: Shell, keys: Path) -> Callable[..., Ran]:
    """Run a command on the store of the test, under lock."""
    return lambda *tokens: shell("--keys", str(keys), *tokens)


def test_texts_are_encrypted_and_read_with_the_same_file(
    locked: Shell, shell: Shell, store: Path
) -> None:
    made = locked("learn", STORY, "--json").document
    assert b"zanzibar" not in b"".join(each.read_bytes() for each in store.parent.glob("memory*"))
    assert locked("block", made["block_id"], "--json").document["content"] == STORY
    refused = shell("blocks", "--json")
    assert (refused.exit, refused.error["code"]) == (5, "keys-missing")
    assert "--keys" in refused.error["recovery"]
    assert locked("verify").exit == 0


def test_the_file_may_come_from_the_environment(
    shell: Shell, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_KEYS", str(keys))
    shell("learn", STORY)
    assert [each["live"] for each in shell("keys", "--json").document["spaces"]] == [2]


def test_keys_are_counted_by_space(locked: Shell, keys: Path) -> None:
    first = locked("learn", STORY, "--json").document["block_id"]
    locked("learn", "stays", "--space", "other")
    locked("erase", first, "--yes")
    assert locked("keys", "--json").document == {
        "file": str(keys),
        "spaces": [
            {"space": "default", "live": 1, "erased": 1},
            {"space": "other", "live": 2, "erased": 0},
        ],
    }
    assert "no text of these spaces can be read" in locked("keys").out


def test_a_copy_of_the_keys_opens_the_store_and_overwrites_nothing(
    locked: Shell, shell: Shell, tmp_path: Path
) -> None:
    locked("learn", STORY)
    copy = tmp_path / "copy.keys"
    answer = locked("keys", "copy", str(copy))
    assert (answer.exit, "Replace it after an erasure" in answer.out) == (0, True)
    assert copy.stat().st_mode & 0o777 == 0o600
    shown = shell("--keys", str(copy), "blocks", "--json").document["items"]
    assert [block["content"] for block in shown] == [STORY]
    assert locked("keys", "copy", str(copy), "--json").error["code"] == "field-refused"
    assert locked("keys", "copy", "--json").error["field"] == "to"


def test_asking_for_keys_without_a_file_is_refused(shell: Shell, tmp_path: Path) -> None:
    assert shell("keys", "--json").error["field"] == "keys"
    missing = shell("--keys", str(tmp_path / "no.keys"), "keys", "--json")
    assert (missing.exit, missing.error["code"]) == (5, "store-failed")


def test_a_file_of_keys_that_others_may_read_is_refused(locked: Shell, keys: Path) -> None:
    locked("learn", STORY)
    keys.chmod(0o640)
    refused = locked("blocks", "--json")
    assert (refused.error["code"], f"chmod 600 {keys}" in refused.error["recovery"]) == (
        "store-failed",
        True,
    )


def test_a_file_that_is_not_a_file_of_keys_is_refused(
    shell: Shell, store: Path, tmp_path: Path
) -> None:
    shell("learn", STORY)
    other = tmp_path / "other.keys"
    other.write_bytes(b"no keys at all, whatever it says")
    other.chmod(0o600)
    for wrong in (other, store):
        wrong.chmod(0o600)
        assert shell("--keys", str(wrong), "keys", "--json").error["code"] == "not-a-store"


def test_the_doctor_looks_at_the_keys(locked: Shell, shell: Shell, tmp_path: Path) -> None:
    locked("learn", STORY)
    answer = {each["what"]: each for each in _about_keys(locked("doctor", "--json"))}
    assert (list(answer), answer["file"]["state"]) == (["file"], "ok")
    beside = tmp_path / "beside.keys"
    locked("keys", "copy", str(beside))
    found = _about_keys(shell("--keys", str(beside), "doctor", "--json"))
    assert [(each["what"], each["state"]) for each in found] == [
        ("file", "ok"),
        ("place", "warning"),
    ]
    missing = shell("--keys", str(tmp_path / "no.keys"), "doctor", "--json")
    assert [each["state"] for each in _about_keys(missing)] == ["problem"]
    unlocked = json.loads(shell("doctor", "--json").out)["findings"]
    assert "--keys" in str([each["remedy"] for each in unlocked if each["state"] == "problem"])


def _about_keys(ran: Ran) -> list[dict[str, str]]:
    return [each for each in ran.document["findings"] if each["about"] == "keys"]


def test_an_export_warns_that_its_texts_are_not_encrypted(
    locked: Shell, shell: Shell, tmp_path: Path
) -> None:
    locked("learn", STORY)
    shell("--db", str(tmp_path / "plain.db"), "learn", STORY)
    names = iter(str(tmp_path / f"{number}.jsonl") for number in range(4))
    answer = [
        locked("export", next(names)).err,
        locked("export", next(names), "--json").err,
        locked("export", next(names), "--no-words").err,
        shell("--db", str(tmp_path / "plain.db"), "export", next(names)).err,
    ]
    assert [line.count("not encrypted") for line in answer] == [1, 1, 0, 0]
    assert json.loads(answer[1]) == {"warning": NOT_ENCRYPTED}


def test_an_export_is_imported_with_encryption(locked: Shell, store: Path, tmp_path: Path) -> None:
    locked("learn", STORY)
    locked("export", str(tmp_path / "out.jsonl"))
    assert locked("import", str(tmp_path / "out.jsonl"), "--space", "back").exit == 0
    assert locked("blocks", "--space", "back", "--json").document["items"][0]["content"] == STORY
    assert b"zanzibar" not in b"".join(each.read_bytes() for each in store.parent.glob("memory*"))
