"""Commands over stretches of the log: timeline, diff, revert."""

from __future__ import annotations

from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import Flag, Run, Version


def timeline(*, bins: int = 24, after: int | None = None, limit: int = 20, run: Run) -> int:
    """Draw when everything happened: bars over active hours, and the sessions.

    Args:
        bins: Into how many equal stretches the active hours are cut, 1 to 1000.
        after: List the sessions that started behind this version.
        limit: Most sessions, 1 to 1000.
        run: This invocation.
    """
    from mnemic.adapters.cli import chronicles

    with run.looking() as known:
        result = known.timeline(bins=bins, after=after, limit=limit)
    run.show(result, *chronicles.timeline(result))
    return Exit.OK


def diff(before: str, after: str = "now", /, *, limit: int = 20, run: Run) -> int:
    """Show what is otherwise at one point than at an earlier one.

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
        limit: Most entries of each list, 1 to 1000.
        run: This invocation.
    """
    from mnemic.adapters.cli import chronicles

    with run.looking() as known:
        result = known.diff(before, after, limit=limit)
    run.show(result, *chronicles.difference(result))
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
    """Take a stretch of the log back with one event more; what was touched since stays.

    Nothing is deleted: `mnemic diff` and `as-of` show what was before, and a revert can be
    reverted in its turn.

    Args:
        from_version: The first version to take back.
        to_version: The last one.
        reason: Why.
        dry_run: Say what would be done, and do nothing.
        command_id: A name for this command; repeated under it, it is done once.
        run: This invocation.
    """
    from mnemic.adapters.cli import chronicles

    with run.memory(read_only=dry_run) as memory:
        result = memory.revert(
            from_version, to_version, reason=reason, dry_run=dry_run, command_id=command_id
        )
        run.show(result, *chronicles.reverted(result, memory.block))
    return Exit.OK
