"""Copies of a store that are open while another one is asked to erase, under the same keys."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias, cast

import pytest

from mnemic.adapters.checkpoints.keeper import TAIL_MIN
from mnemic.adapters.clocks import ManualClock
from mnemic.adapters.codec import Codec
from mnemic.adapters.encryption import EncryptedLog, KeyTable
from mnemic.adapters.encryption.cipher import Key
from mnemic.adapters.encryption.erasures import Account
from mnemic.adapters.encryption.telling import ToldLog
from mnemic.adapters.entropy import SeededEntropy
from mnemic.adapters.exchange.copying import Hands, behind
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.history import PROGRESS_EVERY
from mnemic.adapters.stores.opening import open_store
from mnemic.kernel.errors import SpaceErased
from mnemic.kernel.events import SessionStarted
from mnemic.kernel.identity import SessionId
from mnemic.kernel.ports import Prompt

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
        hands = Hands(
            clock=ManualClock(last.recorded_us), entropy=SeededEntropy("late"), actor="late"
        )
        started = SessionStarted(session_id=SessionId("s"))
        log.append(behind(last, [started], hands), ())


@pytest.mark.parametrize("read_only", [True, False])
def test_an_open_copy_shows_the_block_as_erased_from_its_next_verb_on(
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
def test_whatever_is_asked_first_knows_of_it(
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


def test_what_a_copy_keeps_of_its_next_command_is_what_its_log_tells(
    opened: Open, path: Path
) -> None:
    """Though it was told of the erasure as of another time, and a checkpoint is due at once."""
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


def test_the_next_command_of_a_copy_writes_it_down_once(opened: Open, path: Path) -> None:
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


def test_a_copy_asks_for_the_turn_as_its_store_does(path: Path, keys: Path) -> None:
    hands = Hands(clock=ManualClock(0), entropy=SeededEntropy("x"), actor="x")
    with closing(open_store(path, keys=keys)) as store, closing(open_store(path)) as other:
        log = store.log("default")
        assert isinstance(log, EncryptedLog)
        told = cast("Prompt", log.accounted(hands, read_only=False))
        with told.writing_if_free() as is_ours:
            assert is_ours
        with other.log("default").writing(), told.writing_if_free() as is_ours:
            assert not is_ours


def test_nothing_is_told_behind_the_end_of_a_log_while_somebody_appends_to_it(
    opened: Open, path: Path, keys: Path
) -> None:
    memory = opened()
    secret, _ = story(memory)
    hands = Hands(clock=ManualClock(0), entropy=SeededEntropy("x"), actor="x")
    with closing(open_store(copied(path, "backup.db"), keys=keys)) as store:
        log = store.log("default")
        assert isinstance(log, EncryptedLog)
        told = cast("ToldLog", log.accounted(hands, read_only=False))
        with told.writing():
            before, recast = told.head(), told.recast
            memory.erase(secret)
            assert [told.recast, told.recast] == [recast + 1] * 2
            assert (told.head(), log.head()) == (before, before)
            assert told.digest_at(before.version + 1) is None
        assert told.recast == recast + 2
        assert (told.head().version, log.head()) == (before.version + 1, before)


def test_a_copy_is_no_less_sound_for_what_is_erased_while_it_is_verified(
    opened: Open, path: Path
) -> None:
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


def test_a_reader_follows_a_copy_that_goes_on_otherwise(
    opened: Open, path: Path, keys: Path
) -> None:
    """By a program that does not know of the erasure, at the versions that the reader was told."""
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
    memory.erase_space()
    assert {block.content for block in copy.blocks(status=None).items} == {None}
    with pytest.raises(SpaceErased):
        copy.learn("nothing new")
    assert copy.verify().payloads == 0


def test_erasures_of_other_spaces_and_of_its_own_tell_a_log_nothing(
    opened: Open, keys: Path
) -> None:
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


def test_an_open_view_lets_go_of_the_words_too(opened: Open, path: Path) -> None:
    memory = opened()
    secret, _ = story(memory)
    copy = opened(copied(path, "backup.db"))
    view = copy.as_of(version=copy.status().version)
    held = memory.as_of(version=memory.status().version)
    assert (view.block(secret).content, held.block(secret).content) == (STORY, STORY)
    opened().erase(secret)
    assert held.block(secret).content is None
    assert view.block(secret).content is None


def test_checkpoints_of_an_open_copy_go_with_its_words(opened: Open, path: Path) -> None:
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


def test_what_was_looked_up_before_an_erasure_is_not_remembered_after_it(keys: Path) -> None:
    """By a thread that is slow to put it down."""

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
