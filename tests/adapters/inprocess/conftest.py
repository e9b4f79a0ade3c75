"""Fixtures for deterministic tests: an in-memory space, a manual clock, seeded entropy."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from attrs import evolve

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import RecallResult

Open: TypeAlias = Callable[..., SyncMemory]


@pytest.fixture
def anyio_backend() -> str:
    """Only asyncio: Trio is no dependency, and operations run on worker threads either way."""
    return "asyncio"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


@pytest.fixture
def opened(clock: ManualClock, store: MemoryStore) -> Generator[Open]:
    """Open a handle on the store of the test, or on a given store; all are closed at the end."""
    handles = count()
    with ExitStack() as stack:

        def handle(where: object = store, **host: Any) -> SyncMemory:
            host.setdefault("clock", clock)
            host.setdefault("embedder", HashEmbedder())
            host.setdefault("entropy", SeededEntropy(f"handle {next(handles)}"))
            if isinstance(where, Path):
                host.setdefault("synchronous", "normal")
            return stack.enter_context(SyncMemory.open(where, **host))  # type: ignore[arg-type]

        yield handle


@pytest.fixture
def memory(opened: Open) -> SyncMemory:
    return opened()


@pytest.fixture
def busy(clock: ManualClock) -> Callable[[SyncMemory], list[RecallResult]]:
    """Play a history in which every kind of event happens, and return its recorded recalls."""

    def play(memory: SyncMemory) -> list[RecallResult]:
        return _fortnight(memory, clock)

    return play


TIGHT = Policy(name="tight", degree_cap=3, co_retrieval_sessions=2, consolidate_chunk=4)
LOOSE = evolve(TIGHT, name="loose", cosine_guard=0.05, edge_threshold=0.2)
NOTES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("the harbour gate opens at six", {"tags": ["harbour"], "author": "Ann", "thread": "rota"}),
    ("the harbour gate closes at nine", {"tags": ["harbour", "rota"], "author": "Bob"}),
    ("never open the gate in a storm", {"tags": ["self/constitutional"]}),
    ("keep the logbook honest", {"tags": ["self/value"], "confidence": 0.95}),
    ("gulls were loud this morning", {"category": "observation"}),
    ("the crane needs oil", {"created_at": "2025-11-02T10:00:00+02:00", "source": "tool"}),
    ("the crane was oiled on Monday", {"created_at": "unknown", "metadata": {"crane": 2}}),
    ("a storm is coming to the harbour", {"expires_at": "2026-01-05", "source": "web"}),
)


def _fortnight(memory: SyncMemory, clock: ManualClock) -> list[RecallResult]:
    memory.start_session()
    gate, late, law, value, gulls, crane, oiled, storm = (
        memory.learn(content, **lesson).block_id for content, lesson in NOTES
    )
    clock.advance(minutes=20)
    memory.consolidate()
    memory.connect(storm, gate, "contradicts", note="closed then", if_exists="update")
    memory.connect(gate, late)
    memory.connect(gate, crane, "elaborates")
    memory.connect(gate, oiled, "supports")
    found = [memory.recall("when does the harbour gate open")]
    memory.outcome(decision_id=found[-1].decision_id, signal=0.9)
    clock.advance(minutes=30)
    memory.learn_many(["the crane needs oil!", "", "the crane needs oil", "tides turn at noon"])
    found.append(memory.recall("crane oil", top_k=2, where={"tags": [], "until": "2026-01-02"}))
    memory.end_session()
    clock.advance(days=9)
    memory.adopt_policy(TIGHT)
    memory.start_session()
    found.append(memory.recall(frame="self"))
    memory.outcome([gulls, oiled, "0" * 16], 0.1, weight=2.0)
    memory.disconnect(gate, late, reason="not so")
    memory.connect(law, value, "supports", weight=0.1)
    memory.connect(law, gulls)
    memory.connect(law, late)
    memory.connect(law, oiled)
    clock.advance(hours=3)
    memory.rezone(memory.block(crane).superseded_by or crane, "vetted", "asked")
    memory.revise(late, "the harbour gate closes at ten", "new rota")
    found.append(memory.recall("harbour gate", frame="task", token_budget=60))
    memory.forget(gulls, "gone")
    memory.curate()
    memory.learn("gulls were loud this morning", tags=["birds"])
    clock.advance(hours=-5)
    found.append(memory.recall("loud gulls", frame="short_term"))
    memory.adopt_policy(LOOSE)
    memory.consolidate(relink=True)
    clock.advance(days=1)
    found.append(memory.recall("storm at the harbour", frame="world", top_k=20))
    memory.curate()
    memory.end_session()
    memory.learn("left in the inbox")
    return found
