"""The rows that tell stories, played at the door before a witness; see `stages`."""

from __future__ import annotations

import pytest

from mnemic.specs.rules import Row, rows
from tests.specs.stages import played


@pytest.mark.parametrize("row", rows("connecting.new-edge"), ids=str)
def test_a_connection_is_stored_as_asserted(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("connecting.existing-edge"), ids=str)
def test_a_pair_has_one_edge_that_is_reinforced_updated_or_left(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("connecting.connect-refusal"), ids=str)
def test_a_connection_that_makes_no_sense_is_refused(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("connecting.cap"), ids=str)
def test_a_full_end_lets_a_found_edge_go_or_lets_the_new_one_wait(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("connecting.disconnect"), ids=str)
def test_an_edge_is_taken_back_with_notice_and_stays_away(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("connecting.batch"), ids=str)
def test_many_connections_are_decided_one_after_the_other(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("connecting.by-query"), ids=str)
def test_two_descriptions_connect_what_they_match_well_enough(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("connecting.breadcrumbs"), ids=str)
def test_a_session_knows_what_it_touched(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("learning.duplicate"), ids=str)
def test_the_same_content_is_the_same_block(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("learning.links"), ids=str)
def test_consolidation_ties_new_blocks_and_counts_what_it_stored(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("feedback.evidence"), ids=str)
def test_outcomes_are_evidence_for_each_block_once(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("feedback.refused"), ids=str)
def test_an_outcome_refuses_each_id_that_cannot_be_scored(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("feedback.ties"), ids=str)
def test_a_success_ties_its_blocks_under_the_cap_and_confirms_what_stands(row: Row) -> None:
    played(row)


@pytest.mark.parametrize("row", rows("recall.limit"), ids=str)
def test_an_answer_has_at_most_as_many_blocks_as_asked_for(row: Row) -> None:
    played(row)
