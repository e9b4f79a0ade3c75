"""revert_source: the influence of selected writes is undone, wherever they are in the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import Refused
from mnemic.kernel.events import OutcomeRecorded, RecallRecorded
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.numeric.arithmetic import NANO, product
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from mnemic.projections.view import as_of
from mnemic.specs.reference.fold import fold
from tests.agreement.log_checker import read
from tests.agreement.snapshots import state_of_reference, state_of_view

Open = Callable[..., SyncMemory]
FACTS = ("The lamp burns oil.", "Gulls nest on the roof.", "Fog comes from the north.")
ALL = {"actor": "mailbox"}


@pytest.fixture
def ids(memory: SyncMemory) -> list[BlockId]:
    """Three trusted blocks, promoted."""
    memory.start_session()
    found = [memory.learn(text).block_id for text in FACTS]
    memory.consolidate()
    return found


@pytest.fixture
def mailbox(memory: SyncMemory, ids: list[BlockId]) -> SyncMemory:
    """Another writer, in a session of its own."""
    assert ids
    handle = memory.session_handle(actor="mailbox")
    handle.start_session()
    return handle


def values(memory: SyncMemory, ids: list[BlockId]) -> list[Any]:
    return [
        [memory.block(block) for block in ids],
        [memory.edges(block) for block in ids],
        memory.pending_connections(),
        memory.policy.id,
    ]


def test_everything_unchanged_since_is_as_before(
    memory: SyncMemory, mailbox: SyncMemory, ids: list[BlockId]
) -> None:
    memory.connect(ids[0], ids[1], "supports")
    memory.outcome([ids[0]], 0.9)
    before = values(memory, ids)
    head = memory.status().version
    mailbox.outcome([*ids], 0.0)
    mailbox.connect(ids[1], ids[2], "contradicts", note="it is not so")
    mailbox.disconnect(ids[0], ids[1])
    mailbox.forget(ids[2])
    mailbox.adopt_policy(evolve(memory.policy, name="mine", recency_rate_days=0.9))
    planted = mailbox.learn("Sell the lamp.", source="mail").block_id
    mailbox.recall("the lamp", top_k=5)
    result = memory.revert_source(ALL, "poisoned")
    assert (result.conflicts, result.forgotten) == ((), (planted,))
    assert values(memory, ids) == before
    assert memory.block(planted).archive_reason == "forgotten"
    assert result.kept == {"recall-recorded": 1, "session-started": 1}
    assert memory.as_of(version=head).block(ids[0]) == before[0][0]
    assert memory.replay_all().is_exact


def test_its_share_is_subtracted_from_what_others_added_to_since(
    memory: SyncMemory, mailbox: SyncMemory, ids: list[BlockId]
) -> None:
    memory.outcome([ids[0]], 1.0)
    mailbox.outcome([ids[0]], 0.0, weight=3.0)
    memory.outcome([ids[0]], 0.8)
    mine = mailbox.recall("the lamp", top_k=1).block_ids
    memory.recall("the lamp", top_k=1)
    assert mine == (ids[0],)
    result = memory.revert_source(ALL)
    block = memory.block(ids[0])
    assert (block.evidence, block.retrievals) == (2.0, 1)
    assert block.usefulness == pytest.approx((0.5 + 1.8) / 3.0)
    assert result.withdrawn == (ids[0],)
    assert {each.what for each in result.conflicts} == {"strength", "reviews"}
    assert {each.why for each in result.conflicts} == {"touched"}


def test_a_block_that_it_superseded_comes_back_with_edges_and_evidence(
    memory: SyncMemory, mailbox: SyncMemory, ids: list[BlockId]
) -> None:
    memory.connect(ids[0], ids[1], "supports")
    memory.outcome([ids[0]], 1.0)
    before = values(memory, ids)
    planted = mailbox.revise(ids[0], "The lamp burns gas.").block_id
    memory.consolidate()
    memory.outcome([planted], 1.0)  # an outcome by others is no reason to keep it
    assert memory.block(ids[0]).status == "archived"
    result = memory.revert_source({"block": planted, "actor": "mailbox"})
    assert (result.forgotten, result.restored, result.conflicts) == ((planted,), (ids[0],), ())
    assert values(memory, ids) == before


def test_what_it_superseded_comes_back_if_another_actor_consolidated(
    memory: SyncMemory, ids: list[BlockId]
) -> None:
    mail = memory.session_handle(actor="mailbox")
    planted = mail.learn("The lamp burns oil. Pour it away.").block_id
    memory.outcome([ids[0]], 1.0)
    before = values(memory, ids)
    memory.consolidate()
    assert memory.block(ids[0]).superseded_by == planted
    result = memory.revert_source(ALL)
    assert (result.restored, result.conflicts) == ((ids[0],), ())
    assert values(memory, ids) == before


def test_a_successor_keeps_its_own_evidence_only(memory: SyncMemory, mailbox: SyncMemory) -> None:
    planted = mailbox.learn("The key is under the mat.").block_id
    memory.consolidate()
    mailbox.outcome([planted], 1.0, weight=4.0)
    heir = memory.revise(planted, "The key is with the harbour master.").block_id
    memory.consolidate()
    memory.outcome([heir], 1.0)
    assert memory.block(heir).evidence == 5.0
    memory.revert_source(ALL)
    assert (memory.block(heir).evidence, memory.block(heir).status) == (1.0, "active")


def test_what_was_changed_since_is_left_and_named(
    memory: SyncMemory, mailbox: SyncMemory, ids: list[BlockId]
) -> None:
    mailbox.connect(ids[0], ids[1], "supports", weight=0.4)
    memory.connect(ids[0], ids[1], "elaborates", weight=0.9, if_exists="update")
    later = memory.status().version
    mailbox.adopt_policy(evolve(memory.policy, name="mine"))
    memory.adopt_policy(evolve(memory.policy, name="ours"))
    result = memory.revert_source(ALL)
    found = {each.what: each for each in result.conflicts}
    assert {*found} == {"edge", "policy"}
    assert (found["edge"].of, found["edge"].version) == (tuple(sorted(ids[:2])), later)
    assert memory.edges(ids[0])[0].relation == "elaborates"
    assert memory.policy.name == "ours"


def test_labels_bars_and_pending_connections_are_put_back(opened: Open) -> None:
    memory = opened(policy=None)
    ids = [memory.learn(text).block_id for text in FACTS]
    memory.consolidate()
    memory.adopt_policy(evolve(memory.policy, name="tight", degree_cap=1))
    mail = memory.session_handle(actor="mailbox")
    lane = memory.compose(ids[:2]).composition_id
    ours = memory.label(lane, "helpful").label_id
    memory.connect(ids[0], ids[1], "contradicts", weight=1.0)
    mail.retract_label(ours)
    theirs = mail.label(lane, "dead_end").label_id
    mail.connect(ids[0], ids[2], "similar", weight=0.1)
    mail.disconnect(ids[0], ids[1])
    assert len(memory.pending_connections()) == 1
    result = memory.revert_source(ALL)
    assert (result.labels_retracted, result.labels_restored) == ((theirs,), (ours,))
    assert memory.pending_connections() == ()
    assert result.pending_removed == (tuple(sorted((ids[0], ids[2]))),)
    assert result.bars_lifted == result.edges_restored == (tuple(sorted(ids[:2])),)


def test_a_pending_connection_that_became_an_edge_is_removed(opened: Open) -> None:
    memory = opened()
    ids = [memory.learn(text).block_id for text in FACTS]
    memory.consolidate()
    memory.adopt_policy(evolve(memory.policy, name="tight", degree_cap=1))
    memory.connect(ids[0], ids[1], "contradicts", weight=1.0)
    memory.session_handle(actor="mailbox").connect(ids[0], ids[2], "similar", weight=0.1)
    memory.disconnect(ids[0], ids[1])
    memory.curate()
    assert len(memory.edges(ids[2])) == 1
    memory.revert_source(ALL)
    assert memory.edges(ids[2]) == ()


def test_a_dry_run_writes_nothing_and_a_revert_can_be_reverted(
    memory: SyncMemory, mailbox: SyncMemory, ids: list[BlockId]
) -> None:
    mailbox.outcome([ids[0]], 1.0)
    mailbox.forget(ids[1])
    head, now = memory.status().version, values(memory, ids)
    shown = memory.revert_source(ALL, dry_run=True)
    assert (shown.action, memory.status().version) == ("dry_run", head)
    done = memory.revert_source(ALL, command_id="once")
    assert done == evolve(shown, action="reverted", version=memory.status().version)
    assert memory.revert_source(ALL, command_id="once") == done
    again = memory.revert(head + 1, memory.status().version)
    assert (again.conflicts, values(memory, ids)) == ((), now)
    assert memory.revert_source({"actor": "unknown"}).action == "nothing"


def test_by_source_only_texts_and_their_effects_are_undone(
    memory: SyncMemory, mailbox: SyncMemory, ids: list[BlockId]
) -> None:
    planted = mailbox.learn("Sell the lamp.", source="mail").block_id
    mailbox.outcome([ids[0]], 1.0)
    result = memory.revert_source({"source": "mail"})
    assert (result.forgotten, result.evidence) == ((planted,), ())
    assert memory.block(ids[0]).evidence == 1.0


def test_quarantine_first_is_no_obstacle(
    memory: SyncMemory, mailbox: SyncMemory, ids: list[BlockId]
) -> None:
    planted = mailbox.revise(ids[0], "The lamp burns gas.").block_id
    memory.consolidate()
    memory.quarantine(ALL)
    result = memory.revert_source(ALL)
    assert (result.forgotten, result.restored, result.conflicts) == ((planted,), (ids[0],), ())
    assert memory.block(planted).status == "archived"


def test_withdrawn_outcomes_judge_no_policy(memory: SyncMemory, mailbox: SyncMemory) -> None:
    for _ in range(3):
        decision = memory.recall("the lamp", top_k=1).decision_id
        mailbox.outcome(decision_id=decision, signal=0.0)
        memory.outcome(decision_id=decision, signal=1.0)

    def hits() -> float:
        (recorded, _) = memory.backtest([memory.policy], objective="hit").scores
        assert recorded.reward is not None
        return recorded.reward.mean

    mixed = hits()
    memory.revert_source(ALL)
    clean = hits()
    assert clean == 1.0 > mixed


# --- against sums over the log ------------------------------------------------------------------

PLACES = st.integers(min_value=0, max_value=2)
ACTS = st.tuples(
    st.sampled_from(("agent", "mailbox", "mailbox")),
    st.sampled_from(("outcome", "outcome", "recall", "connect", "disconnect", "forget", "learn")),
    PLACES,
    PLACES,
    st.sampled_from((0.0, 0.3, 0.8, 1.0)),
)


@given(acts=st.lists(ACTS, min_size=1, max_size=14), more=st.lists(ACTS, max_size=6))
def test_what_remains_is_what_others_said(acts: list[Any], more: list[Any]) -> None:
    store = MemoryStore()
    memory = SyncMemory.open(store, embedder=HashEmbedder(), clock=ManualClock())
    memory.start_session()
    ids = [memory.learn(text).block_id for text in FACTS]
    memory.consolidate()
    handles = {"agent": memory, "mailbox": memory.session_handle(actor="mailbox")}
    for act in acts:
        _act(handles, ids, act)
    memory.revert_source(ALL)
    for act in more:
        if act[0] == "agent":
            _act(handles, ids, act)
    log = read(store.log("default"))
    trusted = [each for each in log if each.actor == "agent"]
    state = rebuild(State(), log)
    view = as_of(state, log[-1].version)
    for block in ids:
        number = view.number(block)
        assert number is not None
        outcomes = [
            each.event
            for each in trusted
            if isinstance(each.event, OutcomeRecorded) and block in each.event.block_ids
        ]
        alpha = sum(product(each.signal, each.weight) for each in outcomes)
        beta = sum(product(NANO - each.signal, each.weight) for each in outcomes)
        uses = sum(
            row.block == number
            for each in trusted
            if isinstance(each.event, RecallRecorded)
            for row in each.event.answer.rows
        )
        assert view.evidence.get("alpha", number) == alpha
        assert view.evidence.get("beta", number) == beta
        assert view.uses.get("retrievals", number) == uses
    assert state_of_view(view) == state_of_reference(fold(log))


def _act(handles: dict[str, SyncMemory], ids: list[BlockId], act: Any) -> None:
    actor, what, one, other, signal = act
    memory = handles[actor]
    try:
        if what == "outcome":
            memory.outcome([ids[one]], signal)
        elif what == "recall":
            memory.recall(FACTS[one], top_k=2)
        elif what == "connect":
            memory.connect(ids[one], ids[other], "supports", weight=0.5 + signal / 4)
        elif what == "disconnect":
            memory.disconnect(ids[one], ids[other])
        elif what == "forget" and actor == "mailbox":
            memory.forget(ids[one])
        elif what == "learn":
            memory.learn(f"{actor} writes number {one} {other} {signal}.")
    except Refused:
        pass
