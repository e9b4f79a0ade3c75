"""Plays two weeks of an agent's memory, and queries what it knew at an earlier hour.

The agent looks after the river gauges of a county. ``fortnight.jsonl`` is its diary: twelve
sessions with lessons, questions, feedback and corrections, and a break over Easter. This
program plays the diary as a host would, with a clock that follows the diary's times, and then
queries the memory about its own past; ``fortnight_story.py`` prints the answers.

    python examples/fortnight.py [FOLDER]

The store stays in FOLDER (``build/demo`` of the checkout), to be inspected with ``mnemic --db``.
The exit code is 0 if every answer of the fortnight could be computed again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import fortnight_story as story
from fortnight_story import Asked, Sitting
from rich.progress import track

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock

Action = dict[str, Any]

DIARY = Path(__file__).with_suffix(".jsonl")
FOLDER = Path(__file__).parents[1] / "build" / "demo"
STORE = "fortnight.db"


class Host:
    """The agent's program: it calls the operations and keeps the ids that it will need."""

    def __init__(self, memory: SyncMemory, clock: ManualClock) -> None:
        self.sittings: list[Sitting] = []
        self.asked: dict[str, Asked] = {}
        self._memory = memory
        self._clock = clock
        self._blocks: dict[str, str] = {}

    def live(self, actions: Iterable[Action]) -> None:
        """Perform all actions of the diary at their times."""
        for action in actions:
            at = datetime.fromisoformat(action["at"])
            self._clock.set(at)
            if action["do"] == "session":
                hour = self._memory.start_session().hour
                self.sittings.append(Sitting(action["name"], at, hour, at))
                continue
            sitting = self.sittings[-1]
            sitting.done[action["do"]] += 1
            if action["do"] == "end":
                sitting.ended, sitting.hour_ended = at, self._memory.end_session().hour
            else:
                self._act(action, at)

    def _act(self, action: Action, at: datetime) -> None:
        memory, blocks = self._memory, self._blocks
        match action:
            case {"do": "learn", "content": content, **rest}:
                known = ("category", "tags", "author", "thread")
                learned = memory.learn(content, **{key: rest[key] for key in known if key in rest})
                blocks[rest.get("key", "")] = learned.block_id
            case {"do": "revise", "replaces": old, "content": content, "reason": reason}:
                blocks[action["key"]] = memory.revise(blocks[old], content, reason).block_id
            case {"do": "connect", "source": source, "target": target}:
                relation, note = action["relation"], action["note"]
                memory.connect(blocks[source], blocks[target], relation, note=note)
            case {"do": "recall", "key": key, "query": query, "top_k": top_k}:
                self.asked[key] = Asked(at, query, memory.recall(query, top_k=top_k))
            case {"do": "outcome", "signal": signal, "source": source, "of": key}:
                decision = self.asked[key].answer.decision_id
                memory.outcome(decision_id=decision, signal=signal, source=source)
            case {"do": "outcome", "signal": signal, "source": source, "keys": keys}:
                memory.outcome([blocks[key] for key in keys], signal, source=source)
            case {"do": "consolidate"}:
                memory.consolidate()
            case {"do": "curate"}:
                self.sittings[-1].curated.append(memory.curate().summary)
            case _:
                raise ValueError(f"the diary says something unknown: {action}")


def main(folder: Path = FOLDER) -> int:
    """Play the fortnight in a fresh store, print it, and return the exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{STORE}*"):
        old.unlink()
    actions = [json.loads(line) for line in DIARY.read_text(encoding="utf-8").splitlines()]
    clock = ManualClock()
    shown = sys.stdout.isatty()
    with SyncMemory.open(folder / STORE, clock=clock) as memory:
        host = Host(memory, clock)
        host.live(track(actions, "living through it", transient=True, disable=not shown))
        return story.tell(memory, host.sittings, host.asked, folder / STORE)


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
