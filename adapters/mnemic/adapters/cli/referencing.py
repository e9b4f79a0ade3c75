"""The command that weighs: reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import Run

if TYPE_CHECKING:
    from rich.console import RenderableType


def reference(
    query: str, /, *, depth: int = 20, record: bool = True, command_id: str | None = None, run: Run
) -> int:
    """Weigh what memory holds about a question or a claim before you lean on it.

    Shows the evidence with roles and trust, what is out of date, what contradicts what, and how
    sure one may be. What waits in the inbox is consolidated first. It is no recall: nothing counts
    as retrieved; the evidence is recorded as a composition.

    Args:
        query: What is asked, or claimed: "Is it true that the gate opens at six?"
        depth: Most memories that the question itself may find, 5 to 50.
        record: Whether the evidence is recorded.
        command_id: A name for this command; repeated under it, it is done once.
        run: This invocation.
    """
    from mnemic.adapters.cli import weights

    with run.memory() as memory:
        result = memory.deep_reference(query, depth=depth, record=record, command_id=command_id)
    drawn: list[RenderableType] = list(weights.referenced(result))
    run.show(result, *drawn)
    return Exit.OK
