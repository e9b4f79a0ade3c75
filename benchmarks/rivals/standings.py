"""The numbers of all as a Markdown table, and where they were measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rivals.entries import entry
from rivals.port import Peer

Numbers = dict[str, Any]

COLUMNS = (
    *("memory", "writes/s", "in bulk", "p50 ms", "p95 ms", "CPU ms", "R@10", "disk MB", "RAM MB"),
    *("searches by", "a write survives"),
)
NUMBERS = 8
"""Columns of figures, between the name and two columns of words."""


def table(results: dict[str, Numbers], measure: str) -> list[str]:
    """Return the lines of the table, and what was left out below it.

    Args:
        results: By name, in order.
        measure: Whose numbers the factors compare to.
    """
    lines = [_row(COLUMNS), _row(["---"] + ["--:"] * NUMBERS + ["---"] * 2)]
    lines += [
        _row(cells(entry(name), numbers, results[measure]))
        for name, numbers in results.items()
        if "skipped" not in numbers
    ]
    left = [
        f"{entry(name).name}: {numbers['skipped']}."
        for name, numbers in results.items()
        if "skipped" in numbers
    ]
    return lines + (["", "Left out. " + " ".join(left)] if left else [])


def cells(of: type[Peer], numbers: Numbers, ours: Numbers) -> list[str]:
    """Return one row."""

    def slower(name: str) -> float:
        return float(numbers[name] / ours[name])

    def faster(name: str) -> float:
        return float(ours[name] / numbers[name])

    return [
        f"{of.name} {numbers['version']}",
        _factored(numbers, "writes_per_s", faster),
        _factored(numbers, "bulk_per_s", faster),
        _factored(numbers, "p50_ms", slower),
        _rounded(numbers["p95_ms"]),
        _rounded(numbers["cpu_ms"]),
        f"{100 * numbers['recall_at_10']:.1f} %" if "recall_at_10" in numbers else "",
        f"{numbers['disk_mb']:.1f}",
        f"{numbers['memory_mb']:.0f}",
        of.search,
        of.durability,
    ]


def _factored(numbers: Numbers, name: str, factor: Callable[[str], float]) -> str:
    if name not in numbers:
        return ""
    value, times = numbers[name], factor(name)
    return f"{_rounded(value)} (×{_rounded(times)})"


def _rounded(value: float) -> str:
    """Return three digits that count, or all before the point."""
    places = next((places for places in range(3) if value >= 10 ** (2 - places)), 3)
    return f"{value:,.{places}f}"


def _row(entries: Iterable[str]) -> str:
    return f"| {' | '.join(entries)} |"


def machine() -> str:
    """Return what this runs on."""
    name = platform.processor() or platform.machine()
    facts = Path("/proc/cpuinfo")
    if facts.is_file():
        models = [line for line in facts.read_text().splitlines() if line.startswith("model name")]
        name = models[0].partition(":")[2].strip() if models else name
    memory = ""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = f", {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"
    python = f"Python {platform.python_version()}"
    return f"{name}, {os.cpu_count()} cores{memory}, {platform.system()}, {python}"
