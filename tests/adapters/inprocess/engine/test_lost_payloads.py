"""Payloads that are missing although nothing erased them: named, and never taken for erased."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.codec import Codec
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.payload_check import PayloadCheck
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.adapters.transfer.salvage import salvage
from mnemic.kernel.errors import LogCorrupt, PayloadsMissing
from mnemic.kernel.ports import Log, PayloadRow, Record
from mnemic.kernel.rendering import Cited, parse_line
from mnemic.kernel.results import Block

EMBEDDER = HashEmbedder(8)
GATE, KEY, BELL = "The gate is green.", "The key is under the stone.", "The bell rings at nine."
LOSSES = [
    "DELETE FROM payloads WHERE owner = :block",
    "DELETE FROM contents WHERE id IN (SELECT content FROM payloads WHERE owner = :block)",
]
"""Rows of a block that are gone, with and without what refers to them."""


def opened(path: Path, *, read_only: bool = False, keys: Path | None = None) -> SyncMemory:
    return SyncMemory.open(
        path, embedder=EMBEDDER, synchronous="normal", read_only=read_only, keys=keys
    )


def lose(path: Path, statement: str, **values: object) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        assert file.execute(statement, values).rowcount > 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


@pytest.fixture
def ids(path: Path) -> list[str]:
    """Write three blocks and a decision; erase the second block; return the ids."""
    with opened(path) as memory:
        found = [memory.learn(text).block_id for text in (GATE, KEY, BELL)]
        memory.recall("When does the bell ring?")
        memory.erase(found[1])
    return list(found)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_space_that_lost_payloads_is_not_opened_for_writing(
    path: Path, ids: list[str], loss: str, *, checkpoint: bool
) -> None:
    if checkpoint:
        with opened(path) as memory:
            memory.checkpoint()
    lose(path, loss, block=ids[2])
    with pytest.raises(PayloadsMissing) as caught:
        opened(path)
    assert caught.value.code == "payloads-missing"
    assert caught.value.facts == {
        "version": 4,
        "payloads": 2,
        "versions": [4, 6],
        "blocks": [ids[2]],
    }
    assert "salvage" in caught.value.recovery


@pytest.mark.parametrize("checkpoint", [False, True])
def test_what_is_lost_is_shown_as_lost_and_what_is_erased_as_erased(
    path: Path, ids: list[str], *, checkpoint: bool
) -> None:
    if checkpoint:
        with opened(path) as memory:
            memory.checkpoint()
    lose(path, LOSSES[0], block=ids[2])
    with opened(path, read_only=True) as memory:
        blocks: dict[str, Block] = {block.id: block for block in memory.blocks().items}
        assert [(blocks[each].content, blocks[each].lost) for each in ids] == [
            (GATE, False),
            (None, False),
            (None, True),
        ]
        line = parse_line(blocks[ids[2]].summary)
        assert isinstance(line, Cited)
        assert (line.content, line.is_lost) == (None, True)
        assert [entry.detail[9:] for entry in memory.log() if entry.kind == "block-learned"] == [
            GATE,
            "[erased]",
            "[lost]",
        ]
        assert any("lacks 2 payloads" in alert for alert in memory.status().alerts)
        shown = memory.recall("When does the bell ring?", record=False)
        assert {block.content for block in shown.blocks} <= {GATE, "[lost]"}
        verified = memory.verify()
        assert (verified.sound, verified.first_bad_version) == (False, 4)


def test_a_decision_that_read_lost_text_is_lost_and_not_sealed(path: Path) -> None:
    with opened(path) as memory:
        bell = memory.learn(BELL).block_id
        decision = memory.recall("When does the bell ring?").decision_id
        other = memory.recall("Where is the key?").decision_id
    assert decision is not None
    assert other is not None
    lose(path, LOSSES[0], block=bell)
    lose(path, f"DELETE FROM payloads WHERE owner = 'e{other[1:]}'")  # noqa: S608
    with opened(path, read_only=True) as memory:
        for each in (decision, other):
            replayed = memory.replay(each)
            assert (replayed.outcome, replayed.recall) == ("lost", None)
        summary = memory.replay_all()
        assert (summary.lost, summary.sealed, summary.differs) == (2, 0, 0)
        assert not summary.is_exact


def test_copies_of_a_space_that_lost_payloads_are_refused_and_salvage_names_them(
    path: Path, ids: list[str]
) -> None:
    lose(path, LOSSES[0], block=ids[2])
    with opened(path, read_only=True) as memory, pytest.raises(LogCorrupt) as caught:
        memory.export(path.with_name("all.jsonl"))
    assert caught.value.facts["version"] == 4
    (saved,) = salvage(path, path.with_name("saved.db")).spaces
    assert [each.version for each in saved.payloads_lost] == [4, 6]
    assert saved.erased == (ids[2],)
    with opened(path.with_name("saved.db")) as memory:
        assert memory.verify().sound
        assert memory.learn(BELL).action == "reactivated"
        block = memory.block(ids[2])
        assert block is not None
        assert (block.content, block.lost) == (BELL, False)


@pytest.mark.usefixtures("ids")
def test_a_loss_is_noticed_in_what_another_process_wrote(path: Path) -> None:
    with opened(path) as memory, opened(path) as other:
        block = other.learn("The moon is full.").block_id
        lose(path, LOSSES[0], block=block)
        for act in (lambda: memory.learn("The moon is full."), memory.consolidate, memory.blocks):
            with pytest.raises(PayloadsMissing) as caught:
                act()
            assert caught.value.facts["blocks"] == [block]


def test_nothing_is_erased_where_the_replay_would_end_in_a_loss(path: Path, ids: list[str]) -> None:
    with opened(path) as memory:
        memory.checkpoint()
    with opened(path) as memory:
        lose(path, LOSSES[0], block=ids[2])
        with pytest.raises(LogCorrupt, match="nothing was erased"):
            memory.erase(ids[0])
        block = memory.block(ids[0])
        assert block is not None
        assert block.content == GATE


@pytest.mark.usefixtures("ids")
def test_an_erased_space_lacks_nothing(path: Path) -> None:
    with opened(path) as memory:
        memory.erase_space(confirm="default")
    with opened(path, read_only=True) as memory:
        assert memory.verify().sound
        assert memory.status().alerts == ("the space was erased",)


def test_keys_destroyed_through_another_copy_are_no_loss_and_missing_rows_are(path: Path) -> None:
    pytest.importorskip("cryptography")
    keys, copy = path.with_name("keys"), path.with_name("copy.db")
    with opened(path, keys=keys) as memory:
        gate, bell = (memory.learn(text).block_id for text in (GATE, BELL))
    copy.write_bytes(path.read_bytes())
    with opened(path, keys=keys) as memory:
        memory.erase(gate)
    with opened(copy, keys=keys, read_only=True) as memory:
        assert [(each.content, each.lost) for each in memory.blocks().items] == [
            (None, False),
            (BELL, False),
        ]
    with opened(copy, keys=keys) as memory:
        assert memory.verify().sound
    lose(copy, LOSSES[0], block=bell)
    with pytest.raises(PayloadsMissing):
        opened(copy, keys=keys)


class _EndsEarly:
    """A log whose first reader sees the end that it had at an earlier version."""

    def __init__(self, log: Log, end: int) -> None:
        self._log = log
        self._end: int | None = end

    def read(
        self, after: int = -1, upto: int | None = None
    ) -> Iterator[tuple[Record, tuple[PayloadRow, ...]]]:
        end, self._end = self._end, None
        return self._log.read(after, upto if end is None else end)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def test_what_is_erased_while_a_log_is_read_is_no_loss() -> None:
    store, codec = MemoryStore(), Codec(SystemEntropy())
    with SyncMemory.open(store, embedder=EMBEDDER) as memory:
        gate, _ = memory.learn(GATE).block_id, memory.learn(KEY).block_id
        before = memory.status().version
        memory.erase(gate)
    log: Any = _EndsEarly(store.log("default"), before)
    check = PayloadCheck(log, codec)
    assert [each.version for each in check.recorded(-1)][-1] == before
    assert check.unexplained(before) == ()
