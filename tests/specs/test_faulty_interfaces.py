"""Interfaces with one fault each, and the contract test that must find it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.results import ReceiptCheck, ReplayResult, RezoneResult
from mnemic.specs.contracts import InterfaceContract, Setting
from mnemic.specs.contracts.interface.fixtures import Wall, learned
from mnemic.specs.contracts.interface.sample_requests import LESSONS

Change = Callable[..., Any]
"""A faulty operation: called with the correct one and the arguments of a call."""


def deaf(*arguments: str) -> Change:
    """Return an operation that ignores some of its arguments."""

    def changed(operation: Change, *args: Any, **named: Any) -> Any:
        return operation(*args, **{name: named[name] for name in named if name not in arguments})

    return changed


def boasting(operation: Change, receipt: Mapping[str, Any], **named: Any) -> ReceiptCheck:
    """Confirm every receipt."""
    check: ReceiptCheck = operation(receipt, **named)
    return evolve(check, verdict="confirmed")


def idle(_: Change, block_id: str, zone: str, *__: Any, **___: Any) -> RezoneResult:
    """Report success without doing anything."""
    return RezoneResult(block_id=block_id, zone=zone, action="rezoned")  # type: ignore[arg-type]


def vague(operation: Change, *args: Any, **named: Any) -> ReplayResult:
    """Omit the result of the replay."""
    replayed: ReplayResult = operation(*args, **named)
    return evolve(replayed, recall=None)


def present(operation: Change, **_: Any) -> Any:
    """Return the present for any point of the past."""
    memory: SyncMemory = operation.__self__  # type: ignore[attr-defined]
    return operation(version=memory.status().version)


FAULTS: dict[str, tuple[str, Change]] = {
    "a_forged_receipt_is_rejected_in_every_field": ("verify_receipt", boasting),
    "a_block_can_be_rezoned": ("rezone", idle),
    "a_decision_is_replayed_from_the_state_it_read": ("replay", vague),
    "a_decision_names_the_version_it_read": ("as_of", present),
    "ages_can_be_evaluated_at_another_date": ("as_of", deaf("now")),
    "an_adopted_policy_is_current": ("adopt_policy", lambda _, policy: policy),
    "a_range_of_the_log_is_reverted": ("revert", deaf("dry_run")),
    "quarantine_takes_blocks_out_of_recall_until_they_are_released": (
        "quarantine",
        deaf("release"),
    ),
    "descent_lists_what_descends_from_a_block_with_the_path": ("descent", deaf("after")),
    "selected_writes_are_reverted_and_left_out": ("revert_source", deaf("dry_run")),
    "deep_reference_can_skip_recording": ("deep_reference", deaf("record")),
    "an_answer_keeps_to_its_budget_and_lists_dropped_blocks": ("recall", deaf("token_budget")),
    "a_recall_can_be_filtered": ("recall", deaf("where")),
    "an_answer_says_whether_memory_answers": ("recall", deaf("min_probability")),
    "a_question_in_the_first_person_means_what_its_asker_said": ("recall", deaf("asked_by")),
    "compose_records_a_composition": ("compose", deaf("consume")),
    "the_frontier_of_a_decision_is_as_of_that_decision": ("frontier", deaf("decision")),
    "a_fork_shares_the_past_and_then_diverges": ("fork", deaf("version")),
    "an_export_can_end_early_and_omit_texts": ("export", deaf("words")),
    "diff_lists_changes_between_two_points": (
        "diff",
        lambda operation, before, *_, **__: operation(before),
    ),
    "policies_are_backtested_on_past_decisions": ("backtest", deaf("seed")),
    "all_decisions_are_replayed": ("replay_all", deaf("after", "upto")),
    "relink_finds_edges_for_blocks_with_few": ("consolidate", deaf("relink")),
    "the_inbox_is_promoted_first_in_first": ("consolidate", deaf("limit")),
    "a_limit_of_clients_is_clamped": ("composed_graph", deaf("limit")),
}
"""Contract tests, each with a faulty operation that it must find."""
EMPTY = frozenset(
    {
        "a_recall_can_be_filtered",
        "ages_can_be_evaluated_at_another_date",
        "relink_finds_edges_for_blocks_with_few",
        "the_inbox_is_promoted_first_in_first",
    }
)
"""Tests that start from a memory without lessons."""


class FaultyInterface:
    """A memory with one faulty operation."""

    def __init__(self, behind: SyncMemory, operation: str, change: Change) -> None:
        self._behind = behind
        self._operation = operation
        self._change = change

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._behind, name)
        return partial(self._change, found) if name == self._operation else found


class Contract(InterfaceContract):
    def interface(self, setting: Setting) -> AbstractContextManager[SyncMemory]:
        return SyncMemory.open(
            setting.folder / "agent.db",
            space=setting.space,
            embedder=setting.embedder,
            clock=setting.clock,
            synchronous="normal",
        )


@pytest.mark.parametrize("promise", FAULTS)
@pytest.mark.parametrize("faulty", [False, True], ids=["sound", "faulty"])
def test_a_faulty_interface_is_found(promise: str, tmp_path: Path, *, faulty: bool) -> None:
    contract, setting = Contract(), Setting(folder=tmp_path, clock=Wall())
    test = getattr(contract, f"test_{promise}")
    with ExitStack() as stack:
        memory: Any = stack.enter_context(contract.interface(setting))
        ids: dict[str, str] = {}
        if promise not in EMPTY:
            ids = {name: learned(memory, content) for name, content in LESSONS.items()}
            memory.consolidate()
        fixtures = {
            "memory": FaultyInterface(memory, *FAULTS[promise]) if faulty else memory,
            "ids": ids,
            "tmp_path": tmp_path,
            "opened": lambda **other: stack.enter_context(
                contract.interface(evolve(setting, **other))
            ),
        }
        given = {name: fixtures[name] for name in inspect.signature(test).parameters}
        if faulty:
            with pytest.raises((AssertionError, pytest.fail.Exception, ValueError)):
                test(**given)
        else:
            test(**given)
