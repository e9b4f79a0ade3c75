"""What a door does with blocks."""
# ruff: noqa: PLR2004 - expected values stand as they are

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from attrs import evolve

from mnemic.kernel.policy import DEFAULT
from mnemic.specs.contracts.answers import plain
from mnemic.specs.contracts.doorsteps import Door, Doorstep, learned, needs, version_of
from mnemic.specs.contracts.wishes import LESSONS, LONG_AGO


class Blocks(Doorstep):
    """The part of `DoorContract` about blocks: learned, promoted, revised, forgotten."""

    def test_a_new_memory_holds_nothing(self, opened: Callable[..., Door]) -> None:
        memory = opened()
        learned(memory, "the first words make the space")
        status = plain(memory.status())
        counts = "inbox active archived edges pending_connections near_duplicates decisions".split()
        assert [status[name] for name in counts] == [1, 0, 0, 0, 0, 0, 0]
        assert (status["space"], status["policy"]) == ("default", "mnemic-1")

    def test_a_lesson_is_answered_with_its_id_and_its_version(self, memory: Door) -> None:
        content = LESSONS["gate"]
        first = plain(memory.learn(content))
        assert len(first["block_id"]) == 16
        assert first == {**first, "action": "created", "version": version_of(memory)}
        again = plain(memory.learn(f"  {content.upper()} "))
        assert again == {**first, "action": "duplicate"}
        assert version_of(memory) == first["version"]

    @needs("block")
    def test_a_block_holds_what_was_learned(self, memory: Door) -> None:
        given = {
            "tags": ["gate", "self/value"],
            "category": "observation",
            "source": "web",
            "author": "Ines",
            "thread": "rota",
            "confidence": 0.25,
            "created_at": LONG_AGO,
            "zone": "vetted",
            "metadata": {"lane": 3},
            "expires_at": "2999-01-01T00:00:00+00:00",
        }
        learned_id = plain(memory.learn('🧠 Ünïcode\tand "quotes"', **given))["block_id"]
        block = plain(memory.block(learned_id))
        assert {name: block[name] for name in given} == given
        assert (block["id"], block["content"]) == (learned_id, '🧠 Ünïcode\tand "quotes"')
        assert (block["status"], block["degree"], block["retrievals"]) == ("inbox", 0, 0)

    @needs("learn_many")
    def test_of_many_lessons_each_is_refused_by_itself(self, memory: Door) -> None:
        answer = plain(memory.learn_many([LESSONS["gate"], "", {"content": "x", "colour": "red"}]))
        assert [each["action"] for each in answer["results"]] == ["created"]
        assert [(each["position"], each["code"]) for each in answer["refused"]] == [
            (1, "content-empty"),
            (2, "field-refused"),
        ]

    @needs("embedder")
    def test_consolidating_tells_what_became_of_the_inbox(self, memory: Door) -> None:
        for content in LESSONS.values():
            learned(memory, content)
        expected = {
            "promoted": 3,
            "superseded": 0,
            "near_duplicates": 0,
            "edges_created": 1,
            "analyses_failed": 0,
            "inbox_remaining": 0,
            "chunks": 1,
        }
        assert plain(memory.consolidate()) == expected
        assert plain(memory.consolidate()) == {
            **expected,
            "promoted": 0,
            "edges_created": 0,
            "chunks": 0,
        }

    def test_a_revision_takes_the_place_of_the_block(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        answer = plain(
            memory.revise(ids["tea"], "Tomasz prefers black tea to coffee", "he said so")
        )
        assert answer == {
            "block_id": answer["block_id"],
            "superseded_id": ids["tea"],
            "edges_moved": 0,
            "edges_lost": [],
            "version": before + 1,
        }
        old = plain(memory.block(ids["tea"]))
        assert (old["status"], old["superseded_by"]) == ("archived", answer["block_id"])

    def test_a_forgotten_block_is_archived_once(self, memory: Door, ids: Mapping[str, str]) -> None:
        answers = [plain(memory.forget(ids["tea"], "not ours")) for _ in range(2)]
        assert answers == [
            {"block_id": ids["tea"], "action": "archived"},
            {"block_id": ids["tea"], "action": "already_archived"},
        ]

    @needs("as_of")
    def test_erased_words_are_gone_from_the_past_too(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        receipt = plain(memory.erase(ids["tea"]))
        assert (receipt["block_id"], receipt["version"]) == (ids["tea"], before + 1)
        assert len(bytes.fromhex(receipt["chain"])) == 32
        assert plain(memory.erase(ids["tea"])) == receipt
        for moment in (memory, memory.as_of(version=before)):
            assert plain(moment.block(ids["tea"]))["content"] is None
        assert plain(memory.verify())["sound"]

    @needs("blocks")
    def test_blocks_are_listed_in_pages(self, memory: Door, ids: Mapping[str, str]) -> None:
        first = plain(memory.blocks(limit=2))
        rest = plain(memory.blocks(limit=2, after=first["next_after"]))
        listed = [block["id"] for block in (*first["items"], *rest["items"])]
        assert (listed, rest["next_after"]) == ([*ids.values()], None)

    @needs("blocks")
    def test_blocks_are_listed_by_what_was_said_of_them(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        given: dict[str, Any] = {"author": "Ines", "thread": "rota", "category": "observation"}
        mine = plain(memory.learn("the lamp is new", tags=["lamp/bulb"], **given))["block_id"]
        asked = [{name: value} for name, value in given.items()]
        for one in ({"tag": "lamp/bulb"}, {"tag": "lamp/"}, {"status": "inbox"}, *asked):
            assert [block["id"] for block in plain(memory.blocks(**one))["items"]] == [mine], one
        memory.forget(ids["tea"])
        (gone,) = plain(memory.blocks(status="archived"))["items"]
        assert (gone["id"], gone["archive_reason"]) == (ids["tea"], "forgotten")
        assert plain(memory.blocks(author="nobody")) == {"items": [], "next_after": None}

    def test_what_was_forgotten_can_be_learned_again(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        memory.forget(ids["tea"])
        again = plain(memory.learn(LESSONS["tea"]))
        assert (again["block_id"], again["action"]) == (ids["tea"], "reactivated")
        assert plain(memory.block(ids["tea"]))["status"] == "inbox"

    @needs("rezone")
    def test_trust_in_a_block_can_change(self, memory: Door, ids: Mapping[str, str]) -> None:
        told = {"block_id": ids["tea"], "zone": "quarantined"}
        rezoned = memory.rezone(ids["tea"], "quarantined", "he made it up")
        assert plain(rezoned) == {**told, "action": "rezoned"}
        assert plain(memory.block(ids["tea"]))["zone"] == "quarantined"
        before = version_of(memory)
        assert plain(memory.rezone(ids["tea"], "quarantined")) == {**told, "action": "unchanged"}
        assert version_of(memory) == before

    # --- consolidation --------------------------------------------------------------------------

    def test_the_inbox_is_promoted_first_in_first(self, memory: Door) -> None:
        first, second = learned(memory, LESSONS["gate"]), learned(memory, LESSONS["tea"])
        told = plain(memory.consolidate(limit=1))
        assert (told["promoted"], told["inbox_remaining"]) == (1, 1)
        states = [plain(memory.block(block))["status"] for block in (first, second)]
        assert states == ["active", "inbox"]

    @needs("dream")
    def test_to_dream_is_to_consolidate(self, memory: Door) -> None:
        learned(memory, LESSONS["gate"])
        told = plain(memory.dream(limit=5, relink=True))
        assert (told["promoted"], plain(memory.status())["active"]) == (1, 1)

    @needs("adopt_policy")
    def test_blocks_with_few_edges_can_be_looked_at_again(self, memory: Door) -> None:
        learned(memory, LESSONS["gate"])
        learned(memory, LESSONS["oil"])
        memory.adopt_policy(evolve(DEFAULT, name="shy", edge_threshold=1.0))
        assert plain(memory.consolidate())["edges_created"] == 0
        memory.adopt_policy(DEFAULT)
        assert plain(memory.consolidate())["edges_created"] == 0
        assert plain(memory.consolidate(relink=True))["edges_created"] == 1

    @needs("embedder", "near_duplicates")
    def test_what_says_almost_the_same_is_told(self, memory: Door) -> None:
        pair = [
            plain(memory.learn(f"angle {angle}: a rope", created_at=LONG_AGO))["block_id"]
            for angle in (0, 400)
        ]
        assert plain(memory.consolidate())["near_duplicates"] == 1
        ((one, two, cosine),) = plain(memory.near_duplicates())
        assert {one["id"], two["id"]} == {*pair}
        assert [one, two] == [plain(memory.block(each["id"])) for each in (one, two)]
        assert cosine == pytest.approx(math.cos(0.4), abs=5e-4)

    @needs("embedder")
    def test_what_says_the_same_takes_the_place_of_the_older(self, memory: Door) -> None:
        old = plain(memory.learn("angle 0: a rope", tags=["rope"]))["block_id"]
        memory.consolidate()
        new = plain(memory.learn("angle 100: a rope"))["block_id"]
        assert plain(memory.consolidate())["superseded"] == 1
        before, after = plain(memory.block(old)), plain(memory.block(new))
        assert (before["status"], before["superseded_by"]) == ("archived", new)
        assert (after["status"], after["tags"]) == ("active", ["rope"])
