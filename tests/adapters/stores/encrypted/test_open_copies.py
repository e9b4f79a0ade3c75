"""Copies of a store that are open while text is erased in another one, with the same keys."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias, cast

import pytest

from mnemic.adapters.checkpoints.writer import TAIL_MIN
from mnemic.adapters.codec import Codec
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.history import PROGRESS_EVERY
from mnemic.adapters.stores.encrypted import EncryptedStore, KeyTable
from mnemic.adapters.stores.encrypted.cipher import Key
from mnemic.adapters.stores.encrypted.erasures import Account
from mnemic.adapters.stores.opening import open_store
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.adapters.transfer.copies.copying import CopyContext, behind
from mnemic.kernel.errors import SpaceErased
from mnemic.kernel.events import SessionStarted
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.ports import TryWriteLock

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
    """Append an event to a store past everything that looks for erasures."""
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


@pytest.mark.parametrize("read_only", [True, False])
def test_an_open_copy_shows_the_erasure_from_its_next_operation_on(
    opened: Open,
    path: Path,
    read_only: bool,  # noqa: FBT001
) -> None:
    memory = opened()
    secret, other = story(memory)
    backup = copied(path, "backup.db")
    stored = backup.read_bytes()
    copy = opened(backup, read_only=read_only)
    before = copy.status().version
    assert copy.block(secret).content == STORY
    assert says_zanzibar(copy)
    memory.erase(secret)
    assert copy.block(secret).archive_reason == "erased"
    assert (copy.block(secret).content, copy.block(other).content) == (
        None,
        "the garden code is four",
    )
    assert not says_zanzibar(copy)
    assert copy.as_of(version=before).block(secret).content is None
    checked = copy.verify()
    assert (checked.sound, checked.events) == (True, before + 2)
    assert backup.read_bytes() == stored


@pytest.mark.parametrize("first", ["verify", "status", "recall", "export", "receipt"])
def test_every_operation_notices_the_erasure(
    opened: Open, path: Path, tmp_path: Path, first: str
) -> None:
    memory = opened()
    secret, _ = story(memory)
    decision = str(memory.recall("vault code").decision_id)
    copy = opened(copied(path, "backup.db"))
    before = copy.status().version
    memory.erase(secret)
    asked: dict[str, Callable[[], bool]] = {
        "verify": lambda: copy.verify().sound,
        "status": lambda: copy.status().version == before + 1,
        "recall": lambda: "zanzibar" not in copy.recall("vault code").text,
        "export": lambda: copy.export(tmp_path / "export.jsonl").events == before + 2,
        "receipt": lambda: copy.verify_receipt(copy.receipt(decision)).holds,
    }
    assert asked[first]()
    assert copy.verify().sound


def test_the_next_command_of_a_copy_matches_its_log(opened: Open, path: Path) -> None:
    """Although it recorded the erasure at another time, and a checkpoint is due at once."""
    clock = ManualClock()
    memory = opened(clock=clock)
    secret, _ = story(memory)
    for _ in range(0, TAIL_MIN, 100):
        memory.learn_many([f"{clock.advance(seconds=1)} garden {each}" for each in range(100)])
    backup = copied(path, "backup.db")
    copy, other = opened(backup, clock=clock), opened(backup, clock=clock)
    learned, at = copy.status().version, date(clock)
    clock.advance(hours=1)
    memory.erase(secret)
    assert [each.status().version for each in (copy, other)] == [learned + 1] * 2
    copy.learn("a copy goes on as a memory")
    for each in (copy, other):
        each.close()
    again = opened(backup)
    assert [each.version for each in again.checkpoints()] == [learned + 2]
    assert again.as_of(at=at).status().version == learned


def test_the_next_command_of_a_copy_records_the_erasure_once(opened: Open, path: Path) -> None:
    memory = opened()
    secret, other = story(memory)
    backup = copied(path, "backup.db")
    one, two = opened(backup, actor="one"), opened(backup, actor="two")
    before = one.status().version
    memory.erase(secret)
    assert [each.block(secret).archive_reason for each in (one, two)] == ["erased"] * 2
    learned = one.learn("a copy goes on as a memory").block_id
    assert two.block(learned).content == "a copy goes on as a memory"
    assert two.learn("and so does its reader").action == "created"
    for each in (one, two, opened(backup)):
        assert each.status().version == before + 3
        assert each.block(secret).archive_reason == "erased"
        assert each.block(other).content == "the garden code is four"
        assert each.verify().sound
    event = next(each for each in one.log() if each.version == before + 1)
    assert (event.kind, event.actor) == ("block-erased", "one")


def test_a_copy_takes_the_write_lock_as_its_store_does(path: Path, keys: Path) -> None:
    copy_context = CopyContext(clock=ManualClock(0), entropy=SeededEntropy("x"), actor="x")
    with closing(open_store(path, keys=keys)) as store, closing(open_store(path)) as other:
        assert isinstance(store, EncryptedStore)
        answer = cast("TryWriteLock", store.accounted("default", copy_context, read_only=False))
        with answer.try_write_lock() as is_ours:
            assert is_ours
        with other.log("default").write_lock(), answer.try_write_lock() as is_ours:
            assert not is_ours


def test_no_erasure_is_added_during_an_append(opened: Open, path: Path, keys: Path) -> None:
    memory = opened()
    secret, _ = story(memory)
    copy_context = CopyContext(clock=ManualClock(0), entropy=SeededEntropy("x"), actor="x")
    with closing(open_store(copied(path, "backup.db"), keys=keys)) as store:
        assert isinstance(store, EncryptedStore)
        log = store.log("default")
        answer = store.accounted("default", copy_context, read_only=False)
        with answer.write_lock():
            before, epoch = answer.head(), answer.log_epoch
            memory.erase(secret)
            assert [answer.log_epoch, answer.log_epoch] == [epoch + 1] * 2
            assert (answer.head(), log.head()) == (before, before)
            assert answer.digest_at(before.version + 1) is None
        assert answer.log_epoch == epoch + 2
        assert (answer.head().version, log.head()) == (before.version + 1, before)


def test_an_erasure_during_verification_is_not_damage(opened: Open, path: Path) -> None:
    memory = opened()
    for first in range(0, PROGRESS_EVERY, 100):
        memory.learn_many([f"garden {first + each}" for each in range(100)])
    secret, _ = story(memory)
    copy = opened(copied(path, "backup.db"))

    def erase(done: int, _: int) -> None:
        if done == PROGRESS_EVERY and copy.block(secret).content is not None:
            memory.erase(secret)
            assert copy.block(secret).content is None

    checked = copy.verify(erase)
    assert (checked.sound, checked.events) == (True, copy.status().version + 1)


def test_a_reader_follows_a_copy_that_diverges(opened: Open, path: Path, keys: Path) -> None:
    """Through a program that does not know of the erasure, at the versions shown to the reader."""
    memory = opened()
    secret, other = story(memory)
    backup = copied(path, "backup.db")
    reader = opened(backup, read_only=True)
    before = reader.status().version
    memory.erase(secret)
    assert reader.status().version == before + 1
    go_on(backup, keys)
    assert reader.status().version == before + 2
    assert reader.block(secret).archive_reason == "erased"
    assert reader.block(other).content == "the garden code is four"
    assert opened(backup).status().version == before + 2
    assert reader.status().version == before + 2
    assert reader.verify() == opened(backup).verify()


def test_an_erased_space_is_erased_in_open_copies(opened: Open, path: Path) -> None:
    memory = opened()
    story(memory)
    copy = opened(copied(path, "backup.db"))
    memory.erase_space("default")
    assert {block.content for block in copy.blocks(status=None).items} == {None}
    with pytest.raises(SpaceErased):
        copy.learn("nothing new")
    assert copy.verify().payloads == 0


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


def test_an_open_view_drops_the_erased_text(opened: Open, path: Path) -> None:
    memory = opened()
    secret, _ = story(memory)
    copy = opened(copied(path, "backup.db"))
    view = copy.as_of(version=copy.status().version)
    held = memory.as_of(version=memory.status().version)
    assert (view.block(secret).content, held.block(secret).content) == (STORY, STORY)
    opened().erase(secret)
    assert held.block(secret).content is None
    assert view.block(secret).content is None


def test_an_erasure_destroys_checkpoints_of_an_open_copy(opened: Open, path: Path) -> None:
    memory = opened()
    secret, _ = story(memory)
    copy = opened(copied(path, "backup.db"))
    assert copy.checkpoint().state == "valid"
    memory.erase(secret)
    assert copy.checkpoints() == ()
    assert copy.checkpoint().state == "valid"
    copy.learn("later")
    assert copy.block(secret).content is None
    assert copy.verify().sound


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
