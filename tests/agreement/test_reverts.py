"""Recalls after a log range do not prevent the revert of its blocks."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given, settings

from mnemic.kernel.errors import Refused
from tests.agreement.agents import Command
from tests.agreement.test_laws import HISTORIES, SHARES, World

QUESTIONS = (None, "lamp", "the lamp by the river", "what holds")


@settings(max_examples=settings().max_examples * 2 // 3)
@given(history=HISTORIES, share=SHARES)
def test_later_recalls_do_not_block_a_revert(history: list[Command], share: float) -> None:
    """Retrieval and use of a block, or of its edges, are no changes of the block."""
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
