"""Plays scripts on one memory, in a process of its own that ``rightness.py`` starts.

The folder holds ``scripts.json``, a list of scripts by check, with their texts, and
``vectors.npy``. Progress goes to the output, one line of JSON for each script; outcomes go to
``outcomes.json``, by check.
"""

from __future__ import annotations

import json
import shutil
import sys
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from peers.port import Unfit, Vectors
from peers.registry import entry
from peers.scripts import Outcome, Script, played


def outcomes(folder: Path, name: str) -> dict[str, Any]:
    """Return the version of the memory called *name*, and its outcomes by check."""
    work = json.loads((folder / "scripts.json").read_bytes())
    vectors = Vectors(work["texts"], np.load(folder / "vectors.npy"))
    kind, numbers = entry(name), count()
    found: dict[str, list[Outcome]] = {}
    for check, scripts in work["scripts"].items():
        found[check] = []
        for plain in scripts:
            own = folder / f"memory-{next(numbers)}"
            own.mkdir()
            found[check].append(played(Script.restored(plain), kind, own, vectors))
            shutil.rmtree(own)
            print(json.dumps({"played": check}), flush=True)
    return {"version": kind.release(), "outcomes": found}


def main() -> None:
    """Play all scripts, or report why it cannot be done."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    try:
        found = outcomes(folder, name)
    except Unfit as reason:
        found = {"skipped": str(reason)}
    (folder / "outcomes.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
