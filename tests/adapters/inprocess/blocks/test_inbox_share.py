"""Writers of a zone that is not fully trusted have a share of the inbox."""

from __future__ import annotations

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import FieldRefused, InboxFull
from mnemic.kernel.policy import Policy
from tests.adapters.inprocess.conftest import Open

SHARE = 5
SMALL = Policy(inbox_zone_max=SHARE, auto_consolidate=False)


def texts(count: int, word: str = "note") -> list[str]:
    return [f"{word} {n}" for n in range(count)]


@pytest.fixture
def memory(opened: Open) -> SyncMemory:
    return opened(policy=SMALL)


@pytest.fixture
def mailbox(memory: SyncMemory) -> SyncMemory:
    return memory.session_handle(actor="mailbox", zone="untrusted")


def test_a_zone_has_a_share_of_the_inbox(memory: SyncMemory, mailbox: SyncMemory) -> None:
    for text in texts(SHARE):
        mailbox.learn(text)
    with pytest.raises(InboxFull) as caught:
        mailbox.learn("one more")
    assert (caught.value.status, caught.value.facts) == (429, {"zone": "untrusted", "most": SHARE})
    assert memory.status().inbox == SHARE


def test_the_share_is_that_of_all_writers_of_a_zone(
    memory: SyncMemory, mailbox: SyncMemory
) -> None:
    mailbox.learn_many(texts(SHARE))
    with pytest.raises(InboxFull):
        memory.session_handle(actor="crawler", zone="untrusted").learn("one more")


def test_writers_of_higher_zones_are_not_limited_by_it(
    memory: SyncMemory, mailbox: SyncMemory
) -> None:
    mailbox.learn_many(texts(SHARE))
    memory.session_handle(actor="agent", zone="trusted").learn_many(texts(SHARE + 1, "fact"))
    memory.learn_many([{"content": text, "source": "web"} for text in texts(SHARE + 1, "page")])
    assert memory.status().inbox == 3 * SHARE + 2


def test_what_is_known_needs_no_room(mailbox: SyncMemory) -> None:
    mailbox.learn_many(texts(SHARE))
    assert mailbox.learn("note 0").action in {"duplicate", "restated"}


def test_a_batch_is_learned_as_far_as_there_is_room(mailbox: SyncMemory) -> None:
    mailbox.learn_many(texts(2, "early"))
    result = mailbox.learn_many(texts(SHARE))
    assert len(result.results) == SHARE - 2
    assert [(each.position, each.code) for each in result.refused] == [
        (3, "inbox-full"),
        (4, "inbox-full"),
    ]
    with pytest.raises(InboxFull):
        mailbox.learn_many(texts(2, "late"))


def test_a_batch_larger_than_the_share_is_refused_at_once(mailbox: SyncMemory) -> None:
    with pytest.raises(FieldRefused) as caught:
        mailbox.learn_many(texts(SHARE + 1))
    assert caught.value.facts["field"] == "lessons"


def test_promotion_makes_room(memory: SyncMemory, mailbox: SyncMemory) -> None:
    mailbox.learn_many(texts(SHARE))
    memory.consolidate()
    assert mailbox.learn("one more").action == "created"


def test_a_full_inbox_is_emptied_in_the_background(opened: Open) -> None:
    memory = opened(policy=Policy(inbox_zone_max=SHARE))
    mailbox = memory.session_handle(actor="mailbox", zone="untrusted")
    mailbox.learn_many(texts(SHARE))
    with pytest.raises(InboxFull):
        mailbox.learn("one more")
    assert memory._inbox_worker.wait(30)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    assert mailbox.learn("one more").action == "created"


def test_policies_adopted_before_the_share_have_none() -> None:
    assert Policy.parse("{}").inbox_zone_max == 1_000_000
