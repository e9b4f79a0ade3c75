"""A long life with erasures: which of its decisions can still be computed again.

Conversations and notes are learned, asked about and scored over many sessions, and now and then a
block is erased. Then every decision is computed again from the state it read. None may differ: a
decision is reproduced, or it is sealed because text that it depended on is gone.
"""

from __future__ import annotations

import random
from pathlib import Path

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from tests.torture.figures import Effort, Figures

DECISIONS = 5800
ERASURES = 66
BLOCKS = 1450
SESSION = 40
"""Recalls of one session."""
THREAD = 12
"""Messages of one conversation."""
TOPICS = "harbour gate crane ferry tide pilot lamp rope anchor buoy chart winch".split()
ACTIONS = "opens closes needs moves holds breaks shows turns".split()
THINGS = "oil paint light wind salt rust noon dawn storm paper brass timber".split()


def campaign(folder: Path, effort: Effort) -> Figures:
    """Live, erase, and compute every decision again."""
    chance = random.Random(effort.seed)  # noqa: S311 - seeded, not secret
    clock, decisions = ManualClock(), effort.of(DECISIONS, least=60)
    erasures, blocks = effort.of(ERASURES, least=3), effort.of(BLOCKS, least=20)
    erased: set[str] = set()
    returned: list[frozenset[str]] = []
    with SyncMemory.open(
        folder / "agent.db",
        clock=clock,
        entropy=SeededEntropy(f"sealing {effort.seed}"),
        embedder=HashEmbedder(64),
        synchronous="normal",
    ) as memory:
        for number in range(decisions):
            if number % SESSION == 0:
                if number:
                    memory.end_session()
                clock.advance(hours=chance.uniform(1, 30))
                memory.start_session()
            if number * blocks // decisions != (number - 1) * blocks // decisions:
                _learn(memory, chance, number)
            clock.advance(minutes=chance.uniform(0, 3))
            found = memory.recall(_sentence(chance), top_k=chance.randint(1, 6))
            returned.append(frozenset(found.block_ids))
            if found.block_ids and chance.random() < 0.2:
                memory.outcome(found.block_ids[:2], chance.choice((0.1, 0.9)))
            if number * erasures // decisions != (number - 1) * erasures // decisions:
                there = [
                    each.id for each in memory.blocks(limit=200).items if each.id not in erased
                ]
                block = chance.choice(there)
                memory.erase(block)
                erased.add(block)
                effort.tell(f"{number} decisions, {len(erased)} erasures")
        memory.end_session()
        summary = memory.replay_all()
        sound = memory.verify().sound
    outcomes = {"reproduced": summary.reproduced, "sealed": summary.sealed}
    differing = len(returned) - sum(outcomes.values())
    failures = [f"seed {effort.seed}: {differing} decisions differ"] if differing else []
    if not sound:
        failures.append(f"seed {effort.seed}: the log is damaged")
    return Figures(
        promise="After erasures a decision is reproduced or sealed, and never differs.",
        facts={
            "decisions": len(returned),
            "blocks": blocks,
            "erasures": len(erased),
            "decisions that returned an erased block": sum(
                not erased.isdisjoint(each) for each in returned
            ),
            **outcomes,
            "differ": differing,
        },
        failures=tuple(failures),
    )


def _sentence(chance: random.Random) -> str:
    topic, action, thing = (chance.choice(words) for words in (TOPICS, ACTIONS, THINGS))
    return f"the {topic} {action} {thing} {chance.randint(1, 60)}"


def _learn(memory: SyncMemory, chance: random.Random, number: int) -> None:
    """Learn a message of a conversation, or a note."""
    if chance.random() < 0.5:
        memory.learn(_sentence(chance), tags=[chance.choice(TOPICS)])
    else:
        memory.learn(
            _sentence(chance),
            category="message",
            thread=f"talk {number // (4 * THREAD)}",
            author=chance.choice(("Ada", "Ben")),
        )
