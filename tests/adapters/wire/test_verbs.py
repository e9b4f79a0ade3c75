"""No verb of the process is forgotten by the table that doors are made of."""

from __future__ import annotations

from mnemic.adapters.inprocess import SyncMemory, SyncView
from mnemic.adapters.wire.verbs import HOST_ONLY, verbs

BREADCRUMBS = {"last_learned_block_id", "last_recall_block_ids", "session_block_ids"}
POINT = {"hour", "version"}


def public(of: type) -> set[str]:
    return {name for name in dir(of) if not name.startswith("_")}


def test_every_verb_is_in_the_table_or_for_hosts_alone() -> None:
    assert {*verbs()} | HOST_ONLY == public(SyncMemory) - BREADCRUMBS
    assert {*verbs()} & HOST_ONLY == set()


def test_every_question_to_the_past_is_one_of_a_verb() -> None:
    asked = {name for name, verb in verbs().items() if verb.past_parameters is not None}
    assert asked == public(SyncView) - POINT
