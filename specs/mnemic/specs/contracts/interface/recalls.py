"""Contract of recall, outcome and deep_reference."""
# ruff: noqa: PLR2004 - expected values stand as they are

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from attrs import evolve

from mnemic.kernel.errors import MnemicError
from mnemic.kernel.policy import DEFAULT
from mnemic.specs.contracts.interface.answers import plain
from mnemic.specs.contracts.interface.fixtures import (
    Interface,
    InterfaceFixture,
    learned,
    needs,
    origin_of,
    version_of,
)
from mnemic.specs.contracts.interface.sample_requests import LESSONS, LONG_AGO, UNKNOWN_ID


class Recalls(InterfaceFixture):
    """The part of `InterfaceContract` about recall, outcome and deep_reference."""

    def test_recall_returns_relevant_blocks_with_their_signals(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        answer = plain(memory.recall(LESSONS["gate"], top_k=2, detail="full"))
        assert answer["block_ids"][0] == ids["gate"]
        assert [block["id"] for block in answer["blocks"]] == answer["block_ids"]
        assert len(answer["blocks"]) == 2
        assert (answer["version"], answer["decision_id"]) == (before, f"d{before + 1}")
        for block in answer["blocks"]:
            added = sum(each["contribution"] for each in block["contributions"])
            assert added == pytest.approx(block["composite_score"], abs=1e-8)
        assert ids["gate"][:8] in answer["text"]

    @needs("clock")
    def test_a_core_answer_is_the_full_one_without_details(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        memory.connect(ids["tea"], ids["gate"], "contradicts")
        asked: dict[str, Any] = {"top_k": 1, "record": False}
        full = plain(memory.recall(LESSONS["gate"], detail="full", **asked))
        core = plain(memory.recall(LESSONS["gate"], detail="core", **asked))
        (block,), (counterpoint,) = core["blocks"], core["counterpoints"]
        assert core == {
            **{name: full[name] for name in core},
            "blocks": [{name: full["blocks"][0][name] for name in block}],
            "counterpoints": [{name: full["counterpoints"][0][name] for name in counterpoint}],
        }
        assert not {"contributions", "relevance_parts", "cosine_score"} & {*block}
        assert not {"dropped", "digest", "policy_id"} & {*core}

    @needs("embedder", "clock")
    def test_scores_are_the_same_to_the_last_digit_through_every_interface(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        answer = plain(memory.recall(LESSONS["gate"], frame="attention", detail="full"))
        recency = {block["recency_score"] for block in answer["blocks"]}
        found = {block["id"]: block["cosine_score"] for block in answer["blocks"]}
        assert (found[ids["gate"]], found[ids["oil"]]) == (1.0, 0.824249805)
        assert recency == {0.0}

    def test_an_unrecorded_recall_writes_nothing(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        answer = plain(memory.recall(LESSONS["gate"], record=False))
        assert (answer["decision_id"], answer["block_ids"][0]) == (None, ids["gate"])
        assert version_of(memory) == before

    def test_an_outcome_scores_valid_blocks_and_refuses_the_others(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        answer = plain(memory.outcome([ids["gate"], UNKNOWN_ID, ids["tea"]], signal=0.9))
        assert sorted(answer["updated"]) == sorted([ids["gate"], ids["tea"]])
        assert [(each["position"], each["id"], each["code"]) for each in answer["refused"]] == [
            (1, UNKNOWN_ID, "block-not-found")
        ]
        counts = "signal weight reinforced penalised edges_created edges_confirmed".split()
        assert [answer[name] for name in counts] == [0.9, 1.0, 2, 0, 1, 0]
        assert plain(memory.block(ids["gate"]))["usefulness"] == 0.7

    def test_an_outcome_of_a_decision_scores_what_it_returned(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        recalled = plain(memory.recall(LESSONS["gate"], top_k=2))
        answer = plain(memory.outcome(decision_id=recalled["decision_id"], signal=0.1))
        assert sorted(answer["updated"]) == sorted(recalled["block_ids"])
        assert ids["gate"] in answer["updated"]
        assert (answer["penalised"], answer["reinforced"]) == (2, 0)

    @needs("compose")
    def test_an_outcome_of_a_composition_scores_its_members(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        used = [ids["gate"], ids["tea"]]
        composed = plain(memory.compose(used))["composition_id"]
        result = plain(
            memory.outcome(composition_id=composed, signal=1.0, weight=2.0, source="Ines")
        )
        assert sorted(result["updated"]) == sorted(used)
        assert (result["signal"], result["weight"], result["edges_created"]) == (1.0, 2.0, 1)
        assert plain(memory.block(ids["tea"]))["evidence"] == 2.0

    # --- options of recall ----------------------------------------------------------------------

    def test_a_recall_can_be_filtered(self, memory: Interface) -> None:
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

    @needs("where.nested", "replay")
    def test_filters_can_be_combined(self, memory: Interface) -> None:
        said: dict[str, dict[str, Any]] = {
            "old": {"author": "Ines", "metadata": {"lane": 3, "user": "ann"}},
            "new": {"author": "Ines", "metadata": {"lane": 5, "user": "bob"}},
            "loud": {"author": "Omar", "confidence": 0.4},
        }
        ids = {
            name: plain(memory.learn(f"the lamp is {name}", created_at=LONG_AGO, **given))[
                "block_id"
            ]
            for name, given in said.items()
        }
        filters: list[tuple[dict[str, Any], set[str]]] = [
            ({"user": "ann"}, {"old"}),
            ({"user": ["ann", "bob"]}, {"old", "new"}),
            ({"range": {"metadata": {"lane": {"from": 4}}}}, {"new"}),
            ({"range": {"metadata": {"lane": {"from": 3, "to": 4}}}}, {"old"}),
            ({"range": {"metadata": {"lane": {"from": "3"}}}}, set()),
            ({"range": {"confidence": {"to": 0.4}}}, {"loud"}),
            ({"any": [{"user": "ann"}, {"author": "Omar"}]}, {"old", "loud"}),
            ({"all": [{"author": "Ines"}, {"not": {"user": "bob"}}]}, {"old"}),
            ({"not": {"author": "Ines"}}, {"loud"}),
            ({"not": {"any": [{"user": "ann"}, {"author": "Omar"}]}}, {"new"}),
        ]
        for where, wanted in filters:
            answer = plain(memory.recall("which lamp?", where=where, min_probability=0.0))
            assert {*answer["block_ids"]} == {ids[name] for name in wanted}, where
            assert plain(memory.replay(answer["decision_id"]))["outcome"] == "reproduced"

    @needs("embedder")
    def test_an_answer_says_whether_memory_answers(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        full = {"record": False, "detail": "full"}
        answer = plain(memory.recall(LESSONS["gate"], min_probability=0.0, **full))
        assert answer["verdict"] == "yes"
        assert 0.5 <= answer["answerable"] <= 1.0
        chances = {block["id"]: block["probability"] for block in answer["blocks"]}
        assert list(chances) == [ids["gate"], ids["oil"]]
        least = chances[ids["gate"]]
        assert chances[ids["oil"]] < least
        probable = plain(memory.recall(LESSONS["gate"], min_probability=least, **full))
        assert probable["block_ids"] == [ids["gate"]]
        assert [each["reason"] for each in probable["dropped"]] == ["min_probability"]
        assert probable["answerable"] == answer["answerable"]
        nothing = plain(memory.recall("zebras?", where={"author": "nobody"}, record=False))
        assert (nothing["verdict"], nothing["answerable"], nothing["blocks"]) == ("no", 0.0, [])
        assert nothing["text"] == "Nothing in memory bears on this."

    @needs("learn.role", "recall.asked_by", "learn_many", "as_of")
    def test_a_question_in_the_first_person_means_what_its_asker_said(
        self, memory: Interface
    ) -> None:
        given = {"content": "the shed key hangs by the door", "category": "message", "thread": "t"}
        told = {"user": plain(memory.learn(**given, role="user"))["block_id"]}
        (other,) = plain(memory.learn_many([{**given, "role": "assistant"}]))["results"]
        told["assistant"] = other["block_id"]
        assert plain(memory.block(other["block_id"]))["metadata"] == {"role": "assistant"}
        for asked_by, role in ((None, "user"), ("user", "user"), ("assistant", "assistant")):
            asked = {"query": "where did I put the shed key?", "asked_by": asked_by}
            answer = plain(memory.recall(**asked))
            assert answer["block_ids"][0] == told[role]
            past = memory.as_of(decision=answer["decision_id"])
            assert plain(past.recall(**asked))["block_ids"] == answer["block_ids"]
        refusals: tuple[Callable[[], object], ...] = (
            lambda: memory.learn("the key is lost", role="gardener"),
            lambda: memory.learn("the key is lost", role="user", metadata={"role": "tool"}),
            lambda: memory.recall("where is my key?", asked_by=""),
        )
        for refuse in refusals:
            with pytest.raises(MnemicError) as refused:
                refuse()
            assert (refused.value.code, bool(refused.value.recovery)) == ("field-refused", True)

    def test_a_frame_has_its_own_filters_and_weights(self, memory: Interface) -> None:
        own = plain(memory.learn("I keep my word", tags=["self/constitutional"]))["block_id"]
        other = plain(memory.learn("the lamp is new"))["block_id"]
        found = {
            frame: plain(memory.recall(frame=frame, record=False))["block_ids"]
            for frame in ("self", "world")
        }
        assert found == {"self": [own], "world": [other]}

    def test_an_answer_keeps_to_its_budget_and_lists_dropped_blocks(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        asked: dict[str, Any] = {"min_probability": 0.0, "record": False, "detail": "full"}
        whole = plain(memory.recall(LESSONS["gate"], **asked))
        budget = whole["tokens"] - 1
        short = plain(memory.recall(LESSONS["gate"], token_budget=budget, **asked))
        assert short["tokens"] <= short["token_budget"] == budget
        missing = [block for block in whole["block_ids"] if block not in short["block_ids"]]
        dropped = {each["id"]: each["reason"] for each in short["dropped"]}
        assert dropped == dict.fromkeys(missing, "token_budget")
        assert ids["gate"] in short["block_ids"]
        assert missing

    def test_contradicting_blocks_are_returned_as_counterpoints(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        memory.connect(ids["tea"], ids["gate"], "contradicts")
        answer = plain(memory.recall(LESSONS["gate"], top_k=1))
        assert answer["block_ids"] == [ids["gate"]]
        assert [each["id"] for each in answer["counterpoints"]] == [ids["tea"]]

    @needs("embedder", "adopt_policy")
    def test_pairs_worth_connecting_are_suggested(self, memory: Interface) -> None:
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
            "source_origin": origin_of(memory, gate),
            "target_origin": origin_of(memory, oil),
            "reason": idea["reason"],
            "suggested_relation": "similar",
            "confidence": 0.824249805,
        }

    def test_a_recall_can_explore_the_last_place(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        answer = plain(memory.recall(LESSONS["gate"], top_k=1, explore=1.0, detail="full"))
        assert answer["propensity"] < 1.0
        assert len(answer["block_ids"]) == 1
        assert {*answer["block_ids"]} < {*ids.values()}

    # --- deep_reference -------------------------------------------------------------------------

    @needs("deep_reference", "composition")
    def test_deep_reference_weighs_and_records_evidence(
        self, memory: Interface, ids: Mapping[str, str]
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
    def test_deep_reference_can_skip_recording(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        answer = plain(memory.deep_reference(LESSONS["gate"], record=False))
        assert (answer["recommended"]["id"], answer["composition_id"]) == (ids["gate"], None)
        assert version_of(memory) == before

    @needs("deep_reference", "ledger")
    def test_an_empty_memory_has_no_evidence(self, memory: Interface) -> None:
        memory.forget(learned(memory, LESSONS["tea"]))
        answer = plain(memory.deep_reference("is there anything?"))
        assert (answer["evidence"], answer["composition_id"]) == ([], None)
        assert answer["composition_write_status"] == "skipped_empty"
        assert plain(memory.ledger()) == []
