"""A contract that every door passes is none: doors with one fault each, and who finds it."""

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
from mnemic.specs.contracts import DoorContract, Setting
from mnemic.specs.contracts.doorsteps import Wall, learned
from mnemic.specs.contracts.wishes import LESSONS

Change = Callable[..., Any]
"""A verb gone wrong: given the true one and the arguments of a call."""


def deaf(*arguments: str) -> Change:
    """Return a verb that does not listen to some of its arguments."""

    def changed(verb: Change, *args: Any, **named: Any) -> Any:
        return verb(*args, **{name: named[name] for name in named if name not in arguments})

    return changed


def boasting(verb: Change, receipt: Mapping[str, Any], **named: Any) -> ReceiptCheck:
    """Confirm whatever is shown."""
    check: ReceiptCheck = verb(receipt, **named)
    return evolve(check, verdict="confirmed")


def idle(_: Change, block_id: str, zone: str, *__: Any, **___: Any) -> RezoneResult:
    """Say that it was done."""
    return RezoneResult(block_id=block_id, zone=zone, action="rezoned")  # type: ignore[arg-type]


def vague(verb: Change, *args: Any, **named: Any) -> ReplayResult:
    """Keep to itself what came out."""
    replayed: ReplayResult = verb(*args, **named)
    return evolve(replayed, recall=None)


def present(verb: Change, **_: Any) -> Any:
    """Take any point of the past for now."""
    memory: SyncMemory = verb.__self__  # type: ignore[attr-defined]
    return verb(version=memory.status().version)


FAULTS: dict[str, tuple[str, Change]] = {
    "a_forged_receipt_is_found_out_field_by_field": ("verify_receipt", boasting),
    "trust_in_a_block_can_change": ("rezone", idle),
    "a_decision_is_computed_again_from_what_it_read": ("replay", vague),
    "a_decision_names_what_it_read": ("as_of", present),
    "ages_can_be_those_of_another_day": ("as_of", deaf("now")),
    "a_policy_is_in_force_once_it_is_adopted": ("adopt_policy", lambda _, policy: policy),
    "a_stretch_of_the_log_is_taken_back": ("revert", deaf("dry_run")),
    "what_is_weighed_need_not_be_recorded": ("deep_reference", deaf("record")),
    "an_answer_keeps_to_its_budget_and_says_what_it_dropped": ("recall", deaf("token_budget")),
    "a_question_can_be_kept_to_some_blocks": ("recall", deaf("where")),
    "what_was_used_together_is_written_down": ("compose", deaf("consume")),
    "the_frontier_of_a_decision_is_that_of_its_time": ("frontier", deaf("decision")),
    "a_fork_has_the_same_past_and_a_life_of_its_own": ("fork", deaf("version")),
    "an_export_may_end_early_and_hold_no_words": ("export", deaf("words")),
    "what_changed_between_two_points_is_told": (
        "diff",
        lambda verb, before, *_, **__: verb(before),
    ),
    "policies_are_compared_on_what_came_of_past_decisions": ("backtest", deaf("seed")),
    "all_decisions_are_computed_again": ("replay_all", deaf("after", "upto")),
    "blocks_with_few_edges_can_be_looked_at_again": ("consolidate", deaf("relink")),
    "the_inbox_is_promoted_first_in_first": ("consolidate", deaf("limit")),
    "a_limit_of_clients_is_clamped": ("composed_graph", deaf("limit")),
}
"""Which test finds that which verb does what."""
EMPTY = frozenset(
    {
        "a_question_can_be_kept_to_some_blocks",
        "ages_can_be_those_of_another_day",
        "blocks_with_few_edges_can_be_looked_at_again",
        "the_inbox_is_promoted_first_in_first",
    }
)
"""Those that start from a memory without lessons."""


class FaultyDoor:
    """A memory with one verb gone wrong."""

    def __init__(self, behind: SyncMemory, verb: str, change: Change) -> None:
        self._behind = behind
        self._verb = verb
        self._change = change

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._behind, name)
        return partial(self._change, found) if name == self._verb else found


class Contract(DoorContract):
    def door(self, setting: Setting) -> AbstractContextManager[SyncMemory]:
        return SyncMemory.open(
            setting.folder / "agent.db",
            space=setting.space,
            embedder=setting.embedder,
            clock=setting.clock,
            synchronous="normal",
        )


@pytest.mark.parametrize("promise", FAULTS)
@pytest.mark.parametrize("faulty", [False, True], ids=["sound", "faulty"])
def test_a_faulty_door_is_found(promise: str, tmp_path: Path, *, faulty: bool) -> None:
    contract, setting = Contract(), Setting(folder=tmp_path, clock=Wall())
    test = getattr(contract, f"test_{promise}")
    with ExitStack() as stack:
        memory: Any = stack.enter_context(contract.door(setting))
        ids: dict[str, str] = {}
        if promise not in EMPTY:
            ids = {name: learned(memory, content) for name, content in LESSONS.items()}
            memory.consolidate()
        fixtures = {
            "memory": FaultyDoor(memory, *FAULTS[promise]) if faulty else memory,
            "ids": ids,
            "tmp_path": tmp_path,
            "opened": lambda **other: stack.enter_context(contract.door(evolve(setting, **other))),
        }
        given = {name: fixtures[name] for name in inspect.signature(test).parameters}
        if faulty:
            with pytest.raises((AssertionError, pytest.fail.Exception, ValueError)):
                test(**given)
        else:
            test(**given)
