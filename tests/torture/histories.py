"""Agents that run random operations of every kind, until they are killed.

An agent writes two kinds of messages to a pipe, one JSON list to a line: what it is about to
request, ``["?", id, operation, arguments]``, and what was acknowledged, ``["!", id, first, last,
told]``. Versions are null for what wrote nothing, and for operations that take no command id.
"""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import json
import os
import random
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import cycle, repeat
from pathlib import Path
from typing import Any, Final, TypeAlias

from attrs import frozen

from mnemic.adapters.ann.graphs import Graphs, Retriever
from mnemic.adapters.ann.library import obstacle
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.kernel.errors import EmbedderMismatch, MnemicError, Refused, StoreBusy

EMBEDDERS: Final = {size: HashEmbedder(size) for size in (8, 12)}
"""A space moves from one to the other and back."""
GRAPHS: Final = Graphs(always=True, least=16, sizes=(16, 64))
"""So small that graphs are built, joined and swept all the time."""
WORDS: Final = (
    "amber birch cedar delta ember fjord grove heron inlet jetty kelp lagoon moor north otter pine"
).split()
OPERATIONS: Final[Mapping[str, int]] = {
    "learn": 6,
    "learn_many": 3,
    "connect": 3,
    "recall": 4,
    "outcome": 3,
    "consolidate": 3,
    "curate": 2,
    "compose": 2,
    "revise": 1,
    "erase": 1,
    "end_session": 1,
    "checkpoint": 1,
    "export": 1,
    "reembed": 1,
}
"""Operations of agents, and their relative frequency."""

LATE_S: Final = (0.0, 0.0, 0.002)
"""Delay of an answer: an agent killed in between has written without being acknowledged."""
BORNE: Final[tuple[type[MnemicError], ...]] = (Refused, StoreBusy)
"""Errors that count as answers: an archived end, nothing to score, others who erase, ..."""

Arguments: TypeAlias = dict[str, Any]


@frozen
class Asked:
    """A command that an agent was about to give."""

    id: str
    operation: str
    arguments: Arguments


@frozen
class Promised:
    """A command that was acknowledged."""

    asked: Asked
    first: int | None
    last: int | None
    told: Any
    """A decision id, the version of a checkpoint, ...: what the answer can be checked by."""

    @property
    def error(self) -> str | None:
        """The code of the error that was the answer; None: there was another one."""
        return self.told["error"] if isinstance(self.told, dict) else None


def opened(store: SQLiteStore, actor: str = "warden") -> SyncMemory:
    """Open the space with whichever embedder is in force, and with graphs if there can be any."""
    retriever: Retriever = "exact" if obstacle() is not None else GRAPHS
    for embedder in cycle(EMBEDDERS.values()):
        with suppress(EmbedderMismatch):  # another agent may move the space on just now
            return SyncMemory.open(store, embedder=embedder, actor=actor, retriever=retriever)
    raise AssertionError


def ask(memory: SyncMemory, asked: Asked) -> Any:
    """Run the command, or repeat it, and return what the answer can be checked by."""
    match asked.operation:
        case "checkpoint":
            return memory.checkpoint().version
        case "export":
            return memory.export(**asked.arguments).version
        case "reembed":
            memory.reembed(EMBEDDERS[asked.arguments["size"]])
            return memory.status().version
        case operation:
            answer = getattr(memory, operation)(**asked.arguments, command_id=asked.id)
            return getattr(answer, "decision_id", None)


@frozen(kw_only=True)
class Nature:
    """Behaviour of an agent."""

    seed: int
    operations: Sequence[str] = tuple(OPERATIONS)
    """Operations that it runs."""
    loved: str = "learn"
    """The operation that it runs every other time."""
    bears: tuple[type[MnemicError], ...] = BORNE
    """Errors that do not end it."""


class Agent:
    """Runs one command after another, and reports each before and after."""

    def __init__(self, path: Path, name: str, nature: Nature, *, mouth: int) -> None:
        self._chance = random.Random(nature.seed)
        self._store = SQLiteStore(path, synchronous="normal")
        self._log = self._store.log("default")
        self._memory = opened(self._store, name)
        self._path, self._name, self._mouth = path, name, mouth
        self._nature = nature
        self.bears = nature.bears
        """Errors that do not end it."""
        self._often = [OPERATIONS[operation] for operation in nature.operations]
        self._known: list[str] = [block.id for block in self._memory.blocks(limit=100).items] or [
            "0" * 16
        ]
        self._number = 0

    def live(self, count: int | None = None) -> None:
        """Run so many commands, or go on for ever."""
        self._begin_session()
        for _ in repeat(None) if count is None else repeat(None, count):
            operation = self._chance.choices(self._nature.operations, self._often)[0]
            if self._chance.random() < 0.5:
                operation = self._nature.loved
            name = f"{self._name}-{self._number}"
            self._do(Asked(name, operation, self._arguments(operation, self._number)))
            self._number += 1

    def close(self) -> None:
        """Leave."""
        self._memory.close()
        self._store.close()

    def _begin_session(self) -> None:
        with suppress(*self.bears):  # one may be open
            self._memory.start_session()

    def _do(self, asked: Asked) -> None:
        self._tell("?", asked.id, asked.operation, asked.arguments)
        told: Any = None
        try:
            told = ask(self._memory, asked)
        except self.bears as error:
            told = {"error": error.code}
        time.sleep(self._chance.choice(LATE_S))
        row = self._log.command(asked.id)
        self._tell("!", asked.id, row and row.first, row and row.last, told)
        if asked.operation == "end_session":
            self._begin_session()
        if asked.operation in {"learn", "learn_many"}:
            self._known += self._memory.session_block_ids[-1:]

    def _tell(self, *line: object) -> None:
        os.write(self._mouth, json.dumps(line).encode() + b"\n")

    def _some(self, count: int) -> list[str]:
        return sorted({self._chance.choice(self._known) for _ in range(count)})

    def _words(self, count: int) -> str:
        return " ".join(self._chance.choices(WORDS, k=count))

    def _arguments(self, operation: str, number: int) -> Arguments:
        fresh = f"{self._name} says {number}: {self._words(6)}"
        made: Mapping[str, Callable[[], Arguments]] = {
            "learn": lambda: {"content": fresh, "tags": self._words(2).split()},
            "learn_many": lambda: {"lessons": [f"{fresh} {n}" for n in range(7)]},
            "connect": lambda: {
                "source": self._chance.choice(self._known),
                "target": self._chance.choice(self._known),
                "relation": "supports",
            },
            "recall": lambda: {"query": self._words(3)},
            "outcome": lambda: {
                "block_ids": self._some(3),
                "signal": self._chance.choice([0.0, 0.5, 1.0]),
            },
            "compose": lambda: {"members": self._some(3), "query": self._words(2)},
            "revise": lambda: {"block_id": self._chance.choice(self._known), "content": fresh},
            "erase": lambda: {"block_ids": self._chance.choice(self._known)},
            "export": lambda: {"path": str(self._path.with_name(f"{self._name}-{number}.jsonl"))},
            "reembed": lambda: {"size": self._chance.choice(list(EMBEDDERS))},
        }
        return made.get(operation, dict)()


def life(path: Path, name: str, nature: Nature, *, mouth: int) -> Callable[[], None]:
    """Return the work of one agent, not started yet."""

    def lived() -> None:
        warnings.simplefilter("error")
        Agent(path, name, nature, mouth=mouth).live()

    return lived


def heard(lines: Sequence[str]) -> tuple[list[Promised], Asked | None]:
    """Return what was acknowledged to an agent, and what it had requested last."""
    promised: list[Promised] = []
    asked: Asked | None = None
    for line in lines:
        if not line.endswith("\n"):
            break  # killed while it spoke
        kind, *rest = json.loads(line)
        if kind == "?":
            asked = Asked(*rest)
        elif asked is not None:
            promised.append(Promised(asked, *rest[1:]))
            asked = None
    return promised, asked
