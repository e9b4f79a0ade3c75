"""Contract of the operations on blocks."""
# ruff: noqa: PLR2004 - expected values stand as they are

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from attrs import evolve

from mnemic.kernel.errors import MnemicError
from mnemic.kernel.policy import DEFAULT
from mnemic.specs.contracts.interface.answers import plain
from mnemic.specs.contracts.interface.fixtures import (
    Interface,
    InterfaceFixture,
    Wall,
    learned,
    needs,
    version_of,
)
from mnemic.specs.contracts.interface.sample_requests import LESSONS, LONG_AGO, UNKNOWN_ID
from mnemic.specs.strategies.clocks import HOUR_US

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Blocks(InterfaceFixture):
    """The part of `InterfaceContract` about blocks: learned, promoted, revised, forgotten."""

    def test_a_new_memory_holds_nothing(self, opened: Callable[..., Interface]) -> None:
        memory = opened()
        learned(memory, "the first words make the space")
        status = plain(memory.status())
        counts = "inbox active archived edges pending_connections near_duplicates decisions".split()
        assert [status[name] for name in counts] == [1, 0, 0, 0, 0, 0, 0]
        assert (status["space"], status["policy"]) == ("default", "mnemic-1")

    def test_learn_returns_the_id_and_the_version(self, memory: Interface) -> None:
        content = LESSONS["gate"]
        first = plain(memory.learn(content))
        assert len(first["block_id"]) == 16
        assert first == {**first, "action": "created", "version": version_of(memory)}
        again = plain(memory.learn(f"  {content} "))
        assert again == {**first, "action": "restated", "version": first["version"] + 1}
        assert version_of(memory) == again["version"]
        old = plain(memory.learn(content, created_at=LONG_AGO))
        assert old == {**first, "action": "duplicate"}
        assert version_of(memory) == again["version"]

    @needs("block", "clock", "as_of")
    def test_what_is_said_again_is_dated_by_its_last_saying(
        self, memory: Interface, wall: Wall
    ) -> None:
        said = []
        for content in ("The pump is running.", "The pump is stopped.", "The pump is running."):
            said.append(plain(memory.learn(content)))
            wall.us += HOUR_US
        running, stopped, again = said
        assert [each["action"] for each in said] == ["created", "created", "restated"]
        assert again["block_id"] == running["block_id"]
        block, other = (plain(memory.block(each["block_id"])) for each in (running, stopped))
        assert (block["learned_version"], block["said_version"]) == (
            running["version"],
            again["version"],
        )
        assert block["created_at"] > other["created_at"]
        before = memory.as_of(version=again["version"] - 1)
        then = plain(before.block(running["block_id"]))
        assert then["created_at"] < other["created_at"]
        assert then["said_version"] == running["version"]

    @needs("block", "clock", "as_of")
    def test_recall_prefers_what_holds_at_its_moment_and_marks_the_rest(
        self, memory: Interface, wall: Wall
    ) -> None:
        year_us = 365 * 24 * HOUR_US
        moved = EPOCH + timedelta(microseconds=wall.us + year_us)
        said = "The office of the harbour master is in"
        old = plain(memory.learn(f"{said} Dock Street", valid_until=moved.isoformat()))["block_id"]
        new = plain(memory.learn(f"{said} Quay Road", valid_from=moved.isoformat()))["block_id"]
        memory.consolidate()
        question = "Where is the office of the harbour master?"
        then = EPOCH + timedelta(microseconds=wall.us)
        wall.us += 2 * year_us
        learned(memory, "a text of the later time")
        for view, ids, mark in (
            (memory.as_of(at=then.isoformat()), [old, new], f"holds from {moved.date()}"),
            (memory, [new, old], f"held until {moved.date()}"),
        ):
            answer = plain(view.recall(question))
            assert answer["block_ids"] == ids
            assert [each["validity"] == "holds" for each in answer["blocks"]] == [True, False]
            assert [mark in line for line in answer["text"].splitlines()] == [False, False, True]
        held = plain(memory.recall(question, where={"valid_at": then.isoformat()}))
        assert held["block_ids"] == [old]
        again = plain(memory.learn(f"{said} Quay Road", valid_until="2100-01-01"))
        assert (again["block_id"], again["action"]) == (new, "restated")
        block = plain(memory.block(new))
        assert (block["valid_from"], block["valid_until"]) == (None, "2100-01-01T00:00:00+00:00")
        period = {"valid_from": "2020-01-01", "valid_until": "2030-01-01"}
        revised = memory.revise(new, f"{said} Mole Lane", created_at=LONG_AGO, **period)
        block = plain(memory.block(plain(revised)["block_id"]))
        assert (block["valid_from"], block["valid_until"]) == (
            "2020-01-01T00:00:00+00:00",
            "2030-01-01T00:00:00+00:00",
        )

    @needs("learn.scope", "recall.scope", "learn_many", "as_of")
    def test_what_two_users_say_belongs_to_each_of_them(self, memory: Interface) -> None:
        said = "I am vegetarian."
        ann, bob = {"user": "ann"}, {"user": "bob"}
        one = plain(memory.learn(said, scope=ann, created_at=LONG_AGO))
        (two,) = plain(memory.learn_many([{"content": said, "scope": bob}]))["results"]
        assert (one["action"], two["action"]) == ("created", "created")
        assert plain(memory.block(two["block_id"]))["metadata"] == bob
        for scope, mine in ((ann, one), (bob, two)):
            answer = plain(memory.recall("vegetarian", scope=scope))
            assert answer["block_ids"] == [mine["block_id"]]
            past = memory.as_of(version=version_of(memory))
            found = plain(past.recall("vegetarian", scope=scope))["block_ids"]
            assert found == [mine["block_id"]]
        everything = plain(memory.recall("vegetarian", record=False))["block_ids"]
        assert {*everything} == {one["block_id"], two["block_id"]}
        refusals: tuple[Callable[[], object], ...] = (
            lambda: memory.learn("I eat fish.", scope=ann, metadata={"user": "bob"}),
            lambda: memory.recall("fish", scope=ann, where={"metadata": {"user": "bob"}}),
            lambda: memory.learn("I eat fish.", scope={"colour": "red"}),
        )
        for refuse in refusals:
            with pytest.raises(MnemicError) as refused:
                refuse()
            assert (refused.value.code, bool(refused.value.recovery)) == ("field-refused", True)

    @needs("block")
    def test_a_block_has_the_learned_fields(self, memory: Interface) -> None:
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

    @needs("add", "facts", "sources", "erase")
    def test_messages_are_learned_and_facts_quote_them(self, memory: Interface) -> None:
        said = {"role": "user", "name": "Ines", "content": "I live in Graz. Hello!", "id": "1"}
        given = {
            "messages": [said, {"role": "user", "content": " "}],
            "extract": "rules",
            "thread": "yard",
            "scope": {"user": "ines"},
            "zone": "vetted",
        }
        added = plain(memory.add(**given))
        message = added["results"][0]["block_id"]
        assert [each["code"] for each in added["refused"]] == ["field-refused"]
        (fact,) = added["extraction"]["facts"]
        quote = {"message_id": message, "text": "I live in Graz.", "start": 0, "end": 15}
        assert (fact["content"], fact["quotes"]) == ("I live in Graz.", [quote])
        block = plain(memory.block(fact["block_id"]))
        assert (block["category"], block["zone"], block["author"]) == ("fact", "vetted", "Ines")
        assert block["metadata"] == {"user": "ines", "role": "user"}
        for reading in (memory, memory.as_of(version=version_of(memory))):
            assert plain(reading.facts(of=message)) == [fact]
            assert plain(reading.sources(of=fact["block_id"])) == [fact]
        again = plain(memory.add(**given))
        assert again["results"][0]["action"] == "duplicate"
        assert again["extraction"]["status"] == "skipped"
        receipt = plain(memory.erase(message))
        assert (receipt["facts"], receipt["kept"]) == ([fact["block_id"]], [])
        assert plain(memory.block(fact["block_id"]))["content"] is None

    @needs("learn_many")
    def test_lessons_of_a_batch_are_refused_individually(self, memory: Interface) -> None:
        answer = plain(memory.learn_many([LESSONS["gate"], "", {"content": "x", "colour": "red"}]))
        assert [each["action"] for each in answer["results"]] == ["created"]
        assert [(each["position"], each["code"]) for each in answer["refused"]] == [
            (1, "content-empty"),
            (2, "field-refused"),
        ]

    @needs("to_markdown")
    def test_the_blocks_can_be_dumped(self, memory: Interface, ids: Mapping[str, str]) -> None:
        memory.learn("the lamp is new", author="Ines")
        view = memory.as_of(version=version_of(memory))
        for source in (memory, view):
            assert len(plain(source.to_jsonl()).splitlines()) == len(ids) + 1
            assert "- the lamp is new" in plain(source.to_markdown(author="Ines"))
            assert len(plain(source.to_csv(status="active")).splitlines()) == len(ids) + 1

    @needs("edges")
    def test_the_first_characters_of_an_id_do_where_an_id_does(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        gate, tea = ids["gate"][:8], ids["tea"][:8]
        assert plain(memory.block(gate)) == plain(memory.block(ids["gate"]))
        assert plain(memory.edges(f"[{gate}]")) == plain(memory.edges(ids["gate"]))
        made = plain(memory.connect(tea, gate, "supports"))
        assert (made["source_id"], made["target_id"]) == (ids["tea"], ids["gate"])
        scored = plain(memory.outcome([gate, tea], signal=0.9))
        assert sorted(scored["updated"]) == sorted([ids["gate"], ids["tea"]])
        memory.forget(tea)
        assert plain(memory.block(ids["tea"]))["status"] == "archived"
        for unknown in (UNKNOWN_ID[:8], gate[:7]):
            with pytest.raises(MnemicError) as refused:
                memory.block(unknown)
            assert (refused.value.code, bool(refused.value.recovery)) == ("block-not-found", True)

    @needs("embedder")
    def test_consolidate_reports_its_changes(self, memory: Interface) -> None:
        for content in LESSONS.values():
            learned(memory, content)
        expected = {
            "promoted": 3,
            "superseded": [],
            "contradictions": [],
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

    def test_a_revision_supersedes_the_block(
        self, memory: Interface, ids: Mapping[str, str]
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

    def test_a_forgotten_block_is_archived_once(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        answers = [plain(memory.forget(ids["tea"], "not ours")) for _ in range(2)]
        assert answers == [
            {"block_id": ids["tea"], "action": "archived"},
            {"block_id": ids["tea"], "action": "already_archived"},
        ]

    @needs("as_of")
    def test_erased_texts_are_missing_in_past_views(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        receipt = plain(memory.erase(ids["tea"]))
        assert (receipt["block_ids"], receipt["version"]) == ([ids["tea"]], before + 1)
        assert len(bytes.fromhex(receipt["chain"])) == 32
        assert plain(memory.erase(ids["tea"])) == receipt
        for moment in (memory, memory.as_of(version=before)):
            assert plain(moment.block(ids["tea"]))["content"] is None
        assert plain(memory.verify())["sound"]

    @needs("forget_many", "erase_many")
    def test_what_a_filter_finds_is_shown_before_it_is_removed(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        where, before = {"category": "knowledge"}, version_of(memory)
        archived = plain(memory.forget_many(where, dry_run=True))
        erased = plain(memory.erase_many(where, dry_run=True))
        assert archived["dry_run"]
        assert erased["dry_run"]
        assert ids["tea"] in archived["block_ids"]
        assert version_of(memory) == before
        done = plain(memory.erase_many(where))
        assert (done["block_ids"], done["dry_run"]) == (erased["block_ids"], False)

    @needs("blocks")
    def test_blocks_are_listed_in_pages(self, memory: Interface, ids: Mapping[str, str]) -> None:
        first = plain(memory.blocks(limit=2))
        rest = plain(memory.blocks(limit=2, after=first["next_after"]))
        listed = [block["id"] for block in (*first["items"], *rest["items"])]
        assert (listed, rest["next_after"]) == ([*ids.values()], None)

    @needs("blocks")
    def test_blocks_are_filtered_by_their_fields(
        self, memory: Interface, ids: Mapping[str, str]
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

    @needs("learn.key", "blocks", "as_of")
    def test_a_key_has_one_current_text_and_its_earlier_ones(self, memory: Interface) -> None:
        texts = ("Ines lives in Oslo.", "Ines lives in Bergen.", "Ines lives in Oslo.")
        said = [plain(memory.learn(text, key="people/ines", tags=["place"])) for text in texts]
        assert [each["action"] for each in said] == ["created", "revised", "revised"]
        again = plain(memory.learn(texts[2], key="people/ines"))
        assert (again["action"], again["block_id"]) == ("restated", said[0]["block_id"])
        learned(memory, "Ines lives in Oslo.")  # without the key it is another block
        bergen, oslo = plain(memory.blocks(key="people/ines"))["items"]
        assert (oslo["id"], oslo["status"]) == (said[0]["block_id"], "inbox")
        assert oslo["metadata"] == {"key": "people/ines"}
        assert (bergen["superseded_by"], bergen["tags"]) == (oslo["id"], ["place"])
        then = memory.as_of(version=said[1]["version"] + 1)
        (now,) = plain(then.blocks(key="people/", status="inbox"))["items"]
        assert now["content"] == texts[1]

    @needs("learn.key", "learn.scope", "blocks")
    def test_a_key_belongs_to_its_scope(self, memory: Interface) -> None:
        for user in ("ann", "bob"):
            said = memory.learn(f"Call me {user}.", key="name", scope={"user": user})
            assert plain(said)["action"] == "created"
        assert len(plain(memory.blocks(key="name", status="inbox"))["items"]) == 2

    @needs("learn.key", "blocks")
    def test_a_key_that_names_no_record_is_refused(self, memory: Interface) -> None:
        memory.learn("A text without a key.")
        before = version_of(memory)
        for key in ("", " a", "people/", "a\nb", "a" * 1001):
            with pytest.raises(MnemicError) as refused:
                memory.learn("Ines lives in Oslo.", key=key)
            assert (refused.value.code, refused.value.facts["field"]) == ("field-refused", "key")
        with pytest.raises(MnemicError):
            memory.learn("Ines lives in Oslo.", key="one", metadata={"key": "another"})
        assert version_of(memory) == before

    @needs("learn.key", "blocks")
    def test_another_expiry_renews_the_text_of_a_key(self, memory: Interface) -> None:
        for year, action in ((2031, "created"), (2032, "reactivated"), (2032, "restated")):
            said = memory.learn("closed on Mondays", key="hours", expires_at=f"{year}-01-01")
            assert plain(said)["action"] == action
            (block,) = plain(memory.blocks(key="hours"))["items"]
            assert (block["status"], block["expires_at"][:4]) == ("inbox", str(year))

    @needs("learn.key", "recall.where", "where.nested", "consolidate")
    def test_a_recall_is_limited_to_keys(self, memory: Interface) -> None:
        for key in ("yard/north", "yard/south", "shed"):
            memory.learn(f"The oil is in the {key}.", key=key)
        counts: tuple[tuple[str | list[str], int], ...] = (
            ("yard/", 2),
            ("yard/north", 1),
            ("yard", 0),
            (["shed", "yard/"], 3),
        )
        for wanted, count in counts:
            answer = memory.recall("Where is the oil?", where={"key": wanted}, min_probability=0.0)
            assert len(plain(answer)["block_ids"]) == count

    @needs("learn.key", "learn_many.atomic", "blocks")
    def test_a_batch_is_written_as_a_whole_or_not_at_all(self, memory: Interface) -> None:
        old = learned(memory, "The lamp is broken.")
        before = version_of(memory)
        good = {"content": "The lamp is new.", "key": "lamp"}
        for bad in ({"content": " "}, {"content": "The lamp is old.", "key": "lamp"}):
            with pytest.raises(MnemicError):
                memory.learn_many([good, bad], forget=[old], atomic=True)
            assert version_of(memory) == before
        with pytest.raises(MnemicError):
            memory.learn_many([good], forget=["0" * 16], atomic=True)
        assert version_of(memory) == before
        (done,) = plain(memory.learn_many([good], forget=[old], atomic=True))["results"]
        assert (done["action"], done["version"]) == ("created", before + 2)
        assert plain(memory.block(old))["archive_reason"] == "forgotten"

    def test_a_forgotten_block_can_be_learned_again(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        memory.forget(ids["tea"])
        again = plain(memory.learn(LESSONS["tea"]))
        assert (again["block_id"], again["action"]) == (ids["tea"], "reactivated")
        assert plain(memory.block(ids["tea"]))["status"] == "inbox"

    @needs("rezone")
    def test_a_block_can_be_rezoned(self, memory: Interface, ids: Mapping[str, str]) -> None:
        result = {"block_id": ids["tea"], "zone": "quarantined"}
        rezoned = memory.rezone(ids["tea"], "quarantined", "he made it up")
        assert plain(rezoned) == {**result, "action": "rezoned"}
        assert plain(memory.block(ids["tea"]))["zone"] == "quarantined"
        before = version_of(memory)
        assert plain(memory.rezone(ids["tea"], "quarantined")) == {**result, "action": "unchanged"}
        assert version_of(memory) == before

    # --- consolidation --------------------------------------------------------------------------

    def test_the_inbox_is_promoted_first_in_first(self, memory: Interface) -> None:
        first, second = learned(memory, LESSONS["gate"]), learned(memory, LESSONS["tea"])
        result = plain(memory.consolidate(limit=1))
        assert (result["promoted"], result["inbox_remaining"]) == (1, 1)
        states = [plain(memory.block(block))["status"] for block in (first, second)]
        assert states == ["active", "inbox"]

    @needs("dream")
    def test_dream_is_an_alias_of_consolidate(self, memory: Interface) -> None:
        learned(memory, LESSONS["gate"])
        result = plain(memory.dream(limit=5, relink=True))
        assert (result["promoted"], plain(memory.status())["active"]) == (1, 1)

    @needs("adopt_policy")
    def test_relink_finds_edges_for_blocks_with_few(self, memory: Interface) -> None:
        learned(memory, LESSONS["gate"])
        learned(memory, LESSONS["oil"])
        memory.adopt_policy(evolve(DEFAULT, name="shy", edge_threshold=1.0))
        assert plain(memory.consolidate())["edges_created"] == 0
        memory.adopt_policy(DEFAULT)
        assert plain(memory.consolidate())["edges_created"] == 0
        assert plain(memory.consolidate(relink=True))["edges_created"] == 1

    @needs("embedder", "near_duplicates")
    def test_near_duplicates_are_reported(self, memory: Interface) -> None:
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
    def test_a_contradiction_is_linked_and_named(self, memory: Interface) -> None:
        old, new = (learned(memory, f"angle 0: the gate is {state}") for state in ("open", "shut"))
        result = plain(memory.consolidate())
        assert result["superseded"] == []
        assert result["contradictions"] == [{"older": old, "newer": new}]
        (edge,) = plain(memory.edges(old))
        assert (edge["source_id"], edge["target_id"]) == (new, old)
        assert (edge["relation"], edge["origin"]) == ("contradicts", "similarity")

    @needs("embedder")
    def test_the_same_statement_supersedes_the_older_block(self, memory: Interface) -> None:
        old = plain(memory.learn("angle 0: a rope", tags=["rope"]))["block_id"]
        memory.consolidate()
        new = plain(memory.learn("Angle 0: a rope!"))["block_id"]
        replaced = {"old": old, "new": new, "why": "same", "by": None}
        assert plain(memory.consolidate())["superseded"] == [replaced]
        before, after = plain(memory.block(old)), plain(memory.block(new))
        assert (before["status"], before["superseded_by"]) == ("archived", new)
        assert (after["status"], after["tags"]) == ("active", ["rope"])
