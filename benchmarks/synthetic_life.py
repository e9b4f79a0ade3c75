"""Synthetic life of an agent, at any length: the spaces of ``replay.py`` and ``scale.py``.

A life is a sequence of similar sessions: blocks are learned, recalled, connected, disconnected,
composed, and scored. The contents of a session are in ``DAILY``; the number of sessions follows
from the length of the log. Texts are sentences of synthetic words: each is about one topic, with
words of that topic and common ones, both by Zipf's law; now and then one repeats an older one.
Everything is drawn from one seed, and clock and entropy are deterministic, so that the same length
gives the same log, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from itertools import accumulate, cycle, product
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from attrs import Factory, define, frozen
from vocabulary import (
    CATEGORIES,
    COMMON_TAGS,
    GIVEN_NAMES,
    RELATIONS,
    SYLLABLES,
)

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import Refused
from mnemic.kernel.ports import Embedder

T = TypeVar("T")

EDITION = 1
"""Version of the generator: incremented when the same length gives another life."""
DIMENSION = 256
SEED = 6
SESSION_EVENTS = 800
"""About how many events a session writes; the last one is topped up."""
ACTIVE_HOURS = 300
"""Length of the whole life: blocks that are unused for that long have decayed."""
CURATED_EVERY = 40
"""Sessions from one sweep to the next."""

ROUNDS = 8
"""Rounds of a session; each begins with a recall."""
LEARNED_EVERY = 4
"""Rounds from one batch of lessons to the next."""
DAILY = {
    "learned": 40,
    "connected": 30,
    "reinforced": 48,
    "disconnected": 3,
    "judged": 7,
    "composed": 2,
}
ACTS = 5 + DAILY["disconnected"] + DAILY["judged"]
"""Instants of a round."""
REPEATED = 0.04
"""Probability that a sentence repeats an older one, with one word more."""
ABOUT = 0.6
"""Probability that a word is one of the topic."""
FRAMES = {"attention": 80, "task": 10, "world": 4, "self": 3, "short_term": 3}
CATEGORY_WEIGHTS = (3, 1, 2, 4)
"""Few observations: they decay within days, and most blocks are to stay active."""
GOAL = 0.01
"""Probability that a block is about the agent itself."""


@define
class Language:
    """Words and topics, and the sentences made of them."""

    chance: Random
    words: list[str]
    topics: list[list[str]]

    @classmethod
    def drawn(cls, chance: Random, topics: int, topic_words: int = 60) -> Language:
        """Return a language with so many topics, each with words of its own choice."""
        words = ["".join(parts) for size in (2, 3) for parts in product(SYLLABLES, repeat=size)]
        chance.shuffle(words)
        rare = words[500:]
        return cls(chance, words, [chance.sample(rare, topic_words) for _ in range(topics)])

    def sentence(self, topic: int, length: int) -> str:
        """Return *length* words about *topic*."""
        about = sum(self.chance.random() < ABOUT for _ in range(length))
        words = self._drawn(self.topics[topic], about) + self._drawn(self.words, length - about)
        self.chance.shuffle(words)
        return " ".join(words)

    def again(self, sentence: str) -> str:
        """Return *sentence* with one word more."""
        return f"{sentence} {self.chance.choice(self.words)}"

    def _drawn(self, words: Sequence[str], count: int) -> list[str]:
        """Draw by Zipf's law: the word at rank r with a weight of 1 / (r + 5)."""
        return self.chance.choices(words, cum_weights=_zipf(len(words)), k=count)


@cache
def _zipf(count: int) -> list[float]:
    return list(accumulate(1 / (rank + 5) for rank in range(count)))


@frozen
class Block:
    """The agent's own record of a block."""

    id: str
    text: str
    topic: int


@define
class Life:
    """The simulated agent."""

    memory: SyncMemory
    clock: ManualClock
    language: Language
    chance: Random
    step_us: int
    """Time from one action to the next."""
    blocks: list[Block] = Factory(list)
    by_topic: dict[int, list[Block]] = Factory(dict)
    edges: list[tuple[str, str]] = Factory(list)

    def session(self, number: int, thread_topics: int = 2) -> None:
        """Run one session."""
        self.clock.advance(hours=2)
        topics = self.chance.choices(range(len(self.language.topics)), k=thread_topics)
        with self.memory.session():
            for round_ in range(ROUNDS):
                if round_ % LEARNED_EVERY == 0:
                    self.learn(topics, f"session/{number}")
                self.recall(topics)
                self.connect()
                self.take_apart()
                self.judge()
            self.revise()
            if number % CURATED_EVERY == CURATED_EVERY - 1:
                self.memory.curate()

    def learn(self, topics: Sequence[int], thread: str) -> None:
        """Learn a batch about the topics of the day."""
        new = []
        for _ in range(DAILY["learned"]):
            topic = self.chance.choice(topics)
            known = self.by_topic.setdefault(topic, [])
            if known and self.chance.random() < REPEATED:
                text = self.language.again(self._recent(known).text)
            else:
                text = self.language.sentence(topic, self.chance.randint(8, 24))
            new.append((topic, text))
        self._pass()
        learned = self.memory.learn_many([self._lesson(topic, text, thread) for topic, text in new])
        for (topic, text), result in zip(new, learned.results, strict=True):
            block = Block(result.block_id, text, topic)
            self.blocks.append(block)
            self.by_topic[topic].append(block)

    def _lesson(self, topic: int, text: str, thread: str) -> dict[str, Any]:
        tags = [f"topic/{topic}", self.chance.choice(COMMON_TAGS)]
        if self.chance.random() < GOAL:
            tags.append("self/goal")
        return {
            "content": text,
            "category": self.chance.choices(CATEGORIES, CATEGORY_WEIGHTS)[0],
            "author": self.chance.choice(GIVEN_NAMES),
            "thread": thread,
            "tags": tags,
        }

    def question(self, topics: Sequence[int]) -> str:
        """Return words of a known block, or some about a topic of the day."""
        if self.chance.random() < 0.6:  # noqa: PLR2004 - more often than not there is an answer
            words = self._recent(self.blocks).text.split()
            return " ".join(self.chance.sample(words, min(len(words), self.chance.randint(3, 7))))
        return self.language.sentence(self.chance.choice(topics), self.chance.randint(3, 7))

    def recall(self, topics: Sequence[int]) -> None:
        """Recall, score the answer, and compose the blocks that it returned."""
        self._pass()
        (frame,) = self.chance.choices(list(FRAMES), list(FRAMES.values()))
        answer = self.memory.recall(
            self.question(topics), frame=frame, top_k=self.chance.randint(3, 10)
        )
        if not answer.block_ids:
            return
        self._pass()
        self.memory.outcome(decision_id=answer.decision_id, signal=self._signal())
        for _ in range(DAILY["composed"]):
            self._pass()
            members = self.chance.sample(answer.block_ids, min(3, len(answer.block_ids)))
            composed = self.memory.compose(members)
            label = self.chance.choice(("helpful", "accepted", "dead_end"))
            self.memory.label(composed.composition_id, label)

    def connect(self) -> None:
        """Connect blocks of a topic, and confirm earlier edges."""
        self._pass()
        fresh = []
        for _ in range(DAILY["connected"]):
            one = self._recent(self.blocks)
            other = self._recent(self.by_topic[one.topic])
            if one.id != other.id:
                fresh.append((one.id, other.id))
        wanted = [
            {"source": source, "target": target, "relation": self.chance.choice(RELATIONS)}
            for source, target in fresh
        ]
        again = [self._recent(self.edges) for _ in range(DAILY["reinforced"]) if self.edges]
        wanted += [{"source": source, "target": target} for source, target in again]
        done = self.memory.connects(wanted)
        self.edges += [
            (each.source_id, each.target_id) for each in done.results if each.action == "created"
        ]

    def take_apart(self) -> None:
        """Disconnect wrong edges."""
        for _ in range(DAILY["disconnected"]):
            self._pass()
            self.memory.disconnect(*self._recent(self.edges))

    def judge(self) -> None:
        """Score a few blocks."""
        for _ in range(DAILY["judged"]):
            self._pass()
            block = self._recent(self.blocks)
            with suppress(Refused):  # archived meanwhile
                self.memory.outcome([block.id], signal=self._signal())

    def revise(self) -> None:
        """Revise one block, forget another, and move a third one to a lower zone."""
        self._pass()
        revised, forgotten, moved = (self._recent(self.blocks) for _ in range(3))
        with suppress(Refused):  # archived meanwhile
            self.memory.revise(revised.id, self.language.again(revised.text))
        with suppress(Refused):
            self.memory.rezone(moved.id, "external")
        self.memory.forget(forgotten.id)

    def top_up(self, events: int) -> None:
        """Score the latest blocks until the log has *events* events."""
        missing = events - 1 - self.memory.status().version
        latest = cycle(self.blocks[-DAILY["learned"] :])
        while missing > 0:
            with suppress(Refused):  # archived meanwhile
                missing -= len(self.memory.outcome([next(latest).id], self._signal()).updated)

    def _pass(self) -> None:
        self.clock.advance(microseconds=self.step_us)

    def _signal(self) -> float:
        return self.chance.choice((0.1, 0.6, 0.8, 0.9, 1.0))

    def _recent(self, things: Sequence[T]) -> T:
        """Choose one, late ones more often: half of the time one of the last quarter."""
        return things[-1 - int(len(things) * self.chance.random() ** 2)]


def live(path: Path, events: int, sessions: Iterable[int]) -> None:
    """Write a life into the file at *path*.

    Args:
        path: Of a store that does not exist yet.
        events: Length of its log.
        sessions: The numbers from 0 to ``session_count(events)``, perhaps with a progress bar.
    """
    clock, chance = ManualClock(), Random(SEED)
    count = session_count(events)
    with SyncMemory.open(
        path,
        embedder=embedder(),
        clock=clock,
        entropy=SeededEntropy("a life"),
        synchronous="normal",
        checkpoints=False,  # this is about building, and what is measured makes its own
    ) as memory:
        life = Life(
            memory=memory,
            clock=clock,
            language=_language(chance, events),
            chance=chance,
            step_us=ACTIVE_HOURS * 3_600_000_000 // (count * ROUNDS * ACTS),
        )
        for number in sessions:
            life.session(number)
        life.top_up(events)


def questions(count: int, *, events: int) -> list[str]:
    """Return questions about the topics of a life of *events* events, in its words."""
    language = _language(Random(SEED), events)
    chance = language.chance = Random(SEED + 1)
    topics = range(len(language.topics))
    return [language.sentence(chance.choice(topics), chance.randint(3, 7)) for _ in range(count)]


def _language(chance: Random, events: int) -> Language:
    return Language.drawn(chance, topics=max(4, events // 4000))


def session_count(events: int) -> int:
    """Return the number of sessions that write *events* events."""
    return max(1, events // SESSION_EVENTS)


def embedder() -> Embedder:
    """Return the model of such a space."""
    return HashEmbedder(DIMENSION)
