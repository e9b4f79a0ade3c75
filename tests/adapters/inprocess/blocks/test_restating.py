"""What is said again: the date of last saying moves, in every view and after every replay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.view import SyncView
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import LearnResult

Open: TypeAlias = Callable[..., SyncMemory]

RUNNING, STOPPED = "The pump is running.", "The pump is stopped."
AT = [f"2026-01-01T0{hour}:00:00+00:00" for hour in range(4)]


def play(memory: SyncMemory, clock: ManualClock, *, promoted: bool = False) -> list[LearnResult]:
    """Learn running, stopped and running, one hour after the other."""
    said = []
    for content in (RUNNING, STOPPED, RUNNING):
        said.append(memory.learn(content))
        if promoted:
            memory.consolidate()
        clock.advance(hours=1)
    return said


def dated(view: SyncMemory | SyncView, block: BlockId) -> tuple[str | None, int, int]:
    found = view.block(block)
    return found.created_at, found.learned_version, found.said_version


@pytest.mark.parametrize("promoted", [False, True], ids=["inbox", "active"])
def test_what_was_said_last_is_the_newer(
    memory: SyncMemory, clock: ManualClock, *, promoted: bool
) -> None:
    running, stopped, again = play(memory, clock, promoted=promoted)
    block = running.block_id
    assert (again.block_id, again.action) == (block, "restated")
    assert dated(memory, block) == (AT[2], running.version, again.version)
    assert dated(memory, stopped.block_id) == (AT[1], stopped.version, stopped.version)
    assert memory.block(block).status == ("active" if promoted else "inbox")
    assert memory.status().archived == 0
    entry = memory.history(of=block)[-1]
    assert (entry.kind, entry.version) == ("block-restated", again.version)


def test_the_newer_is_found_by_its_date(memory: SyncMemory, clock: ManualClock) -> None:
    running, stopped, _ = play(memory, clock, promoted=True)
    since = memory.recall("pump", where={"since": AT[2]}, record=False)
    assert since.block_ids == (running.block_id,)
    until = memory.recall("pump", where={"until": AT[1]}, record=False)
    assert until.block_ids == (stopped.block_id,)


@pytest.mark.parametrize("promoted", [False, True], ids=["inbox", "active"])
def test_views_of_the_past_show_the_date_of_then(
    memory: SyncMemory, clock: ManualClock, *, promoted: bool
) -> None:
    running, _, again = play(memory, clock, promoted=promoted)
    before = memory.as_of(version=again.version - 1)
    assert dated(before, running.block_id) == (AT[0], running.version, running.version)
    assert dated(memory.as_of(at=AT[1]), running.block_id)[0] == AT[0]
    now = memory.as_of(version=again.version)
    assert dated(now, running.block_id) == (AT[2], running.version, again.version)


@pytest.mark.parametrize("promoted", [False, True], ids=["inbox", "active"])
def test_a_restatement_can_be_reverted(
    memory: SyncMemory, clock: ManualClock, *, promoted: bool
) -> None:
    running, _, again = play(memory, clock, promoted=promoted)
    before = memory.as_of(version=again.version - 1).block(running.block_id)
    result = memory.revert(again.version, again.version)
    assert (result.restored, result.conflicts) == ((running.block_id,), ())
    assert memory.block(running.block_id) == before
    assert memory.learn(RUNNING).action == "restated"
    assert memory.block(running.block_id).created_at == AT[3]


def test_a_restatement_that_was_said_again_is_left(memory: SyncMemory, clock: ManualClock) -> None:
    running, _, again = play(memory, clock)
    later = memory.learn(RUNNING)
    result = memory.revert(again.version, again.version)
    assert [(each.what, each.why, each.version) for each in result.conflicts] == [
        ("life", "touched", later.version)
    ]
    assert dated(memory, running.block_id)[::2] == (AT[3], later.version)


@pytest.mark.parametrize("promoted", [False, True], ids=["inbox", "active"])
@pytest.mark.parametrize("checkpointed", [False, True], ids=["from the log", "from a checkpoint"])
def test_a_restatement_is_known_after_reopening(
    opened: Open, clock: ManualClock, path: Path, *, promoted: bool, checkpointed: bool
) -> None:
    memory = opened(path)
    running, stopped, again = play(memory, clock, promoted=promoted)
    if checkpointed:
        memory.checkpoint()
    ids = [running.block_id, stopped.block_id]
    before = [memory.block(block) for block in ids]
    past = memory.as_of(version=again.version - 1).block(running.block_id)
    memory.close()
    fresh = opened(path)
    assert [fresh.block(block) for block in ids] == before
    assert fresh.as_of(version=again.version - 1).block(running.block_id) == past
    assert fresh.learn(RUNNING, created_at=AT[2]).action == "duplicate"
    assert fresh.learn(STOPPED, created_at=AT[2]).action == "restated"
    assert fresh.verify().sound


def test_a_restatement_changes_nothing_but_the_date(memory: SyncMemory, clock: ManualClock) -> None:
    old = memory.learn(RUNNING, tags=["pump"], confidence=0.3, author="Ann").block_id
    memory.consolidate()
    memory.recall("pump")
    memory.outcome([old], 1.0)
    before = memory.block(old).to_dict()
    clock.advance(hours=2)
    again = memory.learn(RUNNING, tags=["other"], confidence=0.9, author="Ann")
    after = memory.block(old).to_dict()
    changed = {name for name in before if before[name] != after[name]}
    assert (again.action, changed) == ("restated", {"created_at", "said_version"})


def test_a_block_restated_in_the_inbox_is_promoted_once(
    memory: SyncMemory, clock: ManualClock
) -> None:
    running, _, _ = play(memory, clock)
    assert memory.consolidate().promoted == 2
    assert dated(memory, running.block_id)[0] == AT[2]
    assert memory.block(running.block_id).reinforcements == 1


def test_a_repeated_command_restates_once(memory: SyncMemory, clock: ManualClock) -> None:
    memory.learn(RUNNING)
    first = memory.learn(RUNNING, command_id="again")
    clock.advance(hours=1)
    version = memory.status().version
    assert memory.learn(RUNNING, command_id="again") == first
    assert memory.status().version == version
    assert memory.learn(RUNNING).action == "restated"


def test_a_handle_of_a_lower_zone_cannot_restate_what_is_above_it(memory: SyncMemory) -> None:
    ours = memory.learn(RUNNING)
    mail = memory.session_handle(actor="mailbox", zone="untrusted")
    assert mail.learn(RUNNING).action == "duplicate"
    assert memory.block(ours.block_id).said_version == ours.version
    memory.forget(ours.block_id)
    with pytest.raises(MnemicError) as refused:
        mail.learn(RUNNING)
    assert refused.value.code == "forbidden"


def test_another_spelling_supersedes_and_is_the_last_saying(
    opened: Open, clock: ManualClock
) -> None:
    memory = opened(policy=Policy(auto_consolidate=False))
    old = memory.learn(RUNNING).block_id
    memory.consolidate()
    clock.advance(hours=1)
    new = memory.learn("the pump is running").block_id
    memory.consolidate()
    assert memory.block(old).superseded_by == new
    assert memory.block(new).created_at == AT[1]
