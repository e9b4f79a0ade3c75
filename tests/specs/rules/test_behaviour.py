"""Rows with scenarios, executed at the interface and verified by a checker.

See `scenario_steps`.
"""

from __future__ import annotations

import pytest

from mnemic.specs.rules import Row, rows
from tests.specs.rules.scenario_steps import played


@pytest.mark.parametrize("row", rows("connecting.new-edge"), ids=str)
def test_a_connection_is_stored_as_asserted(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("connecting.existing-edge"), ids=str)
def test_a_pair_has_one_edge_that_is_reinforced_updated_or_left(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("connecting.connect-refusal"), ids=str)
def test_an_invalid_connection_is_refused(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("connecting.cap"), ids=str)
def test_at_the_cap_an_automatic_edge_is_displaced_or_the_new_one_deferred(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("connecting.disconnect"), ids=str)
def test_a_disconnected_edge_is_reported_and_barred(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("connecting.batch"), ids=str)
def test_many_connections_are_decided_one_after_the_other(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("connecting.by-query"), ids=str)
def test_two_queries_connect_their_best_matches(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("connecting.recent_ids"), ids=str)
def test_a_session_knows_what_it_touched(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("learning.duplicate"), ids=str)
def test_the_same_content_is_the_same_block(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("learning.links"), ids=str)
def test_consolidation_links_new_blocks_and_counts_stored_edges(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("feedback.evidence"), ids=str)
def test_outcomes_are_evidence_for_each_block_once(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("feedback.refused"), ids=str)
def test_an_outcome_refuses_each_id_that_cannot_be_scored(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("feedback.ties"), ids=str)
def test_a_success_links_blocks_under_the_cap_and_confirms_existing_edges(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("recall.limit"), ids=str)
def test_an_answer_has_at_most_as_many_blocks_as_asked_for(row: Row) -> None:
    played(row)
