"""The golden history: a fixed fortnight, played with fixed entropy on a clock that follows it.

``python tests/golden/scenario.py`` plays it and writes the log and its digests to a folder with the
name of this release. Like the corpus they are never recorded again to make a test pass: a changed
digest means that some decision depends on the processor, or that the meaning of a stored log has
changed. A release that decides differently records a log of its own, and replays earlier ones.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.policy import Policy

HERE = Path(__file__).parent
SOURCE = HERE.parent.parent / "examples" / "fortnight.jsonl"
LOGS = HERE / "logs"
LATEST = "0.5.0"
"""The release whose log this scenario reproduces, byte for byte."""
QUESTION = "how long does a gauge wait before it resends?"
STEPS = 130
"""Lines of the fortnight that are played: sessions, revisions, outcomes and sweeps included."""
POLICY = Policy(name="golden", consolidate_chunk=16, degree_cap=4)


def embedder() -> HashEmbedder:
    """Return the embedder of the scenario: many dimensions, so that BLAS has something to sum."""
    return HashEmbedder(dimension=384)


class Player:
    """Plays steps as a host would."""

    def __init__(self, memory: SyncMemory, clock: ManualClock) -> None:
        self._memory = memory
        self._clock = clock
        self._blocks: dict[str, str] = {}
        self._decisions: dict[str, str] = {}

    def play(self, step: dict[str, Any]) -> None:
        """Play one step."""
        self._clock.set(datetime.fromisoformat(step["at"]))
        getattr(self, f"_{step['do']}")(step)

    def _session(self, _: dict[str, Any]) -> None:
        self._memory.start_session()

    def _end(self, _: dict[str, Any]) -> None:
        self._memory.end_session()

    def _learn(self, step: dict[str, Any]) -> None:
        names = ("category", "tags", "author", "thread")
        learned = self._memory.learn(
            step["content"],
            created_at=step["at"],
            **{name: step[name] for name in names if name in step},
        )
        self._blocks[step.get("key", learned.block_id)] = learned.block_id

    def _recall(self, step: dict[str, Any]) -> None:
        # Every second one explores, so that random draws are in the log.
        explore = 0.5 if len(self._decisions) % 2 else 0.0
        recalled = self._memory.recall(step["query"], top_k=step.get("top_k"), explore=explore)
        assert recalled.decision_id is not None
        self._decisions[step["key"]] = recalled.decision_id

    def _outcome(self, step: dict[str, Any]) -> None:
        source = step.get("source", "")
        if "of" in step:
            decision = self._decisions[step["of"]]
            self._memory.outcome(decision_id=decision, signal=step["signal"], source=source)
        else:
            blocks = [self._blocks[key] for key in step["keys"]]
            self._memory.outcome(blocks, step["signal"], source=source)

    def _connect(self, step: dict[str, Any]) -> None:
        ends = self._blocks[step["source"]], self._blocks[step["target"]]
        self._memory.connect(*ends, step["relation"], note=step.get("note"))

    def _revise(self, step: dict[str, Any]) -> None:
        old = self._blocks[step["replaces"]]
        revised = self._memory.revise(old, step["content"], step.get("reason"))
        self._blocks[step["key"]] = revised.block_id

    def _consolidate(self, _: dict[str, Any]) -> None:
        self._memory.consolidate()

    def _curate(self, _: dict[str, Any]) -> None:
        self._memory.curate()

    def think_again(self) -> None:
        """Put a few blocks together, say what came of it, and take the last of it back."""
        recalled = self._memory.recall(QUESTION, explore=1.0)
        lane = self._memory.compose(list(recalled.block_ids), query=QUESTION).composition_id
        self._memory.label(lane, "helpful")
        first = self._memory.status().version + 1
        self._memory.learn("Nobody has touched the gauges since spring.")
        self._memory.label(lane, "accepted")
        self._memory.revert(first, self._memory.status().version, reason="a mix-up")


def play() -> tuple[MemoryStore, SyncMemory]:
    """Play the scenario and return the store and the memory, still open."""
    clock, store = ManualClock(), MemoryStore()
    memory = SyncMemory.open(
        store,
        embedder=embedder(),
        policy=POLICY,
        clock=clock,
        entropy=SeededEntropy("golden"),
    )
    player = Player(memory, clock)
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    for line in lines[:STEPS]:
        player.play(json.loads(line))
    player.think_again()
    return store, memory


def rows(store: MemoryStore) -> Iterator[dict[str, Any]]:
    """Yield each record of the scenario's log with its payloads, ready for JSON."""
    for record, payloads in store.log("default").read():
        yield {
            "topic": record.topic,
            "body": record.body.decode(),
            "payloads": [
                {
                    "id": row.id,
                    "key": row.key.hex(),
                    "owners": row.owners,
                    "data": b64encode(row.data).decode(),
                }
                for row in payloads
            ],
        }


def main() -> None:
    """Play the scenario and record what came of it, unless something is recorded already."""
    folder = LOGS / LATEST
    if folder.exists():
        raise SystemExit(f"{folder.name} exists; a golden log is recorded once")
    folder.mkdir()
    store, memory = play()
    body = "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows(store))
    (folder / "log.jsonl.gz").write_bytes(gzip.compress(body.encode(), mtime=0))
    head = store.log("default").head()
    recalled = memory.as_of(version=head.version).recall(QUESTION)
    found = {"version": head.version, "chain": head.digest.hex(), "answer": recalled.digest}
    digests = json.dumps(found, indent=2) + "\n"
    (folder / "digests.json").write_text(digests, encoding="utf-8")
    memory.close()


if __name__ == "__main__":
    main()
