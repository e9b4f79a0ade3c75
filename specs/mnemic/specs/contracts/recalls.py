"""What a door answers when it is asked, and how it takes what came of it."""
# ruff: noqa: PLR2004 - expected values stand as they are

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve

from mnemic.kernel.policy import DEFAULT
from mnemic.specs.contracts.answers import plain
from mnemic.specs.contracts.doorsteps import Door, Doorstep, learned, needs, version_of
from mnemic.specs.contracts.wishes import LESSONS, NOBODY


class Recalls(Doorstep):
    """The part of `DoorContract` about recall, outcome and reference."""

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

    @needs("compose")
    def test_an_outcome_of_a_composition_scores_its_members(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        used = [ids["gate"], ids["tea"]]
        composed = plain(memory.compose(used))["composition_id"]
        told = plain(memory.outcome(composition_id=composed, signal=1.0, weight=2.0, source="Ines"))
        assert sorted(told["updated"]) == sorted(used)
        assert (told["signal"], told["weight"], told["edges_created"]) == (1.0, 2.0, 1)
        assert plain(memory.block(ids["tea"]))["evidence"] == 2.0

    # --- how one may ask ------------------------------------------------------------------------

    def test_a_question_can_be_kept_to_some_blocks(self, memory: Door) -> None:
        said: dict[str, Any] = {
            "tags": ["lamp"],
            "category": "observation",
            "author": "Ines",
            "thread": "rota",
            "metadata": {"lane": 3},
        }
        memory.learn("the lamp of the gate is old", created_at="2024-01-01")
        mine = plain(memory.learn("the lamp is new", created_at="2025-06-01", **said))["block_id"]
        since, until = {"since": "2025-01-01"}, {"since": "2025-01-01", "until": "2025-12-31"}
        asked = [{name: value} for name, value in said.items()]
        for where in (*asked, since, until, said):
            answer = plain(memory.recall("which lamp?", where=where, record=False))
            assert answer["block_ids"] == [mine], where

    def test_a_frame_looks_its_own_way(self, memory: Door) -> None:
        own = plain(memory.learn("I keep my word", tags=["self/constitutional"]))["block_id"]
        other = plain(memory.learn("the lamp is new"))["block_id"]
        found = {
            frame: plain(memory.recall(frame=frame, record=False))["block_ids"]
            for frame in ("self", "world")
        }
        assert found == {"self": [own], "world": [other]}

    def test_an_answer_keeps_to_its_budget_and_says_what_it_dropped(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        whole = plain(memory.recall(LESSONS["gate"], record=False))
        budget = whole["tokens"] - 1
        short = plain(memory.recall(LESSONS["gate"], token_budget=budget, record=False))
        assert short["tokens"] <= short["token_budget"] == budget
        missing = [block for block in whole["block_ids"] if block not in short["block_ids"]]
        dropped = {each["id"]: each["reason"] for each in short["dropped"]}
        assert dropped == dict.fromkeys(missing, "token_budget")
        assert ids["gate"] in short["block_ids"]
        assert missing

    def test_what_speaks_against_an_answer_stands_beside_it(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        memory.connect(ids["tea"], ids["gate"], "contradicts")
        answer = plain(memory.recall(LESSONS["gate"], top_k=1))
        assert answer["block_ids"] == [ids["gate"]]
        assert [each["id"] for each in answer["counterpoints"]] == [ids["tea"]]

    @needs("embedder", "adopt_policy")
    def test_pairs_worth_connecting_are_suggested(self, memory: Door) -> None:
        memory.adopt_policy(evolve(DEFAULT, name="shy", edge_threshold=1.0))
        gate, oil = learned(memory, LESSONS["gate"]), learned(memory, LESSONS["oil"])
        unasked = plain(memory.recall(LESSONS["gate"], record=False))
        assert unasked["suggested_connections"] == []
        asked = plain(memory.recall(LESSONS["gate"], suggest=True, record=False))
        (idea,) = asked["suggested_connections"]
        assert idea == {
            "source_id": gate,
            "target_id": oil,
            "source_content": LESSONS["gate"],
            "target_content": LESSONS["oil"],
            "reason": idea["reason"],
            "suggested_relation": "similar",
            "confidence": 0.824249805,
        }

    def test_a_question_may_leave_the_last_place_to_chance(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        answer = plain(memory.recall(LESSONS["gate"], top_k=1, explore=1.0))
        assert answer["propensity"] < 1.0
        assert len(answer["block_ids"]) == 1
        assert {*answer["block_ids"]} < {*ids.values()}

    # --- deep_reference -------------------------------------------------------------------------

    @needs("deep_reference", "composition")
    def test_what_is_known_is_weighed_and_its_evidence_recorded(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        answer = plain(memory.deep_reference(LESSONS["gate"], depth=10))
        assert (answer["version"], answer["recommended"]["id"]) == (before, ids["gate"])
        assert (answer["composition_write_status"], answer["composition_id"]) == (
            "persisted",
            f"c{before + 1}",
        )
        written = plain(memory.composition(answer["composition_id"]))
        assert (written["tool"], written["mode"], written["consume"]) == (
            "deep_reference",
            "deep_reference",
            "none",
        )
        known = [(each["id"], each["role"]) for each in answer["evidence"]]
        assert [(each["block_id"], each["role"]) for each in written["members"]] == known
        assert known[0] == (ids["gate"], "primary")
        assert plain(memory.block(ids["gate"]))["retrievals"] == 0

    @needs("deep_reference")
    def test_what_is_weighed_need_not_be_recorded(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        answer = plain(memory.deep_reference(LESSONS["gate"], record=False))
        assert (answer["recommended"]["id"], answer["composition_id"]) == (ids["gate"], None)
        assert version_of(memory) == before

    @needs("deep_reference", "ledger")
    def test_where_nothing_is_known_there_is_no_evidence(self, memory: Door) -> None:
        memory.forget(learned(memory, LESSONS["tea"]))
        answer = plain(memory.deep_reference("is there anything?"))
        assert (answer["evidence"], answer["composition_id"]) == ([], None)
        assert answer["composition_write_status"] == "skipped_empty"
        assert plain(memory.ledger()) == []
