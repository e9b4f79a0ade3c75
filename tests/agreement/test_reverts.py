"""What was merely asked since a stretch stands in the way of no revert of its blocks."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given, settings

from mnemic.kernel.errors import Refused
from tests.agreement.agents import Command
from tests.agreement.test_laws import HISTORIES, SHARES, World

QUESTIONS = (None, "lamp", "the lamp by the river", "what holds")


@settings(max_examples=40)
@given(history=HISTORIES, share=SHARES)
def test_questions_asked_since_leave_blocks_to_their_revert(
    history: list[Command], share: float
) -> None:
    """Being returned and being used are no words about a block, nor is a use of its edges."""
    world = World().play(history)
    memory = world.memory
    memory.consolidate()  # or the first question would
    first, last = world.then(share) + 1, world.log.head().version
    if not 1 <= first <= last:
        return
    before = memory.revert(first, last, dry_run=True)
    with suppress(Refused):
        memory.end_session()
    memory.start_session()
    for question in QUESTIONS:
        memory.recall(question, top_k=20)
    after = memory.revert(first, last, dry_run=True)
    for name in ("forgotten", "restored", "strength", "evidence", "policy_id"):
        assert getattr(after, name) == getattr(before, name)
