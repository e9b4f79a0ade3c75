"""The rules on hand-written statements and on sentences that only look like one.

Half of the templates are held out: the rules are developed on the other half alone.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import frozen

from mnemic.adapters.extractors.rules import statements

ROWS = Path(__file__).with_name("statements.toml")


@frozen
class Row:
    """One sentence, and the kind of statement that it is; None: none."""

    language: str
    text: str
    kind: str | None


def rows(*, held_out: bool) -> Iterator[Row]:
    """Yield the rows of one half of the templates."""
    for language, lists in tomllib.loads(ROWS.read_text(encoding="utf-8")).items():
        for name, templates in lists.items():
            for kind, template, fillings in templates[held_out::2]:
                for filling in fillings.split("|"):
                    text = template.replace("{}", filling)
                    yield Row(language, text, kind if name == "positive" else None)


def figures(*, held_out: bool) -> tuple[float, float]:
    """Return precision and recall on one half."""
    right = wrong = wanted = 0
    for row in rows(held_out=held_out):
        found = [each.text for each in statements(row.text)]
        wanted += row.kind is not None
        right += row.kind is not None and found == [row.text]
        wrong += len(found) - (row.kind is not None and found == [row.text])
    return right / (right + wrong), right / wanted


def test_there_are_300_statements_and_300_others() -> None:
    every = [*rows(held_out=False), *rows(held_out=True)]
    assert len({row.text for row in every}) == len(every)
    assert sum(row.kind is not None for row in every) == len(every) // 2 == 300


@pytest.mark.parametrize("held_out", [False, True])
def test_what_the_rules_extract_is_a_statement(*, held_out: bool) -> None:
    precision, recall = figures(held_out=held_out)
    assert precision >= 0.97
    assert recall >= 0.6
