"""Writes a small SQLite store with checkpoints, by whatever release of mnemic is imported.

Run it with the code of a release on the path, to keep what that release writes:

    PYTHONPATH=... python tests/golden/record_store.py tests/golden/stores/0.4.0.tar.gz
"""

from __future__ import annotations

import io
import json
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory

DIMENSION = 8
TEXTS = (
    "The gate is green.",
    "The key is under the stone.",
    "The bell rings at nine.",
    "The crane needs oil before winter.",
)


def record(folder: Path) -> dict[str, object]:
    """Write the store into an empty folder, and return what it must show."""
    with SyncMemory.open(folder / "agent.db", embedder=HashEmbedder(DIMENSION)) as memory:
        gate, key, bell, crane = (memory.learn(text, tags=["town"]).block_id for text in TEXTS)
        memory.consolidate()
        decisions = [memory.recall(text[4:8]).decision_id for text in TEXTS]
        memory.outcome([gate, bell], 0.9)
        memory.connect(gate, crane, "supports", note="Both are of iron.", if_exists="update")
        memory.erase(key)
        decisions.append(memory.recall("When does the bell ring?").decision_id)
        memory.checkpoint()
        memory.learn("The moon is full.")
        return {
            "version": memory.status().version,
            "head": memory.verify().head,
            "decisions": decisions,
            "blocks": {block.id: block.content for block in memory.blocks().items},
        }


def main(target: Path) -> None:
    """Write *target*, a compressed archive."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        shown = json.dumps(record(folder), indent=1).encode()
        with tarfile.open(target, "w:gz") as archive:
            for file in sorted(folder.rglob("*")):
                if file.suffix in {".db", ".heads", ".checkpoint", ".arrays"}:
                    archive.add(file, str(file.relative_to(folder)))
            entry = tarfile.TarInfo("shown.json")
            entry.size = len(shown)
            archive.addfile(entry, io.BytesIO(shown))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
