"""Policies: invalid ones are refused before adoption, since a log keeps them permanently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from attrs import evolve, fields

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import PolicyRefused
from mnemic.kernel.policy import DEFAULT, ELFMEM, FRAMES, Frame, Policy

Open: TypeAlias = Callable[..., SyncMemory]

HALVES = {"relevance": 0.5, "recency": 0.5}
BAD: list[dict[str, Any]] = [
    {"edge_cosine": 0.56},
    {"edge_cosine": 0.55 + 2e-9},
    {"edge_cosine": float("nan")},
    {"edge_cosine": -0.55, "edge_tags": 1.3},
    {"near_duplicate_noted": 0.96},
    {"cosine_guard": 1.01},
    {"cosine_guard": True},
    {"cosine_guard": "0.3"},
    {"degree_cap": -1},
    {"degree_cap": 2.0},
    {"degree_cap": True},
    {"degree_cap": 10**30},
    {"edge_candidates": 10**6},
    {"consolidate_chunk": 0},
    {"frequency_cap": 10**30},
    {"established_count": 10**30},
    {"idle_gap_hours": 0},
    {"idle_gap_hours": -1.0},
    {"idle_gap_hours": float("nan")},
    {"idle_gap_hours": float("inf")},
    {"idle_gap_hours": 1e300},
    {"temporal_sigma_hours": 1e-12},
    {"temporal_sigma_hours": 1e300},
    {"outcome_prior": 1e-12},
    {"outcome_prior": 1e300},
    {"penalty_factor": 1e308},
    {"lexical_gain": 100.0},
    {"name": 7},
    {"name": ""},
    {"name": "\ud800"},
    {"name": "n" * 201},
    {"auto_consolidate": "no"},
    {"near_duplicate_exempt": "message"},
    {"near_duplicate_exempt": [7]},
    {"durable_tags": "self/value"},
    {"ephemeral_categories": 7},
    {"zones": 7},
    {"zones": [("web",)]},
    {"zones": [("web", 7)]},
    {"relation_weights": [("similar", 1.5)]},
    {"relation_weights": [("similar", "0.5")]},
    {"relation_weights": [("similar", True)]},
    {"relation_weights": 7},
    {"frames": ()},
    {"frames": FRAMES[:1]},
    {"frames": (*FRAMES, FRAMES[0])},
    {"frames": 7},
    {"frames": [{"name": "x", "colour": 1.0}]},
]


@pytest.mark.parametrize("numbers", BAD, ids=lambda value: str(value)[:50])
def test_an_invalid_policy_is_refused(numbers: dict[str, Any]) -> None:
    with pytest.raises(PolicyRefused) as caught:
        Policy(**numbers)
    assert (caught.value.code, bool(caught.value.recovery)) == ("policy-refused", True)


FRAMES_BAD: list[dict[str, Any]] = [
    {"name": "x"},
    {"name": "x", "relevance": 0.999},
    {"name": "x", "relevance": 0.5, "recency": 0.5 + 2e-9},
    {"name": "x", "relevance": 1.5, "recency": -0.5},
    {"name": "", **HALVES},
    {"name": 7, **HALVES},
    {"name": "x", "recency_clock": "wall", **HALVES},
    {"name": "x", "recency_clock": ["active"], **HALVES},
    {"name": "x", "scope": "planet", **HALVES},
    {"name": "x", "token_budget": -1, **HALVES},
    {"name": "x", "token_budget": 1.5, **HALVES},
    {"name": "x", "only_tags": "self/", **HALVES},
    {"name": "x", "always_tags": [None], **HALVES},
]


@pytest.mark.parametrize("numbers", FRAMES_BAD, ids=lambda value: str(value)[:50])
def test_an_invalid_frame_is_refused(numbers: dict[str, Any]) -> None:
    with pytest.raises(PolicyRefused) as caught:
        Frame(**numbers)
    assert caught.value.recovery


def test_weights_may_differ_from_one_by_a_billionth() -> None:
    assert Policy(edge_cosine=0.55 + 5e-10).edge_cosine == 0.55 + 5e-10
    assert Frame(name="x", relevance=0.5, recency=0.5 - 5e-10).recency == 0.5 - 5e-10


@pytest.mark.parametrize("policy", [DEFAULT, ELFMEM], ids=lambda policy: policy.name)
def test_a_policy_round_trips_through_its_bytes(policy: Policy) -> None:
    again = Policy.parse(policy.body)
    assert (again, again.id, again.body) == (policy, policy.id, policy.body)
    assert len(policy.id) == 16
    other = evolve(policy, degree_cap=policy.degree_cap + 1)
    assert other.id != policy.id


def test_an_unknown_field_in_the_bytes_is_refused() -> None:
    for body in ('{"colour":1}', "[]", "7", "nonsense", '{"degree_cap":-1}'):
        with pytest.raises(PolicyRefused):
            Policy.parse(body)


def test_a_missing_field_gets_its_default_and_the_id_is_of_the_bytes() -> None:
    old = Policy.parse('{"name":"old","degree_cap":3}')
    assert (old.degree_cap, old.top_k, old.name) == (3, 5, "old")
    assert old.id != Policy(name="old", degree_cap=3).id


EXTREMES: list[dict[str, Any]] = [
    {"edge_candidates": 0},
    {"degree_cap": 0},
    {"candidates": 0, "expansions": 0},
    {"top_k": 0},
    {"runners_up": 0},
    {"curate_reinforced": 0},
    {"frequency_cap": 0},
    {"edge_threshold": 0.0, "cosine_guard": 0.0},
    {"edge_threshold": 1.0, "cosine_guard": 1.0},
    {"near_duplicate": 0.0, "near_duplicate_noted": 0.0},
    {"near_duplicate": 1.0, "near_duplicate_noted": 1.0},
    {"archive_below": 1.0, "edge_prune_below": 1.0},
    {"rate_standard": 0.0, "rate_permanent": 0.0, "rate_durable": 0.0, "rate_ephemeral": 0.0},
    {"rate_standard": 1.0},
    {"outcome_prior": 1000.0},
    {"lexical_gain": 8.0, "lexical_share": 1.0},
    {"idle_gap_hours": 1e6, "temporal_sigma_hours": 1e6},
    {"idle_gap_hours": 1e-6, "temporal_sigma_hours": 1e-6},
    {"consolidate_chunk": 1},
    {"durable_tags": (), "ephemeral_categories": (), "zones": (), "relation_weights": ()},
    {"established_count": 0, "penalty_factor": 1.0},
]


@pytest.mark.parametrize("numbers", EXTREMES, ids=lambda value: str(value)[:50])
def test_a_memory_works_under_every_valid_policy(
    opened: Open, clock: ManualClock, numbers: dict[str, Any]
) -> None:
    memory = opened(policy=Policy(name="extreme", **numbers))
    memory.start_session()
    lessons = ["the harbour gate", "the harbour crane", "the harbour GATE!", "gulls"]
    blocks = [each.block_id for each in memory.learn_many(lessons).results]
    memory.consolidate()
    clock.advance(hours=2)
    found = memory.recall("harbour gate")
    memory.recall(frame="self")
    memory.recall(frame="task")
    memory.outcome(blocks, 1.0)
    memory.outcome(blocks, 0.0)
    memory.consolidate(relink=True)
    memory.curate()
    memory.curate()
    memory.end_session()
    assert memory.replay(str(found.decision_id)).recall == found
    again = opened(read_only=True)
    version = memory.status().version
    assert again.as_of(version=version).blocks() == memory.as_of(version=version).blocks()
    cap = memory.policy.degree_cap
    assert all(len(memory.edges(block)) <= cap for block in blocks)


def test_every_number_of_a_policy_is_validated() -> None:
    unchecked = [
        field.name
        for field in fields(Policy)
        if field.validator is None and field.converter is None
    ]
    assert unchecked == []
