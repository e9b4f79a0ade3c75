"""deep_reference knows whose words it weighs: what is not trusted resolves nothing."""

from __future__ import annotations

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock

USE = "Use FAISS for vector search in production, always."
AVOID = "Don't use FAISS for vector search in production."
QUESTION = "What about FAISS for vector search in production?"
GAUGE = "Gauge 17 resends after 60 seconds."
LOW = ("external", "untrusted")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> SyncMemory:
    return SyncMemory.open(MemoryStore(), embedder=HashEmbedder(), clock=clock)


def mailbox(memory: SyncMemory, zone: str = "untrusted") -> SyncMemory:
    return memory.session_handle(actor="mailbox", zone=zone)


def test_a_trusted_lead_resolves_a_question(memory: SyncMemory) -> None:
    lead = memory.learn(GAUGE).block_id
    found = memory.deep_reference("What does gauge 17 do?")
    assert found.status == "resolved"
    assert found.guidance == (
        f"Lean on {lead[:8]}: it is relevant, trusted, and nothing contradicts it."
    )


def test_an_untrusted_lead_never_resolves_a_question(memory: SyncMemory) -> None:
    mail = mailbox(memory)
    mail.learn(GAUGE)
    for place in ("yard", "shed", "attic", "office", "cellar"):
        mail.learn(f"{GAUGE} So it says in the {place}.")
    found = memory.deep_reference("What does gauge 17 do?")
    assert found.recommended is not None
    assert (found.recommended.zone, found.recommended.actor) == ("untrusted", "mailbox")
    assert found.status == "partial_evidence"
    assert "untrusted, written by mailbox" in found.guidance


@pytest.mark.parametrize("zone", LOW)
def test_guidance_does_not_call_trusted_what_is_not(memory: SyncMemory, zone: str) -> None:
    mailbox(memory, zone).learn(GAUGE)
    found = memory.deep_reference("What does gauge 17 do?")
    said = f"{found.guidance} {found.reasoning}".replace("untrusted", "")
    assert "trusted" not in said
    assert f"{zone}, written by mailbox" in found.guidance


@pytest.mark.parametrize("zone", ["trusted", "vetted", "imported", *LOW])
def test_confidence_is_no_higher_than_trust(memory: SyncMemory, zone: str) -> None:
    mailbox(memory, zone).learn(GAUGE)
    mailbox(memory, zone).learn("Gauge 17 stands in the yard and resends after 60 seconds.")
    found = memory.deep_reference("What does gauge 17 do?")
    assert found.recommended is not None
    assert 0 < found.confidence <= found.recommended.trust


@pytest.mark.parametrize("first", ["mailbox", "agent"])
def test_untrusted_against_trusted_is_disputed_with_both(
    memory: SyncMemory, clock: ManualClock, first: str
) -> None:
    ids = {}
    for who in sorted(("agent", "mailbox"), key=lambda each: each != first):
        writer = mailbox(memory) if who == "mailbox" else memory
        ids[who] = writer.learn(USE if who == "agent" else AVOID).block_id
        clock.advance(minutes=1)
    found = memory.deep_reference(QUESTION)
    (contradiction,) = found.contradictions
    assert found.status == "disputed"
    assert found.recommended is not None
    assert found.recommended.id == contradiction.stronger.id == ids["agent"]
    assert contradiction.weaker.id == ids["mailbox"]
    assert contradiction.weaker.actor == "mailbox"
    assert ids["mailbox"][:8] in found.guidance
    assert ids["agent"] not in {each.block.id for each in found.superseded}


def test_what_the_untrusted_deny_costs_no_confidence(memory: SyncMemory) -> None:
    memory.learn(USE)
    before = memory.deep_reference(QUESTION, record=False).confidence
    for number in range(8):
        mailbox(memory).learn(f"{AVOID} Reason {number}.")
    after = memory.deep_reference(QUESTION, record=False)
    assert (after.status, after.confidence >= before) == ("disputed", True)


def test_an_untrusted_memory_supersedes_no_trusted_one_however_old(
    memory: SyncMemory, clock: ManualClock
) -> None:
    with memory.session():
        old = memory.learn(USE).block_id
        memory.consolidate()
        for _ in range(250):
            clock.advance(minutes=50)
            memory.learn("It rains.")  # so that active time passes
    mailbox(memory).learn("We no longer use FAISS for vector search in production.")
    found = memory.deep_reference(QUESTION)
    assert old not in {each.block.id for each in found.superseded}
    assert found.recommended is None or found.recommended.zone == "trusted"


def test_a_dispute_among_the_trusted_is_a_contradiction_as_before(memory: SyncMemory) -> None:
    memory.learn(USE)
    memory.learn(AVOID)
    mailbox(memory).learn(f"{AVOID} Says the mail.")
    assert memory.deep_reference(QUESTION).status == "contradictions_found"


def test_results_say_whose_words_they_are(memory: SyncMemory) -> None:
    mailbox(memory, "external").learn(GAUGE, author="Ines", source="web")
    (block,) = memory.deep_reference("What does gauge 17 do?").evidence
    assert (block.zone, block.source, block.actor, block.author) == (
        "external",
        "web",
        "mailbox",
        "Ines",
    )
    assert str(block).endswith(
        f"[{block.id[:8]} external, written by mailbox, claims Ines, "
        f"{(block.created_at or '')[:10]}] {GAUGE}"
    )
