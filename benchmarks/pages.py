"""Tables that programs write between two marks of a page, and a description of the machine."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] | None = None
) -> list[str]:
    """Return the lines of a Markdown table.

    Args:
        columns: The headings.
        rows: Their cells.
        right: Places of the columns of figures; all but the first if None.
    """
    figures = range(1, len(columns)) if right is None else right
    rule = ["--:" if place in figures else "---" for place in range(len(columns))]
    return [f"| {' | '.join(row)} |" for row in (columns, rule, *rows)]


def written(path: Path, what: str, lines: Sequence[str]) -> None:
    """Put *lines* between the two marks of a page that are called *what*.

    Raises:
        SystemExit: The page has no such marks.
    """
    begin, end = f"<!-- {what}: begin -->", f"<!-- {what}: end -->"
    before, first, rest = path.read_text(encoding="utf-8").partition(begin)
    _, last, after = rest.partition(end)
    if not (first and last):
        sys.exit(f"{path} has no lines {begin} and {end} to write between.")
    path.write_text("\n".join([before + begin, "", *lines, "", end + after]), encoding="utf-8")


def machine() -> str:
    """Return a description of this machine."""
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
