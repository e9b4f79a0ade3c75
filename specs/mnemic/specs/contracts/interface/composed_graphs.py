"""Contract of the tool ``composed_graph``: the fields, orders and texts its clients expect.

Source: DOMAIN section 8; reference composed-graph section 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mnemic.kernel.errors import MnemicError
from mnemic.specs.contracts.interface.answers import plain
from mnemic.specs.contracts.interface.fixtures import (
    Interface,
    InterfaceFixture,
    needs,
    version_of,
)
from mnemic.specs.contracts.interface.sample_requests import LESSONS, UNKNOWN_ID, WHY_TEA

LANES = (
    "alreadyComposedLanes",
    "closedDoors",
    "duplicateRiskLanes",
    "needsPocLanes",
)
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing at all": ("Missing arguments", {}),
    "no action": ("Invalid arguments: missing field `action`", {"limit": 3}),
    "an action that it has not got": (
        "Unknown composed_graph action: levitate",
        {"action": "levitate"},
    ),
    "get what": ("event_id is required for get", {"action": "get"}),
    "get the unknown": ("composition event not found: c99", {"action": "get", "event_id": "c99"}),
    "memory of what": ("memory_id is required for memory", {"action": "memory"}),
    "neighbors of what": ("memory_id is required for neighbors", {"action": "neighbors"}),
    "label what": ("event_id is required for label", {"action": "label"}),
    "label how": ("outcome_type is required for label", {"action": "label", "event_id": "c99"}),
    "label by an unknown word": (
        "unsupported outcome_type: nice",
        {"action": "label", "event_id": "c99", "outcome_type": "nice"},
    ),
    "label the unknown": (
        "composition event not found: c99",
        {"action": "label", "event_id": "c99", "outcome_type": "helpful"},
    ),
}
"""Refused calls of clients: the text that they expect, and the arguments."""


class ComposedGraphs(InterfaceFixture):
    """The part of `InterfaceContract` about the seven actions of ``composed_graph``."""

    @pytest.fixture
    def lane(self, memory: Interface, ids: Mapping[str, str]) -> dict[str, Any]:
        """Compose the gate with the tea, and return the composition as clients see it."""
        self.skip_without("composed_graph", "compose")
        members = [ids["gate"], ids["tea"]]
        made = plain(memory.compose(members, tool="ours", query="why tea?", confidence=0.5))
        event = {
            "id": made["composition_id"],
            "createdAt": plain(memory.status())["recorded_at"],
            "tool": "ours",
            "mode": "compose",
            "query": "why tea?",
            "queryHash": WHY_TEA,
            "confidence": 0.5,
            "status": None,
            "outputPreview": None,
            "metadata": {},
        }
        parts = [
            {
                "eventId": event["id"],
                "memoryId": block,
                "role": role,
                "rank": rank,
                "trust": None,
                "score": None,
                "preview": LESSONS[name],
                "metadata": {},
            }
            for rank, (block, role, name) in enumerate(
                zip(members, ("primary", "supporting"), ("gate", "tea"), strict=True)
            )
        ]
        return {"event": event, "members": parts, "outcomes": []}

    def test_clients_read_the_ledger_in_their_own_format(
        self, memory: Interface, ids: Mapping[str, str], lane: dict[str, Any]
    ) -> None:
        event = lane["event"]
        block, other = ids["tea"], ids["gate"]
        asked: dict[str, dict[str, Any]] = {
            "recent": {},
            "get": {"event_id": event["id"]},
            "memory": {"memory_id": block},
            "neighbors": {"memory_id": block},
        }
        result = {
            action: plain(memory.composed_graph(action, **given)) for action, given in asked.items()
        }
        neighbour = {
            "memoryId": other,
            "composedCount": 1,
            "latestEventAt": event["createdAt"],
        }
        assert result == {
            "recent": {"action": "recent", "events": [event]},
            "get": {"action": "get", **lane},
            "memory": {"action": "memory", "memoryId": block, "events": [event]},
            "neighbors": {"action": "neighbors", "memoryId": block, "neighbors": [neighbour]},
        }
        unknown = plain(memory.composed_graph("memory", memory_id=UNKNOWN_ID))
        assert unknown == {"action": "memory", "memoryId": UNKNOWN_ID, "events": []}

    def test_clients_label_a_composition(self, memory: Interface, lane: dict[str, Any]) -> None:
        event_id = lane["event"]["id"]
        given = {"event_id": event_id, "outcome_type": "needs_poc"}
        said = {"notes": "where?", "label_source": "Ines", "confidence_delta": -0.25}
        answer = plain(memory.composed_graph("label", **given, **said))
        outcome = {
            "id": f"l{version_of(memory)}",
            "eventId": event_id,
            "outcomeType": "needs_poc",
            "labeledAt": plain(memory.status())["recorded_at"],
            "labelSource": "Ines",
            "confidenceDelta": -0.25,
            "notes": "where?",
            "metadata": {},
        }
        assert answer == {"action": "label", "eventId": event_id, "outcome": outcome}
        plainly = plain(memory.composed_graph("label", event_id=event_id, outcome_type="helpful"))
        assert plainly["outcome"]["labelSource"] == "user"
        found = plain(memory.composed_graph("get", event_id=event_id))
        assert found["outcomes"] == [plainly["outcome"], outcome]

    def test_clients_see_lanes_and_never_composed_pairs(
        self, memory: Interface, ids: Mapping[str, str], lane: dict[str, Any]
    ) -> None:
        event_id = lane["event"]["id"]
        for said in ("closed_by_duplicate", "needs_poc"):
            memory.composed_graph("label", event_id=event_id, outcome_type=said)
        never = plain(memory.composed_graph("never_composed"))
        lanes = plain(memory.composed_graph("bounty_mode", limit=5))
        ends = {frozenset({each["firstId"], each["secondId"]}) for each in never["candidates"]}
        assert frozenset({ids["gate"], ids["tea"]}) not in ends
        assert lanes["neverComposedLanes"] == never["candidates"]
        assert lanes["topWeirdCombinations"] == never["candidates"][:3]
        shown = plain(memory.composed_graph("get", event_id=event_id))
        del shown["action"]
        assert [lanes[name] for name in LANES] == [[shown]] * len(LANES)
        assert (lanes["action"], len(lanes["guardrails"])) == ("bounty_mode", 3)

    def test_clients_can_filter_by_tags_and_request_our_scores(
        self, memory: Interface, ids: Mapping[str, str], lane: dict[str, Any]
    ) -> None:
        elsewhere = plain(memory.composed_graph("bounty_mode", tags=["project"]))
        assert [elsewhere[name] for name in LANES] == [[]] * len(LANES)
        ours = plain(memory.composed_graph("never_composed", mode="default"))
        (candidate,) = ours["candidates"]
        assert {candidate["firstId"], candidate["secondId"]} == {ids["gate"], ids["oil"]}
        assert {"cap", "limitedBy"} < candidate.keys()
        assert lane["event"] in plain(memory.composed_graph("recent"))["events"]

    @needs("compose", "composed_graph")
    def test_a_limit_of_clients_is_clamped(self, memory: Interface, ids: Mapping[str, str]) -> None:
        for _ in range(11):
            memory.compose([ids["gate"], ids["tea"]])
        counts = [
            len(plain(memory.composed_graph("recent", limit=limit))["events"])
            for limit in (0, 1000, None)
        ]
        assert counts == [1, 11, 10]

    @needs("composed_graph.ignored")
    def test_unknown_arguments_of_clients_are_ignored(
        self, memory: Interface, lane: dict[str, Any]
    ) -> None:
        answer = plain(memory.composed_graph("recent", scope="user", includeCrossScope=True))
        assert answer == {"action": "recent", "events": [lane["event"]]}

    @needs("composed_graph")
    @pytest.mark.usefixtures("ids")
    @pytest.mark.parametrize("case", REFUSED)
    def test_clients_get_the_refusals_they_expect(self, case: str, memory: Interface) -> None:
        text, given = REFUSED[case]
        before = version_of(memory)
        with pytest.raises(MnemicError) as refused:
            memory.composed_graph(**given)
        assert (refused.value.code, refused.value.message) == ("composed-graph-refused", text)
        assert (bool(refused.value.recovery), version_of(memory)) == (True, before)
