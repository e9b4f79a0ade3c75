"""Commands that explain recalls: explain and why-not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from mnemic.adapters.cli.invocation.context import Run
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.short_ids import full_id

if TYPE_CHECKING:
    from rich.console import RenderableType


def explain(decision: str, block_id: str | None = None, /, *, events: int = 100, run: Run) -> int:
    """Explain why the blocks of a recorded recall were returned.

    Each shows every signal with its weight, the parts of its relevance, the edge through which it
    was found, its rank among everything that was scored, and its events.

    Args:
        decision: A recorded recall, like d45; `mnemic log` lists them.
        block_id: Only this block of its answer; the first 8 characters are enough.
        events: Most events of each block, from 0 to 100.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import tables

    with run.memory(read_only=True) as memory:
        block = None if block_id is None else full_id(memory, block_id)
        result = memory.explain(decision, block, events=events)
    run.show(result, Text(result.summary), *tables.explained(result))
    return Exit.OK


def why_not(decision: str, block_id: str, /, *, run: Run) -> int:
    """Show at which stage a block dropped out of a recorded recall, and by how much.

    Args:
        decision: A recorded recall, like d45; `mnemic log` lists them.
        block_id: The block you expected; the first 8 characters are enough.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import tables

    with run.memory(read_only=True) as memory:
        result = memory.why_not(decision, full_id(memory, block_id))
    drawn: list[RenderableType] = [Text(result.summary)]
    if result.contributions:
        drawn.append(tables.contributions(result.contributions))
    run.show(result, *drawn)
    return Exit.OK
