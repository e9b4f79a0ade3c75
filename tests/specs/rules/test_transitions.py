from __future__ import annotations

import pytest

from mnemic.projections.blocks.catalogue import REASONS
from mnemic.specs.rules import Row, rows
from tests.specs.rules.scenario_steps import played


@pytest.mark.parametrize("row", rows("transitions.from-the-inbox"), ids=str)
def test_a_block_leaves_the_inbox_by_consolidation_or_archiving(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("transitions.from-active"), ids=str)
def test_an_active_block_is_archived_for_a_reason(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("transitions.from-archived"), ids=str)
def test_an_archived_block_returns_when_it_is_learned_again(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("transitions.what-goes-along"), ids=str)
def test_connections_of_an_archived_block_are_removed(row: Row) -> None:
    played(row)


def test_a_block_is_archived_and_comes_back_for_every_reason() -> None:
    archived = {
        row.then["blocks"]["a"]["archive_reason"]
        for row in rows("transitions.from-active")
        if row.then["blocks"]["a"]["status"] == "archived"
    }
    back = {
        row.id.rpartition("told-again-after-")[2]
        for row in rows("transitions.from-archived")
        if "told-again-after-" in row.id
    }
    assert archived == back == {*REASONS} - {""}
