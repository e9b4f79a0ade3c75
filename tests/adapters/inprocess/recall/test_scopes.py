"""Scopes: what one user, agent or run said belongs to it, and only its own recalls find it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import FieldRefused

Open: TypeAlias = Callable[..., SyncMemory]

ANN, BOB = {"user": "ann"}, {"user": "bob"}
SAID = "I am vegetarian."


def refused(call: Callable[[], object]) -> FieldRefused:
    with pytest.raises(FieldRefused) as caught:
        call()
    assert caught.value.recovery
    return caught.value


def user(opened: Open, scope: Mapping[str, str]) -> SyncMemory:
    """Open the memory of the test for one user."""
    return opened(scope=scope)


# --- handles ------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", [{"user": "ann"}, {"agent": "a"}, {"run": "1"}], ids=str)
def test_what_is_learned_in_a_scope_is_found_in_it_only(opened: Open, one: dict[str, str]) -> None:
    other = {key: f"{value} too" for key, value in one.items()}
    ours, theirs, everyone = user(opened, one), user(opened, other), opened()
    mine, yours = ours.learn(SAID), theirs.learn(SAID)
    assert mine.block_id != yours.block_id
    assert (mine.action, yours.action) == ("created", "created")
    assert ours.block(mine.block_id).metadata == one
    for _ in range(2):  # as it waits, and when it is active
        assert ours.recall("vegetarian").block_ids == (mine.block_id,)
        assert theirs.recall("vegetarian").block_ids == (yours.block_id,)
    found = everyone.recall("vegetarian").block_ids
    assert {*found} == {mine.block_id, yours.block_id}
    assert everyone.status().near_duplicates == 1
    assert everyone.status().archived == 0


def test_each_user_restates_their_own(opened: Open) -> None:
    ann, bob = user(opened, ANN), user(opened, BOB)
    mine, yours = ann.learn(SAID).block_id, bob.learn(SAID).block_id
    assert (bob.learn(SAID).block_id, bob.learn(SAID).action) == (yours, "restated")
    assert ann.block(mine).said_version == ann.block(mine).learned_version
    assert ann.block(yours).said_version > ann.block(yours).learned_version


def test_a_scope_covers_every_way_to_ask(opened: Open) -> None:
    ann, bob = user(opened, ANN), user(opened, BOB)
    mine = [ann.learn(text).block_id for text in ("the gate opens at six", "the oil is low")]
    yours = [bob.learn(text).block_id for text in ("the gate opens at ten", "the oil is new")]
    ann.consolidate()
    version = ann.status().version
    assert {*ann.recall("gate oil", top_k=9).block_ids} == {*mine}
    past = bob.as_of(version=version)
    assert {*past.recall("gate oil", top_k=9).block_ids} == {*yours}
    evidence = ann.deep_reference("when does the gate open")
    assert {member.id for member in evidence.evidence} <= {*mine}
    assert evidence.evidence
    seen = past.deep_reference("when does the gate open")
    assert {member.id for member in seen.evidence} <= {*yours}
    assert seen.evidence
    pair = bob.connect_by_query("gate opens", "oil", min_confidence=0.0, dry_run=True)
    assert {pair.source_id, pair.target_id} == {*yours}


def test_a_filter_is_added_to_the_scope(opened: Open) -> None:
    ann = user(opened, ANN)
    kept = ann.learn(SAID, metadata={"page": 1}).block_id
    ann.learn("I am vegetarian on Mondays.", metadata={"page": 2})
    assert ann.block(kept).metadata == {"page": 1, "user": "ann"}
    found = ann.recall("vegetarian", where={"metadata": {"page": 1}})
    assert found.block_ids == (kept,)


def test_a_call_may_add_to_the_scope_of_its_handle_or_name_another(opened: Open) -> None:
    ann = user(opened, ANN)
    both = ann.learn(SAID, scope={"run": "7"}).block_id
    assert ann.block(both).metadata == {"user": "ann", "run": "7"}
    alone = ann.learn(SAID).block_id
    assert ann.recall("vegetarian", scope={"run": "7"}).block_ids == (both,)
    assert {*ann.recall("vegetarian").block_ids} == {both, alone}
    other = ann.learn(SAID, scope=BOB).block_id
    assert ann.block(other).metadata == BOB
    assert ann.recall("vegetarian", scope=BOB).block_ids == (other,)
    version = ann.status().version
    assert ann.as_of(version=version).recall("vegetarian", scope=BOB).block_ids == (other,)


def test_a_session_handle_has_a_scope_of_its_own_or_that_of_its_memory(opened: Open) -> None:
    memory = user(opened, ANN)
    own = memory.session_handle(actor="one").learn(SAID).block_id
    assert memory.block(own).metadata == ANN
    handle = memory.session_handle(actor="two", scope=BOB)
    other = handle.learn(SAID).block_id
    assert handle.block(other).metadata == BOB
    assert handle.recall("vegetarian").block_ids == (other,)
    assert memory.recall("vegetarian").block_ids == (own,)
    everyone = memory.session_handle(actor="three", scope={})
    assert {*everyone.recall("vegetarian").block_ids} == {own, other}


def test_a_batch_may_hold_lessons_of_several_users(opened: Open) -> None:
    ann = user(opened, ANN)
    batch = ann.learn_many(
        [
            SAID,
            {"content": SAID, "scope": BOB},
            {"content": SAID, "metadata": ANN},
            {"content": SAID, "metadata": BOB},
            {"content": SAID, "scope": {"colour": "red"}},
        ]
    )
    assert [each.action for each in batch.results] == ["created", "created", "restated"]
    assert batch.results[2].block_id == batch.results[0].block_id
    assert [(each.position, each.code) for each in batch.refused] == [
        (3, "field-refused"),
        (4, "field-refused"),
    ]


def test_a_revision_stays_with_its_user(opened: Open) -> None:
    ann = user(opened, ANN)
    old = ann.learn(SAID).block_id
    new = opened().revise(old, "I am vegan.").block_id
    assert ann.block(new).metadata == ANN
    assert ann.recall("vegan").block_ids == (new,)


def test_a_scope_is_not_stored_with_the_space(opened: Open, store: MemoryStore) -> None:
    mine = user(opened, ANN).learn(SAID).block_id
    assert opened(store).recall("vegetarian").block_ids == (mine,)


# --- statements of several users ----------------------------------------------------------------


def test_consolidation_keeps_users_apart(opened: Open) -> None:
    ann, bob = user(opened, ANN), user(opened, BOB)
    ann.learn("the gate is open")
    bob.learn("The gate is open.")
    bob.learn("The gate is open. The lamp is lit.")
    bob.learn("the gate is shut")
    done = ann.consolidate()
    assert len(done.superseded) == 1
    assert ann.block(done.superseded[0].old).metadata == BOB
    for pair in done.contradictions:
        assert {*map(str, (ann.block(pair.older).metadata, ann.block(pair.newer).metadata))} == {
            str(BOB)
        }
    (own,) = ann.recall("gate", record=False).block_ids
    assert (ann.block(own).status, ann.block(own).superseded_by) == ("active", None)


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scope",
    [
        "ann",
        ["user"],
        {"colour": "red"},
        {"user": ""},
        {"user": " "},
        {"user": 7},
        {"user": None},
        {"user": "u" * 201},
        {"user": "ann", "place": "x"},
    ],
    ids=str,
)
def test_an_invalid_scope_is_refused_everywhere(opened: Open, scope: Any) -> None:
    memory = opened()
    memory.learn("words")
    before = memory.status()
    for call in (
        lambda: memory.learn(SAID, scope=scope),
        lambda: memory.recall(SAID, scope=scope),
        lambda: memory.as_of(version=before.version).recall(SAID, scope=scope),
        lambda: memory.session_handle(actor="a", scope=scope),
        lambda: opened(scope=scope),
    ):
        assert refused(call).facts["field"] in {"scope", "scope user"}
    assert memory.status() == before


def test_metadata_and_filters_that_name_another_user_are_refused(opened: Open) -> None:
    ann = user(opened, ANN)
    ann.learn("words")
    before = ann.status()
    for call in (
        lambda: ann.learn(SAID, metadata=BOB),
        lambda: ann.learn(SAID, metadata=ANN, scope=BOB),
        lambda: ann.recall(SAID, where={"metadata": BOB}),
        lambda: ann.as_of(version=before.version).recall(SAID, where={"metadata": BOB}),
    ):
        assert refused(call).facts["field"] == "scope"
    assert ann.status() == before
    assert ann.learn(SAID, metadata=ANN).action == "created"


# --- command ids --------------------------------------------------------------------------------


def test_a_repeated_command_in_a_scope_returns_the_first_result(opened: Open) -> None:
    ann = user(opened, ANN)
    first = ann.learn(SAID, command_id="one")
    asked = ann.recall("vegetarian", command_id="two")
    version = ann.status().version
    assert ann.learn(SAID, command_id="one") == first
    assert ann.recall("vegetarian", command_id="two") == asked
    assert ann.status().version == version
