"""Campaign: two histories of a space, written apart, change places while a process works."""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import random
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import HistoryReplaced
from tests.torture.exchanges import POSTGRES, SQLITE, Agent, Site, played, texts
from tests.torture.figures import Effort, Figures

PROMISE = (
    "Two histories that change places under an open process are never mixed: each stays sound, and "
    "has every command that was acknowledged on it."
)
ROUNDS = {SQLITE: 100, POSTGRES: 50}
APART = (0, 6)
"""Commands that each history has of its own in the beginning."""
EXCHANGES = 4
PAUSE_S = 0.03
"""Most time between two exchanges: some commands."""
TOLD_MAX = EXCHANGES + 1
NAMES = ("one side", "the other side")


def campaign(folder: Path, effort: Effort) -> Figures:
    """Exchange histories at random moments, and hold both against what was acknowledged."""
    return played(folder, effort, ROUNDS, least=4, promise=PROMISE, play=_play)


def _play(site: Site, seed: str, _: int, counts: Counter[str]) -> None:
    Split(site, seed, counts).run()


class Split:
    """Two histories of one space, one of which the store has at any moment.

    Args:
        site: The store.
        seed: Of what is random.
        counts: Where to count.
    """

    def __init__(self, site: Site, seed: str, counts: Counter[str]) -> None:
        self._site = site
        self._counts = counts
        self._chance = random.Random(seed)
        self._pauses = random.Random(f"{seed} pauses")
        self._agent = Agent("the open one", random.Random(f"{seed} agent"))
        self._side = 0
        self._done = threading.Event()

    def run(self) -> None:
        """Write both apart, exchange them during commands, and look at both."""
        self._begin()
        with closing(self._site.opened()) as memory:
            exchanger = threading.Thread(target=self._exchange_at_times)
            exchanger.start()
            try:
                while not self._done.is_set():
                    self._act(memory)
            finally:
                exchanger.join()
            for _ in range(3):
                self._act(memory)
            self._settle(memory)
            with closing(self._site.opened(read_only=True)) as fresh:
                assert texts(memory) == texts(fresh), "two answers to one question"
        self._check_both()

    def _begin(self) -> None:
        with closing(self._site.opened(actor="first")) as begun:
            Agent("all", self._chance).act(begun)
            begun.learn("the harbour gate opens at six")
        self._site.keep("common")
        for name in NAMES[::-1]:
            self._site.put_back("common")
            with closing(self._site.opened(actor="apart")) as apart:
                writer = Agent(name, self._chance)
                for _ in range(self._chance.randint(*APART)):
                    writer.act(apart)
            self._site.keep(name)

    def _exchange_at_times(self) -> None:
        try:
            for _ in range(EXCHANGES):
                self._done.wait(self._pauses.random() * PAUSE_S)
                with self._site.writing():
                    self._site.keep(NAMES[self._side])
                    self._side = 1 - self._side
                    self._site.put_back(NAMES[self._side])
                self._counts["exchanges"] += 1
        finally:
            self._done.set()

    def _act(self, memory: SyncMemory) -> None:
        try:
            self._agent.act(memory)
            self._counts["commands and questions"] += 1
        except HistoryReplaced:
            self._counts["refused as history-replaced"] += 1

    def _settle(self, memory: SyncMemory) -> None:
        """Ask until every exchange has been reported."""
        for _ in range(TOLD_MAX):
            try:
                memory.status()
            except HistoryReplaced:
                continue
            return
        raise AssertionError("the memory does not go on")

    def _check_both(self) -> None:
        """Check that each history is sound, and that one of the two has each command."""
        known = set(self._agent.acknowledged)
        self._check_one(known)
        self._site.put_back(NAMES[1 - self._side])
        self._check_one(known)
        assert not known, f"acknowledged, and in neither history: {sorted(known)}"
        self._counts["acknowledged, and on its history"] += len(self._agent.acknowledged)

    def _check_one(self, known: set[str]) -> None:
        with closing(self._site.opened(read_only=True)) as fresh:
            verified = fresh.verify()
            assert verified.sound, verified.summary
            log = fresh._space.log  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            known -= {each for each in known if log.command(each) is not None}
            self._counts["events"] += verified.events
