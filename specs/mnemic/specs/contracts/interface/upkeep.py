"""Contract of maintenance: sessions, sweeps, policies, checkpoints and long operations."""
# ruff: noqa: PLR2004 - expected values stand as they are

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from attrs import evolve

from mnemic.kernel.policy import DEFAULT
from mnemic.specs.contracts.interface.answers import plain
from mnemic.specs.contracts.interface.fixtures import (
    Interface,
    InterfaceFixture,
    Setting,
    Wall,
    learned,
    needs,
    policy_of,
    version_of,
)
from mnemic.specs.contracts.interface.sample_requests import LESSONS, LONG
from mnemic.specs.strategies.clocks import HOUR_US
from mnemic.specs.strategies.vectors import PlaneEmbedder


class Upkeep(InterfaceFixture):
    """The part of `InterfaceContract` about sessions, sweeps, policies and checkpoints."""

    # --- sessions -------------------------------------------------------------------------------

    @needs("start_session", "end_session", "clock")
    def test_time_passes_inside_sessions_only(self, memory: Interface, wall: Wall) -> None:
        wall.us += 300 * HOUR_US
        started = plain(memory.start_session())
        wall.us += HOUR_US // 2
        assert plain(memory.status())["open_sessions"] == [started["session_id"]]
        ended = plain(memory.end_session())
        wall.us += 300 * HOUR_US
        session = {"session_id": started["session_id"], "superseded": [], "contradictions": []}
        assert started == {**session, "action": "started", "hour": 0.0}
        assert ended == {**session, "action": "ended", "hour": 0.5}
        status = plain(memory.status())
        assert (status["hour"], status["open_sessions"]) == (0.5, [])

    @needs("session")
    def test_a_session_ends_with_its_with_block(self, memory: Interface) -> None:
        with memory.session() as session:
            memory.learn(LESSONS["tea"])
            assert plain(memory.status())["open_sessions"] == [session]
        status = plain(memory.status())
        assert (status["open_sessions"], status["active"]) == ([], 1)

    @needs("last_learned_block_id", "last_recall_block_ids", "session_block_ids", "start_session")
    def test_a_handle_remembers_what_it_touched(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        recalled = plain(memory.recall(LESSONS["gate"], top_k=2))["block_ids"]
        assert memory.last_learned_block_id == ids["tea"]
        assert plain(memory.last_recall_block_ids) == recalled
        assert plain(memory.session_block_ids) == [*ids.values()]
        memory.start_session()
        assert (memory.last_learned_block_id, plain(memory.session_block_ids)) == (None, [])

    # --- sweeps ---------------------------------------------------------------------------------

    def test_curating_twice_is_curating_once(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        memory.connect(ids["tea"], ids["gate"], weight=0.05)
        swept = plain(memory.curate())
        assert (swept["edges_pruned"], swept["archived"]) == (1, 0)
        before = version_of(memory)
        kept = {"total_edges_after": swept["total_edges_after"], "by_rule": {}}
        nothing = dict.fromkeys(swept, 0) | kept
        assert plain(memory.curate()) == nothing
        assert version_of(memory) == before

    # --- policies -------------------------------------------------------------------------------

    @needs("adopt_policy", "policy")
    def test_an_adopted_policy_is_current(self, memory: Interface, ids: Mapping[str, str]) -> None:
        assert policy_of(memory) == json.loads(DEFAULT.body)
        narrow = evolve(DEFAULT, name="narrow", top_k=1)
        before = version_of(memory)
        assert plain(memory.adopt_policy(narrow)) == json.loads(narrow.body)
        assert policy_of(memory) == json.loads(narrow.body)
        status = plain(memory.status())
        answer = (status["policy"], status["policy_id"], status["version"])
        assert answer == ("narrow", narrow.id, before + 1)
        memory.adopt_policy(narrow)
        assert version_of(memory) == before + 1
        assert plain(memory.recall(LESSONS["gate"], record=False))["block_ids"] == [ids["gate"]]

    # --- checkpoints ----------------------------------------------------------------------------

    @needs("checkpoint", "checkpoints", "drop_checkpoints")
    def test_checkpoints_are_made_listed_and_dropped(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        assert plain(memory.checkpoints()) == []
        head = version_of(memory)
        made = plain(memory.checkpoint())
        assert (made["state"], made["version"], made["problem"]) == ("valid", head, None)
        assert plain(memory.checkpoint()) == made
        assert plain(memory.checkpoints()) == [made]
        assert plain(memory.drop_checkpoints()) == {"dropped": 1}
        assert plain(memory.checkpoints()) == []
        assert (version_of(memory), plain(memory.block(ids["tea"]))["status"]) == (head, "active")

    # --- embedders ------------------------------------------------------------------------------

    @needs("reembed", "embedder")
    def test_a_memory_moves_to_another_embedder(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        other = PlaneEmbedder("another plane")
        assert plain(memory.reembed(other)) == {"embedder": "another plane", "staged": 3}
        assert plain(memory.status())["embedder"] == "another plane"
        assert plain(memory.reembed(other)) == {"embedder": "another plane", "staged": 0}
        assert plain(memory.recall(LESSONS["gate"]))["block_ids"][0] == ids["gate"]

    # --- guides and verification ----------------------------------------------------------------

    @needs("guide")
    def test_every_operation_is_explained(self, memory: Interface) -> None:
        card = plain(memory.guide("connect"))
        assert card["name"] == "connect"
        assert card["call"].startswith("connect(")
        assert card in plain(memory.guide())["cards"]

    def test_a_log_is_verified(self, memory: Interface, ids: Mapping[str, str]) -> None:
        memory.erase(ids["tea"])
        found = plain(memory.verify())
        assert found == {
            "events": version_of(memory) + 1,
            "head": found["head"],
            "sound": True,
            "first_bad_version": None,
            "problem": None,
            "payloads": found["payloads"],
            "erased_payloads": found["erased_payloads"],
            "lost_payloads": 0,
            "requests_lost": 0,
            "too_new": False,
        }
        assert len(bytes.fromhex(found["head"])) == 32
        assert found["erased_payloads"] > 0

    def test_many_blocks_are_erased_at_once(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        head = version_of(memory)
        receipt = plain(memory.erase([ids["tea"], ids["gate"]]))
        assert receipt["block_ids"] == [ids["tea"], ids["gate"]]
        assert receipt["version"] == version_of(memory) == head + 2
        assert plain(memory.block(ids["gate"]))["content"] is None

    # --- long operations ------------------------------------------------------------------------

    @needs("progress")
    @pytest.mark.parametrize("operation", LONG)
    def test_long_operations_report_progress(
        self, operation: str, memory: Interface, ids: Mapping[str, str], setting: Setting
    ) -> None:
        self.skip_without(operation)
        decision = plain(memory.recall(LESSONS["gate"]))["decision_id"]
        learned(memory, "the lamp is new")
        steps: list[tuple[int, int]] = []
        its = {**ids, "decision": decision, "folder": str(setting.folder)}
        LONG[operation](memory, its, progress=lambda done, todo: steps.append((done, todo)))
        assert steps
        assert steps[-1][0] == steps[-1][1]
        assert all(0 <= done <= todo for done, todo in steps)
