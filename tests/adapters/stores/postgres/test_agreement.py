"""Server and memory answer alike and hold the same after any sequence of operations."""

from __future__ import annotations

from contextlib import closing

from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.postgres import PostgresStore
from tests.adapters.stores.postgres import server as servers
from tests.adapters.stores.test_agreement import STEPS, Step, answer, state


@settings(max_examples=settings().max_examples * 5 // 12)
@given(st.lists(STEPS, max_size=12))
def test_server_and_memory_answer_alike_and_hold_the_same(server: str, steps: list[Step]) -> None:
    memory = MemoryStore()
    with servers.schema(server) as address:
        with closing(PostgresStore(address, synchronous="normal")) as store:
            for step in steps:
                assert answer(store, step) == answer(memory, step)
        if not memory.spaces():
            return
        with closing(PostgresStore(address, read_only=True)) as store:
            assert store.spaces() == memory.spaces()
            for space in memory.spaces():
                assert state(store.log(space)) == state(memory.log(space))
