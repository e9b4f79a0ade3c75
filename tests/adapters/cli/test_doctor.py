"""mnemic doctor: what is in order, what is not, and what to do about it."""

from __future__ import annotations

import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.logs.write_lock import WriteLock
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import VersionConflict
from mnemic.kernel.ports import Log
from mnemic.specs.contracts.log_entries import (
    bare,
    contents,
    payload,
    records,
)
from tests.adapters.cli.conftest import Shell

posix = pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")


def examined(shell: Shell, *more: str) -> dict[tuple[str, str], Any]:
    """Return the findings by what they are about."""
    document = shell("doctor", "--json", *more).document
    return {(each["about"], each["what"]): each for each in document["findings"]}


def troubles(shell: Shell) -> list[tuple[str, str, str]]:
    """Return what is not in order about the store; each finding of these has a remedy."""
    found = examined(shell).values()
    there = [each for each in found if each["about"] not in {"settings", "environment"}]
    wrong = [each for each in there if each["state"] != "ok"]
    assert [each for each in wrong if not each["remedy"]] == []
    return [(each["about"], each["what"], each["state"]) for each in wrong]


def test_a_sound_store_is_in_order(noted: Shell) -> None:
    seen = noted("doctor")
    assert (seen.exit, seen.err) == (0, "")
    assert seen.out.endswith("Everything is in order.\n")
    assert troubles(noted) == []


def test_the_environment_and_each_space_are_looked_at(noted: Shell) -> None:
    assert noted("--space", "other", "learn", "Something else.").exit == 0
    found = examined(noted)
    assert {about for about, _ in found} == {
        "settings",
        "environment",
        "store",
        "space default",
        "space other",
    }
    assert "every digest holds" in found["space default", "log"]["detail"]
    assert "is installed, and is the same" in found["space default", "embedder"]["detail"]
    assert found["space other", "embedder"]["detail"].startswith("none yet")
    assert found["environment", "extra hnsw"]["state"] in {"ok", "warning"}


def test_every_setting_is_shown_with_its_origin(
    noted: Shell, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_ACTOR", "ines")
    monkeypatch.setenv("MNEMIC_SPACE", "other")
    monkeypatch.setenv("MNEMIC_CHAT_URL", "https://me:secret@models.example/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    found = examined(noted, "--space", "default", "--tokens=estimate", "--chat-model=small")
    of_settings = {name: each for name, each in found.items() if name[0] == "settings"}
    assert {what: each["detail"] for (_, what), each in of_settings.items()} == {
        "db": f"{store} (MNEMIC_DB)",
        "keys": "none: texts are not encrypted (default)",
        "space": "default (--space)",
        "actor": "ines (MNEMIC_ACTOR)",
        "session": "none (default)",
        "embedder": "that of the space (default)",
        "tokens": "estimate (--tokens)",
        "retriever": "exact (default)",
        "chat-url": "https://models.example/v1 (MNEMIC_CHAT_URL)",
        "chat-model": "small (--chat-model)",
        "chat-key": "set (OPENAI_API_KEY)",
        "traceback": "off (default)",
    }


def test_nothing_is_written(noted: Shell, store: Path) -> None:
    before = store.read_bytes()
    assert noted("doctor").exit == 0
    assert store.read_bytes() == before


DAMAGES = {
    "changed": "UPDATE stored_events SET state = state || x'00' WHERE originator_version = 5",
    "cut": "DELETE FROM stored_events WHERE originator_version >= 5 AND originator_id = '1'",
    "vanished": "DELETE FROM contents WHERE id = (SELECT max(content) FROM payloads"
    " WHERE space = 1)",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_a_problem_of_its_space_and_of_no_other(
    noted: Shell, store: Path, damage: str
) -> None:
    assert noted("--space", "other", "learn", "Something else.").exit == 0
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(DAMAGES[damage])
    assert noted("doctor").exit == 1
    assert ("space default", "log", "problem") in troubles(noted)
    assert examined(noted)["space other", "log"]["state"] == "ok"


def test_a_missing_store_is_reported_with_those_in_its_folder(noted: Shell, store: Path) -> None:
    other = store.rename(store.with_name("agent.db"))
    failed = noted("doctor", "--json")
    (problem,) = (each for each in failed.document["findings"] if each["state"] == "problem")
    assert (failed.exit, problem["what"]) == (1, "file")
    assert problem["remedy"].startswith(f"Did you mean {other} (")
    assert not store.exists()


def test_an_empty_store_next_to_another_one_is_a_warning(noted: Shell, store: Path) -> None:
    other = store.rename(store.with_name("agent.db"))
    store.with_name(f"{store.name}.heads").rename(other.with_name("agent.db.heads"))
    with SyncMemory.open(store):
        pass
    found = examined(noted)["store", "neighbours"]
    assert found["state"] == "warning"
    assert f"next to it is {other} (" in found["detail"]


def test_a_foreign_file_is_a_problem_and_stays_unchanged(shell: Shell, store: Path) -> None:
    store.write_text("a shopping list\n" * 100)
    assert ("store", "format", "problem") in troubles(shell)
    assert store.read_text() == "a shopping list\n" * 100


def test_a_folder_is_a_problem_and_nothing_is_said_of_its_permissions(
    shell: Shell, store: Path
) -> None:
    store.mkdir(mode=0o777)
    store.chmod(0o777)
    assert troubles(shell) == [("store", "file", "problem")]


def test_a_store_of_a_later_release_is_a_problem(noted: Shell, store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("PRAGMA user_version = 9")
    assert troubles(noted) == [("store", "format", "problem")]


def test_a_space_that_is_not_there_is_a_warning(noted: Shell) -> None:
    found = examined(noted, "--space", "defualt")
    assert found["store", "spaces"]["state"] == "warning"
    assert "default" in found["store", "spaces"]["remedy"]


def test_a_torn_checkpoint_is_a_warning(noted: Shell, store: Path) -> None:
    assert noted("checkpoints", "make").exit == 0
    (file,) = store.with_name(f"{store.name}.checkpoints").glob("*.checkpoint")
    file.write_bytes(b"torn")
    assert troubles(noted) == [("space default", "checkpoint", "warning")]


def test_the_model_of_a_host_is_a_warning(shell: Shell, store: Path) -> None:
    with SyncMemory.open(store, embedder=HashEmbedder()) as memory:
        memory.learn("Thursday.")
        memory.consolidate()
    assert troubles(shell) == [("space default", "embedder", "warning")]


def test_a_writer_that_hangs_is_a_warning(noted: Shell, store: Path) -> None:
    queue = WriteLock(store)
    with queue.write_lock():
        assert troubles(noted) == [("store", "writers", "warning")]
    queue.close()
    assert troubles(noted) == []


@posix
def test_a_world_writable_store_is_a_warning(noted: Shell, store: Path) -> None:
    store.chmod(0o666)
    assert troubles(noted) == [("store", "permissions", "warning")]


@posix
def test_tokens_that_others_may_read_are_a_problem(noted: Shell, store: Path) -> None:
    assert noted("token", "create", "ines", "--read", "default").exit == 0
    assert examined(noted)["store", "tokens"]["detail"] == "1 token in memory.db.tokens"
    store.with_name("memory.db.tokens").chmod(0o644)
    assert troubles(noted) == [("store", "tokens", "problem")]


def test_a_space_whose_import_was_killed_is_a_warning_until_it_is_made(
    noted: Shell, store: Path
) -> None:
    with closing(SQLiteStore(store)) as opened:
        with suppress(VersionConflict), opened.draft("half") as log:
            log.append(records(0, 1), [payload(0)], after=log.head())
            raise VersionConflict("as if somebody else had it")  # who is killed leaves it too
        assert troubles(noted) == [("store", "unfinished", "warning")]
        with opened.draft("half") as log:
            log.append(records(0, 1), [payload(0)], after=log.head())
    assert ("store", "unfinished") not in examined(noted)
    with closing(SQLiteStore(store)) as opened, suppress(OSError), opened.draft("other") as log:
        log.append(records(0, 1), [payload(0)], after=log.head())
        raise OSError("and who fails clears it away")
    assert ("store", "unfinished") not in examined(noted)


def test_leftovers_of_a_killed_import_are_swept_on_request(noted: Shell, store: Path) -> None:
    with (
        closing(SQLiteStore(store)) as opened,
        suppress(VersionConflict),
        opened.draft("half") as log,
    ):
        log.append(records(0, 1), [payload(0)._replace(data=b"never to be seen")], after=log.head())
        raise VersionConflict("as if somebody else had it")  # who is killed leaves it too
    assert troubles(noted) == [("store", "unfinished", "warning")]
    assert "--sweep" in examined(noted)["store", "unfinished"]["remedy"]
    found = examined(noted, "--sweep")
    assert ("store", "unfinished") not in found
    assert found["store", "sweep"]["detail"] == "the unfinished space 'half' was removed"
    assert b"never to be" not in b"".join(each.read_bytes() for each in store.parent.iterdir())
    found = examined(noted, "--sweep")
    assert found["store", "sweep"]["detail"] == "no killed import has left anything"
    assert ("space default", "log") in found


def test_a_running_import_is_not_swept(noted: Shell, store: Path) -> None:
    over = threading.Event()
    with (
        closing(SQLiteStore(store)) as opened,
        ThreadPoolExecutor(1) as pool,
        opened.draft("home") as log,
    ):
        log.append(records(0, 1), (), after=log.head())
        going_on = pool.submit(go_on, log, over)
        try:
            assert examined(noted, "--sweep")["store", "sweep"]["state"] == "warning"
        finally:
            over.set()
        count = going_on.result()
    with closing(SQLiteStore(store)) as opened:
        assert contents(opened.log("home", create=False)) == bare(records(0, count))


def go_on(log: Log, over: threading.Event) -> int:
    """Append until it is over, and return how many records there are."""
    version = log.head().version
    while not over.wait(0.01):
        version = log.append(records(version + 1, 1), (), after=log.head()).version
    return version + 1


def test_sweeping_creates_no_store(shell: Shell, store: Path) -> None:
    assert examined(shell, "--sweep")["store", "file"]["state"] == "problem"
    assert not store.exists()


def test_every_finding_is_drawn_with_its_remedy(noted: Shell, store: Path) -> None:
    assert noted("checkpoints", "make").exit == 0
    (file,) = store.with_name(f"{store.name}.checkpoints").glob("*.checkpoint")
    file.write_bytes(b"torn")
    seen = noted("doctor")
    assert seen.out.endswith("0 problems, 1 warning.\n")
    assert "mnemic checkpoints drop" in seen.out
