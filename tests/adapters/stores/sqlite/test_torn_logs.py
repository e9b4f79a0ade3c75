"""Any loss from the write-ahead log of a killed writer is harmless or reported."""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from attrs import define, field, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.stores.sqlite.connections import Synchronous
from mnemic.adapters.stores.sqlite.watermark import this_start
from mnemic.kernel.errors import LogCorrupt
from mnemic.specs.contracts.log_entries import records
from tests.adapters.stores.damages import read

SPACES: Final = ("one", "two", "three")
BEGINNING_OF_WAL: Final = 200
"""The header of a write-ahead log and of its first frame: every fourth harm falls there."""


@frozen(kw_only=True)
class Step:
    """One operation of a writer."""

    writer: int
    space: str
    events: int
    """0: everything is moved out of the write-ahead log instead."""
    staged_spaces: bool
    """Whether the space is made in hiding, if it is not there."""


@frozen(kw_only=True)
class Harm:
    """Damage to the write-ahead log; None: nothing."""

    place: float
    mask: int
    """What the byte there is combined with; 0: the file ends there."""

    def done_to(self, data: bytes) -> bytes:
        """Return the bytes with the damage done."""
        if not data:
            return data
        place = int(self.place * len(data))
        if self.place < 0:
            place = int(-self.place * min(len(data), BEGINNING_OF_WAL))
        place = min(place, len(data) - 1)
        changed = bytes([data[place] ^ self.mask]) + data[place + 1 :] if self.mask else b""
        return data[:place] + changed


@frozen(kw_only=True)
class Crash:
    """What writers did, and how their write-ahead log was damaged."""

    writers: int
    synchronous: Synchronous
    is_noted: bool
    """Whether the last of them came to note what it had committed."""
    harm: Harm | None


steps = st.builds(
    Step,
    writer=st.integers(0, 2),
    space=st.sampled_from(SPACES),
    events=st.sampled_from([0, 1, 1, 2, 5]),
    staged_spaces=st.booleans(),
)
harms = st.builds(
    Harm,
    place=st.floats(-0.33, 1.0, allow_nan=False),
    mask=st.integers(0, 255) | st.just(0),
)
crashes = st.builds(
    Crash,
    writers=st.integers(1, 3),
    synchronous=st.sampled_from(["full", "normal"] if this_start() is not None else ["full"]),
    is_noted=st.booleans(),
    harm=st.none() | harms,
)


@define(kw_only=True)
class Writers:
    """Several handles on one file, and what was acknowledged to them."""

    stores: list[SQLiteStore]
    told: Counter[str] = field(factory=Counter)
    """How many events of each space were acknowledged."""

    def do(self, step: Step) -> None:
        """Write something."""
        store = self.stores[step.writer % len(self.stores)]
        if not step.events:
            store.scrub()
            return
        added = records(self.told[step.space], step.events)
        if step.staged_spaces and not self.told[step.space]:
            with store.draft(step.space) as draft:
                draft.append(added, (), after=draft.head())
        else:
            log = store.log(step.space)
            with log.write_lock():
                log.append(added, (), after=log.head())
        self.told[step.space] += step.events


def content(file: Path) -> bytes:
    """Return the content of a file; empty if it does not exist."""
    return file.read_bytes() if file.exists() else b""


def found(path: Path) -> dict[str, tuple[int, bool]]:
    """Return how many events each space has, and whether some are reported missing."""
    counted: dict[str, tuple[int, bool]] = {}
    with closing(SQLiteStore(path, synchronous="normal")) as store:
        for space in SPACES:
            try:
                versions, bad = read(store.log(space))
            except LogCorrupt:
                counted[space] = (0, True)
            else:
                counted[space] = (len(versions), bad is not None)
    return counted


@settings(max_examples=settings().max_examples * 5 // 6)
@given(history=st.lists(steps, min_size=1, max_size=12), crash=crashes)
def test_a_torn_log_is_complete_or_reports_damage(history: list[Step], crash: Crash) -> None:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        path = Path(name) / "agent.db"
        opened = [
            stack.enter_context(closing(SQLiteStore(path, synchronous=crash.synchronous)))
            for _ in range(crash.writers)
        ]
        agents = Writers(stores=opened)
        wal, heads = path.with_name("agent.db-wal"), path.with_name("agent.db.heads")
        acknowledged, known = agents.told.copy(), b""
        for number, step in enumerate(history, start=1):
            agents.do(step)
            # A writer who is killed between its commit and its note has told nobody.
            if crash.is_noted or number < len(history):
                acknowledged, known = agents.told.copy(), content(heads)
        stored, ahead = path.read_bytes(), wal.read_bytes()
        stack.close()
        torn = ahead if crash.harm is None else crash.harm.done_to(ahead)
        path.write_bytes(stored)
        wal.write_bytes(torn)
        heads.write_bytes(known)
        for space, (events, is_told) in found(path).items():
            assert is_told or events >= acknowledged[space], (space, events, acknowledged)
            assert not (is_told and torn == ahead), f"{space} is whole"
