"""Invalid and damaged files: reported by the interface with a recovery."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.stores.sqlite.format import FORMAT_VERSION
from mnemic.adapters.system.clocks import NEW_YEAR_2026_US, ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel import errors
from mnemic.kernel.errors import LogCorrupt, MnemicError
from mnemic.kernel.ports import Record
from mnemic.kernel.results import RecallResult

Open: TypeAlias = Callable[..., SyncMemory]
Busy: TypeAlias = Callable[[SyncMemory], list[RecallResult]]

BAD = 30


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


def edit(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def damage(path: Path, version: int) -> None:
    """Change one byte in the body of a record."""
    edit(
        path,
        "UPDATE stored_events SET state = CAST(substr(state, 1, 40) || X'21' || "  # noqa: S608
        f"substr(state, 42) AS BLOB) WHERE originator_version = {version}",
    )


# --- not ours, not yet ours, not there ----------------------------------------------------------


def test_a_file_of_another_program_is_refused_and_left_as_it_was(opened: Open, path: Path) -> None:
    for content in (b"Dear Ann,\n", b"\x00" * 5000):
        path.write_bytes(content)
        assert refused(lambda: opened(path)) == "not-a-store"
        assert path.read_bytes() == content
    path.unlink()
    edit(path, "CREATE TABLE letters (content TEXT)")
    before = path.read_bytes()
    assert refused(lambda: opened(path)) == "not-a-store"
    assert refused(lambda: opened(path, read_only=True)) == "not-a-store"
    assert path.read_bytes() == before


def test_a_folder_is_refused_as_a_store(opened: Open, tmp_path: Path) -> None:
    assert refused(lambda: opened(tmp_path)) == "not-a-store"
    assert refused(lambda: opened(tmp_path / "no" / "such" / "folder.db")) == "store-failed"


def test_a_store_of_a_newer_release_is_refused(opened: Open, path: Path) -> None:
    opened(path).close()
    edit(path, f"PRAGMA user_version = {FORMAT_VERSION + 1}")
    assert refused(lambda: opened(path)) == "store-too-new"
    assert refused(lambda: opened(path, read_only=True)) == "store-too-new"


def test_an_event_of_a_newer_release_is_not_called_damage(opened: Open, path: Path) -> None:
    opened(path).close()
    with closing(SQLiteStore(path)) as store:
        store.log("default").append(
            [Record(2, "block-dreamt.1", b"{}")], [], after=store.log("default").head()
        )
    assert refused(lambda: opened(path)) == "store-too-new"


def test_read_only_opening_creates_neither_files_nor_spaces(opened: Open, path: Path) -> None:
    assert refused(lambda: opened(path, read_only=True)) == "store-failed"
    assert not path.exists()
    opened(path).close()
    assert refused(lambda: opened(path, read_only=True, space="other")) == "space-not-found"
    assert opened(path).status().version == 1


def test_a_read_only_memory_refuses_every_operation_that_writes(opened: Open, path: Path) -> None:
    memory = opened(path)
    block = memory.learn("words").block_id
    reader = opened(path, read_only=True)
    calls: list[Callable[[], object]] = [
        lambda: reader.learn("more"),
        lambda: reader.learn_many(["more"]),
        lambda: reader.revise(block, "more"),
        lambda: reader.forget(block),
        lambda: reader.erase(block),
        lambda: reader.erase_space("default"),
        lambda: reader.rezone(block, "vetted"),
        reader.consolidate,
        lambda: reader.connect(block, block),
        lambda: reader.disconnect(block, "0" * 16),
        lambda: reader.outcome([block], 1.0),
        reader.curate,
        lambda: reader.adopt_policy(reader.policy),
        reader.start_session,
    ]
    assert [refused(call) for call in calls] == ["view-read-only"] * len(calls)
    memory.learn("seen by the reader")
    assert reader.status().inbox == 2
    assert reader.recall("words").blocks == ()  # nothing is promoted by the recall


# --- damage in the middle -----------------------------------------------------------------------


@pytest.fixture
def broken(opened: Open, path: Path, busy: Busy, clock: ManualClock) -> Path:
    """A file with a busy history, damaged at one version; the clock is reset to its start."""
    with closing(opened(path, entropy=SeededEntropy("busy"))) as memory:
        busy(memory)
        assert memory.status().version > BAD + 10
    clock.set(NEW_YEAR_2026_US)
    damage(path, BAD)
    return path


def test_a_damaged_log_is_refused_with_the_first_bad_version(opened: Open, broken: Path) -> None:
    with pytest.raises(LogCorrupt) as caught:
        opened(broken)
    assert (caught.value.code, caught.value.facts["version"]) == ("log-corrupt", BAD)
    assert "read_only=True" in caught.value.recovery
    assert str(BAD) in str(caught.value)


def test_the_intact_prefix_of_a_damaged_log_answers_every_query(
    opened: Open, broken: Path, tmp_path: Path, busy: Busy
) -> None:
    reader = opened(broken, read_only=True)
    whole = opened(tmp_path / "whole.db", entropy=SeededEntropy("busy"))
    busy(whole)
    last = BAD - 1
    assert reader.status().version == last
    assert reader.blocks(limit=1000).items != ()
    assert reader.recall("harbour gate").blocks != ()
    assert [moment.kind for moment in reader.log(limit=1000)] == [
        moment.kind for moment in whole.log(limit=BAD)
    ]
    assert len(reader.history(limit=1000)) == BAD
    assert reader.log(after=last) == reader.log(after=BAD + 5) == ()
    for block in reader.blocks(limit=1000).items:
        assert reader.history(of=block.id)
    for version in (0, 10, last):
        mine, theirs = reader.as_of(version=version), whole.as_of(version=version)
        assert [block.content for block in mine.blocks(limit=1000).items] == [
            block.content for block in theirs.blocks(limit=1000).items
        ]
        assert mine.status().edges == theirs.status().edges
    assert reader.as_of(hour=0.5).version < last
    assert refused(lambda: reader.as_of(version=BAD)) == "point-out-of-range"
    assert reader.replay("d17").outcome == "reproduced"
    assert refused(lambda: reader.replay(f"d{BAD + 7}")) == "decision-not-found"


def test_verify_names_the_damage_and_everything_before_it_is_sound(
    opened: Open, broken: Path
) -> None:
    checked = opened(broken, read_only=True).verify()
    assert (checked.sound, checked.events, checked.first_bad_version) == (False, BAD, BAD)
    assert checked.problem
    assert str(BAD) in str(checked)


def test_damage_that_happens_while_a_memory_is_open_is_found(opened: Open, path: Path) -> None:
    memory, other = opened(path), opened(path)
    memory.learn_many([f"note {n}" for n in range(5)])
    damage(path, 4)
    assert memory.verify().first_bad_version == 4
    with pytest.raises(LogCorrupt) as caught:
        other.status()
    assert caught.value.facts["version"] == 4


def test_a_payload_that_was_changed_or_lost_is_found(opened: Open, path: Path) -> None:
    with closing(opened(path)) as memory:
        memory.learn_many(["one", "two", "three"])
    pristine = path.read_bytes()
    edit(path, "UPDATE contents SET data = CAST(replace(data, 'two', 'TWO') AS BLOB)")
    with pytest.raises(LogCorrupt) as caught:
        opened(path)
    assert caught.value.facts["version"] == 3
    path.write_bytes(pristine)
    edit(path, "DELETE FROM payloads WHERE version = 3")
    checked = opened(path, read_only=True).verify()
    assert (checked.sound, checked.first_bad_version) == (False, 3)
    assert checked.problem is not None
    assert "lacks 1 payload" in checked.problem


def test_a_lost_payload_is_not_attributed_to_the_erasure_of_a_block(
    opened: Open, path: Path
) -> None:
    with closing(opened(path)) as memory:
        one, two = (each.block_id for each in memory.learn_many(["one", "two"]).results)
        version = memory.compose([one, two], query="both").version
        memory.erase(one)
        assert memory.verify().sound
    edit(path, f"DELETE FROM payloads WHERE owner = 'e{version}'")  # noqa: S608
    checked = opened(path, read_only=True).verify()
    assert (checked.sound, checked.first_bad_version) == (False, version)


# --- what every error has -----------------------------------------------------------------------


def test_every_error_has_a_code_of_its_own_a_status_and_a_recovery() -> None:
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, MnemicError)
    ]
    leaves = [kind for kind in kinds if not any(other.__base__ is kind for other in kinds)]
    assert len({kind.code for kind in kinds}) == len(kinds)
    for kind in leaves:
        error = kind("it happened", version=7)
        assert error.recovery, kind
        assert error.code == error.code.lower()
        assert 400 <= error.status < 600
        assert error.to_dict() == {
            "code": error.code,
            "detail": "it happened",
            "recovery": error.recovery,
            "version": 7,
        }
        assert error.__notes__ == [f"Recovery: {error.recovery}"]
