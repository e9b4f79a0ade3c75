"""salvage: a sound store of what can be read of a damaged one, and a report of the rest."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.transfer.migration import migrate
from mnemic.adapters.transfer.results import SpaceSalvaged
from mnemic.adapters.transfer.salvage import salvage
from mnemic.kernel.errors import FieldRefused, LogCorrupt, MnemicError, NotAStore, StoreFailed
from tests.adapters.transfer.damage import damage
from tests.adapters.transfer.test_migrating import at, contents

OF_VERSION = "(SELECT content FROM payloads WHERE space = 1 AND version = {} AND slot = 0)"


@pytest.fixture
def path(memory: SyncMemory, tmp_path: Path) -> Path:
    """The store of the test as a file."""
    path = tmp_path / "agent.db"
    memory.fork("default", into=path)
    return path


def change(path: Path, statement: str, version: int = 0) -> None:
    """Change the content of a file from outside the store."""
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(statement.replace("OF_VERSION", OF_VERSION.format(version)))


def saved(path: Path, *, gaps: bool = False) -> tuple[Path, SpaceSalvaged]:
    """Salvage a file, check that the result is sound, and return its path and the report."""
    into = path.with_name("saved.db")
    (space,) = salvage(path, into, gaps=gaps).spaces
    with SyncMemory.open(into) as memory:
        assert gaps or memory.verify().sound
        assert memory.learn("and on it goes").action == "created"
    return into, space


def kind_at(memory: SyncMemory, kind: str) -> int:
    return next(each.version for each in memory.log() if each.kind == kind)


def test_a_sound_store_is_salvaged_completely(path: Path) -> None:
    into = path.with_name("saved.db")
    result = salvage(path, into)
    assert result.complete
    with at(path) as source, at(into) as target:
        assert contents(target) == contents(source)
        version = source.log("default").head().version
    assert "lost" not in str(result)
    assert (result.spaces[0].version, result.spaces[0].lost) == (version, 0)


def test_events_before_damage_are_kept_and_the_rest_is_named(
    path: Path, memory: SyncMemory
) -> None:
    last = memory.status().version
    bad = last - 2
    with at(path) as source:
        digest = source.log("default").digest_at(bad - 1)
    damage(path, bad)
    into, space = saved(path)
    assert (space.version, space.lost, space.payloads_lost) == (bad - 1, 3, ())
    assert space.problem is not None
    assert f"damaged at version {bad}" in space.problem
    assert f"kept up to version {bad - 1}, lost 3 events at least" in str(space)
    with at(into) as target:
        assert target.log("default").digest_at(bad - 1) == digest


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE spaces SET version = 3",
        "UPDATE spaces SET version = 3000",
        "UPDATE spaces SET version = x'00'",
        "UPDATE spaces SET digest = 'x', version = 0",
        "UPDATE spaces SET version = version - 1, digest = zeroblob(32)",
    ],
)
def test_a_damaged_head_row_costs_no_event(path: Path, memory: SyncMemory, statement: str) -> None:
    change(path, statement)
    _, space = saved(path)
    assert (space.version, space.payloads_lost) == (memory.status().version, ())


def test_a_head_row_that_disagrees_with_the_last_record_costs_that_one(
    path: Path, memory: SyncMemory
) -> None:
    change(path, "UPDATE spaces SET digest = zeroblob(32)")
    _, space = saved(path)
    assert (space.version, space.lost) == (memory.status().version - 1, 1)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE contents SET data = x'7b7d' WHERE id = OF_VERSION",
        "UPDATE contents SET key = zeroblob(16) WHERE id = OF_VERSION",
        "DELETE FROM contents WHERE id = OF_VERSION",
        "DELETE FROM payloads WHERE version = 3",
    ],
)
def test_a_lost_text_costs_its_block_and_no_more(
    path: Path, memory: SyncMemory, statement: str
) -> None:
    block = next(each for each in memory.blocks().items if each.learned_version == 3)
    change(path, statement, 3)
    into, space = saved(path)
    last = memory.status().version
    assert (space.version, space.lost, space.erased) == (last, 0, (block.id,))
    assert [(each.version, each.slots, each.blocks) for each in space.payloads_lost] == [
        (3, (0,), (block.id,))
    ]
    with SyncMemory.open(into, read_only=True) as copy:
        assert copy.block(block.id).content is None
        assert copy.log(after=last)[0].actor == "salvage"
        others = {each.id: each.content for each in memory.blocks().items if each.id != block.id}
        kept = {each.id: each.content for each in copy.blocks().items}
        assert others.items() <= kept.items()


def test_a_lost_query_ends_the_copy_unless_its_loss_is_accepted(
    path: Path, memory: SyncMemory
) -> None:
    asked, last = kind_at(memory, "recall-recorded"), memory.status().version
    change(path, "DELETE FROM contents WHERE id = OF_VERSION", asked)
    into, space = saved(path)
    assert (space.version, space.lost) == (asked - 1, last - asked + 1)
    into.unlink()
    into, space = saved(path, gaps=True)
    assert (space.version, space.lost, space.erased) == (last, 0, ())
    assert [each.version for each in space.payloads_lost] == [asked]
    for checkpoint in (False, True):
        with SyncMemory.open(into) as copy:
            verified = copy.verify()
            assert (verified.sound, verified.lost_payloads) == (True, 1)
            assert any("lacks 1 payload" in alert for alert in copy.status().alerts)
            assert copy.replay(f"d{asked}").outcome == "lost"
            assert copy.log(after=asked - 1, limit=1)[0].detail.endswith("'[lost]'")
            assert copy.log(after=last, limit=1)[0].kind == "loss-accepted"
            copy.learn(f"and life goes on, {checkpoint}")
            copy.checkpoint()
    copied = migrate(into, path.with_name("migrated.db"))
    assert copied.spaces[0].behind == 0
    assert salvage(into, path.with_name("again.db")).complete


def test_text_erased_after_the_damage_stays_erased(path: Path, memory: SyncMemory) -> None:
    erased = kind_at(memory, "block-erased")
    block = next(each for each in memory.blocks().items if each.content is None)
    damage(path, erased)
    _, space = saved(path)
    assert (space.version, space.erased) == (erased - 1, (block.id,))


def test_a_lost_salt_ends_the_copy_at_once(path: Path) -> None:
    change(path, "DELETE FROM payloads WHERE version = 0")
    into = path.with_name("saved.db")
    (space,) = salvage(path, into).spaces
    assert (space.version, space.payloads) == (-1, 0)
    assert str(space).startswith("default: nothing kept, lost ")
    assert salvage(path, path.with_name("whole.db"), gaps=True).spaces[0].payloads > 0


def test_a_store_that_lost_every_text_keeps_its_history(path: Path, memory: SyncMemory) -> None:
    change(path, "DELETE FROM payloads")
    into = path.with_name("saved.db")
    (space,) = salvage(path, into).spaces
    assert (space.version, space.payloads) == (memory.status().version, 0)
    with SyncMemory.open(into, read_only=True) as copy:
        assert copy.verify().sound
        assert copy.log(after=space.version)[0].kind == "space-erased"


def test_commands_that_the_store_has_lost_are_counted(path: Path) -> None:
    change(path, "DELETE FROM commands WHERE id = 'helped'")
    assert saved(path)[1].commands_lost == 1


def test_commands_that_cannot_be_read_are_counted(path: Path) -> None:
    change(path, "UPDATE commands SET first = 1000 WHERE id = 'helped'")
    into, space = saved(path)
    assert space.commands_lost == 1
    with at(into) as target:
        assert contents(target)[1][2] is None
        assert contents(target)[1][0] is not None


def test_a_sound_space_is_salvaged_with_a_damaged_one(path: Path, memory: SyncMemory) -> None:
    memory.fork("other", into=path)
    change(path, "UPDATE stored_events SET topic = 'x' WHERE originator_id = '1'")
    result = salvage(path, path.with_name("saved.db"))
    assert [(each.space, each.version) for each in result.spaces] == [
        ("default", -1),
        ("other", memory.status().version),
    ]
    assert not result.complete


def test_a_truncated_or_overwritten_file_is_salvaged_or_refused(tmp_path: Path) -> None:
    """Whatever page is damaged: the result is sound, and a prefix of what was."""
    whole = tmp_path / "whole.db"
    with SyncMemory.open(whole) as memory:
        for number in range(120):
            memory.learn(f"fact {number} {'and so on ' * 20}")
    with at(whole) as store:
        digests = [store.log("default").digest_at(version) for version in range(122)]
    chance = random.Random(9)  # noqa: S311 - seeded, not secret
    size, reached = whole.stat().st_size, set[int]()
    for turn in range(40):
        hurt, into = tmp_path / f"hurt {turn}.db", tmp_path / f"saved {turn}.db"
        shutil.copy(whole, hurt)
        place = chance.randrange(size)
        with hurt.open("r+b") as file:
            if turn % 4 == 0:
                file.truncate(place)
            else:
                file.seek(place)
                file.write(chance.randbytes(min(16, size - place)))
        with suppress(LogCorrupt, NotAStore, StoreFailed):
            for space in salvage(hurt, into).spaces:
                with at(into) as store:
                    log = store.log(space.space)
                    kept = [log.digest_at(version) for version in range(space.version + 1)]
                assert kept == digests[: space.version + 1]
                reached.add(space.version)
    assert max(reached) == 121
    assert len(reached) > 5


def test_a_salvaged_store_can_be_migrated(path: Path) -> None:
    damage(path, 9)
    into, _ = saved(path)
    assert migrate(into, MemoryStore()).spaces[0].behind == 0


def test_nothing_is_overwritten_and_other_files_are_refused(path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(FieldRefused):
        salvage(path, path)
    (tmp_path / "there.db").touch()
    with pytest.raises(FieldRefused, match="exists"):
        salvage(path, tmp_path / "there.db")
    (tmp_path / "text.db").write_text("no store at all " * 100, encoding="utf-8")
    for damaged in (tmp_path / "text.db", tmp_path / "none.db"):
        with pytest.raises(MnemicError):
            salvage(damaged, tmp_path / "saved.db")
    assert path.read_bytes() == before
    assert not (tmp_path / "saved.db").exists()
    with closing(SQLiteStore(path)) as store:
        assert store.spaces() == ("default",)
