"""A writer of a crowd: runs random commands, and records what is acknowledged.

Some commands are repeated with the same id, at once or later. Twins, two neighbouring writers, now
and then give the same command with the same id at the same moment.
"""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import random
import time
from typing import Any

from attrs import define, field, frozen

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.operations.answer_version import version_written
from mnemic.kernel.errors import CommandIdReused, Refused
from mnemic.kernel.ports import Log
from mnemic.kernel.results import RecallResult
from tests.torture.crowds.journal import (
    RACE,
    WORDS,
    Done,
    digest,
)

OPERATIONS = {
    "learn": 14,
    "learn_many": 3,
    "connect": 8,
    "connects": 3,
    "disconnect": 2,
    "recall": 10,
    "outcome": 5,
    "consolidate": 3,
    "curate": 2,
    "compose": 3,
    "label": 2,
    "forget": 1,
    "revise": 1,
    "session": 1,
}
"""How often each is done, of the sum."""
RACED = ("learn", "learn_many", "connect", "recall", "outcome", "compose", "consolidate", "curate")
ERASED_SINCE = "erased since"
"""The refusal of a repeated command whose text was erased in between."""
AGAIN_AT_ONCE, AGAIN_LATER = 0.08, 0.06
"""Shares of commands that are repeated."""
RACE_EVERY_S = 0.25
ERASE_EVERY_S = 0.4
STAR = 3
"""Edges of one ``connects``."""

Call = tuple[str, str, dict[str, Any]]
"""An id, an operation and its arguments."""


@frozen(kw_only=True)
class Part:
    """The role of a writer in the crowd."""

    place: int
    seed: int
    think_s: float
    """Pause between two commands."""
    until_s: float
    """When to stop, on the monotonic clock."""
    erase_until_s: float
    """When to stop erasing, on the same; only the first writer ever does."""

    @property
    def name(self) -> str:
        """The beginning of its command ids."""
        return f"w{self.place}"


@define
class Writer:
    """One writer at its interface."""

    memory: SyncMemory
    log: Log
    part: Part
    seeds: list[str]
    done: list[Done] = field(factory=list)
    _known: list[str] = field(init=False)
    """Blocks that may be connected, scored and composed."""
    _own: list[str] = field(init=False, factory=list)
    """Own blocks that may be archived."""
    _bound: list[str] = field(init=False, factory=list)
    """The last batch, which is yet to be connected."""
    _compositions: list[str] = field(init=False, factory=list)
    _decision: str | None = field(init=False, default=None)
    _calls: list[Call] = field(init=False, factory=list)
    _in_session: bool = field(init=False, default=False)
    _chance: random.Random = field(init=False)
    _number: int = field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        self._known = [*self.seeds]
        self._chance = random.Random(f"{self.part.seed} {self.part.name}")

    def work(self) -> None:
        """Run one command after another until it is time to stop."""
        part = self.part
        raced = erased = time.monotonic()
        self._do("session")
        while (now := time.monotonic()) < part.until_s:
            if now // RACE_EVERY_S > raced // RACE_EVERY_S:
                self._race(int(now // RACE_EVERY_S))
                raced = now
            if part.place == 0 and erased + ERASE_EVERY_S < now < part.erase_until_s:
                self._erase()
                erased = now
            self._do(self._chance.choices([*OPERATIONS], [*OPERATIONS.values()])[0])
            if part.think_s:
                time.sleep(part.think_s)

    # --- giving a command -----------------------------------------------------------------------

    def _do(self, operation: str) -> None:
        self._number += 1
        asked = getattr(self, f"_{operation}")(f"{self.part.name}-{self._number}")
        if asked is None:
            return
        call = (f"{self.part.name}-{self._number}", *asked)
        self._give(call)
        self._calls.append(call)
        if self._chance.random() < AGAIN_AT_ONCE:
            self._give(call)
        if self._chance.random() < AGAIN_LATER:
            self._give(self._chance.choice(self._calls[-40:]))

    def _give(self, call: Call) -> Any:
        """Give a command and record the answer; None if it is refused."""
        name, operation, given = call
        begun = time.perf_counter()
        try:
            result = getattr(self.memory, operation)(**given, command_id=name)
        except (Refused, CommandIdReused) as error:
            if isinstance(error, CommandIdReused) and not error.message.endswith(ERASED_SINCE):
                raise
            self._note(call, begun, refused=error.code)
            return None
        wait_s = time.perf_counter() - begun
        row = self.log.command(name)
        if operation == "consolidate":
            is_told = bool(result.chunks or result.edges_created)
        else:
            is_told = row is not None and version_written(self.memory) == row.last
        found = {} if row is None or not is_told else {"first": row.first, "last": row.last}
        self._note(call, begun, wait_s=wait_s, answer=digest(result.to_dict()), **found)
        self._learn_from(operation, result)
        return result

    def _note(self, call: Call, begun: float, **facts: Any) -> None:
        facts = {"wait_s": time.perf_counter() - begun} | facts
        self.done.append(Done(who=self.part.name, id=call[0], operation=call[1], **facts))

    def _learn_from(self, operation: str, result: Any) -> None:
        if operation == "learn":
            self._known.append(result.block_id)
            self._own.append(result.block_id)
        elif operation == "compose":
            self._compositions.append(result.composition_id)
        elif isinstance(result, RecallResult):
            self._decision = result.decision_id

    def _race(self, tick: int) -> None:
        """Give the command of this moment, which the twin gives too."""
        pair = self.part.place // 2
        name, chance = f"{RACE}-{pair}-{tick}", random.Random(f"{self.part.seed} {pair} {tick}")
        operation, few = chance.choice(RACED), chance.sample(self.seeds, 3)
        given: dict[str, dict[str, Any]] = {
            "learn": {"content": f"{name}: {_some(chance)}"},
            "learn_many": {"lessons": [f"{name}: {_some(chance)} {place}" for place in range(3)]},
            "connect": {"source": few[0], "target": few[1], "relation": "supports"},
            "recall": {"query": _some(chance, 2)},
            "outcome": {"block_ids": few, "signal": chance.random()},
            "compose": {"members": few},
        }
        begun = self._known, self._own
        self._known, self._own = [], []
        self._give((name, operation, given.get(operation, {})))
        self._known, self._own = begun

    def _erase(self) -> None:
        self._number += 1
        name = f"{self.part.name}-{self._number}"
        learned = self._give((name, "learn", {"content": f"{name}: secret {_some(self._chance)}"}))
        self._own.pop()
        self._known.pop()
        self._give((f"{name}e", "erase", {"block_ids": learned.block_id}))

    # --- what there is to do --------------------------------------------------------------------

    def _learn(self, name: str) -> tuple[str, dict[str, Any]]:
        words = _some(self._chance)
        tags = self._chance.sample(WORDS, 2)
        if self._chance.random() < 0.1:  # somebody else may say the very same
            words = f"common knowledge {self._chance.randrange(40)}"
            return "learn", {"content": words, "tags": tags}
        return "learn", {"content": f"{name}: {words}", "tags": tags}

    def _learn_many(self, name: str) -> tuple[str, dict[str, Any]]:
        count = self._chance.randint(STAR + 1, 7)
        # Messages are never near-duplicates, so a batch stays as it is.
        lessons = [
            {
                "content": f"{name}: {_some(self._chance)} {place}",
                "thread": f"{name} of {count}",
                "category": "message",
            }
            for place in range(count)
        ]
        return "learn_many", {"lessons": lessons}

    def _connects(self, name: str) -> tuple[str, dict[str, Any]] | None:
        """Connect the first of a batch with some others of it, which no other writer touches."""
        batch = next((each for each in reversed(self.done) if each.operation == "learn_many"), None)
        if batch is None or batch.id.startswith(RACE) or batch.first is None:
            return None
        thread = next(given for known, _, given in self._calls if known == batch.id)["lessons"][0]
        ids: list[str] = [each.id for each in self.memory.blocks(thread=thread["thread"]).items]
        if ids[: STAR + 1] == self._bound:
            return None
        self._bound = ids[: STAR + 1]
        how = {"relation": "supports", "note": f"star {name}", "if_exists": "update"}
        edges = [{"source": ids[0], "target": other, **how} for other in self._bound[1:]]
        return "connects", {"edges": edges}

    def _connect(self, _name: str) -> tuple[str, dict[str, Any]]:
        source, target = self._chance.sample(self._known, 2)
        relation = self._chance.choice([None, "supports", "contradicts", "elaborates"])
        return "connect", {"source": source, "target": target, "relation": relation}

    def _disconnect(self, _name: str) -> tuple[str, dict[str, Any]]:
        source, target = self._chance.sample(self.seeds, 2)
        return "disconnect", {"source": source, "target": target, "reason": "not so"}

    def _recall(self, _name: str) -> tuple[str, dict[str, Any]]:
        frame = self._chance.choice(["attention", "attention", "task", "short_term", "world"])
        return "recall", {"query": _some(self._chance, 2), "frame": frame}

    def _outcome(self, _name: str) -> tuple[str, dict[str, Any]]:
        signal = self._chance.random()
        if self._decision is not None and self._chance.random() < 0.5:
            return "outcome", {"decision_id": self._decision, "signal": signal}
        few = self._chance.sample(self._known, 3)
        return "outcome", {"block_ids": few, "signal": signal}

    def _consolidate(self, _name: str) -> tuple[str, dict[str, Any]]:
        limit = self._chance.choice([None, None, 3])
        return "consolidate", {"limit": limit, "relink": self._chance.random() < 0.1}

    def _curate(self, _name: str) -> tuple[str, dict[str, Any]]:
        return "curate", {}

    def _compose(self, _name: str) -> tuple[str, dict[str, Any]]:
        return "compose", {"members": self._chance.sample(self._known, 3), "query": "why"}

    def _label(self, _name: str) -> tuple[str, dict[str, Any]] | None:
        if not self._compositions:
            return None
        name = self._chance.choice(self._compositions)
        label = self._chance.choice(["helpful", "dead_end", "accepted"])
        return "label", {"composition_id": name, "label": label}

    def _forget(self, _name: str) -> tuple[str, dict[str, Any]] | None:
        if not self._own:
            return None
        return "forget", {"block_id": self._chance.choice(self._own), "reason": "enough of it"}

    def _revise(self, name: str) -> tuple[str, dict[str, Any]] | None:
        if not self._own:
            return None
        words = f"{name}: {_some(self._chance)}"
        return "revise", {"block_id": self._chance.choice(self._own), "content": words}

    def _session(self, _name: str) -> tuple[str, dict[str, Any]]:
        self._in_session = not self._in_session
        return ("start_session" if self._in_session else "end_session"), {}


def _some(chance: random.Random, count: int = 6) -> str:
    return " ".join(chance.choices(WORDS, k=count))
