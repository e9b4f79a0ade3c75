"""Commands that keep a memory in order: consolidate, curate, verify."""

from __future__ import annotations

from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import Flag, Run


def consolidate(*, limit: int | None = None, relink: Flag = False, run: Run) -> int:
    """Promote what waits in the inbox: embed it, find near-duplicates, form edges.

    Args:
        limit: Promote at most this many, first in first; all if not given.
        relink: Also look for edges of active blocks that have few.
        run: This invocation.
    """
    with run.memory() as memory, run.progress("consolidating") as progress:
        result = memory.consolidate(limit, relink=relink, progress=progress)
    run.show(result)
    return Exit.OK


def curate(*, run: Run) -> int:
    """Let go of what faded, admit what waited, reinforce what matters.

    Args:
        run: This invocation.
    """
    with run.memory() as memory:
        result = memory.curate()
    run.show(result)
    return Exit.OK


def verify(*, run: Run) -> int:
    """Walk the whole log: every digest, every event, every payload. Exit code 4 on damage.

    Args:
        run: This invocation.
    """
    with (
        run.memory(read_only=True, warning=False) as memory,
        run.progress("verifying") as progress,
    ):
        result = memory.verify(progress)
    run.show(result)
    return Exit.OK if result.sound else Exit.CORRUPT
