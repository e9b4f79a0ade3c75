"""Contract of the operations on decisions: replay, explain, what-if, backtest and revert."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

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
    version_of,
)
from mnemic.specs.contracts.interface.sample_requests import LESSONS, judged, tunable


class Decisions(InterfaceFixture):
    """The part of `InterfaceContract` about past decisions."""

    @needs("replay")
    def test_a_decision_is_replayed_from_the_state_it_read(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        recalled = plain(memory.recall(LESSONS["gate"], detail="full"))
        memory.forget(ids["gate"])
        replayed = plain(memory.replay(recalled["decision_id"]))
        assert (replayed["outcome"], replayed["differences"]) == ("reproduced", [])
        assert replayed["replayed_digest"] == recalled["digest"]
        assert replayed["recall"] == recalled

    @needs("replay_all")
    def test_all_decisions_are_replayed(self, memory: Interface, ids: Mapping[str, str]) -> None:
        made = [plain(memory.recall(LESSONS[name]))["decision_id"] for name in ids]
        versions = [int(decision[1:]) for decision in made]
        whole = {
            "decisions": 3,
            "reproduced": 3,
            "differs": 0,
            "sealed": 0,
            "lost": 0,
            "retired": 0,
            "first_version": versions[0],
            "last_version": versions[2],
            "suspects": [],
            "differences": [],
            "changed": [],
        }
        assert plain(memory.replay_all()) == whole
        middle = plain(memory.replay_all(after=versions[0], upto=versions[1]))
        one = {"decisions": 1, "reproduced": 1}
        both = {"first_version": versions[1], "last_version": versions[1]}
        assert middle == {**whole, **one, **both}

    @needs("replay", "what_if")
    def test_a_decision_that_read_erased_text_is_sealed(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        decision = plain(memory.recall(LESSONS["gate"]))["decision_id"]
        memory.erase(ids["gate"])
        replayed = plain(memory.replay(decision))
        assert (replayed["outcome"], replayed["recombines"]) == ("sealed", True)
        assert (replayed["recall"], replayed["replayed_digest"]) == (None, None)
        with pytest.raises(MnemicError) as refused:
            memory.what_if(decision, top_k=1)
        assert (refused.value.code, bool(refused.value.recovery)) == ("decision-sealed", True)

    # --- explanations ---------------------------------------------------------------------------

    @needs("explain", "why_not")
    def test_a_decision_is_explained(self, memory: Interface, ids: Mapping[str, str]) -> None:
        recalled = plain(memory.recall(LESSONS["gate"], top_k=2, detail="full"))
        decision, first = recalled["decision_id"], recalled["blocks"][0]
        whole = plain(memory.explain(decision))
        (why,) = plain(memory.explain(decision, ids["gate"]))["blocks"]
        assert (whole["decision_id"], whole["query"]) == (decision, LESSONS["gate"])
        assert (whole["blocks"][0], len(whole["blocks"])) == (why, 2)
        assert (why["block_id"], why["rank"], why["candidate_rank"]) == (ids["gate"], 1, 1)
        assert (why["score"], why["contributions"]) == (
            first["composite_score"],
            first["contributions"],
        )
        kinds = [each["kind"] for each in why["history"]]
        assert kinds == ["block-learned", "blocks-promoted"]
        (latest,) = plain(memory.explain(decision, ids["gate"], events=1))["blocks"]
        assert len(latest["history"]) == 1

    @needs("ask_again")
    def test_the_question_of_a_decision_is_asked_again_without_a_record(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        recalled = plain(memory.recall(LESSONS["gate"], top_k=2))
        before = plain(memory.status())["version"]
        again = plain(memory.ask_again(recalled["decision_id"]))
        assert (again["block_ids"][0], again["decision_id"]) == (ids["gate"], None)
        assert plain(memory.status())["version"] == before

    @needs("why_not")
    def test_why_not_names_the_stage_of_exclusion(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        recalled = plain(memory.recall(LESSONS["gate"], top_k=1))
        decision, best = recalled["decision_id"], recalled["blocks"][0]["composite_score"]
        came = plain(memory.why_not(decision, ids["gate"]))
        fell = plain(memory.why_not(decision, ids["oil"]))
        later = learned(memory, "the lamp is new")
        assert (came["stage"], came["rank"], came["score"]) == ("returned", 1, best)
        assert (fell["stage"], fell["score_needed"]) == ("top_k", best)
        assert fell["score"] < best
        assert fell["detail"]
        assert plain(memory.why_not(decision, later))["stage"] == "not-learned"

    # --- what if --------------------------------------------------------------------------------

    @needs("what_if")
    def test_what_if_changes_the_inputs_of_a_decision(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        recalled = plain(memory.recall(LESSONS["gate"], top_k=2, detail="full"))
        before = version_of(memory)
        decision = recalled["decision_id"]
        fewer = plain(memory.what_if(decision, top_k=1))
        assert (fewer["decision_id"], fewer["supposed"]) == (decision, ["top_k"])
        assert fewer["recorded"] == recalled
        assert fewer["answer"]["block_ids"] == recalled["block_ids"][:1]
        assert fewer["answer"]["decision_id"] is None
        changes = [(move["block_id"], move["change"]) for move in fewer["moves"]]
        assert changes == [(ids["gate"], "stayed"), (recalled["block_ids"][1], "left")]
        other = plain(memory.what_if(decision, query=LESSONS["tea"], frame="task"))
        assert other["supposed"] == ["query", "frame"]
        assert (other["answer"]["block_ids"][0], other["answer"]["frame"]) == (ids["tea"], "task")
        assert version_of(memory) == before

    @needs("what_if", "what_if.policy")
    def test_what_if_changes_the_policy_of_a_decision(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        decision = plain(memory.recall(LESSONS["gate"]))["decision_id"]
        narrow = evolve(DEFAULT, name="narrow", top_k=1)
        found = plain(memory.what_if(decision, policy=narrow))
        assert (found["supposed"], found["answer"]["policy_id"]) == (["policy"], narrow.id)
        assert found["answer"]["block_ids"] == found["recorded"]["block_ids"][:1] == [ids["gate"]]

    @needs("backtest")
    def test_policies_are_backtested_on_past_decisions(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        for name in ids:
            decision = plain(memory.recall(LESSONS[name], top_k=2))["decision_id"]
            memory.outcome(decision_id=decision, signal=1.0)
        before = version_of(memory)
        policies = {"same": DEFAULT, "narrow": evolve(DEFAULT, name="other", frequency_cap=9)}
        asked = {"objective": "hit", "from_": 0.0, "to": 9.0, "horizon_hours": 12.0, "seed": 7}
        found = plain(memory.backtest(policies, **asked))
        assert [score["name"] for score in found["scores"]] == ["recorded", "same", "narrow"]
        recorded, same, _ = found["scores"]
        assert (same["digest"], same["policy_id"]) == (recorded["digest"], DEFAULT.id)
        assert same["hit"] == recorded["hit"]
        assert (found["objective"], found["horizon_hours"], found["seed"]) == ("hit", 12.0, 7)
        assert (found["decisions"], found["judged"]) == (3, 3)
        assert found["caveats"]
        assert version_of(memory) == before

    @needs("tune", "outcome", "embedder")
    def test_a_policy_is_proposed_and_not_adopted(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        tunable(memory, ids)
        before = version_of(memory)
        asked = {
            "frame": "answer",
            "parameters": ["weights"],
            "horizon_hours": 24.0,
            "place_cost": 0.25,
            "evaluations": 12,
            "seed": 7,
        }
        found = plain(memory.tune(**asked))
        assert found["verdict"] in {"better", "unclear", "nothing"}
        assert (found["earlier"], found["later"], found["sessions"]) == (30, 20, 20)
        assert (found["frame"], found["seed"], found["place_cost"]) == ("answer", 7, 0.25)
        assert (found["before_id"], found["explored"]) == (DEFAULT.id, 0)
        assert found["tried"] > 0
        assert (found["policy"] is None) == (found["gap"] is None)
        assert found["caveats"]
        assert plain(memory.tune(**asked)) == found
        assert version_of(memory) == before

    @needs("calibrate", "outcome", "embedder")
    def test_probabilities_are_calibrated_to_outcomes(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        judged(memory, ids)
        before = version_of(memory)
        found = plain(memory.calibrate(command_id="at last"))
        assert (found["useful"], found["useless"], found["decisions"]) == (12, 40, 26)
        assert found["before_id"] == DEFAULT.id != found["policy_id"]
        assert found["log_loss_after"] < found["log_loss_before"]
        assert version_of(memory) == before + 1
        assert plain(memory.calibrate(command_id="at last")) == found
        again = plain(memory.calibrate())
        assert again["before_id"] == again["policy_id"] == found["policy_id"]
        assert version_of(memory) == before + 1

    # --- revert ---------------------------------------------------------------------------------

    @needs("revert")
    def test_a_range_of_the_log_is_reverted(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        start = version_of(memory) + 1
        memory.connect(ids["tea"], ids["gate"], "supports")
        memory.forget(ids["oil"])
        end = version_of(memory)
        shown = plain(memory.revert(start, end, dry_run=True))
        assert (shown["action"], shown["version"], version_of(memory)) == ("dry_run", None, end)
        done = plain(memory.revert(start, end, reason="a mistake"))
        assert done == {**shown, "action": "reverted", "version": end + 1}
        assert done["edges_removed"] == [sorted([ids["tea"], ids["gate"]])]
        assert (done["restored"], done["conflicts"]) == ([ids["oil"]], [])
        assert plain(memory.block(ids["oil"]))["status"] == "active"
        again = plain(memory.revert(end + 1, end + 1))
        assert (again["action"], plain(memory.block(ids["oil"]))["status"]) == (
            "reverted",
            "archived",
        )

    # --- descent, quarantine and revert of selected writes --------------------------------------

    @needs("descent", "quarantine", "recall", "outcome")
    def test_quarantine_takes_blocks_out_of_recall_until_they_are_released(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        before = plain(memory.recall(LESSONS["gate"], frame="attention"))
        assert ids["gate"] in before["block_ids"]
        start, selector = version_of(memory), {"block": [ids["gate"]]}
        done = plain(memory.quarantine(selector, "it was planted"))
        expected = {"action": "quarantined", "block_ids": [ids["gate"]], "selected": 1}
        assert done == {**expected, "version": start + 1}
        assert plain(memory.block(ids["gate"]))["status"] == "quarantined"
        assert [each["id"] for each in plain(memory.blocks(status="quarantined"))["items"]] == [
            ids["gate"]
        ]
        assert plain(memory.status())["quarantined"] == 1
        now = plain(memory.recall(LESSONS["gate"], frame="attention"))
        assert ids["gate"] not in now["block_ids"]
        assert plain(memory.quarantine(selector))["action"] == "nothing"
        released = plain(memory.quarantine(selector, release=True))
        assert (released["action"], released["block_ids"]) == ("released", [ids["gate"]])
        after = plain(memory.recall(LESSONS["gate"], frame="attention"))
        assert ids["gate"] in after["block_ids"]

    @needs("descent", "recall", "outcome", "compose")
    def test_descent_lists_what_descends_from_a_block_with_the_path(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        decision = plain(memory.recall(LESSONS["gate"], frame="attention"))["decision_id"]
        memory.outcome(decision_id=decision, signal=0.9)
        made = plain(memory.compose([ids["gate"], ids["tea"]]))["composition_id"]
        found = plain(memory.descent({"block": ids["gate"]}, limit=1000))
        paths = {(each["kind"], each["id"]): each["path"] for each in found["items"]}
        (learned,) = paths["block", ids["gate"]]
        assert paths["decision", decision][0] == learned
        assert [step.partition(" (v")[0] for step in paths["decision", decision][1:]] == [
            f"returned in {decision}"
        ]
        assert any(kind == "outcome" for kind, _ in paths)
        assert len(paths["composition", made]) == 2  # noqa: PLR2004 - learned, composed
        assert found["totals"] == dict(sorted(Counter(kind for kind, _ in paths).items()))
        first = plain(memory.descent({"block": ids["gate"]}, limit=1))
        assert first["items"] == found["items"][: len(first["items"])]
        more = plain(memory.descent({"block": ids["gate"]}, after=first["next_after"], limit=1000))
        assert [*first["items"], *more["items"]] == found["items"]

    @needs("revert_source", "what_if", "replay_all", "recall")
    def test_selected_writes_are_reverted_and_left_out(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        selector = {"block": ids["gate"]}
        recalled = plain(memory.recall(LESSONS["gate"], frame="attention"))
        answered = plain(memory.what_if(recalled["decision_id"], without=selector))
        assert answered["supposed"] == ["without"]
        assert answered["answer"]["block_ids"] == [
            each for each in recalled["block_ids"] if each != ids["gate"]
        ]
        replayed = plain(memory.replay_all(without=selector))
        assert recalled["decision_id"] in replayed["changed"]
        assert plain(memory.replay_all())["changed"] == []
        head = version_of(memory)
        shown = plain(memory.revert_source(selector, dry_run=True))
        assert (shown["action"], version_of(memory)) == ("dry_run", head)
        done = plain(memory.revert_source(selector, "it was planted"))
        assert done == {**shown, "action": "reverted", "version": version_of(memory)}
        assert done["forgotten"] == [ids["gate"]]
        assert plain(memory.block(ids["gate"]))["archive_reason"] == "forgotten"
