from __future__ import annotations

import pytest

from mnemic.specs.rules import Row, rows
from tests.specs.stages import played


@pytest.mark.parametrize("row", rows("reverting.put-back"), ids=str)
def test_what_a_stretch_changed_is_as_it_was(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("reverting.left-alone"), ids=str)
def test_what_was_touched_since_is_left_and_named(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("reverting.both-sides"), ids=str)
def test_a_supersession_is_taken_back_on_both_sides_or_on_none(row: Row) -> None:
    played(row)
