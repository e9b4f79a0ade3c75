"""A standby takes over from a killed primary while memories are open."""

from __future__ import annotations

from contextlib import closing, suppress

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.kernel.errors import HistoryReplaced, SpaceNotFound, StoreFailed
from mnemic.kernel.ports import Head
from tests.adapters.stores.postgres.repeating_writers import acknowledged, lost, writing
from tests.adapters.stores.postgres.server_group import ServerGroup, server_group, until

pytestmark = pytest.mark.extended

BEFORE, AFTER = 100, 20
"""Commands that are acknowledged at least before the primary is killed, and after."""
SPACE = "default"


def test_nothing_acknowledged_is_lost_with_a_synchronous_standby() -> None:
    with server_group(synchronous=True) as pair:
        address = f"{pair.address}&answer_timeout=5"
        with (
            SyncMemory.open(address) as one,
            SyncMemory.open(address) as other,
            writing([(one, "one"), (one, "two"), (other, "three")]) as writers,
        ):
            until(lambda: acknowledged(writers) >= BEFORE)
            pair.fail_over()
            least = {each.name: len(each.versions) + AFTER for each in writers}
            until(lambda: all(len(each.versions) >= least[each.name] for each in writers))
        with SyncMemory.open(pair.standby) as survivor:
            assert survivor.verify().sound
            head = survivor.status().version
            assert lost(survivor, writers) == []
            assert survivor.status().version == head  # nothing was written twice


def test_what_an_asynchronous_standby_lacks_is_shown_by_digests() -> None:
    with server_group(synchronous=False) as pair:
        with SyncMemory.open(pair.address) as memory:
            acknowledged_heads = [_learned(memory, pair, f"Fact {number}.") for number in range(9)]
            until(lambda: _head(pair.standby) == acknowledged_heads[-1])
            pair.cut_off()
            missing = [_learned(memory, pair, f"Late fact {number}.") for number in range(5)]
        pair.fail_over()
        with closing(PostgresStore(pair.standby)) as store:
            log = store.log(SPACE, create=False)
            assert log.head() == acknowledged_heads[-1]
            assert [log.digest_at(each.version) for each in missing] == [None] * 5
        with SyncMemory.open(pair.standby) as survivor:
            for number in range(6):
                survivor.learn(f"New fact {number}.")
            assert survivor.verify().sound
        with closing(PostgresStore(pair.standby)) as store:
            log = store.log(SPACE, create=False)
            for head in acknowledged_heads:
                assert log.digest_at(head.version) == head.digest
            for head in missing:
                assert log.digest_at(head.version) not in {None, head.digest}


def test_an_open_memory_names_the_version_from_which_its_history_was_replaced() -> None:
    with server_group(synchronous=False) as pair, SyncMemory.open(pair.address) as memory:
        kept = _learned(memory, pair, "The demo is on Thursday.")
        until(lambda: _head(pair.standby) == kept)
        pair.cut_off()
        lost = memory.learn("Ines leads it.", command_id="learn-1").version
        pair.fail_over()
        with SyncMemory.open(pair.standby) as survivor:
            assert survivor.learn("Jonas leads it.").version == lost
        with pytest.raises(HistoryReplaced) as caught:
            memory.learn("The room is on the third floor.")
        assert caught.value.facts["version"] == lost
        assert memory.learn("Ines leads it.", command_id="learn-1").version == lost + 1
        assert memory.verify().sound


def _learned(memory: SyncMemory, pair: ServerGroup, text: str) -> Head:
    """Return where the log ends on the primary when *memory* has learned *text*."""
    memory.learn(text)
    head = _head(pair.primary)
    assert head is not None
    return head


def _head(address: str) -> Head | None:
    """Return where the log ends on a server; None: the store has not reached it yet."""
    with (
        suppress(StoreFailed, SpaceNotFound),
        closing(PostgresStore(address, read_only=True)) as store,
    ):
        return store.log(SPACE, create=False).head()
    return None
