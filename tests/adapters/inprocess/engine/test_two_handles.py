"""Two processes on one space, simulated by two handles on one file."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.codec import Codec
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import LogCorrupt, MnemicError
from mnemic.kernel.events import BlockForgotten, Recorded
from mnemic.kernel.model.identity import BlockId, CommandId
from mnemic.kernel.policy import Policy

Open: TypeAlias = Callable[..., SyncMemory]


class Interrupted:
    """The hash embedder, which runs a callback once while it embeds."""

    identity = HashEmbedder().identity

    def __init__(self) -> None:
        self.meanwhile: Callable[[], object] | None = None

    def embed(self, texts: Sequence[str]) -> Any:
        happens, self.meanwhile = self.meanwhile, None
        if happens is not None:
            happens()
        return HashEmbedder().embed(texts)


@pytest.fixture
def pair(opened: Open, path: Path) -> tuple[SyncMemory, SyncMemory]:
    return opened(path), opened(path)


# --- each sees the other ------------------------------------------------------------------------


def test_interleaved_learns_share_one_gapless_log(
    pair: tuple[SyncMemory, SyncMemory],
) -> None:
    one, two = pair
    versions = [
        memory.learn(f"note {n} of {memory!r}").version for n in range(5) for memory in pair
    ]
    assert versions == list(range(2, 12))
    assert one.status() == two.status()
    assert one.learn("the same").action == "created"
    assert two.learn("the same").action == "restated"
    assert one.status().version == 13
    assert two.verify().sound


def test_every_query_sees_the_other_handles_writes(pair: tuple[SyncMemory, SyncMemory]) -> None:
    one, two = pair
    a = one.learn("the harbour gate").block_id
    assert two.block(a).status == "inbox"
    two.consolidate()
    assert one.block(a).status == "active"
    b = two.learn("a crane").block_id
    assert one.consolidate().promoted == 1
    two.connect(a, b, "supports")
    assert [edge.relation for edge in one.edges(b)] == ["supports"]
    found = one.recall("harbour gate")
    assert two.replay(str(found.decision_id)).recall == found
    assert two.outcome(decision_id=found.decision_id).updated
    assert one.block(a).evidence == 1.0
    assert two.as_of(version=one.status().version).status().version == two.status().version
    assert one.history(of=a) == two.history(of=a)
    two.forget(b)
    assert b not in one.recall("crane", record=False).block_ids


def test_a_decision_is_made_at_the_head_of_the_log(
    pair: tuple[SyncMemory, SyncMemory],
) -> None:
    one, two = pair
    a, b = (one.learn(text).block_id for text in ("the harbour gate", "a crane"))
    one.consolidate()
    assert two.status().active == 2
    one.connect(a, b, "supports")
    assert two.connect(a, b).action == "reinforced"
    one.disconnect(a, b)
    assert two.disconnect(a, b).action == "not_found"
    one.forget(b)
    with pytest.raises(MnemicError) as caught:
        two.connect(a, b)
    assert caught.value.code == "block-not-active"
    assert two.forget(b).action == "already_archived"
    one.learn("a crane")
    assert two.connect(a, b).action == "created"


def test_one_shot_lessons_survive_a_lost_race(
    pair: tuple[SyncMemory, SyncMemory],
) -> None:
    one, two = pair
    one.learn("first")  # the other handle has not read it yet
    learned = two.learn("second", tags=iter(["a", "b"]))
    assert one.block(learned.block_id).tags == ("a", "b")
    one.learn("third")
    (many,) = two.learn_many(iter([{"content": "fourth", "tags": iter(["c"])}])).results
    assert one.block(many.block_id).tags == ("c",)


def test_a_policy_adopted_by_one_binds_the_other(pair: tuple[SyncMemory, SyncMemory]) -> None:
    one, two = pair
    one.adopt_policy(Policy(name="short", content_length_max=10))
    with pytest.raises(MnemicError) as caught:
        two.learn("more than ten characters")
    assert caught.value.code == "content-too-long"


def test_a_view_of_the_past_is_unaffected_by_another_handle(
    pair: tuple[SyncMemory, SyncMemory],
) -> None:
    one, two = pair
    a = one.learn("the harbour gate").block_id
    one.consolidate()
    view = one.as_of(version=one.status().version)
    before = view.status(), view.block(a), view.recall("harbour")
    two.outcome([a], 1.0)
    two.learn("the harbour crane")
    two.consolidate()
    assert (view.status(), view.block(a), view.recall("harbour")) == before


# --- conflicts ----------------------------------------------------------------------------------


def test_two_consolidations_promote_each_block_exactly_once(opened: Open, path: Path) -> None:
    slow = Interrupted()
    one, two = opened(path, embedder=slow), opened(path)
    blocks = one.learn_many([f"note {n}" for n in range(6)]).results
    slow.meanwhile = lambda: two.consolidate(limit=4)
    done = one.consolidate()
    assert (done.promoted, one.status().active, one.status().inbox) == (2, 6, 0)
    reinforced = [one.block(block.block_id).reinforcements for block in blocks]
    assert reinforced == [1] * 6
    kinds = [moment.kind for moment in one.log(after=7)]
    assert kinds == ["embedder-adopted", "blocks-promoted", "blocks-promoted"]
    assert one.verify().sound


def test_a_late_consolidation_does_nothing(opened: Open, path: Path) -> None:
    slow = Interrupted()
    one, two = opened(path, embedder=slow), opened(path)
    one.learn("words")
    slow.meanwhile = two.consolidate
    done = one.consolidate()
    assert (done.promoted, done.chunks, one.status().active) == (0, 0, 1)
    assert len(one.log(after=2)) == 2


def test_the_answer_of_a_consolidation_excludes_later_blocks(
    pair: tuple[SyncMemory, SyncMemory],
) -> None:
    one, two = pair

    def learn_more(*_: int) -> None:
        two.learn("more words")

    one.learn("words")
    done = one.consolidate(command_id="c", progress=learn_more)
    assert (done.promoted, done.inbox_remaining, one.status().inbox) == (1, 0, 1)
    assert two.consolidate(command_id="c") == done


def test_a_consolidation_terminates_while_another_handle_keeps_learning(
    opened: Open, path: Path
) -> None:
    slow = Interrupted()
    one, two = opened(path, embedder=slow), opened(path)

    def learn_on() -> None:
        slow.meanwhile = learn_on if two.learn(f"{two.status().version}").version < 50 else None

    slow.meanwhile = learn_on
    one.learn("words")
    done = one.consolidate()
    assert (done.promoted, done.inbox_remaining) == (2, 1)


def test_repeating_a_consolidation_ignores_blocks_learned_during_it(
    opened: Open, path: Path
) -> None:
    slow = Interrupted()
    one, two = opened(path, embedder=slow), opened(path)
    one.learn("words")
    slow.meanwhile = lambda: two.learn("more words")
    done = one.consolidate(command_id="c")
    assert (done.promoted, done.inbox_remaining) == (2, 0)
    head = one.status().version
    assert two.consolidate(command_id="c") == one.consolidate(command_id="c") == done
    assert one.status().version == head


def test_concurrent_consolidations_under_one_id_get_the_same_answer(
    opened: Open, path: Path
) -> None:
    slow = Interrupted()
    one, two = opened(path, embedder=slow), opened(path)
    one.adopt_policy(Policy(name="small", consolidate_chunk=2))
    one.learn_many(["one", "two", "three"])
    results: list[object] = []

    def twin() -> None:
        two.learn("four")
        results.append(two.consolidate(command_id="c"))

    slow.meanwhile = twin
    assert one.consolidate(command_id="c") == results[0]
    assert (one.status().inbox, one.consolidate(command_id="c")) == (0, results[0])


def test_blocks_changed_during_embedding_are_promoted_in_their_current_state(
    opened: Open, path: Path
) -> None:
    slow = Interrupted()
    one, two = opened(path, embedder=slow), opened(path)
    gone = one.learn("forgotten meanwhile").block_id
    again = one.learn("said again").block_id
    kept = one.learn("left alone").block_id

    def meanwhile() -> None:
        two.forget(gone)
        two.forget(again)
        two.learn("said again ", tags=["louder"])

    slow.meanwhile = meanwhile
    assert one.consolidate().promoted == 2
    assert [one.block(block).status for block in (gone, again, kept)] == [
        "archived",
        "active",
        "active",
    ]
    assert (one.block(again).content, one.block(again).tags) == (
        "said again ",
        ("louder",),
    )


def test_a_space_moved_to_another_embedder_meanwhile_is_refused(opened: Open, path: Path) -> None:
    slow = Interrupted()
    one, two = opened(path, embedder=slow), opened(path, embedder=HashEmbedder(8))
    one.learn("alpha")
    slow.meanwhile = two.consolidate
    one.learn("omega")
    with pytest.raises(MnemicError) as caught:
        one.consolidate()
    assert caught.value.code == "embedder-mismatch"
    assert two.status().active == 2


def test_a_recall_answers_from_the_version_it_read_and_is_recorded_at_the_head(
    opened: Open, path: Path
) -> None:
    slow = Interrupted()
    one, two = opened(path, embedder=slow), opened(path)
    a = one.learn("the harbour gate").block_id
    one.consolidate()
    slow.meanwhile = lambda: two.learn("the harbour crane")
    found = one.recall("harbour")
    assert found.block_ids == (a,)
    assert int(str(found.decision_id)[1:]) > found.version
    assert two.replay(str(found.decision_id)).recall == found
    assert two.block(a).retrievals == 1


def test_erasing_during_a_recall_leaves_no_text(opened: Open, path: Path) -> None:
    slow = Interrupted()
    one, two = opened(path, embedder=slow), opened(path)
    a = one.learn("the harbour gate mellifluous").block_id
    one.consolidate()
    slow.meanwhile = lambda: two.erase(a)
    decision = one.recall("harbour").decision_id
    assert one.block(a).content is None
    assert one.replay(str(decision)).outcome == "sealed"
    assert one.verify().sound
    held = [file.read_bytes() for file in path.parent.iterdir()]
    assert not any(b"mellifluous" in bytes_ for bytes_ in held)


# --- at once ------------------------------------------------------------------------------------


def test_threads_on_one_and_two_handles_lose_no_events(opened: Open, path: Path) -> None:
    one, two = opened(path), opened(path)
    failures: list[BaseException] = []

    def write(memory: SyncMemory, name: str) -> None:
        try:
            for n in range(12):
                memory.learn(f"{name} says {n}")
                memory.recall(f"{n}", record=n % 3 == 0)
        except BaseException as error:  # noqa: BLE001 - raised by the test below
            failures.append(error)

    threads = [
        threading.Thread(target=write, args=(memory, name))
        for memory, name in ((one, "ann"), (one, "bob"), (two, "cid"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    one.consolidate()
    learned = [moment for moment in one.log(limit=1000) if moment.kind == "block-learned"]
    assert len(learned) == 36
    assert one.verify().sound
    assert one.status() == two.status()


def test_overlapping_sessions_of_two_handles_are_both_in_the_log(
    pair: tuple[SyncMemory, SyncMemory], clock: ManualClock
) -> None:
    one, two = pair
    first, second = one.start_session().session_id, two.start_session().session_id
    clock.advance(minutes=30)
    assert one.status().open_sessions == two.status().open_sessions == (first, second)
    two.end_session()
    assert one.status().open_sessions == (first,)
    assert one.end_session().hour == 0.5


# --- a fold that ends half way ------------------------------------------------------------------


def test_an_interrupted_fold_is_discarded(pair: tuple[SyncMemory, SyncMemory], path: Path) -> None:
    one, two = pair
    one.learn_many([{"content": f"note {n}"} for n in range(600)])
    nobody = Recorded(
        version=one.status().version + 1,
        active_us=0,
        recorded_us=0,
        command_id=CommandId("c"),
        event=BlockForgotten(block_id=BlockId("f" * 16)),
    )
    record, rows = Codec(SeededEntropy("nobody")).encode(nobody)
    with contextlib.closing(SQLiteStore(path)) as store:
        store.log("default").append([record], rows, after=store.log("default").head())
    for _ in range(2):
        with pytest.raises(LogCorrupt, match="f" * 16):
            two.status()
