"""An open memory whose log is replaced by another history says so, once to each caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from numpy.typing import NDArray

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.known_history import HEADS_MAX, KnownHistory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import CommandIdReused, HistoryReplaced, LogCorrupt, VersionConflict
from mnemic.kernel.ports import Head, Record
from tests.agreement.two_histories import (
    SPACE,
    ExchangedLog,
    ExchangedStore,
    copied,
    memory,
)

CLOCK = ManualClock()


class Pair:
    """A memory with two blocks, open on a log that may become a copy of its beginning."""

    def __init__(self, **more: Any) -> None:
        self.primary = MemoryStore()
        with memory(self.primary, CLOCK, seed="common") as begun:
            begun.learn("the gate opens at six")
            begun.learn("the gate closes at nine")
        self.standby = copied(self.primary, events=self.primary.log(SPACE).head().version + 1)
        """A copy of what there was when the process opened the memory."""
        self.log = ExchangedLog([store.log(SPACE) for store in (self.primary, self.standby)])
        self.memory = memory(ExchangedStore(self.log), CLOCK, seed="process", **more)

    def write_elsewhere(self, *texts: str) -> None:
        """Let another process write to the standby."""
        with memory(self.standby, CLOCK, seed="another process") as other:
            for text in texts:
                other.learn(text)

    def found_by_the_next_open(self) -> set[str]:
        """Return the texts of the present log, which has to be sound."""
        with memory(ExchangedStore(self.log), CLOCK, seed="next", read_only=True) as opened:
            assert opened.verify().sound
            return texts(opened)


def texts(opened: SyncMemory) -> set[str]:
    items = opened.blocks(limit=100).items
    return {each.content for each in items if each.content is not None}


BEGINNING = {"the gate opens at six", "the gate closes at nine"}


@pytest.mark.parametrize(
    "elsewhere",
    [(), ("one",), ("one", "two"), ("one", "two", "three", "four")],
    ids=["shorter", "shorter, and written on", "to the same version", "to a longer one"],
)
def test_a_standby_without_the_last_events_is_not_mixed_with_them(
    elsewhere: Sequence[str],
) -> None:
    pair = Pair()
    pair.memory.learn("lost one")
    pair.memory.learn("lost two")
    pair.write_elsewhere(*elsewhere)
    pair.log.exchange()
    with pytest.raises(HistoryReplaced) as replaced:
        pair.memory.learn("after the failover")
    assert {name: replaced.value.facts[name] for name in ("version", "differs_at", "head")} == {
        "version": 4,
        "differs_at": 4,
        "head": 3 + len(elsewhere),
    }
    assert replaced.value.facts["acknowledged"] == [[4, 5]]
    assert "receipts from version 4 on are not covered" in replaced.value.message
    assert "command id" in replaced.value.recovery
    block = pair.memory.learn("after the failover").block_id
    assert pair.memory.block(block).content == "after the failover"
    expected = {*BEGINNING, *elsewhere, "after the failover"}
    assert texts(pair.memory) == pair.found_by_the_next_open() == expected


@pytest.mark.parametrize(
    "query", ["blocks", "recall", "status", "log", "verify", "learn", "consolidate"]
)
def test_no_operation_answers_from_the_lost_past(query: str) -> None:
    pair = Pair()
    pair.memory.learn("lost")
    pair.log.exchange()
    questions: dict[str, Callable[[], object]] = {
        "blocks": pair.memory.blocks,
        "recall": lambda: pair.memory.recall("gate", record=False),
        "status": pair.memory.status,
        "log": pair.memory.log,
        "verify": pair.memory.verify,
        "learn": lambda: pair.memory.learn("the gate opens at six"),  # it is known already
        "consolidate": pair.memory.consolidate,
    }
    ask = questions[query]
    with pytest.raises(HistoryReplaced):
        ask()
    ask()
    assert texts(pair.memory) == BEGINNING


def test_a_command_that_the_log_lost_is_decided_anew_under_its_id() -> None:
    pair = Pair()
    first = pair.memory.learn("said once", command_id="c")
    assert pair.memory.learn("said once", command_id="c").block_id == first.block_id
    pair.log.exchange()
    with pytest.raises(HistoryReplaced):
        pair.memory.learn("said once", command_id="c")
    pair.memory.learn("said once", command_id="c")
    assert "said once" in pair.found_by_the_next_open()


def test_a_command_id_that_the_other_history_used_is_that_of_its_command() -> None:
    pair = Pair()
    pair.memory.learn("lost")
    with memory(pair.standby, CLOCK, seed="another process", actor="ines") as other:
        other.learn("what the other one says", command_id="c")
    ines = pair.memory.session_handle(actor="ines")
    pair.log.exchange()
    with pytest.raises(HistoryReplaced):
        ines.learn("something else", command_id="c")
    with pytest.raises(CommandIdReused):
        ines.learn("something else", command_id="c")
    assert ines.learn("what the other one says", command_id="c").block_id
    assert pair.found_by_the_next_open() == {*BEGINNING, "what the other one says"}


def test_every_session_handle_is_told_once() -> None:
    pair = Pair()
    pair.memory.learn("lost")
    one, two = pair.memory.session_handle(actor="one"), pair.memory.session_handle(actor="two")
    pair.log.exchange()
    with pytest.raises(HistoryReplaced):
        one.blocks()
    later = pair.memory.session_handle(actor="later")
    for handle in (pair.memory, two):
        with pytest.raises(HistoryReplaced) as replaced:
            handle.learn("from a caller who knew the other past")
        assert replaced.value.facts["acknowledged"] == [[4, 4]]
    for handle in (pair.memory, one, two, later):
        assert texts(handle) == BEGINNING
    assert any("history of this log was replaced" in each for each in one.status().alerts)


def test_a_version_that_was_expected_of_the_other_history_is_not_that_of_this_one() -> None:
    pair = Pair()
    pair.memory.learn("lost")
    expecting = pair.memory.session_handle(actor="one", version=4)
    pair.write_elsewhere("another event at version four")
    pair.log.exchange()
    with pytest.raises(HistoryReplaced):
        pair.memory.blocks()
    with pytest.raises(HistoryReplaced):
        expecting.learn("decided on what version four said")


def test_a_view_of_the_past_does_not_move_to_another_history() -> None:
    pair = Pair()
    pair.memory.learn("lost")
    view = pair.memory.as_of(version=4)
    assert "lost" in {block.content for block in view.blocks().items}
    pair.write_elsewhere("another event at version four")
    pair.log.exchange()
    for _ in range(3):
        with pytest.raises(HistoryReplaced):
            view.blocks()
    found = pair.memory.as_of(version=4).blocks()
    assert {block.content for block in found.items} == {
        *BEGINNING,
        "another event at version four",
    }


def test_an_answer_found_in_the_lost_past_is_not_recorded_in_another_one() -> None:
    """Another thread of the same caller was told while this one computed vectors."""

    class Exchanging(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[Any]:
            if pair.log.side == 0 and any("lost" in text for text in texts):
                pair.log.exchange()
                with pytest.raises(HistoryReplaced):
                    pair.memory.blocks()
            return super().embed(texts)

    pair = Pair()
    pair.memory.learn("lost and never found")
    pair.memory.close()
    pair.memory = SyncMemory.open(
        ExchangedStore(pair.log), space=SPACE, clock=CLOCK, embedder=Exchanging(16)
    )
    with pytest.raises(HistoryReplaced):
        pair.memory.consolidate()
    pair.memory.consolidate()
    assert pair.found_by_the_next_open() == BEGINNING


def test_an_exchange_back_and_forth_is_reported_each_time() -> None:
    pair = Pair()
    pair.memory.learn("on the primary")
    pair.write_elsewhere("on the standby")
    for _ in range(3):
        pair.log.exchange()
        with pytest.raises(HistoryReplaced):
            pair.memory.status()
        assert texts(pair.memory) == pair.found_by_the_next_open()


def test_a_log_that_only_went_on_is_the_same_history() -> None:
    pair = Pair()
    pair.write_elsewhere("one", "two")
    pair.log.exchange()
    assert texts(pair.memory) == {*BEGINNING, "one", "two"}


def test_a_checkpoint_names_the_history_that_it_was_folded_from(tmp_path: Any) -> None:
    pair = Pair(checkpoints=tmp_path)
    pair.memory.learn("lost")
    pair.write_elsewhere("another event at version four")
    writer = pair.memory._space.log_state.checkpoint_writer  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    assert writer is not None
    pair.log.exchange()
    writer.write()  # nobody has noticed yet
    with pytest.raises(HistoryReplaced):
        pair.memory.status()
    pair.memory.close()
    with memory(ExchangedStore(pair.log), CLOCK, seed="next", checkpoints=tmp_path) as opened:
        assert texts(opened) == {*BEGINNING, "another event at version four"}
        assert [each.state for each in opened.checkpoints()] in ([], ["stale"])


def test_an_event_that_cannot_be_folded_is_damage_when_catching_up() -> None:
    pair, other = Pair(), MemoryStore()
    with memory(other, CLOCK, seed="of another space") as far:
        far.connect(far.learn("one").block_id, far.learn("two").block_id, "supports")
    *_, (stranger, _) = other.log(SPACE).read()
    log = pair.primary.log(SPACE)
    log.append([stranger._replace(version=4)], (), after=log.head())
    for _ in range(2):
        with pytest.raises(LogCorrupt, match="is inconsistent") as damage:
            pair.memory.blocks()
        assert damage.value.facts["version"] == stranger.version
    with memory(pair.primary, CLOCK, seed="next", read_only=True) as opened:
        found = opened.verify()
        assert opened.status().version == 3
    assert (found.sound, found.first_bad_version) == (False, stranger.version)


def test_a_reader_ends_before_an_event_that_cannot_be_folded_when_catching_up() -> None:
    pair, other = Pair(), MemoryStore()
    with memory(other, CLOCK, seed="of another space") as far:
        far.connect(far.learn("one").block_id, far.learn("two").block_id, "supports")
    *_, (stranger, _) = other.log(SPACE).read()
    log = pair.primary.log(SPACE)
    with memory(pair.primary, CLOCK, seed="reader", read_only=True) as reader:
        log.append([stranger._replace(version=4)], (), after=log.head())
        for _ in range(2):
            assert texts(reader) == BEGINNING
        assert reader.status().version == 3
        assert any("is inconsistent" in each for each in reader.status().alerts)
        assert not reader.verify().sound


def test_a_stale_append_still_is_a_conflict() -> None:
    pair = Pair()
    log = pair.primary.log(SPACE)
    before = log.head()
    pair.memory.learn("faster")
    with pytest.raises(VersionConflict):
        log.append([Record(before.version + 1, "t.1", b"{}")], (), after=before)


# --- what is known --------------------------------------------------------------------------


def head(version: int, *, history: int = 0) -> Head:
    return Head(version, b"%d/%d" % (history, version))


def digests(parted: int, end: int) -> Any:
    """Return the digests of a log that has version *parted* and later ones from history 1."""

    def digest_at(version: int) -> bytes | None:
        if version > end:
            return None
        return head(version, history=int(version >= parted)).digest

    return digest_at


def test_the_place_where_two_histories_part_is_exact_where_heads_are_known() -> None:
    known = KnownHistory()
    known.begin(head(100), lambda version: head(version).digest)
    for version in range(101, 120):
        known.add(head(version), first=version if version % 2 else None)
    facts = known.parted_from(head(117, history=1), digests(110, 117)).facts
    assert (facts["version"], facts["differs_at"]) == (110, 110)
    assert facts["acknowledged"] == [[version, version] for version in range(111, 120, 2)]
    assert facts["acknowledged_count"] == 5


@pytest.mark.parametrize("parted", [0, 1, 40, 83, 84, 96, 99])
def test_before_the_opening_it_is_known_within_bounds(parted: int) -> None:
    known = KnownHistory()
    known.begin(head(100), lambda version: head(version).digest)
    facts: dict[str, Any] = known.parted_from(head(150, history=1), digests(parted, 150)).facts
    assert facts["version"] <= parted <= facts["differs_at"]
    assert facts["differs_at"] - facts["version"] < 4 * (101 - parted)


def test_few_heads_are_kept_and_the_newest_are_complete() -> None:
    known = KnownHistory()
    known.begin(head(0), lambda version: head(version).digest)
    for version in range(1, 10 * HEADS_MAX):
        known.add(head(version), first=version)
    last = 10 * HEADS_MAX - 1
    facts = known.parted_from(head(last - 1000), digests(last + 1, last - 1000)).facts
    assert (facts["version"], facts["differs_at"]) == (last - 999, last - 999)
    assert facts["acknowledged"] == [[last - 999, last]]
    assert len(known._heads) <= HEADS_MAX  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
