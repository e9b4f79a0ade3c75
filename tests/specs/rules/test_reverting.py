from __future__ import annotations

import pytest

from mnemic.specs.rules import Row, rows
from tests.specs.rules.scenario_steps import played


@pytest.mark.parametrize("row", rows("reverting.put-back"), ids=str)
def test_changes_of_a_range_are_reverted(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("reverting.left-alone"), ids=str)
def test_values_changed_later_are_left_and_named(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("reverting.both-sides"), ids=str)
def test_a_supersession_is_reverted_on_both_sides_or_on_neither(row: Row) -> None:
    played(row)
