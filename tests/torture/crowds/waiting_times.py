"""How long writers had to wait, and whether the waits were fair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.torture.crowds.journal import Done


def waits_of(done: Sequence[Done]) -> dict[str, Any]:
    """Return the waits for an answer in milliseconds, and how many the writers got."""
    waits = sorted(1000 * each.wait_s for each in done)
    by = Counter(each.who for each in done).values()
    return {
        "median_ms": round(waits[len(waits) // 2], 1),
        "p99_ms": round(waits[len(waits) * 99 // 100], 1),
        "worst_ms": round(waits[-1], 1),
        "least": min(by),
        "most": max(by),
    }
