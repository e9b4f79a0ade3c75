"""Two blocks of one answer are connected, which similarity alone would not connect."""

from __future__ import annotations

from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.model.identity import short
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import ConnectResult
from tests.scenarios.conftest import Learn, Open

RETRY = "Restart the queue worker before retrying a failed import"
CAUSE = "An import fails when its worker has lost the connection to the database"
PAYROLL = "Salaries are paid on the last working day of the month"


def test_the_ids_of_an_answer_can_be_connected(memory: SyncMemory, learn: Learn) -> None:
    retry, cause, _ = learn(memory, RETRY, CAUSE, PAYROLL)
    found = memory.recall("what to do about a failed import", top_k=2)
    assert set(found.block_ids) == {retry, cause}
    assert [short(block) in str(found) for block in found.block_ids] == [True, True]
    made = memory.connect(
        cause, retry, "elaborates", note="the reason why a restart helps", if_exists="update"
    )
    assert (made.action, made.relation) == (
        "updated",
        "elaborates",
    )  # similarity had connected them
    assert short(cause) in str(made)
    assert short(retry) in str(made)


def test_a_connection_brings_in_a_block_that_the_question_does_not_match(
    opened: Open, learn: Learn
) -> None:
    memory = opened(policy=Policy(name="narrow", candidates=1))
    question = "how is a failed import retried"
    retry, payroll = learn(memory, RETRY, PAYROLL)
    assert memory.recall(question).block_ids == (retry,)
    made = memory.connect(retry, payroll, "supports", note="the salary run is such an import")
    assert made == ConnectResult(
        source_id=retry,
        target_id=payroll,
        relation="supports",
        weight=0.75,
        action="created",
        note="the salary run is such an import",
    )
    first, second = memory.recall(question).blocks
    assert (first.id, first.was_expanded) == (retry, False)
    assert (second.id, second.was_expanded, second.expanded_via) == (payroll, True, retry)
