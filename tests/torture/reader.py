"""A program that writes a little to a store, using only what every release has had.

``reader.py FILE NAME COUNT`` prints one JSON list per command: the command, its content, and the
code of the error if there was one. It is run by releases of any age.
"""
# ruff: noqa: T201 - it prints for the campaign

from __future__ import annotations

import json
import sys

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import MnemicError


def main(path: str, name: str, count: int) -> None:
    """Learn, recall and promote, and print the outcome of each."""
    try:
        memory = SyncMemory.open(path, embedder=HashEmbedder(8), actor=name)
    except MnemicError as error:
        print(json.dumps(["open", None, error.code]))
        return
    with memory:
        for number in range(count):
            content = f"{name} says {number}"
            for asked in ("learn", "consolidate", "recall"):
                try:
                    if asked == "learn":
                        memory.learn(content, command_id=f"{name}-{number}")
                    elif asked == "recall":
                        memory.recall(f"what does {name} say", command_id=f"{name}-{number}?")
                    else:
                        memory.consolidate()
                except MnemicError as error:
                    print(json.dumps([asked, content, error.code]))
                else:
                    print(json.dumps([asked, content, None]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
