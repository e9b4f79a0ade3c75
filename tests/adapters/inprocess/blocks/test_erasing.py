"""erase and erase_space: text is destroyed, and everything else stays unchanged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.view import SyncView
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.events import BlockErased

Open: TypeAlias = Callable[..., SyncMemory]

STORY = "the vault code is mellifluous zanzibar"
WORDS = (b"mellifluous", b"zanzibar", b"conspiracy", b"Wilhelmina", b"codename", b"whispered")


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(MnemicError) as caught:
        call()
    assert caught.value.recovery
    return caught.value.code


def left_in(folder: Path) -> set[bytes]:
    """Return every secret word found anywhere in the files of *folder*."""
    held = [file.read_bytes() for file in folder.iterdir()]
    return {word for word in WORDS if any(word in bytes_ for bytes_ in held)}


def summary(memory: SyncMemory | SyncView) -> list[object]:
    """Return all blocks and edges of a view."""
    page = memory.blocks(limit=1000).items
    return [
        memory.status(),
        page,
        [memory.edges(block.id) for block in page],
        memory.near_duplicates(),
        memory.pending_connections(),
        memory.history(limit=1000),
        memory.recall("vault code garden", top_k=50),
        memory.recall(top_k=50),
    ]


def busy(memory: SyncMemory) -> tuple[str, str]:
    """Write a history in which a secret touches everything, and return it and a neighbour."""
    memory.start_session()
    secret = memory.learn(
        STORY,
        tags=["conspiracy"],
        author="Wilhelmina",
        metadata={"codename": "owl"},
    ).block_id
    other = memory.learn("the garden code is four").block_id
    memory.learn_many([f"unrelated note number {n}" for n in range(5)])
    memory.consolidate()
    memory.connect(secret, other, "supports", note="whispered by the gate")
    memory.recall("what is the vault code")
    memory.outcome([secret, other], 1.0)
    return secret, other


def test_no_file_holds_a_word_of_an_erased_block(opened: Open, path: Path) -> None:
    memory = opened(path)
    secret, _ = busy(memory)
    assert left_in(path.parent) == set(WORDS)
    head = memory.status().version
    receipt = memory.erase(secret)
    assert left_in(path.parent) == set()
    assert (receipt.block_ids, receipt.version) == ((secret,), head + 1)
    assert memory.verify().head == receipt.chain
    memory.close()
    assert left_in(path.parent) == set()


def test_the_log_its_chain_and_every_id_stay_valid(opened: Open, path: Path) -> None:
    memory = opened(path)
    secret, other = busy(memory)
    before = memory.history(limit=1000)
    memory.erase(secret)
    checked = memory.verify()
    assert (checked.sound, checked.events) == (True, len(before) + 1)
    assert checked.erased_payloads == 3  # the text, the vector and the note
    gone = memory.block(secret)
    assert (gone.status, gone.archive_reason) == ("archived", "erased")
    assert (gone.content, gone.tags, gone.author, gone.metadata) == (None, (), None, None)
    assert (memory.edges(secret), memory.edges(other)) == ((), ())
    assert [(moment.version, moment.kind) for moment in memory.history(limit=1000)][:-1] == [
        (moment.version, moment.kind) for moment in before
    ]


def test_the_state_after_an_erasure_is_that_of_a_fresh_open(opened: Open, path: Path) -> None:
    memory = opened(path)
    secret, _ = busy(memory)
    memory.erase(secret)
    version = memory.status().version
    fresh = opened(path, read_only=True)
    assert summary(memory.as_of(version=version)) == summary(fresh.as_of(version=version))
    middle = version // 2
    assert summary(memory.as_of(version=middle)) == summary(fresh.as_of(version=middle))


def test_a_view_of_the_past_loses_erased_text(opened: Open, path: Path) -> None:
    memory = opened(path)
    secret, other = busy(memory)
    view = memory.as_of(version=memory.status().version)
    assert view.block(secret).content == STORY
    memory.erase(secret)
    assert (view.block(secret).content, view.block(secret).status) == (None, "active")
    assert [edge.note for edge in view.edges(other)] == [None]
    assert "zanzibar" not in str(view.history(limit=1000))


def test_another_handle_loses_erased_text_at_its_next_catch_up(opened: Open, path: Path) -> None:
    memory, other = opened(path), opened(path)
    secret, _ = busy(memory)
    assert other.block(secret).content == STORY
    memory.erase(secret)
    assert other.block(secret).content is None
    assert "zanzibar" not in other.recall("vault code", record=False).text


def test_an_existing_view_loses_text_erased_by_another_handle(opened: Open, path: Path) -> None:
    memory, other = opened(path), opened(path)
    block = memory.learn("the vault code is mellifluous").block_id
    view = other.as_of(version=other.status().version)
    assert view.block(block).content == "the vault code is mellifluous"
    memory.erase(block)
    assert view.block(block).content is None


def test_replay_seals_decisions_that_read_erased_text_and_reproduces_the_rest(
    opened: Open, path: Path
) -> None:
    memory = opened(path)
    before = memory.learn("the garden gate squeaks").block_id
    early = memory.recall("garden").decision_id
    waiting = memory.learn("waits to be forgotten, says mellifluous nobody").block_id
    memory.consolidate()
    memory.forget(waiting)
    archived = memory.recall("garden gate").decision_id
    secret, _ = busy(memory)
    saw = memory.recall("vault code").decision_id
    missed = memory.recall("squeaks", top_k=1)
    assert missed.block_ids == (before,)
    memory.erase(secret)
    memory.erase(waiting)
    late = memory.recall("garden").decision_id
    assert None not in (early, archived, saw, missed.decision_id, late)
    outcomes = {
        decision: memory.replay(str(decision))
        for decision in (early, archived, saw, missed.decision_id, late)
    }
    assert [each.outcome for each in outcomes.values()] == [
        "reproduced",
        "reproduced",  # the rarity of every text is in its promotion
        "sealed",
        "reproduced",  # it did not return the erased block, and counts words as it did then
        "reproduced",
    ]
    assert all(each.recombines for each in outcomes.values())
    sealed = outcomes[saw]
    assert f"it depended on text erased since: {secret[:8]}; " in str(sealed.cause)
    assert (sealed.replayed_digest, sealed.recall, sealed.differences) == (None, None, ())


def test_an_erasure_names_the_neighbours_of_the_text_in_its_conversation(opened: Open) -> None:
    kinds: list[BlockErased] = []
    memory = opened()
    said = [
        memory.learn(text, category="message", thread="t").block_id
        for text in ("who has the key", STORY, "yes")
    ]
    alone = memory.learn("the gate squeaks").block_id
    for block in (said[1], alone):
        receipt = memory.erase(block)
        space = memory._space  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        recorded = space.event_at(receipt.version)
        assert recorded is not None
        assert isinstance(recorded.event, BlockErased)
        kinds.append(recorded.event)
    assert [{*(each.context or ())} for each in kinds] == [{said[0], said[2]}, set()]
    assert memory.verify().sound


def test_many_blocks_are_erased_in_one_command(opened: Open, path: Path) -> None:
    memory = opened(path)
    secret, other = busy(memory)
    kept = memory.learn("the kettle boils").block_id
    head = memory.status().version
    receipt = memory.erase([secret, other, secret], command_id="gone")
    assert (receipt.block_ids, receipt.version) == ((secret, other), head + 2)
    assert memory.erase([secret, other, secret], command_id="gone") == receipt
    assert memory.erase([other, kept]).version == memory.status().version == head + 3
    assert [memory.block(each).content for each in (secret, other, kept)] == [None] * 3
    assert left_in(path.parent) == set()
    assert memory.verify().sound


@pytest.mark.parametrize("wrong", [[], ["0" * 16], 7, [["a"]], ["a"] * 1001])
def test_of_many_blocks_all_are_erased_or_none(memory: SyncMemory, wrong: Any) -> None:
    block = memory.learn(STORY).block_id
    before = memory.status().version
    given = [block, *wrong] if wrong and isinstance(wrong, list) else wrong
    assert refused(lambda: memory.erase(given)) in {"block-not-found", "field-refused"}
    assert (memory.status().version, memory.block(block).content) == (before, STORY)


def test_erasing_twice_writes_nothing_and_names_the_same_event(memory: SyncMemory) -> None:
    block = memory.learn(STORY).block_id
    first = memory.erase(block)
    memory.learn("something later")
    head = memory.status().version
    second = memory.erase(block)
    assert (second.block_ids, second.version) == ((block,), first.version)
    assert memory.status().version == head
    assert refused(lambda: memory.erase("0" * 16)) == "block-not-found"


def test_erased_text_may_be_learned_and_erased_again(opened: Open, path: Path) -> None:
    memory = opened(path)
    block = memory.learn(STORY).block_id
    memory.consolidate()
    memory.recall("vault")
    memory.outcome([block], 1.0)
    memory.erase(block)
    again = memory.learn(STORY, tags=["new"])
    assert (again.block_id, again.action) == (block, "reactivated")
    memory.consolidate()
    back = memory.block(block)
    assert (back.content, back.tags, back.status) == (STORY, ("new",), "active")
    assert (back.evidence, back.retrievals) == (1.0, 1)
    assert memory.recall("vault", record=False).block_ids == (block,)
    memory.erase(block)
    assert left_in(path.parent) == set()
    assert memory.block(block).content is None
    assert memory.verify().sound


def test_blocks_in_the_inbox_and_archive_can_be_erased(memory: SyncMemory) -> None:
    waiting, gone = memory.learn("waiting").block_id, memory.learn("gone").block_id
    memory.forget(gone)
    memory.erase(waiting)
    memory.erase(gone)
    assert memory.consolidate().promoted == 0
    assert [memory.block(block).archive_reason for block in (waiting, gone)] == ["erased"] * 2
    assert memory.recall("waiting gone").block_ids == ()


def test_a_superseded_block_keeps_its_successor_when_it_is_erased(memory: SyncMemory) -> None:
    old = memory.learn(STORY, tags=["conspiracy", "ops"]).block_id
    memory.consolidate()
    new = memory.revise(old, "there is no vault").block_id
    memory.consolidate()
    memory.erase(old)
    assert memory.block(old).superseded_by == new
    assert memory.block(new).tags == ()  # they belonged to the erased block


def test_erasing_a_space_leaves_others_and_refuses_new_text(opened: Open, path: Path) -> None:
    memory, other = opened(path), opened(path, space="other")
    secret, neighbour = busy(memory)
    decision = memory.recall("vault").decision_id
    memory.end_session()
    kept = other.learn("the other space keeps its words").block_id
    before = memory.history(limit=1000)
    receipt = memory.erase_space("default")
    assert left_in(path.parent) == set()
    assert (receipt.block_ids, receipt.version) == ((), len(before))
    checked = memory.verify()
    assert (checked.sound, checked.events, checked.payloads) == (True, len(before) + 1, 0)
    assert other.block(kept).content == "the other space keeps its words"
    assert {block.content for block in memory.blocks().items} == {None}
    assert [moment.kind for moment in memory.history(limit=1000)][:-1] == [
        moment.kind for moment in before
    ]
    assert memory.status().alerts
    assert memory.replay(str(decision)).outcome == "sealed"
    head = memory.status().version
    assert refused(lambda: memory.learn("new words")) == "space-erased"
    assert refused(lambda: memory.learn_many(["new words"])) == "space-erased"
    assert refused(lambda: memory.revise(neighbour, "new words")) == "space-erased"
    assert refused(lambda: memory.recall("vault")) == "space-erased"
    assert refused(lambda: memory.recall("vault", record=False)) == "space-erased"
    assert refused(lambda: memory.connect(secret, neighbour, note="words")) == "space-erased"
    assert refused(lambda: memory.forget(secret, "words")) == "space-erased"
    assert refused(memory.consolidate) == "space-erased"
    assert memory.status().version == head
    assert memory.erase_space("default") == receipt
    memory.close()
    again = opened(path)
    assert again.status().version == head
    assert refused(lambda: again.learn("new words")) == "space-erased"


def test_an_open_session_can_end_after_its_space_was_erased(memory: SyncMemory) -> None:
    memory.start_session()
    memory.learn("pending")
    memory.erase_space("default")
    assert memory.end_session().action == "ended"


def test_erasing_removes_inherited_tags_from_compositions_too(opened: Open, path: Path) -> None:
    memory = opened(path)
    old = memory.learn(STORY, tags=["conspiracy"]).block_id
    memory.consolidate()
    new = memory.revise(old, "there is no gate").block_id
    memory.consolidate()
    other = memory.learn("the garden code is four", tags=["garden"]).block_id
    assert memory.block(new).tags == ("conspiracy",)
    memory.compose([new, other])
    memory.erase(old)
    assert left_in(path.parent) == set()
    memory.close()
    assert left_in(path.parent) == set()
