"""Writes facts and attacks into one memory and asks questions; ``poisoning.py`` starts it.

The memory has no notion of who wrote an item, so the attacker writes as everybody does. The last
line of the output is, for each question, the ids that were returned, in JSON.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
from peers.port import Item, Unfit, Vectors
from peers.registry import entry


def main() -> None:
    """Write, ask and print."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    work = json.loads((folder / "work.json").read_text())
    vectors = Vectors(work["texts"], np.load(folder / "vectors.npy"))
    try:
        kind = entry(name)
        own = folder / "memory"
        own.mkdir()
        with closing(kind(own, vectors)) as peer:
            peer.write_many([Item(**each) for each in work["items"]])
            peer.settle()
            found = [peer.answer(question).ids for question in work["questions"]]
            result = {"name": kind.name, "release": kind.release(), "answers": found}
    except (Unfit, ImportError) as error:
        result = {"skipped": str(error)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
