"""Commands that say why: explain and why-not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from mnemic.adapters.addresses import full_id
from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import Run

if TYPE_CHECKING:
    from rich.console import RenderableType


def explain(decision: str, block_id: str | None = None, /, *, run: Run) -> int:
    """Say why the blocks of a recorded recall came up.

    Each shows every signal with its weight, what relevance was made of, the edge it came through,
    its rank among everything that was scored, and the events behind it.

    Args:
        decision: A recorded recall, like d45; `mnemic log` lists them.
        block_id: Only this block of its answer; the first 8 characters will do.
        run: This invocation.
    """
    from mnemic.adapters.cli import drawings

    with run.memory(read_only=True) as memory:
        block = None if block_id is None else full_id(memory, block_id)
        result = memory.explain(decision, block)
    run.show(result, Text(result.summary), *drawings.explained(result))
    return Exit.OK


def why_not(decision: str, block_id: str, /, *, run: Run) -> int:
    """Say at which stage a block fell out of a recorded recall, and by how much.

    Args:
        decision: A recorded recall, like d45; `mnemic log` lists them.
        block_id: The block you expected; the first 8 characters will do.
        run: This invocation.
    """
    from mnemic.adapters.cli import drawings

    with run.memory(read_only=True) as memory:
        result = memory.why_not(decision, full_id(memory, block_id))
    drawn: list[RenderableType] = [Text(result.summary)]
    if result.contributions:
        drawn.append(drawings.contributions(result.contributions))
    run.show(result, *drawn)
    return Exit.OK
