"""learn: a text enters the inbox, is restated where it is known, or is clearly refused."""

from __future__ import annotations

import hmac
import json
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, TypeAlias

import pytest
from attrs import evolve

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.results import refusals_in
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import BatchRefused, MnemicError
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import Block, LearnResult, Refusal

Open: TypeAlias = Callable[..., SyncMemory]

NEW_YEAR = "2026-01-01T00:00:00+00:00"
CEST = timezone(timedelta(hours=2))


class Unused:
    """An embedder that must not be called."""

    identity = HashEmbedder().identity

    def embed(self, texts: object) -> Any:
        raise AssertionError(f"asked for {texts!r}")


def refused(call: Callable[[], object]) -> str:
    """Return the code of the refusal of *call*, after checking that it has a recovery."""
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


# --- what is kept -------------------------------------------------------------------------------


def test_a_learned_block_is_in_the_inbox_with_all_its_arguments(opened: Open) -> None:
    memory = opened(embedder=Unused())
    learned = memory.learn(
        "Deploys happen  on Tuesday\n",
        tags=["ops", "team/infra", " ops "],
        category="fact",
        source="web",
        author="Ann",
        thread="standup-7",
        confidence=0.25,
        created_at="2025-12-24T18:00:00+02:00",
        metadata={"page": 3, "by": ["x", None]},
        expires_at="2026-02-01",
    )
    assert learned == LearnResult(block_id=learned.block_id, action="created", version=2)
    assert memory.block(learned.block_id) == Block(
        id=learned.block_id,
        content="Deploys happen  on Tuesday\n",
        status="inbox",
        category="fact",
        tags=("ops", "team/infra"),
        author="Ann",
        thread="standup-7",
        metadata={"page": 3, "by": ["x", None]},
        source="web",
        zone="external",
        actor="agent",
        confidence=0.25,
        created_at="2025-12-24T16:00:00+00:00",
        expires_at="2026-02-01T00:00:00+00:00",
        learned_version=2,
        said_version=2,
        last_reinforced_hour=0.0,
        decay_rate=0.0,
        recency=1.0,
        usefulness=0.5,
        evidence=0.0,
    )


def test_a_block_of_text_only_has_the_defaults(memory: SyncMemory) -> None:
    block = memory.block(memory.learn("words").block_id)
    assert (block.category, block.source, block.zone) == ("knowledge", "api", "trusted")
    assert (block.confidence, block.tags, block.created_at) == (0.8, (), NEW_YEAR)
    assert (block.author, block.thread, block.metadata, block.expires_at) == (None,) * 4


def test_an_id_is_the_keyed_digest_of_the_text_its_author_and_its_metadata(opened: Open) -> None:
    guess = SeededEntropy("known")
    guess.token(16)  # the nonce of the log
    salt = guess.token(32)
    memory = opened(entropy=SeededEntropy("known"))
    learned = memory.learn("  Straße\tNummer\n 7 ")
    signed = memory.learn("Straße 7", author="Ann", metadata={"b": 1, "a": "ä"})
    for block, parts in (
        (learned, ["Straße\tNummer\n 7", None, None]),
        (signed, ["Straße 7", "Ann", '{"a":"ä","b":1}']),
    ):
        text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
        assert block.block_id == hmac.digest(salt, text.encode(), "sha256").hex()[:16]


def test_one_text_has_different_ids_in_two_spaces(opened: Open) -> None:
    ids = {opened(space=name).learn("the same").block_id for name in ("one", "two")}
    assert len(ids) == 2


# --- said again ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "again",
    ["Café Straße", "  Café Straße\n", unicodedata.normalize("NFD", "Café Straße")],
)
def test_the_same_text_again_is_restated(
    memory: SyncMemory, clock: ManualClock, again: str
) -> None:
    first = memory.learn("Café Straße", tags=["a"])
    memory.learn("something after it")
    before, block = memory.status(), memory.block(first.block_id)
    clock.advance(hours=1)
    second = memory.learn(again, tags=["b"], confidence=0.1, source="cli")
    version = before.version + 1
    assert second == LearnResult(block_id=first.block_id, action="restated", version=version)
    after = memory.status()
    assert after == evolve(before, version=version, recorded_at=after.recorded_at)
    assert memory.block(first.block_id) == evolve(
        block, said_version=version, created_at="2026-01-01T01:00:00+00:00"
    )
    (entry,) = memory.log(after=version - 1)
    assert (entry.kind, entry.detail) == (
        "block-restated",
        f"{first.block_id[:8]} said again by cli",
    )
    assert second.summary == f"Block {first.block_id[:8]} is known already; said again now."


@pytest.mark.parametrize(
    "other",
    ["café straße", "CAFÉ STRASSE", "Café  Straße", "Café\u00a0Straße", "Cafe Straße"],
)
def test_texts_that_differ_inside_are_two_blocks(memory: SyncMemory, other: str) -> None:
    first = memory.learn("Café Straße")
    second = memory.learn(other)
    assert (second.action, second.block_id != first.block_id) == ("created", True)


@pytest.mark.parametrize(
    "own",
    [
        {"author": "Ann"},
        {"metadata": {"user": "ann"}},
        {"metadata": {"page": 1}},
        {"scope": {"agent": "a1"}},
    ],
    ids=str,
)
def test_another_author_or_metadata_makes_another_block(
    memory: SyncMemory, own: dict[str, Any]
) -> None:
    said = "I am vegetarian."
    ids = [memory.learn(said, **given).block_id for given in ({}, own)]
    assert len({*ids}) == 2
    assert [memory.learn(said, **given).block_id for given in ({}, own)] == ids


@pytest.mark.parametrize("own", [{"tags": ["x"]}, {"thread": "t"}, {"category": "fact"}], ids=str)
def test_tags_thread_and_category_make_no_other_block(
    memory: SyncMemory, own: dict[str, Any]
) -> None:
    first = memory.learn("I am vegetarian.")
    again = memory.learn("I am vegetarian.", **own)
    assert (again.block_id, again.action) == (first.block_id, "restated")


def test_order_and_form_of_metadata_make_no_other_block(memory: SyncMemory) -> None:
    first = memory.learn("words", metadata={"a": 1, "b": [2]})
    again = memory.learn("words", metadata={"b": (2,), "a": 1})
    assert (again.block_id, again.action) == (first.block_id, "restated")


def test_a_text_is_restated_in_the_inbox_and_when_active(memory: SyncMemory) -> None:
    first = memory.learn("pending, then active")
    assert memory.learn("pending, then active").action == "restated"
    assert memory.block(first.block_id).status == "inbox"
    memory.consolidate()
    assert memory.learn("pending, then active").action == "restated"
    assert memory.block(first.block_id).status == "active"
    assert (memory.status().inbox, memory.status().active) == (0, 1)


DATED = "2026-01-05T00:00:00+00:00"


@pytest.mark.parametrize(
    ("again", "action", "created_at"),
    [
        ("2026-01-05", "duplicate", DATED),
        ("2026-01-04T23:59:59.999999", "duplicate", DATED),
        ("2026-01-05T00:00:00.000001", "restated", "2026-01-05T00:00:00.000001+00:00"),
        ("unknown", "restated", DATED),
        ("2030-01-01", "restated", "2030-01-01T00:00:00+00:00"),
    ],
)
def test_a_date_of_last_saying_never_moves_back(
    memory: SyncMemory, again: str, action: str, created_at: str
) -> None:
    first = memory.learn("dated", created_at="2026-01-05")
    second = memory.learn("dated", created_at=again)
    assert second.action == action
    assert second.version == first.version + (action == "restated")
    assert memory.block(first.block_id).created_at == created_at
    assert memory.status().version == second.version


def test_an_undated_block_is_dated_when_it_is_said_again(memory: SyncMemory) -> None:
    first = memory.learn("undated", created_at="unknown")
    assert memory.learn("undated").action == "restated"
    assert memory.block(first.block_id).created_at == NEW_YEAR


def test_a_lower_zone_restates_nothing_of_a_higher_one(memory: SyncMemory) -> None:
    ours = memory.learn("the code is 7")
    version = memory.status().version
    heard = memory.learn("the code is 7", source="a stranger")
    assert heard == LearnResult(block_id=ours.block_id, action="duplicate", version=ours.version)
    assert memory.status().version == version
    theirs = memory.learn("the code is 8", source="a stranger")
    assert memory.learn("the code is 8").action == "restated"
    assert memory.block(theirs.block_id).zone == "untrusted"


# --- messages -----------------------------------------------------------------------------------


def test_saying_yes_twice_is_two_messages(memory: SyncMemory) -> None:
    said = [memory.learn("yes", category="message", thread="t") for _ in range(2)]
    assert [each.action for each in said] == ["created", "created"]
    assert len({each.block_id for each in said}) == 2
    memory.consolidate()
    assert memory.status().active == 2


@pytest.mark.parametrize("key", ["message_id", "turn"])
def test_a_message_with_an_id_is_learned_once(memory: SyncMemory, key: str) -> None:
    def say(thread: str, number: object) -> LearnResult:
        return memory.learn("yes", category="message", thread=thread, metadata={key: number})

    first = say("t", 1)
    version = memory.status().version
    assert say("t", 1) == LearnResult(
        block_id=first.block_id, action="duplicate", version=first.version
    )
    assert memory.status().version == version
    others = [say("t", 2), say("t", "1"), say("u", 1)]
    assert [each.action for each in others] == ["created"] * 3
    assert len({first.block_id, *(each.block_id for each in others)}) == 4


def test_a_repeated_command_names_the_message_that_it_learned(memory: SyncMemory) -> None:
    yes = {"content": "yes", "category": "message"}
    first = memory.learn("yes", category="message", command_id="one")
    batch = memory.learn_many([yes, "no", yes], command_id="two")
    memory.learn("something later")
    assert memory.learn("yes", category="message", command_id="one") == first
    assert memory.learn_many([yes, "no", yes], command_id="two") == batch
    assert memory.status().inbox == 5


# --- archived -----------------------------------------------------------------------------------


def test_a_forgotten_block_comes_back_under_its_id_with_its_evidence(memory: SyncMemory) -> None:
    old = memory.learn("the build needs node 20", tags=["old"]).block_id
    memory.recall("node build")
    memory.outcome([old], 1.0)
    memory.forget(old, "no longer")
    before = memory.block(old)
    back = memory.learn(" the build needs node 20\n", tags=["new"], confidence=0.5, source="tool")
    assert back == LearnResult(
        block_id=old, action="reactivated", version=before.learned_version + 6
    )
    waiting = memory.block(old)
    assert (waiting.status, waiting.archive_reason) == ("inbox", None)
    assert (waiting.content, waiting.tags) == (" the build needs node 20\n", ("new",))
    assert (waiting.confidence, waiting.zone) == (0.5, "external")
    assert (waiting.learned_version, waiting.said_version) == (back.version, back.version)
    assert (before.evidence, before.retrievals, before.usefulness) == (1.0, 1, 0.75)
    memory.consolidate()
    active = memory.block(old)
    assert active.status == "active"
    assert (active.evidence, active.retrievals, active.usefulness) == (1.0, 1, 0.75)
    assert memory.recall("node", record=False).block_ids == (old,)


def test_a_decayed_block_comes_back_at_the_rate_of_its_tier(
    opened: Open, clock: ManualClock
) -> None:
    memory = opened(policy=Policy(idle_gap_hours=1000.0))
    old = memory.learn("fades soon").block_id
    memory.start_session()
    memory.consolidate()
    memory.outcome([old], 0.0)
    assert memory.block(old).decay_rate == 0.02
    clock.advance(hours=300)
    memory.curate()
    assert (memory.block(old).status, memory.block(old).archive_reason) == ("archived", "decayed")
    assert memory.learn("fades soon").action == "reactivated"
    memory.consolidate()
    back = memory.block(old)
    assert (back.status, back.decay_rate, back.last_reinforced_hour) == ("active", 0.01, 300.0)
    assert (back.evidence, back.usefulness, back.recency) == (1.0, 0.25, 1.0)


# --- limits -------------------------------------------------------------------------------------


def test_limits_include_their_last_value(memory: SyncMemory) -> None:
    tags = [f"{n:03}".ljust(128, "t") for n in range(64)]
    block = memory.block(memory.learn("w" * 32_768, tags=tags, author="a" * 200).block_id)
    assert (len(block.content or ""), block.tags) == (32_768, tuple(tags))


@pytest.mark.parametrize("confidence", [0, 1, 0.0, 1.0])
def test_confidence_reaches_both_ends(memory: SyncMemory, confidence: float) -> None:
    block = memory.block(memory.learn("sure", confidence=confidence).block_id)
    assert block.confidence == confidence


REFUSALS = [
    ({"content": ""}, "content-empty"),
    ({"content": " \n\t\u00a0\u2003"}, "content-empty"),
    ({"content": "w" * 200_001}, "content-too-long"),
    ({"content": None}, "field-refused"),
    ({"content": b"bytes"}, "field-refused"),
    ({"content": "lone \ud800 surrogate"}, "field-refused"),
    ({"tags": [str(n) for n in range(65)]}, "tags-refused"),
    ({"tags": ["t" * 129]}, "tags-refused"),
    ({"tags": ["ok", "  "]}, "tags-refused"),
    ({"tags": [7]}, "tags-refused"),
    ({"tags": "one,two"}, "tags-refused"),
    ({"tags": None}, "tags-refused"),
    ({"tags": 5}, "tags-refused"),
    ({"tags": {"one": 1}}, "tags-refused"),
    ({"tags": ["\udfff"]}, "field-refused"),
    ({"category": ""}, "field-refused"),
    ({"category": None}, "field-refused"),
    ({"category": "c" * 201}, "field-refused"),
    ({"source": " "}, "field-refused"),
    ({"author": ""}, "field-refused"),
    ({"author": 7}, "field-refused"),
    ({"thread": "t" * 201}, "field-refused"),
    ({"zone": ""}, "field-refused"),
    ({"confidence": 1.000001}, "field-refused"),
    ({"confidence": -0.1}, "field-refused"),
    ({"confidence": float("nan")}, "field-refused"),
    ({"confidence": True}, "field-refused"),
    ({"confidence": "high"}, "field-refused"),
    ({"created_at": "last Tuesday"}, "field-refused"),
    ({"created_at": ""}, "field-refused"),
    ({"created_at": 1_767_225_600}, "field-refused"),
    ({"expires_at": "unknown"}, "field-refused"),
    ({"expires_at": "2026-13-01"}, "field-refused"),
    ({"metadata": [1]}, "field-refused"),
    ({"metadata": {"x": object()}}, "field-refused"),
    ({"metadata": {"x": float("nan")}}, "field-refused"),
    ({"metadata": {"x": "y" * 4096}}, "field-refused"),
    ({"metadata": {"x": "\ud800"}}, "field-refused"),
]


@pytest.mark.parametrize(("given", "code"), REFUSALS, ids=lambda value: str(value)[:40])
def test_an_invalid_lesson_is_refused_and_leaves_no_trace(
    memory: SyncMemory, given: dict[str, Any], code: str
) -> None:
    before = memory.status()
    lesson: dict[str, Any] = {"content": "words", **given}
    assert refused(lambda: memory.learn(**lesson)) == code
    assert memory.status() == before
    with pytest.raises(BatchRefused) as batch:
        memory.learn_many([lesson])
    (item,) = refusals_in(batch.value, Refusal)
    assert (item.position, item.code) == (0, code)
    assert memory.status() == before


# --- dates --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (None, NEW_YEAR),
        ("unknown", None),
        ("2025-11-02", "2025-11-02T00:00:00+00:00"),
        ("2025-11-02T09:30:00", "2025-11-02T09:30:00+00:00"),
        (" 2025-11-02T09:30:00Z ", "2025-11-02T09:30:00+00:00"),
        ("2025-11-02T09:30:00.123456+05:30", "2025-11-02T04:00:00.123456+00:00"),
        (datetime(2025, 11, 2, 9, 30), "2025-11-02T09:30:00+00:00"),  # noqa: DTZ001 - naive
        (datetime(2025, 11, 2, 9, 30, tzinfo=CEST), "2025-11-02T07:30:00+00:00"),
        (datetime(2030, 1, 1, tzinfo=UTC), "2030-01-01T00:00:00+00:00"),
        ("0001-01-01", "0001-01-01T00:00:00+00:00"),
        ("9999-12-31T23:59:59.999999", "9999-12-31T23:59:59.999999+00:00"),
    ],
)
def test_dates_are_read_as_utc_and_offsets_are_honoured(
    memory: SyncMemory, given: Any, read: str | None
) -> None:
    block = memory.block(memory.learn("dated", created_at=given).block_id)
    assert block.created_at == read


# --- trust --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "zone"),
    [
        ("api", "trusted"),
        ("agent", "trusted"),
        ("user", "trusted"),
        ("cli", "trusted"),
        ("ingest", "imported"),
        ("tool", "external"),
        ("web", "external"),
        ("a stranger", "untrusted"),
    ],
)
def test_the_source_decides_the_zone(memory: SyncMemory, source: str, zone: str) -> None:
    assert memory.block(memory.learn("heard", source=source).block_id).zone == zone


def test_a_given_zone_beats_the_source(memory: SyncMemory) -> None:
    block = memory.block(memory.learn("heard", source="web", zone=" vetted ").block_id)
    assert (block.source, block.zone) == ("web", "vetted")


def test_rezoning_is_one_event_and_repeating_it_writes_nothing(memory: SyncMemory) -> None:
    block = memory.learn("heard", source="web").block_id
    moved = memory.rezone(block, " trusted ", "checked it")
    assert (moved.zone, moved.action) == ("trusted", "rezoned")
    version = memory.status().version
    again = memory.rezone(block, "trusted")
    assert (again.zone, again.action) == ("trusted", "unchanged")
    assert refused(lambda: memory.rezone(block, "trusted", "r" * 501)) == "note-too-long"
    assert memory.status().version == version == 3
    assert memory.block(block).zone == "trusted"
    assert memory.as_of(version=2).block(block).zone == "external"
    assert refused(lambda: memory.rezone(block, "")) == "field-refused"
    assert refused(lambda: memory.rezone("0" * 16, "trusted")) == "block-not-found"
    memory.forget(block)
    assert refused(lambda: memory.rezone(block, "external")) == "block-not-active"


# --- forget -------------------------------------------------------------------------------------


def test_forgetting_archives_and_forgetting_twice_writes_nothing(memory: SyncMemory) -> None:
    block = memory.learn("a passing thought").block_id
    memory.consolidate()
    assert refused(lambda: memory.forget(block, "r" * 501)) == "note-too-long"
    assert memory.forget(block, "why not").action == "archived"
    version = memory.status().version
    assert memory.forget(block).action == "already_archived"
    assert refused(lambda: memory.forget(block, "r" * 501)) == "note-too-long"
    assert memory.status().version == version
    assert (memory.block(block).status, memory.block(block).archive_reason) == (
        "archived",
        "forgotten",
    )
    assert memory.block(block).content == "a passing thought"
    assert memory.recall("passing thought", record=False).block_ids == ()
    assert refused(lambda: memory.forget("0" * 16)) == "block-not-found"


def test_a_block_forgotten_in_the_inbox_is_never_promoted(memory: SyncMemory) -> None:
    gone, kept = (memory.learn(text).block_id for text in ("gone", "kept"))
    memory.forget(gone)
    assert memory.consolidate().promoted == 1
    assert (memory.block(gone).status, memory.block(kept).status) == ("archived", "active")
