"""Record the stored bytes of every example that has none yet, and never touch the others.

    python tests/golden/record_corpus.py

The bytes in the corpus have been, or may have been, written to a user's log: a difference is a
mistake in the code (or calls for a new version of the topic), never a reason to record again. So
this program stops at the first difference and writes nothing.
"""

from __future__ import annotations

import json
import runpy
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

from mnemic.adapters.codec import Codec
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.events import Recorded

CORPUS = Path(__file__).parent / "corpus"


def examples() -> dict[str, dict[str, Recorded]]:
    """Return the examples by topic and name."""
    found: dict[str, dict[str, Recorded]] = runpy.run_path(str(CORPUS / "examples.py"))["EXAMPLES"]
    return found


def entry(topic: str, name: str, recorded: Recorded) -> dict[str, Any]:
    """Return the corpus entry of one example."""
    record, rows = Codec(SeededEntropy(f"{topic}/{name}")).encode(recorded)
    return {
        "version": record.version,
        "topic": record.topic,
        "body": record.body.decode(),
        "payloads": [
            {
                "slot": row.slot,
                "id": row.id,
                "key": b64encode(row.key).decode(),
                "owners": list(row.owners),
                "data": b64encode(row.data).decode(),
            }
            for row in rows
        ],
    }


def main() -> str:
    """Record missing examples. Return an error message, or an empty string."""
    missing: dict[Path, dict[str, Any]] = {}
    for topic, by_name in examples().items():
        path = CORPUS / f"{topic}.json"
        kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        for name, recorded in by_name.items():
            made = entry(topic, name, recorded)
            if name not in kept:
                missing.setdefault(path, kept)[name] = made
            elif made["topic"] == topic and made != kept[name]:
                return f"{topic} {name} is no longer written as recorded; nothing was changed"
    for path, entries in missing.items():
        path.write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n")
        sys.stdout.write(f"recorded {path.name}\n")
    return ""


if __name__ == "__main__":
    sys.exit(main())
