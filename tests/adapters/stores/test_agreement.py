"""All stores answer alike and hold the same after any sequence of operations."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.ports import CommandRow, Log, PayloadRow, Record, Store

COMMANDS = "xyz"


class Step(NamedTuple):
    """One append, which may be late, leave a gap or repeat a command."""

    space: str
    offset: int
    bodies: list[bytes]
    places: list[tuple[int, int, tuple[str, ...]]]
    command: CommandRow | None
    erase: list[str]
    erase_all: bool


OWNERS = st.sampled_from("abcd")
STEPS = st.builds(
    Step,
    space=st.sampled_from(["one", "two"]),
    offset=st.sampled_from([1, 1, 1, 1, 0, 2]),
    bodies=st.lists(st.binary(max_size=4), max_size=3),
    places=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.lists(OWNERS, max_size=2).map(tuple)),
        max_size=3,
    ),
    command=st.none() | st.sampled_from(COMMANDS).map(lambda name: CommandRow(name, b"r", 0, 0)),
    erase=st.lists(OWNERS, max_size=2),
    erase_all=st.sampled_from([False, False, False, True]),
)


def answer(store: Store, step: Step) -> object:
    """Return the head after *step*, or the code and facts of the refusal."""
    log = store.log(step.space)
    first = log.head().version + step.offset
    try:
        return log.append(
            [Record(first + at, "thing-noted.1", body) for at, body in enumerate(step.bodies)],
            [
                PayloadRow(first + at, slot, f"{at}-{slot}", b"key", owners, b"data")
                for at, slot, owners in step.places
            ],
            after=log.head(),
            commands=() if step.command is None else (step.command,),
            erase=step.erase,
            erase_all=step.erase_all,
        )
    except MnemicError as error:
        return error.code, error.facts


def state(log: Log) -> object:
    return log.head(), list(log.read()), [log.command(each) for each in COMMANDS]


@given(st.lists(STEPS, max_size=12))
def test_all_stores_answer_alike_and_hold_the_same(steps: list[Step]) -> None:
    memory = MemoryStore()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "agent.db"
        with closing(SQLiteStore(path, synchronous="normal")) as sqlite:
            for step in steps:
                assert answer(sqlite, step) == answer(memory, step)
        with closing(SQLiteStore(path, read_only=True)) as sqlite:
            assert sqlite.spaces() == memory.spaces()
            for space in memory.spaces():
                assert state(sqlite.log(space)) == state(memory.log(space))
