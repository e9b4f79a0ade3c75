"""Contract of the composition ledger and the frontier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mnemic.specs.contracts.interface.answers import plain
from mnemic.specs.contracts.interface.fixtures import (
    Interface,
    InterfaceFixture,
    needs,
    version_of,
)
from mnemic.specs.contracts.interface.sample_requests import LESSONS, WHY_TEA


class Ledgers(InterfaceFixture):
    """The part of `InterfaceContract` about compositions, their labels and the frontier."""

    @pytest.fixture
    def composed(self, memory: Interface, ids: Mapping[str, str]) -> str:
        """Compose the gate with the tea, and return the id of the composition."""
        answer = plain(memory.compose([ids["gate"], ids["tea"]], tool="ours", query="why tea?"))
        composition: str = answer["composition_id"]
        return composition

    # --- compositions ---------------------------------------------------------------------------

    @needs("compose", "composition")
    def test_compose_records_a_composition(self, memory: Interface, ids: Mapping[str, str]) -> None:
        before = version_of(memory)
        members = [ids["gate"], ids["tea"]]
        said: dict[str, Any] = {
            "tool": "ours",
            "mode": "morning",
            "query": "why tea?",
            "confidence": 0.5,
            "status": "open",
            "output_preview": "so that",
            "metadata": {"lane": 3},
            "consume": "primary_only",
        }
        answer = plain(memory.compose(members, **said))
        assert answer == {
            "composition_id": f"c{before + 1}",
            "action": "created",
            "version": before + 1,
            "member_ids": members,
        }
        found = plain(memory.composition(answer["composition_id"]))
        unsaid = {"role": None, "trust": None, "score": None, "metadata": None}
        assert found == {
            **said,
            "id": answer["composition_id"],
            "version": before + 1,
            "hour": 0.0,
            "created_at": plain(memory.status())["recorded_at"],
            "query_hash": WHY_TEA,
            "members": [
                {**unsaid, "block_id": block, "role": role, "rank": rank, "preview": LESSONS[name]}
                for rank, (block, role, name) in enumerate(
                    zip(members, ("primary", "supporting"), ("gate", "tea"), strict=True)
                )
            ],
            "labels": [],
        }

    @needs("compose", "compose.members", "compose.query_hash")
    def test_a_member_has_its_own_role_and_fields(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        part = {
            "block_id": ids["tea"],
            "role": "contradicting",
            "rank": 4,
            "trust": 0.5,
            "score": 0.25,
            "preview": "tea, he says",
            "metadata": {"line": 7},
        }
        result = plain(memory.compose([ids["gate"], part], query_hash="sha256:7"))
        found = plain(memory.composition(result["composition_id"]))
        assert (found["members"][1], found["query_hash"]) == (part, "sha256:7")

    @needs("compose", "composition")
    def test_a_composition_with_a_given_id_is_recorded_once(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        members = [ids["gate"], ids["tea"]]
        first = plain(memory.compose(members, tool="ours", composition_id="morning"))
        again = plain(memory.compose(members, tool="ours", composition_id="morning"))
        assert first["composition_id"] == "morning"
        assert again == {**first, "action": "duplicate"}
        assert version_of(memory) == first["version"]

    @needs("compose", "ledger")
    def test_the_ledger_lists_the_latest_first(
        self, memory: Interface, ids: Mapping[str, str], composed: str
    ) -> None:
        later = plain(memory.compose([ids["gate"], ids["oil"]]))["composition_id"]
        assert [each["id"] for each in plain(memory.ledger())] == [later, composed]
        assert [each["id"] for each in plain(memory.ledger(limit=1))] == [later]
        (of_tea,) = plain(memory.ledger(of=ids["tea"]))
        assert of_tea == plain(memory.composition(composed))

    @needs("compose", "composed_with")
    def test_a_block_lists_the_blocks_it_was_composed_with(
        self, memory: Interface, ids: Mapping[str, str], composed: str
    ) -> None:
        memory.compose([ids["oil"], ids["gate"]])
        memory.compose([ids["gate"], ids["oil"]], mode="again")
        of_gate = plain(memory.composed_with(ids["gate"]))
        counts = [(each["block_id"], each["composed_count"]) for each in of_gate]
        assert counts == [(ids["oil"], 2), (ids["tea"], 1)]
        (of_tea,) = plain(memory.composed_with(ids["tea"], limit=1))
        assert of_tea == {
            "block_id": ids["gate"],
            "composed_count": 1,
            "latest_id": composed,
            "latest_at": plain(memory.composition(composed))["created_at"],
        }

    # --- labels ---------------------------------------------------------------------------------

    @needs("label", "retract_label", "composition")
    def test_labels_accumulate_and_can_be_retracted(self, memory: Interface, composed: str) -> None:
        first = plain(
            memory.label(composed, "submitted", notes="sent", source="Ines", confidence_delta=0.25)
        )
        memory.label(composed, "closed_by_duplicate")
        assert first == {
            "label_id": f"l{version_of(memory) - 1}",
            "composition_id": composed,
            "label": "submitted",
            "action": "labelled",
        }
        one, two = plain(memory.composition(composed))["labels"]
        result = {"label_id": first["label_id"], "composition_id": composed, "label": "submitted"}
        said = {"source": "Ines", "notes": "sent", "confidence_delta": 0.25, "metadata": None}
        assert one == {**result, **said, "labelled_at": one["labelled_at"], "hour": 0.0}
        assert (two["label"], two["source"]) == ("closed_by_duplicate", "user")

        taken = plain(memory.retract_label(first["label_id"], reason="too soon"))
        assert taken == {**first, "action": "retracted"}
        assert plain(memory.composition(composed))["labels"] == [two]
        before = version_of(memory)
        assert plain(memory.retract_label(first["label_id"])) == {**first, "action": "unchanged"}
        assert version_of(memory) == before

    @needs("label", "label.metadata")
    def test_a_label_can_have_metadata(self, memory: Interface, composed: str) -> None:
        memory.label(composed, "helpful", metadata={"ticket": 7})
        (label,) = plain(memory.composition(composed))["labels"]
        assert label["metadata"] == {"ticket": 7}

    # --- the frontier ---------------------------------------------------------------------------

    @needs("frontier", "compose")
    def test_never_composed_pairs_are_queued_until_composed(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        pair = sorted([ids["gate"], ids["oil"]])
        found = plain(memory.frontier())
        (first,) = found["candidates"]
        assert (first["block_ids"], first["kind"], first["shared_terms"]) == (
            pair,
            "pair",
            ["gate"],
        )
        assert first["composition_question"]
        assert (found["mode"], found["size"], found["blocks"]) == ("default", 2, 3)
        assert (found["empty_because"], found["calibration"]) == (None, [])

        memory.compose(pair)
        none_left = plain(memory.frontier())
        assert (none_left["candidates"], none_left["empty_because"]) == ([], "all-composed")

    @needs("frontier", "compose", "label")
    def test_the_frontier_of_a_decision_is_as_of_that_decision(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        then = plain(memory.frontier())
        decision = plain(memory.recall(LESSONS["gate"]))["decision_id"]
        composed = plain(memory.compose([ids["gate"], ids["oil"]]))["composition_id"]
        memory.label(composed, "accepted")
        found = plain(memory.frontier(decision=decision))
        (calibration,) = found["calibration"]
        assert {**found, "calibration": []} == then
        assert calibration == {
            "block_ids": sorted([ids["gate"], ids["oil"]]),
            "composition_id": composed,
            "labels": ["accepted"],
            "rank": 1,
            "score": then["candidates"][0]["score"],
        }

    @needs("frontier", "embedder")
    def test_the_classic_frontier_scores_as_clients_expect(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        found = plain(memory.frontier(mode="classic"))
        (pair,) = found["candidates"]
        assert pair["first_id"] == max((ids["gate"], ids["oil"]), key=[*ids.values()].index)
        result = {name: pair[name] for name in ("bridge_score", "novelty_score", "trust_score")}
        assert result == {"bridge_score": 0.0, "novelty_score": 1.0, "trust_score": 1.0}
        # 1 + 2 * (cosine - .45) in the band, + 1.5 * novelty + trust
        assert pair["score"] == pytest.approx(1 + 2 * (0.824249805 - 0.45) + 1.5 + 1, abs=1e-8)
        assert pair["outcome_signal"] == "clean"

    @needs("frontier")
    def test_the_frontier_can_be_filtered_by_tags_and_include_larger_sets(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        memory.learn("the hinges of the harbour gate rust", tags=["project:port"])
        memory.consolidate()
        tagged = plain(memory.frontier(tags=["project"]))
        assert tagged["candidates"]
        assert tagged["tags"] == ["project"]
        assert plain(memory.frontier(tags=["nothing"]))["empty_because"] == "filtered"
        sets = plain(memory.frontier(size=3, limit=1))
        assert (sets["size"], {len(each["block_ids"]) for each in sets["candidates"]}) == (3, {3})
        assert {*ids.values()} & {*sets["candidates"][0]["block_ids"]}
