"""Session handles of a zone: learned blocks are not above it, higher blocks cannot be changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import anyio
import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import FieldRefused, Forbidden
from mnemic.kernel.policy import DEFAULT, LEGACY, Policy

Act: TypeAlias = Callable[[SyncMemory, dict[str, str]], Any]
BEFORE = Policy(**LEGACY, name="before")


def both(memory: SyncMemory) -> tuple[SyncMemory, dict[str, str]]:
    """Return a session handle of the external zone, and two blocks of each zone."""
    mail = memory.session_handle(actor="mailbox", zone="untrusted")
    ids: dict[str, str] = {name: memory.learn(f"ours: {name}").block_id for name in ("gate", "oil")}
    ids |= {name: mail.learn(f"by mail: {name}").block_id for name in ("offer", "prize")}
    ids["gone"] = memory.learn("ours: gone").block_id
    memory.consolidate()
    memory.forget(ids["gone"])
    ids["lane"] = memory.compose([ids["gate"], ids["offer"]]).composition_id
    ids["label"] = memory.label(ids["lane"], "helpful").label_id
    return mail, ids


BEYOND: dict[str, Act] = {
    "learn": lambda m, _: m.learn("new", zone="trusted"),
    "learn as imported": lambda m, _: m.learn("new", zone="imported"),
    "raise what is its own": lambda m, ids: m.rezone(ids["offer"], "vetted"),
    "rezone": lambda m, ids: m.rezone(ids["gate"], "quarantined"),
    "revise": lambda m, ids: m.revise(ids["gate"], "new words"),
    "forget": lambda m, ids: m.forget(ids["gate"]),
    "erase": lambda m, ids: m.erase(ids["gate"]),
    "connect": lambda m, ids: m.connect(ids["gate"], ids["oil"], "contradicts"),
    "disconnect": lambda m, ids: m.disconnect(ids["gate"], ids["oil"]),
    "adopt_policy": lambda m, _: m.adopt_policy(BEFORE),
    "reembed": lambda m, _: m.reembed(HashEmbedder(dimension=8)),
    "revert": lambda m, _: m.revert(1, 2),
    "erase_space": lambda m, _: m.erase_space("default"),
    "bring back what was forgotten": lambda m, _: m.learn("ours: gone"),
    "bring it back as a revision": lambda m, ids: m.revise(ids["offer"], "ours: gone"),
    "learn for a zone to come": lambda m, _: m.learn("new", zone="verified"),
    "rezone to a zone to come": lambda m, ids: m.rezone(ids["offer"], "verified"),
    "label": lambda m, ids: m.label(ids["lane"], "dead_end"),
    "retract": lambda m, ids: m.retract_label(ids["label"]),
}


@pytest.mark.parametrize("what", BEYOND)
def test_changes_to_blocks_of_a_higher_zone_are_refused(memory: SyncMemory, what: str) -> None:
    mail, ids = both(memory)
    before = memory.status()
    with pytest.raises(Forbidden) as refused:
        BEYOND[what](mail, ids)
    assert (refused.value.facts, bool(refused.value.recovery)) == ({"zone": "untrusted"}, True)
    assert memory.status() == before


def test_learned_blocks_are_of_the_handles_zone_or_a_lower_one(memory: SyncMemory) -> None:
    mail = memory.session_handle(actor="mailbox", zone="external")
    given: tuple[dict[str, Any], ...] = (
        {},
        {"source": "user"},
        {"source": "web"},
        {"source": "nobody"},
        {"zone": "quarantined"},
    )
    ids = [mail.learn(f"text {n}", **each).block_id for n, each in enumerate(given)]
    zones = [memory.block(each).zone for each in ids]
    assert zones == ["external", "external", "external", "untrusted", "quarantined"]


def test_lessons_for_a_higher_zone_are_refused_individually(
    memory: SyncMemory,
) -> None:
    mail = memory.session_handle(actor="mailbox", zone="untrusted")
    done = mail.learn_many(["one", {"content": "two", "zone": "trusted"}, "three"])
    assert [each.position for each in done.refused] == [1]
    assert [each.code for each in done.refused] == ["forbidden"]
    assert len(done.results) == 2


def test_blocks_of_its_own_zone_may_be_changed(memory: SyncMemory) -> None:
    mail, ids = both(memory)
    mail.connect(ids["offer"], ids["prize"])
    mail.connect(ids["offer"], ids["gate"], "contradicts")
    mail.disconnect(ids["offer"], ids["gate"])
    mail.connect(ids["gate"], ids["prize"], "contradicts")
    mail.disconnect(ids["gate"], ids["prize"])
    revised = mail.revise(ids["offer"], "by mail: a better offer").block_id
    assert memory.block(revised).zone == "untrusted"
    mail.rezone(revised, "quarantined")
    mail.forget(ids["prize"])
    mail.erase(ids["prize"])


def test_edges_between_blocks_of_a_higher_zone_are_refused_individually(
    memory: SyncMemory,
) -> None:
    mail, ids = both(memory)
    pairs = ((ids["gate"], ids["oil"]), (ids["offer"], ids["oil"]))
    done = mail.connects([{"source": source, "target": target} for source, target in pairs])
    assert [each.code for each in done.errors] == ["forbidden"]


def test_outcomes_of_its_own_blocks_may_be_recorded(memory: SyncMemory) -> None:
    mail, ids = both(memory)
    lane = mail.compose([ids["offer"], ids["prize"]]).composition_id
    said = mail.label(lane, "dead_end")
    assert mail.retract_label(said.label_id).action == "retracted"


def test_the_highest_zone_may_name_zones_unknown_to_the_policy(memory: SyncMemory) -> None:
    assert memory.block(memory.learn("new", zone="verified").block_id).zone == "verified"
    session_handle = memory.session_handle(actor="mailbox", zone="of the mailbox")
    assert memory.block(session_handle.learn("by mail").block_id).zone == "of the mailbox"


def test_outcomes_of_trusted_blocks_are_refused_to_an_external_handle(memory: SyncMemory) -> None:
    mail, ids = both(memory)
    said = mail.outcome([ids["gate"], ids["offer"]], 0.0)
    assert said.updated == (ids["offer"],)
    assert [(each.id, each.code) for each in said.refused] == [(ids["gate"], "forbidden")]
    assert memory.block(ids["gate"]).usefulness == 0.5


def test_a_session_handle_cannot_grant_a_higher_zone(memory: SyncMemory) -> None:
    mail = memory.session_handle(actor="mailbox", zone="untrusted")
    for zone, given in ((None, "untrusted"), ("trusted", "untrusted"), ("quarantined",) * 2):
        session_handle = mail.session_handle(actor="friend", zone=zone)
        assert memory.block(session_handle.learn(f"for {zone}").block_id).zone == given


def test_a_session_handle_of_the_highest_zone_may_do_everything(memory: SyncMemory) -> None:
    session_handle = memory.session_handle(actor="ines", zone="trusted")
    session_handle.forget(memory.learn("ours").block_id)
    assert session_handle.adopt_policy(Policy(name="hers")).name == "hers"


def test_zones_are_those_of_the_policy_in_force(memory: SyncMemory) -> None:
    mail, ids = both(memory)
    memory.adopt_policy(Policy(zone_ceilings=(("trusted", 0.2), ("untrusted", 0.2))))
    mail.forget(ids["gate"])


def test_an_invalid_zone_is_refused(memory: SyncMemory) -> None:
    for zone in ("", 7):
        with pytest.raises(FieldRefused):
            memory.session_handle(actor="mailbox", zone=zone)  # type: ignore[arg-type]


def test_a_repeated_command_is_answered_as_before(memory: SyncMemory) -> None:
    mail = memory.session_handle(actor="mailbox", zone="untrusted")
    first = mail.learn("by mail", command_id="once")
    assert mail.learn("by mail", command_id="once") == first


def test_session_handles_of_an_async_memory_have_zones() -> None:
    async def held() -> str:
        async with Memory.open(MemoryStore(), embedder=HashEmbedder()) as memory:
            session_handle = await memory.session_handle(actor="mailbox", zone="untrusted")
            learned = await session_handle.learn("by mail")
            return (await memory.block(learned.block_id)).zone

    assert anyio.run(held) == "untrusted"


def test_the_default_zones_rise_from_quarantine_to_trust() -> None:
    assert [zone for zone, _ in sorted(DEFAULT.zone_ceilings, key=lambda each: each[1])] == [
        "quarantined",
        "untrusted",
        "external",
        "imported",
        "vetted",
        "trusted",
    ]
