"""Memories with graphs over very few vectors, and queries for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from mnemic.adapters.ann.graphs import GraphBuilder, Graphs
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.recall import decision_records
from mnemic.kernel.events import RecallRecorded
from mnemic.kernel.results import RecallResult

Open: TypeAlias = Callable[..., SyncMemory]

SMALL = Graphs(always=True, least=8, sizes=(8, 32))
QUESTION = "the lamp of keeper 7"


def space_of(memory: SyncMemory) -> SessionHandle:
    return memory._space  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def graphs_of(memory: SyncMemory) -> GraphBuilder:
    graphs = space_of(memory).graphs
    assert graphs is not None
    return graphs


def learned(memory: SyncMemory, first: int, end: int) -> list[str]:
    for number in range(first, end):
        memory.learn(f"keeper {number} trims the lamp of tower {number % 9} at dusk")
    memory.consolidate()
    return list(memory.recall(QUESTION, top_k=200, record=False).block_ids)


def warmed(memory: SyncMemory) -> None:
    """Query often enough that graphs are built, and wait for them."""
    memory.recall(QUESTION, record=False)
    memory.recall(QUESTION, record=False)
    graphs_of(memory).finish()


def decision(memory: SyncMemory, result: RecallResult) -> RecallRecorded:
    return decision_records.decision(space_of(memory), str(result.decision_id))[1]


def files(tmp_path: Path) -> list[str]:
    found = (tmp_path / "agent.db.checkpoints").glob("*")
    return sorted(name.split("-r")[1][:21] for name in (each.name for each in found))


def retrievers(memory: SyncMemory) -> str:
    return decision(memory, memory.recall(QUESTION)).retriever
