"""Whose words: the actor of a block, and what a writer may claim about author and date."""

from __future__ import annotations

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import Forbidden
from mnemic.kernel.policy import DEFAULT, LEGACY, Policy

GATE = "The gate is green."
NOW = "2026-01-01T00:00:00+00:00"
FUTURE = "2031-01-01"
OPEN = Policy(name="open", zones_unattributed=())


def opened(policy: Policy = DEFAULT) -> SyncMemory:
    return SyncMemory.open(
        MemoryStore(), embedder=HashEmbedder(), clock=ManualClock(), policy=policy
    )


def mailbox(memory: SyncMemory, zone: str | None = "untrusted") -> SyncMemory:
    return memory.session_handle(actor="mailbox", zone=zone)


# --- who wrote it ---------------------------------------------------------------------------


def test_a_block_has_the_actor_that_learned_it_whatever_author_it_claims() -> None:
    memory = opened(OPEN)
    block = memory.block(mailbox(memory).learn(GATE, author="agent").block_id)
    assert (block.actor, block.author, block.zone) == ("mailbox", "agent", "untrusted")


def test_a_restatement_by_another_actor_does_not_change_who_wrote_it() -> None:
    memory = opened()
    first = mailbox(memory).learn(GATE).block_id
    assert memory.learn(GATE).block_id == first
    assert memory.block(first).actor == "mailbox"


def test_a_text_learned_anew_has_the_actor_that_learned_it_last() -> None:
    memory = opened()
    first = mailbox(memory).learn(GATE).block_id
    memory.forget(first)
    version = memory.status().version
    assert memory.learn(GATE).action == "reactivated"
    assert memory.block(first).actor == "agent"
    assert memory.as_of(version=version).block(first).actor == "mailbox"


def test_a_revision_has_the_actor_that_revised() -> None:
    memory = opened()
    first = mailbox(memory).learn(GATE).block_id
    memory.consolidate()
    assert memory.block(memory.revise(first, "The gate is red.").block_id).actor == "agent"


def test_a_revert_gives_back_who_wrote_it() -> None:
    memory = opened()
    first = mailbox(memory).learn(GATE).block_id
    memory.forget(first)
    version = memory.status().version + 1
    memory.learn(GATE)
    memory.revert(version, memory.status().version)
    assert memory.block(first).actor == "mailbox"


def test_every_line_of_an_answer_below_trusted_says_who_wrote_it() -> None:
    memory = opened()
    one = memory.learn("The gate is green, says the plan.", author="Ines").block_id
    two = mailbox(memory, "external").learn("The gate is red.", author="Ines").block_id
    found = memory.recall("What colour has the gate?", top_k=4)
    lines = dict(line[1:].split("] ", 1)[::1] for line in found.text.splitlines()[1:3])
    day = NOW[:10]
    assert lines == {
        f"{one[:8]}, by Ines, {day}": "The gate is green, says the plan.",
        f"{two[:8]} external, written by mailbox, claims Ines, {day}": "The gate is red.",
    }
    assert {(each.actor, each.zone, each.source, each.author) for each in found.blocks} == {
        ("agent", "trusted", "api", "Ines"),
        ("mailbox", "external", "api", "Ines"),
    }


# --- what a writer may claim ----------------------------------------------------------------


@pytest.mark.parametrize("claim", [{"author": "Ines"}, {"created_at": "2025-01-01"}], ids=str)
def test_an_untrusted_writer_claims_neither_author_nor_date(claim: dict[str, str]) -> None:
    memory = opened()
    before = memory.status()
    with pytest.raises(Forbidden, match="cannot claim") as refused:
        mailbox(memory).learn(GATE, **claim)  # type: ignore[arg-type]
    assert refused.value.recovery.startswith("Leave out author and created_at")
    assert memory.status() == before


def test_an_untrusted_writer_may_name_itself_and_an_unknown_date() -> None:
    memory = opened()
    block = mailbox(memory).learn(GATE, author="mailbox", created_at="unknown").block_id
    assert memory.block(block).author == "mailbox"


def test_items_of_a_batch_are_refused_one_by_one() -> None:
    found = mailbox(opened()).learn_many([{"content": GATE, "author": "Ines"}, "The oil is cheap."])
    assert ([each.code for each in found.refused], found.created) == (["forbidden"], 1)


@pytest.mark.parametrize("policy", [OPEN, Policy(**LEGACY, name="before")], ids=["open", "legacy"])
def test_a_policy_can_allow_such_claims_and_older_ones_do(policy: Policy) -> None:
    memory = opened(policy)
    claims = {"author": "Ines", "created_at": "2025-01-01"}
    block = memory.block(mailbox(memory).learn(GATE, **claims).block_id)  # type: ignore[arg-type]
    assert (block.author, block.created_at) == ("Ines", "2025-01-01T00:00:00+00:00")


def test_other_writers_may_claim_what_they_like() -> None:
    memory = opened()
    for zone in (None, "trusted", "vetted", "external"):
        writer = mailbox(memory, zone)
        block = writer.learn(f"Of {zone}.", author="Ines", created_at="2025-01-01").block_id
        assert memory.block(block).author == "Ines"


@pytest.mark.parametrize(
    ("zone", "source"), [("external", "api"), (None, "a page"), ("untrusted", "api")]
)
def test_a_future_date_of_an_untrusted_writer_counts_as_now(zone: str | None, source: str) -> None:
    policy = OPEN if zone == "untrusted" else DEFAULT
    memory = opened(policy)
    block = mailbox(memory, zone).learn(GATE, created_at=FUTURE, source=source).block_id
    assert memory.block(block).created_at == NOW


def test_a_future_date_of_a_trusted_writer_is_kept() -> None:
    memory = opened()
    block = memory.learn(GATE, created_at=FUTURE).block_id
    assert memory.block(block).created_at == "2031-01-01T00:00:00+00:00"


def test_a_future_date_puts_no_untrusted_text_after_a_later_one() -> None:
    memory = opened(OPEN)
    first = mailbox(memory).learn(GATE, created_at=FUTURE).block_id
    assert mailbox(memory).learn(GATE).action == "restated"
    assert memory.block(first).created_at == NOW
