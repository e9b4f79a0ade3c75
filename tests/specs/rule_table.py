"""Writes docs/rules.md: every rule with its statement and the test that runs its rows.

    python -m tests.specs.rule_table

`bound` reads the tests of this folder, so the table is never edited by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mnemic.specs.rules import TABLES, Rule, rules, table

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "rules.md"
COMMAND = "python -m tests.specs.rule_table"
BINDING = re.compile(r'parametrize\("row", rows\("([\w.-]+)"\), ids=str\)\ndef (test_\w+)')

HEAD = f"""# The rules, and the tests that run them

Written by `{COMMAND}` from `specs/mnemic/specs/*.toml` and `tests/specs`; a test keeps it true.

A rule has rows, each with an id, a source and a reason, and one test that runs them all: the test's
parameter is the row's id, so `pytest tests/specs -q -k decay.edge-rate` runs a rule, and a red row
names itself. DOMAIN is the contract, seeds are its first drafts, elfmem is a peer whose worked
cases were kept, mended or contradicted.
"""


def bound() -> Mapping[str, Sequence[str]]:
    """Return the tests that run the rows of each rule, as ``file::test``."""
    found: dict[str, list[str]] = {}
    for path in sorted(HERE.rglob("test_*.py")):
        for rule, test in BINDING.findall(path.read_text(encoding="utf-8")):
            found.setdefault(rule, []).append(f"{path.name}::{test}")
    return found


def page() -> str:
    """Return the text of the whole page."""
    return "\n".join([HEAD, *_summary(), *(line for name in TABLES for line in _section(name))])


def _summary() -> Iterator[str]:
    count = sum(len(rule.rows) for rule in rules().values())
    yield f"{len(TABLES)} tables, {len(rules())} rules, {count} rows.\n"


def _section(name: str) -> Iterator[str]:
    yield f"## {name}\n"
    yield "| rule | says | source | rows | test |"
    yield "|---|---|---|---|---|"
    yield from (_line(rule) for rule in table(name))
    yield ""


def _line(rule: Rule) -> str:
    tests = ", ".join(f"`{test}`" for test in bound().get(rule.id, ()))
    cells = (f"`{rule.id}`", rule.says, rule.source, str(len(rule.rows)), tests)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
