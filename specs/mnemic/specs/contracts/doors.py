"""``DoorContract``: the verbs, whichever way they are called.

A door is whatever has the verbs of ``SyncMemory`` as plain methods, under the same names and with
the same arguments. A door of another make (async, over a wire, a command line) is wrapped in a few
lines for the occasion. Its answers are results, or what their ``to_dict`` gives; what it refuses it
raises as the error of the kernel, which `raised` makes from a document.
"""
# ruff: noqa: PLR2004 - expected values stand as they are

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from mnemic.specs.contracts.answers import plain
from mnemic.specs.contracts.doorsteps import Door, Wall, learned, needs, version_of
from mnemic.specs.contracts.manners import Manners
from mnemic.specs.contracts.wishes import LESSONS, LONG_AGO, NOBODY
from mnemic.specs.strategies.clocks import HOUR_US


class DoorContract(Manners):
    """What an agent relies on when it calls a verb.

    Fill in ``door``; what it returns is entered by ``with``. What the door lacks by its nature
    stands in ``lacks``.
    """

    # --- blocks ---------------------------------------------------------------------------------

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

    # --- edges ----------------------------------------------------------------------------------

    def test_an_edge_is_asserted_reinforced_skipped_and_updated(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        ends = ids["tea"], ids["gate"]
        made = {
            "source_id": ends[0],
            "target_id": ends[1],
            "relation": "supports",
            "weight": 0.75,
            "action": "created",
            "note": "he opens it",
            "displaced_edge": None,
            "displaced_edges": [],
            "deferred_note": None,
            "warnings": [],
        }
        assert plain(memory.connect(*ends, " Supports ", note="he opens it")) == made
        again = plain(memory.connect(*ends))
        assert (again["action"], again["weight"], again["relation"]) == (
            "reinforced",
            0.85,
            "supports",
        )
        before = version_of(memory)
        assert plain(memory.connect(*ends, if_exists="skip"))["action"] == "skipped"
        assert version_of(memory) == before
        updated = plain(memory.connect(*ends, "rhymes with", weight=0.5, if_exists="update"))
        assert (updated["action"], updated["weight"], updated["relation"]) == (
            "updated",
            0.5,
            "rhymes with",
        )

    def test_an_edge_is_removed_unless_it_is_guarded(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        ends = ids["tea"], ids["gate"]
        memory.connect(*ends, "supports")
        told = {"source_id": ends[0], "target_id": ends[1]}
        nothing = {"removed_relation": None, "removed_weight": None}
        guarded = memory.disconnect(*ends, guard_relation="similar")
        assert plain(guarded) == {**told, "action": "guarded", **nothing}
        assert plain(memory.disconnect(*ends, reason="not so")) == {
            **told,
            "action": "removed",
            "removed_relation": "supports",
            "removed_weight": 0.75,
        }
        assert plain(memory.disconnect(*ends)) == {**told, "action": "not_found", **nothing}

    @needs("connects")
    def test_of_many_edges_each_is_refused_by_itself(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        good = {"source": ids["tea"], "target": ids["gate"], "relation": "elaborates"}
        loop = {"source": ids["tea"], "target": ids["tea"]}
        answer = plain(memory.connects([loop, good, {"source": ids["tea"], "target": NOBODY}]))
        assert [each["action"] for each in answer["results"]] == ["created"]
        assert [(each["position"], each["code"]) for each in answer["errors"]] == [
            (0, "self-loop"),
            (2, "block-not-found"),
        ]

    @needs("edges")
    def test_edges_are_told_from_either_end(self, memory: Door, ids: Mapping[str, str]) -> None:
        memory.connect(ids["tea"], ids["gate"], "supports", note="why")
        (edge,) = plain(memory.edges(ids["tea"]))
        assert edge in plain(memory.edges(ids["gate"]))
        assert {name: edge[name] for name in ("relation", "origin", "weight", "note")} == {
            "relation": "supports",
            "origin": "agent",
            "weight": 0.75,
            "note": "why",
        }

    # --- recall and what came of it -------------------------------------------------------------

    def test_what_bears_on_a_question_comes_back_with_its_signals(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        answer = plain(memory.recall(LESSONS["gate"], top_k=2))
        assert answer["block_ids"][0] == ids["gate"]
        assert [block["id"] for block in answer["blocks"]] == answer["block_ids"]
        assert len(answer["blocks"]) == 2
        assert (answer["version"], answer["decision_id"]) == (before, f"d{before + 1}")
        for block in answer["blocks"]:
            added = sum(each["contribution"] for each in block["contributions"])
            assert added == pytest.approx(block["composite_score"], abs=1e-8)
        assert ids["gate"][:8] in answer["text"]

    @needs("embedder", "clock")
    def test_scores_are_the_same_to_the_last_digit_through_every_door(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        answer = plain(memory.recall(LESSONS["gate"], frame="attention"))
        recency = {block["recency_score"] for block in answer["blocks"]}
        found = {block["id"]: block["cosine_score"] for block in answer["blocks"]}
        assert (found[ids["gate"]], found[ids["oil"]]) == (1.0, 0.824249805)
        assert recency == {0.0}

    def test_a_question_that_is_not_recorded_writes_nothing(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        answer = plain(memory.recall(LESSONS["gate"], record=False))
        assert (answer["decision_id"], answer["block_ids"][0]) == (None, ids["gate"])
        assert version_of(memory) == before

    def test_an_outcome_scores_what_can_be_scored(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        answer = plain(memory.outcome([ids["gate"], NOBODY, ids["tea"]], signal=0.9))
        assert sorted(answer["updated"]) == sorted([ids["gate"], ids["tea"]])
        assert [(each["position"], each["id"], each["code"]) for each in answer["refused"]] == [
            (1, NOBODY, "block-not-found")
        ]
        counts = "signal weight reinforced penalised edges_created edges_confirmed".split()
        assert [answer[name] for name in counts] == [0.9, 1.0, 2, 0, 1, 0]
        assert plain(memory.block(ids["gate"]))["usefulness"] == 0.7

    def test_an_outcome_of_a_decision_scores_what_it_returned(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        recalled = plain(memory.recall(LESSONS["gate"], top_k=2))
        answer = plain(memory.outcome(decision_id=recalled["decision_id"], signal=0.1))
        assert sorted(answer["updated"]) == sorted(recalled["block_ids"])
        assert ids["gate"] in answer["updated"]
        assert (answer["penalised"], answer["reinforced"]) == (2, 0)

    def test_curating_twice_is_curating_once(self, memory: Door, ids: Mapping[str, str]) -> None:
        memory.connect(ids["tea"], ids["gate"], weight=0.05)
        swept = plain(memory.curate())
        assert (swept["edges_pruned"], swept["archived"]) == (1, 0)
        before = version_of(memory)
        nothing = dict.fromkeys(swept, 0) | {"total_edges_after": swept["total_edges_after"]}
        assert plain(memory.curate()) == nothing
        assert version_of(memory) == before

    # --- time -----------------------------------------------------------------------------------

    @needs("start_session", "end_session", "clock")
    def test_time_passes_inside_sessions_only(self, memory: Door, wall: Wall) -> None:
        wall.us += 300 * HOUR_US
        started = plain(memory.start_session())
        wall.us += HOUR_US // 2
        ended = plain(memory.end_session())
        wall.us += 300 * HOUR_US
        session = {"session_id": started["session_id"]}
        assert started == {**session, "action": "started", "hour": 0.0}
        assert ended == {**session, "action": "ended", "hour": 0.5}
        assert plain(memory.status())["hour"] == 0.5

    @needs("as_of")
    def test_the_past_stays_as_it_was_told(self, memory: Door, ids: Mapping[str, str]) -> None:
        version = version_of(memory)
        before = memory.as_of(version=version)
        told = plain(before.status()), plain(before.recall(LESSONS["gate"]))
        memory.forget(ids["gate"])
        learned(memory, "the harbour gate opens at seven")
        memory.consolidate()
        again = memory.as_of(version=version)
        assert (plain(again.status()), plain(again.recall(LESSONS["gate"]))) == told
        assert (told[0]["version"], told[0]["active"], told[0]["archived"]) == (version, 3, 0)

    @needs("replay")
    def test_a_decision_is_computed_again_from_what_it_read(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        recalled = plain(memory.recall(LESSONS["gate"]))
        memory.forget(ids["gate"])
        replayed = plain(memory.replay(recalled["decision_id"]))
        assert (replayed["outcome"], replayed["differences"]) == ("reproduced", [])
        assert replayed["replayed_digest"] == recalled["digest"]
        assert replayed["recall"] == recalled

    @needs("explain", "why_not")
    def test_a_decision_is_explained(self, memory: Door, ids: Mapping[str, str]) -> None:
        decision = plain(memory.recall(LESSONS["gate"], top_k=1))["decision_id"]
        (why,) = plain(memory.explain(decision))["blocks"]
        assert (why["block_id"], why["rank"]) == (ids["gate"], 1)
        assert plain(memory.why_not(decision, ids["gate"]))["stage"] == "returned"
        assert plain(memory.why_not(decision, ids["tea"]))["stage"] != "returned"
