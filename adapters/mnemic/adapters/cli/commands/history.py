"""Commands over ranges of the log: timeline, diff, revert."""

from __future__ import annotations

from mnemic.adapters.cli.invocation.context import Flag, Run, Version
from mnemic.adapters.cli.invocation.failures import Exit


def timeline(*, bins: int = 24, after: int | None = None, limit: int = 20, run: Run) -> int:
    """Draw when everything happened: bars over active hours, and the sessions.

    Args:
        bins: Number of equal intervals into which the active hours are divided, 1 to 1000.
        after: List the sessions that started after this version.
        limit: Maximum number of sessions, 1 to 1000.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import history

    with run.looking() as known:
        result = known.timeline(bins=bins, after=after, limit=limit)
    run.show(result, *history.timeline(result))
    return Exit.OK


def diff(before: str, after: str = "now", /, *, limit: int = 20, run: Run) -> int:
    """Show what changed between two points.

    A point is a version (120), active hours (12.5h), a decision (d45), an instant (ISO 8601), or
    now. The earlier one comes first.

    ```
    mnemic diff 120 480
    mnemic diff 3h 12.5h
    mnemic diff d45
    ```

    Args:
        before: The earlier point.
        after: The later one.
        limit: Maximum number of entries of each list, 1 to 1000.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import history

    with run.looking() as known:
        result = known.diff(before, after, limit=limit)
    run.show(result, *history.difference(result))
    return Exit.OK


def revert(
    from_version: Version,
    to_version: Version,
    /,
    *,
    reason: str | None = None,
    dry_run: Flag = False,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Take back a range of the log with one more event; what was changed since is kept.

    Nothing is deleted: `mnemic diff` and `as-of` show the state before, and a revert can itself be
    reverted.

    Args:
        from_version: The first version to take back.
        to_version: The last one.
        reason: The reason, for the log.
        dry_run: Show what would be done, and do nothing.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import history

    with run.memory(read_only=dry_run) as memory:
        result = memory.revert(
            from_version, to_version, reason=reason, dry_run=dry_run, command_id=command_id
        )
        run.show(result, *history.reverted(result, memory.block))
    return Exit.OK
