"""Markdown tables of the comparison: the measurements, and how each memory was set up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pages import table
from peers.port import Peer
from peers.registry import entry

Numbers = Mapping[str, Any]

FIGURES = ("memory", "writes/s", "in bulk", "p50 ms", "p95 ms", "R@10", "disk MB", "RAM MB")
TEN = 10
TERMS = ("memory", "searches by", "a write survives", "as measured")


def comparison_tables(results: Mapping[str, Numbers], measure: str) -> list[str]:
    """Return the lines of both tables, and of the memories that were left out.

    Args:
        results: By name, in order.
        measure: Name of the memory that the factors are relative to.
    """
    ours = results[measure]
    there = {name: found for name, found in results.items() if "skipped" not in found}
    left = " ".join(
        f"{entry(name).name}: {found['skipped']}."
        for name, found in results.items()
        if "skipped" in found
    )
    return [
        *table(FIGURES, [figures(entry(name), found, ours) for name, found in there.items()]),
        *("", "How each searches, and was set up:", ""),
        *table(TERMS, [terms(entry(name), found) for name, found in there.items()], right=()),
        *(["", f"Left out. {left}"] if left else []),
    ]


def figures(of: type[Peer], numbers: Numbers, ours: Numbers) -> list[str]:
    """Return one row of figures."""
    return [
        of.name,
        *_factored(numbers, ours, "writes_per_s", "bulk_per_s", more_is_faster=True),
        *_factored(numbers, ours, "p50_ms", more_is_faster=False),
        rounded(numbers["p95_ms"]),
        f"{100 * numbers['recall_at_10']:.1f} %" if "recall_at_10" in numbers else "",
        f"{numbers['disk_mb']:.1f}",
        f"{numbers['memory_mb']:.0f}",
    ]


def terms(of: type[Peer], numbers: Numbers) -> list[str]:
    """Return one row of the table of set-ups."""
    return [f"{of.name} {numbers['version']}", of.search, of.durability, of.note]


def _factored(numbers: Numbers, ours: Numbers, *names: str, more_is_faster: bool) -> Iterator[str]:
    """Yield numbers, each with how many times as fast ours is."""
    for name in names:
        if name not in numbers:
            yield ""
        elif numbers is ours:
            yield rounded(numbers[name])
        else:
            ratio = numbers[name] / ours[name]
            yield f"{rounded(numbers[name])} (×{factor(1 / ratio if more_is_faster else ratio)})"


def rounded(value: float) -> str:
    """Return three significant digits, or all before the decimal point."""
    places = next((places for places in range(3) if value >= 10 ** (2 - places)), 3)
    return f"{value:,.{places}f}"


def factor(value: float) -> str:
    """Return two significant digits, or all before the decimal point."""
    return f"{value:.2g}" if value < TEN else f"{value:,.0f}"
