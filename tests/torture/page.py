"""The figures of all campaigns, as a table of the page on safety."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

BEGIN, END = "<!-- torture: begin -->", "<!-- torture: end -->"


def written(page: str, report: Mapping[str, Any]) -> str:
    """Return *page* with the table between its two marks renewed.

    Raises:
        ValueError: The page has no place for it.
    """
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"the page has no {BEGIN} … {END}")
    return pattern.sub(lambda _: f"{BEGIN}\n{table(report)}\n{END}", page, count=1)


def table(report: Mapping[str, Any]) -> str:
    """Return the figures as Markdown."""
    made_on = f"{report['machine']}, Python {report['python']}."
    lines = [
        "| promise | tested by | found |",
        "|---|---|---|",
        *(
            f"| {found['promise']} | `python -m tests.torture {name}` | {_facts(found)} |"
            for name, found in sorted(report["campaigns"].items())
        ),
        "",
        made_on,
    ]
    return "\n".join(lines)


def _facts(found: Mapping[str, Any]) -> str:
    facts = [f"{name}: **{_number(value)}**" for name, value in found["facts"].items()]
    facts.append(f"failures: **{len(found['failures'])}**")
    facts.append(f"({found['share']:.0%} of it, seed {found['seed']}, {found['day']})")
    return "<br>".join(facts)


def _number(value: float | str) -> str:
    return f"{value:,}" if isinstance(value, int | float) else value
