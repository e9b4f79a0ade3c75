"""Campaign: an open store is put back to an earlier state, and another process writes on there."""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import HistoryReplaced, MnemicError, StoreFailed
from tests.torture.exchanges import (
    POSTGRES,
    SQLITE,
    Agent,
    Site,
    SQLiteSite,
    played,
    texts,
)
from tests.torture.figures import Effort, Figures

PROMISE = (
    "A store that is put back under an open process is noticed: nothing is answered from the lost "
    "past, and nothing acknowledged since is refused by the next open."
)
ROUNDS = {SQLITE: 400, POSTGRES: 200}
BEFORE, LOST, AFTER = (2, 8), (1, 6), (2, 6)
"""Commands of the open process before the state that is put back, after it, and in the end."""
KINDS = ("shorter", "the same version", "longer")
EVENTS_MAX = 3
"""Events that a random command may write, about."""
REPLACED_EVERY = 4
"""Of the rounds with a file, every fourth replaces the file itself, instead of its rows."""


def campaign(folder: Path, effort: Effort) -> Figures:
    """Put stores back, and hold against each what its open process says then."""
    return played(folder, effort, ROUNDS, least=6, promise=PROMISE, play=_play)


def _play(site: Site, seed: str, number: int, counts: Counter[str]) -> None:
    Rewind(site, random.Random(seed), counts, number).run()


class Rewind:
    """One store, put back once.

    Args:
        site: The store.
        chance: What is random.
        counts: Where to count.
        number: Of the round.
    """

    def __init__(
        self, site: Site, chance: random.Random, counts: Counter[str], number: int
    ) -> None:
        self._site = site
        self._chance = chance
        self._counts = counts
        self._kind = KINDS[number % len(KINDS)]
        self._by_name = isinstance(site, SQLiteSite) and number % REPLACED_EVERY == 0
        self._agent = Agent("the open one", chance)
        self._other = Agent("the other one", chance)

    def run(self) -> None:
        """Write, put back, write elsewhere, and go on."""
        with closing(self._site.opened()) as memory:
            self._acts(memory, self._agent, BEFORE)
            self._site.keep("before")
            kept = memory.status().version
            self._agent.acknowledged.clear()
            self._acts(memory, self._agent, LOST)
            if memory.status().version == kept:
                memory.learn(self._agent.sentence())
            last, lost = memory.status().version, len(self._agent.acknowledged)
            self._counts["acknowledged, and gone with the lost past"] += lost
            self._put_back()
            self._write_elsewhere(kept, last)
            if self._by_name:
                self._check_refused_by_name(memory)
            else:
                self._check_replaced(memory, kept, last)
                self._go_on(memory)
        if self._by_name:
            with closing(self._site.opened()) as memory:
                self._go_on(memory)

    def _acts(self, memory: SyncMemory, agent: Agent, times: tuple[int, int]) -> None:
        for _ in range(self._chance.randint(*times)):
            agent.act(memory)

    def _put_back(self) -> None:
        if not self._by_name:
            self._site.put_back("before")
            return
        assert isinstance(self._site, SQLiteSite)
        self._site.forget()
        for ending in ("-wal", "-shm"):
            self._site.path.with_name(f"{self._site.path.name}{ending}").unlink(missing_ok=True)
        self._site.kept("before").replace(self._site.path)

    def _write_elsewhere(self, kept: int, last: int) -> None:
        """Let another process write to a shorter, the same or a longer version."""
        wanted = {"shorter": last - 1, "longer": last + 3}.get(self._kind, last)
        with closing(self._site.opened(actor="other")) as other:
            while other.status().version < max(kept, wanted):
                if wanted - other.status().version > EVENTS_MAX:
                    self._other.act(other)
                else:
                    self._other.said += 1
                    other.learn(self._other.sentence())
            self._counts[f"written on to {self._kind}"] += 1

    def _check_refused_by_name(self, memory: SyncMemory) -> None:
        """Check that a file that was replaced is neither read nor written."""
        for ask in self._questions(memory):
            refused = _refusal(StoreFailed, ask)
            assert refused is not None, "answered from a file that is gone"
            assert "replaced" in refused.message, refused
        self._counts["noticed by the file"] += 1

    def _check_replaced(self, memory: SyncMemory, kept: int, last: int) -> None:
        """Check that the first question is refused, and what the refusal says."""
        refused = _refusal(HistoryReplaced, self._chance.choice(self._questions(memory)))
        assert refused is not None, "answered from the lost past"
        facts: dict[str, Any] = refused.facts
        assert facts["version"] <= kept + 1 <= facts["differs_at"], (facts, kept)
        versions = facts["acknowledged"]
        assert [each for one, end in versions for each in range(one, end + 1)] == [
            *range(kept + 1, last + 1)
        ], (versions, kept, last)
        self._counts["noticed by the digest"] += 1
        self._counts["place known exactly"] += facts["version"] == facts["differs_at"]

    def _questions(self, memory: SyncMemory) -> list[Callable[[], object]]:
        return [
            memory.blocks,
            lambda: memory.learn(self._agent.sentence(), command_id="after"),
            lambda: memory.recall("harbour gate", record=False),
        ]

    def _go_on(self, memory: SyncMemory) -> None:
        """Check that the memory goes on, and that the next one to open it finds all of that."""
        self._agent.acknowledged.clear()
        self._acts(memory, self._agent, AFTER)
        with closing(self._site.opened(read_only=True)) as fresh:
            verified = fresh.verify()
            assert verified.sound, verified.summary
            assert texts(fresh) == texts(memory), "two answers to one question"
            log = fresh._space.log  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            known = [*self._agent.acknowledged, *self._other.acknowledged]
            missing = [each for each in known if log.command(each) is None]
            assert not missing, f"acknowledged, and not there: {missing}"
            self._counts["acknowledged since, and there"] += len(known)


def _refusal(kind: type[MnemicError], ask: Callable[[], object]) -> MnemicError | None:
    """Return the error of a kind that a question meets; None: it is answered."""
    try:
        ask()
    except kind as error:
        return error
    return None
