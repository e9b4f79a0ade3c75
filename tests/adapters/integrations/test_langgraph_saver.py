"""LangGraph's checkpointer on a memory, held to LangGraph's own conformance suite."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate

from mnemic.adapters.integrations.langgraph import MnemicSaver

CAPABILITIES = frozenset(
    "put put_writes get_tuple list delete_thread delete_for_runs copy_thread prune".split()
)


@checkpointer_test(name="MnemicSaver")  # type: ignore[untyped-decorator]
async def mnemic_saver() -> AsyncGenerator[MnemicSaver, None]:
    with MnemicSaver.from_path(":memory:") as saver:
        yield saver


def test_it_passes_the_whole_conformance_suite() -> None:
    report = asyncio.run(validate(mnemic_saver))
    assert report.conformance_level() == "FULL", report.to_dict()
    assert frozenset(report.results) == CAPABILITIES


@pytest.fixture
def saver() -> Iterator[MnemicSaver]:
    with MnemicSaver.from_path(":memory:") as saver:
        yield saver


def saved(saver: MnemicSaver, thread: str, **values: Any) -> Any:
    """Save the first checkpoint of a thread, and return its config."""
    checkpoint = {**empty_checkpoint(), "channel_values": values}
    versions = dict.fromkeys(values, saver.get_next_version(None, None))
    checkpoint["channel_versions"] = versions
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    return saver.put(config, checkpoint, {"source": "input", "step": -1}, versions)  # type: ignore[arg-type]


def test_a_checkpoint_is_one_transaction_of_a_log_that_verifies(tmp_path: Path) -> None:
    with MnemicSaver.from_path(tmp_path / "runs.db") as saver:
        before = saver.memory.status().version
        config = saved(saver, "t", question="Where?", count=2)
        entries = saver.memory.log(after=before)
        assert len(entries) == 3
        assert len({entry.recorded_at for entry in entries}) == 1
        assert saver.memory.verify().sound
    with MnemicSaver.from_path(tmp_path / "runs.db") as saver:
        found = saver.get_tuple(config)
        assert found is not None
        assert found.checkpoint["channel_values"] == {"question": "Where?", "count": 2}


def test_a_deleted_thread_stays_in_the_past(saver: MnemicSaver) -> None:
    saved(saver, "t", question="Where?")
    version = saver.memory.status().version
    saver.delete_thread("t")
    assert list(saver.list(None)) == []
    then = saver.memory.as_of(version=version).blocks(key="langgraph-checkpoints/")
    assert [block.status for block in then.items] == ["inbox", "inbox"]


def test_names_of_threads_are_kept_apart(saver: MnemicSaver) -> None:
    threads = ("a", "a/b", "a%2Fb", "", "ä", "a b")
    for thread in threads:
        saved(saver, thread, name=thread)
    for thread in threads:
        found = saver.get_tuple({"configurable": {"thread_id": thread}})
        assert found is not None
        assert found.checkpoint["channel_values"] == {"name": thread}


def test_a_strategy_that_there_is_not_is_refused(saver: MnemicSaver) -> None:
    with pytest.raises(ValueError, match="keep_latest or delete"):
        saver.prune(["t"], strategy="some")
