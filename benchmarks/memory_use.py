"""Measures the memory of every part of a state, in bytes per block, edge, vector and event.

The life of ``synthetic_life.py`` at two lengths; missing ones are generated first. The state is
traversed from its root: every array counts its allocated memory (including the capacity that is not
written yet), every other object its size according to the interpreter, each only once.
A part is then divided by its unit: bytes per block, per row version of an edge (each change
of an edge makes one), per vector, per event, per composition, per 1,000 words that are searched.

The traversal does not see other memory of the process: caches of the interpreter and of libraries,
and fragmentation of the heap. ``scale.py`` measures the process as a whole.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import synthetic_life
from attrs import asdict, define, frozen
from replay import ROOT, lived, short
from scale import copied

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.projections.state.state import State

LENGTHS = (100_000, 1_000_000)
QUESTIONS = 20
SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)
"""Types of objects that belong to the program and not to a state."""
PARTS = {
    "texts": ("block", ("catalogue.texts",)),
    "ids": ("block", ("catalogue.ids", "catalogue.numbers")),
    "life, strength, evidence, uses": (
        "block",
        ("catalogue.life", "catalogue.strength", "catalogue.evidence", "catalogue.uses"),
    ),
    "reviews, returns": ("block", ("catalogue.reviews", "catalogue.returns")),
    "other facts of blocks": ("block", ("catalogue",)),
    "vectors": ("vector", ("indexes",)),
    "words": ("1,000 words", ("lexicon",)),
    "threads": ("block", ("sequence",)),
    "edges": ("edge", ("graph.rows",)),
    "pairs": ("pair", ("graph.pairs", "graph.incident", "graph.degrees")),
    "staged, pending, apart": ("edge", ("graph",)),
    "event columns": ("event", ("timeline",)),
    "compositions, labels": ("composition", ("ledger",)),
}
"""By name: the unit, and the dotted places; an object counts for the first part that has it."""


@define
class Room:
    """Memory of a part of the state."""

    arrays: int = 0
    """Bytes of arrays, those included that are mapped from a checkpoint."""
    others: int = 0
    """Bytes of other objects."""
    objects: int = 0
    """How many of these there are."""

    def add(self, other: Room) -> None:
        """Add *other* to it."""
        self.arrays += other.arrays
        self.others += other.others
        self.objects += other.objects

    @property
    def total(self) -> int:
        """All bytes."""
        return self.arrays + self.others


@frozen(kw_only=True)
class Line:
    """One line of the table."""

    part: str
    arrays: int
    others: int
    objects: int
    per: str
    each: float
    """Bytes."""


def taken(root: Any, seen: set[int]) -> Room:
    """Return the memory of *root* and everything reachable from it, except objects in *seen*."""
    room, waiting = Room(), [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, SHARED):
            continue
        seen.add(id(thing))
        if isinstance(thing, np.ndarray):
            if isinstance(thing.base, np.ndarray) and thing.base.flags.writeable:
                waiting.append(thing.base)  # a view keeps all of it
            else:
                room.arrays += thing.nbytes
        else:
            room.others += sys.getsizeof(thing)
            room.objects += 1
            waiting.extend(parts_of(thing))
    return room


def parts_of(thing: Any) -> Iterator[Any]:
    """Yield the objects that an object refers to."""
    if isinstance(thing, str | bytes | int | float | array):
        return
    if isinstance(thing, dict):
        yield from thing.keys()
        yield from thing.values()
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from thing
    yield from getattr(thing, "__dict__", {}).values()
    for kind in type(thing).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if name != "__weakref__" and hasattr(thing, name):
                yield getattr(thing, name)


def counts(state: State) -> dict[str, int]:
    """Return the number of each unit."""
    words = int(state.lexicon.frozen()["documents/lengths"].sum(dtype=np.int64))
    return {
        "block": len(state.catalogue.ids),
        "vector": sum(index.rows for index in state.indexes.values()),
        "edge": state.graph.rows.count,
        "pair": len(state.graph.pairs),
        "event": state.version + 1,
        "composition": sum(1 for _ in state.ledger.upto(state.version)),
        "1,000 words": words // 1000,
    }


def lines(state: State) -> Iterator[Line]:
    """Yield the parts of a state."""
    many, seen, everything = counts(state), {id(state.past)}, Room()
    for part, (per, places) in PARTS.items():
        room = Room()
        for place in places:
            room.add(taken(at(state, place), seen))
        everything.add(room)
        yield line(part, room, per, many)
    yield line("all", everything, "block", many)


def line(part: str, room: Room, per: str, many: Mapping[str, int]) -> Line:
    """Return a line of the table."""
    return Line(part=part, per=per, each=room.total / max(1, many[per]), **asdict(room))


def at(state: State, place: str) -> Any:
    """Return the part of a state at a dotted place."""
    found: Any = state
    for name in place.split("."):
        found = getattr(found, name)
    return found


def measured(path: Path, events: int, folder: Path, *, folded: bool) -> Iterator[Line]:
    """Open a copy of a space, query it, and yield its parts."""
    with SyncMemory.open(
        copied(path, folder),
        embedder=synthetic_life.embedder(),
        clock=ManualClock(),
        read_only=True,
        checkpoints=False if folded else None,
    ) as memory:
        for question in synthetic_life.questions(QUESTIONS, events=events):
            memory.recall(question, record=False)
        # No public operation returns its size.
        yield from lines(memory._space.state)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def main() -> None:
    """Generate missing spaces, measure, print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--events", type=int, nargs="*", default=LENGTHS, help="lengths of the lives")
    add("--root", type=Path, default=ROOT, help="where the spaces stand, or are to stand")
    add("--folded", action="store_true", help="fold the whole log, and take up no checkpoint")
    add("--json", type=Path, help="write what was found here, too")
    options = parser.parse_args()
    answer = {}
    for events in options.events:
        path = lived(options.root / f"space-{short(events)}.db", events)
        print(f"\n{events:,} events{'arrays':>26}{'others':>10}{'objects':>12}{'bytes each':>13}")
        with tempfile.TemporaryDirectory() as name:
            found = list(measured(path, events, Path(name), folded=options.folded))
        for each in found:
            print(
                f"{each.part:32}{each.arrays / 1e6:>7.1f} MB{each.others / 1e6:>7.1f} MB"
                f"{each.objects:>12,}{each.each:>13,.0f} per {each.per}"
            )
        answer[events] = [asdict(each) for each in found]
    if options.json is not None:
        options.json.write_text(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()
