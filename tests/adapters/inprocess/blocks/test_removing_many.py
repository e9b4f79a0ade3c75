"""forget_many and erase_many: what a filter finds, in batches, continued after an interruption."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.removing_many import Erasing
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import (
    CommandIdReused,
    FieldRefused,
    Forbidden,
    NoteTooLong,
    Refused,
    SpaceErased,
)
from mnemic.kernel.events import BlockErased
from mnemic.kernel.model.filters import Where
from mnemic.kernel.ports import Store
from mnemic.kernel.results import EraseManyReceipt
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State
from tests.agreement.log_checker import read
from tests.projections.test_erasing_in_place import differing

WORDS = "the bees tea harbour walking night orange jazz".split()
FILTERS: tuple[dict[str, Any], ...] = (
    {"user": "ann"},
    {"thread": "talk"},
    {"category": "message"},
    {"not": {"author": "Ben"}},
    {"any": [{"tags": "a"}, {"user": ["ann", "eve"]}]},
    {"range": {"confidence": {"from": 0}}},
)
OWN = ("timeline/command_ids", "timeline/facts")
"""Arrays that differ: random ids, and the neighbours of a text, which an erasure changes."""
LESSONS = st.lists(
    st.fixed_dictionaries(
        {
            "content": st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
            "tags": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
        },
        optional={
            "author": st.sampled_from(("Ann", "Ben")),
            "thread": st.sampled_from(("talk", "walk")),
            "category": st.just("message"),
            "scope": st.sampled_from(({"user": "ann"}, {"user": "ben"})),
        },
    ),
    min_size=1,
    max_size=7,
)
SAID = (
    {"role": "user", "name": "Ann", "id": "m1", "content": "I live in Graz."},
    {"role": "user", "name": "Ann", "id": "m2", "content": "I work at Siemens."},
    {"role": "user", "name": "Ann", "id": "m3", "content": "I live in Graz. I like green tea."},
)


def opened(store: Store | str | Path, space: str = "default", **options: Any) -> SyncMemory:
    return SyncMemory.open(
        store,
        space=space,
        embedder=HashEmbedder(8),
        clock=ManualClock(),
        entropy=SeededEntropy(space),
        **options,
    )


def handle_of(memory: SyncMemory) -> SessionHandle:
    return memory._space  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def texts(memory: SyncMemory) -> dict[str, str | None]:
    return {block.id: block.content for block in memory.blocks(limit=1000).items}


def erased_in_pairs(memory: SyncMemory, where: dict[str, Any]) -> EraseManyReceipt:
    """Erase in batches of two."""
    return Erasing(space=handle_of(memory), where=Where.parse(where), batch_min=2).run(None)


@pytest.fixture
def memory() -> Generator[SyncMemory]:
    with opened(MemoryStore()) as memory:
        for user in ("ann", "ben"):
            for number in range(5):
                memory.learn(f"note {number} of {user}", scope={"user": user})
        yield memory


@given(data=st.data())
def test_erasing_what_a_filter_finds_equals_erasing_each_block_alone(data: st.DataObject) -> None:
    store = MemoryStore()
    with opened(store) as memory:
        learned: list[str] = []
        for lessons in data.draw(st.lists(LESSONS, min_size=1, max_size=3), label="lessons"):
            learned += (each.block_id for each in memory.learn_many(lessons).results)
            with suppress(Refused):
                memory.connect(learned[0], learned[-1], "supports", note="so it is")
            memory.recall("bees at night", top_k=2)
        if data.draw(st.booleans(), label="with facts"):
            memory.add(SAID, extract="rules", scope={"user": "ann"})
        memory.forget(data.draw(st.sampled_from(learned), label="archived"))
        memory.fork("alone")
        where = data.draw(st.sampled_from(FILTERS), label="where")
        planned = memory.erase_many(where, dry_run=True)
        receipt = erased_in_pairs(memory, where)
        together, shown = handle_of(memory).state, texts(memory)
    gone = {*receipt.block_ids, *receipt.facts}
    assert gone == {*planned.block_ids, *planned.facts}
    assert {block for block, content in shown.items() if content is None} == gone
    assert differing(together, rebuild(State(), read(store.log("default")))) == []
    with opened(store, "alone") as other:
        for block in erased_in_order(store):
            other.erase(block)
        assert texts(other) == shown
        if not receipt.facts:  # they are erased after the batch, and not each after its message
            differences = differing(together, handle_of(other).state)
            assert [name for name in differences if not name.startswith(OWN)] == []
            erased = handle_of(other).state.timeline.erased_blocks
            assert erased == together.timeline.erased_blocks


def erased_in_order(store: MemoryStore) -> list[str]:
    events = (recorded.event for recorded in read(store.log("default")))
    return [event.block_id for event in events if isinstance(event, BlockErased)]


def test_a_dry_run_writes_nothing_and_names_what_the_erasure_names(memory: SyncMemory) -> None:
    before = memory.status().version
    planned = memory.erase_many({"user": "ann"}, dry_run=True)
    assert (memory.status().version, planned.dry_run) == (before, True)
    receipt = memory.erase_many({"user": "ann"})
    assert (receipt.block_ids, receipt.version) == (planned.block_ids, memory.status().version)
    assert receipt.chain == memory.verify().head
    assert [content for content in texts(memory).values() if content] == [
        f"note {number} of ben" for number in range(5)
    ]
    assert str(planned) == "5 blocks would be erased."


def test_archived_blocks_are_erased_too_and_forgotten_once(memory: SyncMemory) -> None:
    forgotten = memory.forget_many({"user": "ann"}, "moved away")
    assert len(forgotten.block_ids) == 5
    assert memory.block(forgotten.block_ids[0]).archive_reason == "forgotten"
    again = memory.forget_many({"user": "ann"}, "moved away")
    assert (again.block_ids, str(again)) == ((), "No block to be archived.")
    assert memory.erase_many({"user": "ann"}).block_ids == forgotten.block_ids


def test_facts_are_erased_with_their_messages_and_those_with_other_sources_are_kept() -> None:
    with opened(MemoryStore()) as memory:
        memory.add(SAID[:2], extract="rules", thread="a", scope={"user": "ann"})
        memory.add(SAID[2:], extract="rules", thread="b", scope={"user": "ann"})
        receipt = memory.erase_many({"thread": "a", "category": "message"})
        (fact,) = receipt.facts
        (kept,) = receipt.kept
        assert memory.block(fact).content is None
        assert "Graz" in (memory.block(kept).content or "")
        assert str(receipt).startswith("2 blocks with 1 fact erased at version ")


class Interrupted(BaseException):
    """What ends a call between two batches."""


@pytest.mark.parametrize("options", [{}, {"keys": "keys"}], ids=["open", "encrypted"])
def test_an_interrupted_erasure_is_continued_and_one_receipt_names_all(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    options = {name: tmp_path / file for name, file in options.items()}
    path = tmp_path / "agent.db"

    def erasing(memory: SyncMemory) -> Erasing:
        where = Where.parse({"user": "ann"})
        return Erasing(space=handle_of(memory), where=where, command_id="once", batch_min=2)

    def interrupt(done: int, total: int) -> None:
        if done >= total // 2:
            raise Interrupted

    with opened(path, **options) as memory:
        ids = [memory.learn(f"note {n}", scope={"user": "ann"}).block_id for n in range(9)]
        with pytest.raises(Interrupted):
            erasing(memory).run(interrupt)
    with opened(path, **options) as memory:
        left = [block for block, content in texts(memory).items() if content is not None]
        assert left == ids[4:]
        memory.learn("a later note", scope={"user": "ann"})
        receipt = erasing(memory).run(None)
        assert receipt.block_ids == tuple(ids)
        assert erasing(memory).run(None) == receipt
        assert [each for each in texts(memory).values() if each] == ["a later note"]
        assert memory.verify().sound
        with pytest.raises(CommandIdReused):
            memory.erase_many({"user": "ben"}, command_id="once")
    assert b"note 3" not in b"".join(
        each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()
    )


PROGRAM = """
import sys
from mnemic.adapters.inprocess import SyncMemory, removing_many
removing_many.BATCH_MIN = 20
with SyncMemory.open(sys.argv[1], keys=sys.argv[2]) as memory:
    memory.erase_many(
        {"user": "ann"}, command_id="once", progress=lambda done, _: print(done, flush=True)
    )
"""
"""Erases in small batches, and says when each is done."""


@pytest.mark.extended
def test_a_killed_erasure_leaves_no_block_half_erased_and_is_continued(tmp_path: Path) -> None:
    path, keys = tmp_path / "agent.db", tmp_path / "keys"
    with opened(path, keys=keys) as memory:
        lessons = [{"content": f"note {n}", "scope": {"user": "ann"}} for n in range(600)]
        ids = [each.block_id for each in memory.learn_many(lessons).results]
    left = len(ids)
    for wanted in (1, 3):
        command = [sys.executable, "-c", PROGRAM, str(path), str(keys)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for _ in range(wanted):
                assert child.stdout.readline().strip().isdigit()
            child.kill()
        with opened(path, keys=keys) as memory:
            assert memory.verify().sound
            known = texts(memory)
            assert known.keys() == {*ids}
            remaining = [content for content in known.values() if content is not None]
            assert all(content.startswith("note ") for content in remaining)
            assert 0 < len(remaining) < left
            left = len(remaining)
    with opened(path, keys=keys) as memory:
        assert set(memory.erase_many({"user": "ann"}, command_id="once").block_ids) == {*ids}


def test_blocks_that_are_learned_meanwhile_are_left(memory: SyncMemory) -> None:
    other = memory.session_handle(actor="other")

    def learn(done: int, total: int) -> None:
        other.learn(f"note at {done} of {total}", scope={"user": "ann"})

    removal = Erasing(space=handle_of(memory), where=Where.parse({"user": "ann"}), batch_min=2)
    assert len(removal.run(learn).block_ids) == 5
    assert len(memory.erase_many({"user": "ann"}, dry_run=True).block_ids) == 3


def test_a_block_that_another_process_erased_meanwhile_is_left_out(memory: SyncMemory) -> None:
    ids = memory.erase_many({"user": "ann"}, dry_run=True).block_ids
    other = memory.session_handle(actor="other")
    removal = Erasing(space=handle_of(memory), where=Where.parse({"user": "ann"}), batch_min=2)

    def erase_one(done: int, _: int) -> None:
        if done == 2:
            other.erase(ids[3])

    receipt = removal.run(erase_one)
    assert receipt.block_ids == (*ids[:3], ids[4])


def test_a_scoped_handle_removes_within_its_scope_alone(memory: SyncMemory) -> None:
    ann = memory.session_handle(actor="ann", scope={"user": "ann"})
    assert len(ann.forget_many({"range": {"confidence": {"from": 0}}}).block_ids) == 5
    with pytest.raises(FieldRefused, match="the scope says"):
        ann.erase_many({"user": "ben"})


def test_one_block_above_the_zone_of_the_handle_refuses_all(memory: SyncMemory) -> None:
    memory.learn("from a page", source="web", scope={"user": "ann"})
    low = memory.session_handle(actor="low", zone="external")
    before = memory.status().version
    for remove in (low.erase_many, low.forget_many):
        with pytest.raises(Forbidden):
            remove({"user": "ann"})
        assert memory.status().version == before
    assert len(low.erase_many({"zone": "external"}).block_ids) == 1


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({}, "no condition"),
        (None, "no condition"),
        ({"user": None}, "no condition"),
        ({"colour": "red"}, "does not know 'colour'"),
        ("user=ann", "must be an object"),
        ({"any": []}, "must be a list"),
        ({"not": {}}, "no condition"),
    ],
)
def test_a_filter_that_says_nothing_is_refused(
    memory: SyncMemory, where: Any, message: str
) -> None:
    before = memory.status().version
    removals: Sequence[Any] = (memory.erase_many, memory.forget_many)
    for remove in removals:
        for dry_run in (False, True):
            with pytest.raises(FieldRefused, match=message) as caught:
                remove(where, dry_run=dry_run)
            assert caught.value.recovery
    assert memory.status().version == before


def test_other_arguments_are_checked_before_anything_is_written(memory: SyncMemory) -> None:
    before = memory.status().version
    with pytest.raises(NoteTooLong):
        memory.forget_many({"user": "ann"}, "x" * 501)
    with pytest.raises(FieldRefused, match="dry_run must be true or false"):
        memory.erase_many({"user": "ann"}, dry_run="yes")  # type: ignore[arg-type]
    assert memory.status().version == before


def test_a_filter_that_finds_nothing_is_answered_so(memory: SyncMemory) -> None:
    receipt = memory.erase_many({"user": "eve"}, command_id="eve")
    assert (receipt.block_ids, receipt.version) == ((), memory.status().version)
    assert str(receipt) == "No block to be erased."


def test_an_erased_space_has_nothing_to_remove(memory: SyncMemory) -> None:
    memory.erase_space("default")
    with pytest.raises(SpaceErased):
        memory.erase_many({"user": "ann"})
