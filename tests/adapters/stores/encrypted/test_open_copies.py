"""Copies of a store that are open while text is erased in another one, with the same keys."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import pytest

from mnemic.adapters.checkpoints.writer import TAIL_MIN
from mnemic.adapters.codec import Codec
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.encrypted import KeyTable
from mnemic.adapters.stores.encrypted.cipher import Key
from mnemic.adapters.stores.encrypted.erasures import Account
from mnemic.adapters.stores.opening import open_store
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.adapters.transfer.copies.copying import CopyContext, behind
from mnemic.kernel.errors import HistoryReplaced, SpaceErased
from mnemic.kernel.events import SessionStarted
from mnemic.kernel.model.identity import SessionId

Open: TypeAlias = Callable[..., SyncMemory]

STORY = "the vault code is mellifluous zanzibar"


def copied(path: Path, name: str) -> Path:
    """Return a copy of the store, made while it is open."""
    copy = path.with_name(name)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    return copy


def story(memory: SyncMemory) -> tuple[str, str]:
    """Write a history in which a secret touches its neighbour, and return both."""
    secret = memory.learn(STORY, tags=["conspiracy"], author="Wilhelmina").block_id
    other = memory.learn("the garden code is four").block_id
    memory.consolidate()
    memory.connect(secret, other, "supports", note="whispered by the gate", if_exists="update")
    return secret, other


def says_zanzibar(memory: SyncMemory) -> bool:
    found = memory.recall("vault code", record=False).text
    return "zanzibar" in f"{found} {memory.history()} {memory.blocks(status=None)}"


def date(clock: ManualClock) -> datetime:
    return datetime.fromtimestamp(clock.now_us() / 1e6, tz=UTC)


def go_on(path: Path, keys: Path) -> None:
    """Append an event to a store past everything that records erasures."""
    with closing(open_store(path, keys=keys)) as store:
        log = store.log("default")
        head = log.head().version
        ((record, payloads),) = log.read(head - 1, head)
        last = Codec(SeededEntropy("late")).decode(record, payloads)
        copy_context = CopyContext(
            clock=ManualClock(last.recorded_us), entropy=SeededEntropy("late"), actor="late"
        )
        started = SessionStarted(session_id=SessionId("s"))
        log.append(behind(last, [started], copy_context), (), after=log.head())


def test_a_copy_is_opened_with_the_erasures_made_elsewhere(opened: Open, path: Path) -> None:
    memory = opened()
    secret, other = story(memory)
    backup = copied(path, "backup.db")
    before = memory.status().version
    memory.erase(secret)
    copy = opened(backup)
    assert copy.status().version == before + 1
    assert copy.block(secret).archive_reason == "erased"
    assert copy.block(other).content == "the garden code is four"
    assert not says_zanzibar(copy)
    assert copy.as_of(version=before).block(secret).content is None
    assert (copy.verify().sound, copy.verify().events) == (True, before + 2)


def test_a_reader_is_shown_the_erasures_and_writes_nothing(opened: Open, path: Path) -> None:
    memory = opened()
    secret, other = story(memory)
    backup = copied(path, "backup.db")
    stored, before = backup.read_bytes(), memory.status().version
    memory.erase(secret)
    copies = [opened(backup, read_only=True) for _ in range(2)]
    for copy in copies:
        assert copy.block(secret).archive_reason == "erased"
        assert copy.block(other).content == "the garden code is four"
        assert not says_zanzibar(copy)
        assert copy.as_of(version=before).block(secret).content is None
        assert (copy.verify().sound, copy.verify().events) == (True, before + 2)
        assert copy.verify().head == copies[0].verify().head
    assert backup.read_bytes() == stored


def test_an_open_copy_records_the_erasure_once_with_its_next_command(
    opened: Open, path: Path
) -> None:
    memory = opened()
    secret, other = story(memory)
    backup = copied(path, "backup.db")
    one, two = opened(backup, actor="one"), opened(backup, actor="two")
    held, before = one.as_of(version=one.status().version), one.status().version
    assert says_zanzibar(one)
    memory.erase(secret)
    learned = one.learn("a copy goes on as a memory").block_id
    assert held.block(secret).content is None
    assert two.block(learned).content == "a copy goes on as a memory"
    assert two.learn("and so does its reader").action == "created"
    for each in (one, two, opened(backup)):
        assert each.status().version == before + 3
        assert each.block(secret).archive_reason == "erased"
        assert each.block(other).content == "the garden code is four"
        assert each.verify().sound
    event = next(each for each in one.log() if each.version == before + 1)
    assert (event.kind, event.actor) == ("block-erased", "one")


def test_slow_decisions_of_a_copy_follow_the_erasure_too(opened: Open, path: Path) -> None:
    """They are made before the write lock is taken."""
    memory = opened()
    secret, _ = story(memory)
    copy = opened(copied(path, "backup.db"))
    memory.erase(secret)
    recalled = copy.recall("vault code")
    assert recalled.decision_id is not None
    assert "zanzibar" not in copy.recall("vault code").text
    assert copy.verify().sound
    assert copy.replay(recalled.decision_id).outcome == "sealed"


@pytest.mark.parametrize("read_only", [True, False])
def test_text_erased_elsewhere_is_neither_damaged_nor_missing(
    opened: Open,
    path: Path,
    tmp_path: Path,
    read_only: bool,  # noqa: FBT001
) -> None:
    """Although the open copy knows of the erasure only by the keys that are gone."""
    memory = opened()
    secret, _ = story(memory)
    copy = opened(copied(path, "backup.db"), read_only=read_only, checkpoints=False)
    memory.erase(secret)
    assert copy.verify().sound
    assert copy.status().alerts == ()
    copy.export(tmp_path / "export.jsonl")
    assert b"zanzibar" not in (tmp_path / "export.jsonl").read_bytes()
    imported = SyncMemory.import_space(tmp_path / "export.jsonl", tmp_path / "imported.db")
    assert imported.erasures == (secret,)
    copy.fork("forked", into=tmp_path / "forked.db")
    forked = opened(tmp_path / "forked.db", space="forked")
    assert forked.block(secret).archive_reason == "erased"


def test_a_folded_anew_reader_has_neither_the_text_nor_losses(
    opened: Open, path: Path, keys: Path
) -> None:
    """After another program appended without the keys behind the events that it was shown."""
    memory = opened()
    secret, other = story(memory)
    backup = copied(path, "backup.db")
    memory.erase(secret)
    reader = opened(backup, read_only=True)
    before = reader.status().version
    go_on(backup, keys)
    with pytest.raises(HistoryReplaced):
        reader.status()
    assert reader.status().version == before
    assert reader.block(secret).content is None
    assert reader.block(other).content == "the garden code is four"
    assert reader.verify().sound
    again = opened(backup)
    assert reader.status().version == again.status().version == before + 1
    assert reader.block(secret).archive_reason == "erased"


def test_the_next_command_of_a_copy_writes_a_checkpoint_of_its_log(
    opened: Open, path: Path
) -> None:
    """Although it recorded the erasure at another time, and a checkpoint is due at once."""
    clock = ManualClock()
    memory = opened(clock=clock)
    secret, _ = story(memory)
    for _ in range(0, TAIL_MIN, 100):
        memory.learn_many([f"{clock.advance(seconds=1)} garden {each}" for each in range(100)])
    backup = copied(path, "backup.db")
    copy = opened(backup, clock=clock)
    learned, at = copy.status().version, date(clock)
    clock.advance(hours=1)
    memory.erase(secret)
    copy.learn("a copy goes on as a memory")
    copy.close()
    again = opened(backup)
    assert [each.version for each in again.checkpoints()] == [learned + 2]
    assert again.as_of(at=at).status().version == learned


def test_an_erased_space_is_erased_in_copies(opened: Open, path: Path, tmp_path: Path) -> None:
    memory = opened()
    story(memory)
    backup = copied(path, "backup.db")
    copy = opened(backup)
    memory.erase_space("default")
    assert copy.verify().sound
    with pytest.raises(SpaceErased):
        copy.export(tmp_path / "export.jsonl")
    with pytest.raises(SpaceErased):
        copy.learn("nothing new")
    assert {block.content for block in copy.blocks(status=None).items} == {None}
    assert copy.verify().payloads == 0
    assert opened(backup, read_only=True).verify().payloads == 0


def test_an_erasure_destroys_checkpoints_of_an_open_copy(opened: Open, path: Path) -> None:
    memory = opened()
    secret, _ = story(memory)
    copy = opened(copied(path, "backup.db"))
    assert copy.checkpoint().state == "valid"
    memory.erase(secret)
    copy.learn("later")
    assert copy.checkpoints() == ()
    assert copy.checkpoint().state == "valid"
    assert copy.block(secret).content is None
    assert copy.verify().sound


def test_own_erasures_and_those_of_other_spaces_add_no_events(opened: Open, keys: Path) -> None:
    memory, other = opened(), opened(space="other")
    secret, _ = story(memory)
    foreign = other.learn(STORY).block_id
    other.erase(foreign)
    before = memory.status().version
    memory.erase(secret)
    assert memory.status().version == before + 1
    assert opened(read_only=True).status().version == before + 1
    with closing(KeyTable(keys, read_only=True)) as table:
        assert table.generation() == 2


def test_keys_cached_before_an_erasure_are_dropped_after_it(keys: Path) -> None:
    """By a thread that is slow to store it."""

    class SlowTable(KeyTable):
        late: Callable[[], object] | None = None

        def _key(self, name: bytes, secret: bytes, *rest: object) -> Key | None:
            late, self.late = self.late, None
            if late is not None:
                late()
            return super()._key(name, secret, *rest)

    with closing(KeyTable(keys)) as table, closing(SlowTable(keys)) as reader:
        space = table.begin("home", b"genesis")
        name = table.keys(space, {"a"})["a"].name
        erased = table.intend(space, {"a"}, Account(1, b"digest"))

        def erase() -> None:
            table.fulfil(erased)
            reader.refresh(None)

        reader.late = erase
        assert reader.find([name]) is not None
        assert reader.find([name]) is None
