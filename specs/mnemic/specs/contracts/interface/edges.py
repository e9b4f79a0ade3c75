"""Contract of the operations on edges."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from attrs import evolve

from mnemic.kernel.policy import DEFAULT
from mnemic.specs.contracts.interface.answers import plain
from mnemic.specs.contracts.interface.fixtures import (
    Interface,
    InterfaceFixture,
    needs,
    origin_of,
    version_of,
)
from mnemic.specs.contracts.interface.sample_requests import LESSONS, UNKNOWN_ID


class Edges(InterfaceFixture):
    """The part of `InterfaceContract` about edges, and similarity of blocks by edges."""

    def test_an_edge_is_created_reinforced_skipped_and_updated(
        self, memory: Interface, ids: Mapping[str, str]
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
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        ends = ids["tea"], ids["gate"]
        memory.connect(*ends, "supports")
        result = {"source_id": ends[0], "target_id": ends[1]}
        nothing = {"removed_relation": None, "removed_weight": None}
        guarded = memory.disconnect(*ends, guard_relation="similar")
        assert plain(guarded) == {**result, "action": "guarded", **nothing}
        assert plain(memory.disconnect(*ends, reason="not so")) == {
            **result,
            "action": "removed",
            "removed_relation": "supports",
            "removed_weight": 0.75,
        }
        assert plain(memory.disconnect(*ends)) == {**result, "action": "not_found", **nothing}

    @needs("connects")
    def test_edges_of_a_batch_are_refused_individually(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        good = {"source": ids["tea"], "target": ids["gate"], "relation": "elaborates"}
        loop = {"source": ids["tea"], "target": ids["tea"]}
        answer = plain(memory.connects([loop, good, {"source": ids["tea"], "target": UNKNOWN_ID}]))
        assert [each["action"] for each in answer["results"]] == ["created"]
        assert [(each["position"], each["code"]) for each in answer["errors"]] == [
            (0, "self-loop"),
            (2, "block-not-found"),
        ]

    @needs("edges")
    def test_edges_are_listed_from_either_end(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        memory.connect(ids["tea"], ids["gate"], "supports", note="why")
        (edge,) = plain(memory.edges(ids["tea"]))
        assert edge in plain(memory.edges(ids["gate"]))
        assert {name: edge[name] for name in ("relation", "origin", "weight", "note")} == {
            "relation": "supports",
            "origin": "agent",
            "weight": 0.75,
            "note": "why",
        }

    @needs("adopt_policy", "pending_connections")
    def test_an_edge_over_the_cap_is_deferred(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        memory.adopt_policy(evolve(DEFAULT, name="tight", degree_cap=1))
        (weak,) = plain(memory.edges(ids["oil"]))
        made = plain(memory.connect(ids["gate"], ids["tea"], "supports"))
        (displaced,) = made["displaced_edges"]
        assert (made["action"], made["displaced_edge"]) == ("created", displaced)
        assert {displaced["from_id"], displaced["to_id"]} == {ids["gate"], ids["oil"]}
        assert (displaced["relation"], displaced["weight"]) == ("similar", weak["weight"])
        waiting = plain(memory.connect(ids["oil"], ids["tea"], "elaborates", note="why"))
        assert waiting["action"] == "deferred"
        assert waiting["deferred_note"]
        (pending,) = plain(memory.pending_connections())
        result = (pending["source_id"], pending["target_id"], pending["relation"], pending["note"])
        assert result == (ids["oil"], ids["tea"], "elaborates", "why")
        memory.disconnect(ids["gate"], ids["tea"])
        assert plain(memory.curate())["pending_admitted"] == 1
        assert plain(memory.pending_connections()) == []

    # --- connect by query -----------------------------------------------------------------------

    @needs("connect_by_query")
    def test_blocks_are_connected_by_query(self, memory: Interface, ids: Mapping[str, str]) -> None:
        queries = LESSONS["tea"], LESSONS["gate"]
        asked = {"weight": 0.5, "note": "he opens it", "frame": "attention", "min_confidence": 0.6}
        before = version_of(memory)
        shown = plain(memory.connect_by_query(*queries, "supports", **asked, dry_run=True))
        assert (shown["action"], shown["connect_result"]) == ("dry_run_preview", None)
        assert version_of(memory) == before
        done = plain(memory.connect_by_query(*queries, "supports", **asked))
        assert done == {
            "source_query": queries[0],
            "target_query": queries[1],
            "source_id": ids["tea"],
            "target_id": ids["gate"],
            "source_content": queries[0],
            "target_content": queries[1],
            "source_origin": origin_of(memory, ids["tea"]),
            "target_origin": origin_of(memory, ids["gate"]),
            "source_confidence": shown["source_confidence"],
            "target_confidence": shown["target_confidence"],
            "min_confidence": 0.6,
            "connect_result": done["connect_result"],
            "action": "connected",
            "reason": None,
        }
        made = done["connect_result"]
        assert (made["action"], made["weight"], made["note"]) == ("created", 0.5, "he opens it")
        again = plain(memory.connect_by_query(*queries, if_exists="skip"))
        assert again["connect_result"]["action"] == "skipped"

    @needs("connect_by_query")
    def test_poor_matches_are_not_connected(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        answer = plain(memory.connect_by_query("a submarine", LESSONS["gate"], min_confidence=1.0))
        assert (answer["action"], answer["connect_result"]) == ("insufficient_confidence", None)
        assert answer["reason"]
        assert answer["target_id"] == ids["gate"]
        assert version_of(memory) == before

    # --- structural similarity ------------------------------------------------------------------

    @needs("analogies", "compare")
    def test_structural_and_surface_similarity_are_distinguished(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        nothing = plain(memory.compare(ids["gate"], ids["tea"]))
        assert nothing["structural_fit"] is None
        memory.connect(ids["tea"], ids["gate"], "supports")
        memory.connect(ids["oil"], ids["tea"], "supports")
        (found,) = plain(memory.analogies(ids["gate"], limit=1))
        assert found == plain(memory.compare(ids["gate"], ids["tea"]))
        assert (found["block_id"], found["content"]) == (ids["tea"], LESSONS["tea"])
        fit, looks = found["structural_fit"], found["surface_similarity"]
        assert found["score"] == pytest.approx(fit * (1 - looks), abs=1e-8)
        assert 0.0 <= looks < fit <= 1.0
