"""A process that learns secret texts, uses and erases them, and waits while its memory is read.

Run with the folder of a store and the kind of life. The secrets come over the standard input, each
byte altered by `MASK`, and are forgotten before anything is erased.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from mnemic import SyncMemory
from mnemic.kernel.errors import MnemicError

MASK = 0x5A
LATER = 42
"""Recalls after the erasure, where a life has them."""
LIVES = ("in a file", "in a file, at once", "in memory", "with keys", "from a checkpoint")


def masked(data: bytes) -> bytes:
    """Return *data* altered; altering it twice gives *data* again."""
    return bytes(byte ^ MASK for byte in data)


def _opened(folder: Path, life: str) -> SyncMemory:
    path = ":memory:" if life == "in memory" else folder / "agent.db"
    options: dict[str, Any] = {"keys": folder / "agent.keys"} if life == "with keys" else {}
    return SyncMemory.open(path, **options)


def _used(memory: SyncMemory, secrets: list[str]) -> list[str]:
    """Learn the secrets and use them in every way that keeps no word of them elsewhere."""
    memory.start_session()
    memory.learn_many([f"ordinary note {number} about boats" for number in range(20)])
    blocks: list[str] = []
    for secret in secrets:
        tag, author = secret.split()[:2]
        blocks.append(memory.learn(f"the pilot says {secret}", tags=[tag], author=author).block_id)
    memory.consolidate()
    for secret in secrets:
        memory.recall(secret, record=False)
        memory.deep_reference(secret, record=False)
        with suppress(MnemicError):
            memory.learn(f"the pilot says {secret}", confidence=7)
    decision = memory.recall("what does the pilot say?", suggest=True, explore=0.5).decision_id
    memory.connect(blocks[0], blocks[1], note=secrets[0])
    memory.compose(blocks, query="what does the pilot say?")
    memory.outcome(blocks)
    memory.replay(str(decision))
    memory.as_of(version=memory.status().version).recall("the pilot")
    return blocks


def main() -> None:
    """Run the life, say so, and wait until the standard input is closed."""
    folder, life = Path(sys.argv[1]), sys.argv[2]
    secrets = [masked(each).decode() for each in os.read(0, 4096).split(b"\n") if each]
    memory = _opened(folder, life)
    blocks = _used(memory, secrets)
    secrets.clear()
    if life == "from a checkpoint":
        memory.checkpoint()
        memory.close()
        memory = _opened(folder, life)
        memory.recall("what does the pilot say?")
    for block in blocks:
        memory.erase(block)
    for number in range(0 if life.endswith("at once") else LATER):
        memory.recall(f"note {number} about boats")
    gc.collect()
    os.write(1, b"erased\n")
    os.read(0, 1)
    memory.close()


if __name__ == "__main__":
    main()
