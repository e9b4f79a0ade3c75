"""Fixtures: memories with the bundled embedder, and with scripted vectors."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from itertools import count
from typing import Any, TypeAlias

import pytest

from mnemic.adapters.embedders.hashing import ScriptedEmbedder, with_cosine
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.model.identity import BlockId

Open: TypeAlias = Callable[..., SyncMemory]
Learn: TypeAlias = Callable[..., list[BlockId]]

SIZE = 64


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def opened(clock: ManualClock) -> Generator[Open]:
    """Open memories on stores of their own; by default with the bundled embedder."""
    handles = count()
    with ExitStack() as stack:

        def handle(**host: Any) -> SyncMemory:
            host.setdefault("clock", clock)
            host.setdefault("entropy", SeededEntropy(f"scenario {next(handles)}"))
            return stack.enter_context(SyncMemory.open(MemoryStore(), **host))

        yield handle


@pytest.fixture
def memory(opened: Open) -> SyncMemory:
    return opened()


@pytest.fixture
def learn() -> Learn:
    """Learn and consolidate texts, and return their ids."""

    def learned(memory: SyncMemory, *texts: str, **lesson: Any) -> list[BlockId]:
        blocks = [memory.learn(text, **lesson).block_id for text in texts]
        memory.consolidate()
        return blocks

    return learned


@pytest.fixture
def near() -> Callable[..., ScriptedEmbedder]:
    """Return an embedder for unrelated texts, some of which are near the first."""

    def script(texts: Sequence[str], **cosines: float) -> ScriptedEmbedder:
        axes = [tuple(float(n == place) for n in range(SIZE)) for place in range(len(texts))]
        vectors = dict(zip(texts, axes, strict=True))
        for text, cosine in cosines.items():
            vectors[text] = with_cosine(axes[0], cosine, axis=texts.index(text))
        return ScriptedEmbedder(vectors, SIZE)

    return script
