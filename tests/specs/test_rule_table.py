from __future__ import annotations

from mnemic.specs.rules import rules
from tests.specs.rule_table import COMMAND, PAGE, bound, page


def test_the_page_of_rules_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"run: {COMMAND}"


def test_the_page_names_one_test_for_every_rule() -> None:
    assert {rule: len(tests) for rule, tests in bound().items()} == dict.fromkeys(rules(), 1)
