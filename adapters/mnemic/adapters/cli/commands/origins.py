"""Commands about the origin of what memory holds: descent, quarantine, revert-source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from mnemic.adapters.cli.invocation.conditions import selector as selected
from mnemic.adapters.cli.invocation.context import Flag, Run, plain
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.short_ids import full_id

if TYPE_CHECKING:
    from mnemic.adapters.inprocess.queries import Queries


def chosen(known: Queries, given: Iterable[str]) -> dict[str, Any]:
    """Return the selector that ``key=value`` words spell, with full ids for short ones."""
    found = selected(given)
    if "block" in found:
        found["block"] = [full_id(known, each) for each in found["block"]]
    return found


def descent(*selector: str, after: int | None = None, limit: int = 100, run: Run) -> int:
    """List what descends from the writes of a source, an actor or a block, and by what path.

    ```
    mnemic descent source=mail
    mnemic descent actor=mailbox since=2026-11-24
    ```

    Args:
        selector: source=NAME, actor=NAME, block=ID, since=DATE or until=DATE, when it was recorded;
            repeat a key for alternatives, all keys must hold.
        after: Continue after this version.
        limit: Maximum number of entries, 1 to 1000.
        run: The invocation.
    """
    with run.looking() as known:
        result = known.descent(chosen(known, selector), after=after, limit=limit)
    drawn: list[RenderableType] = [Text(plain(result.summary))]
    drawn += [Text(plain(each.summary)) for each in result.items]
    if result.next_after is not None:
        drawn.append(Text(f"More: --after {result.next_after}", style="dim"))
    run.show(result, *drawn)
    return Exit.OK


def quarantine(
    *selector: str,
    reason: str | None = None,
    release: Flag = False,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Take the blocks of a source, an actor or a block out of recall, with one event.

    `mnemic blocks --status quarantined` lists them, and --release recalls them again.

    Args:
        selector: source=NAME, actor=NAME, block=ID, since=DATE or until=DATE, when it was recorded;
            repeat a key for alternatives, all keys must hold.
        reason: The reason, for the log.
        release: End the quarantine of these blocks instead.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    with run.memory() as memory:
        result = memory.quarantine(
            chosen(memory, selector), reason, release=release, command_id=command_id
        )
    run.show(result, Text(plain(result.summary)))
    return Exit.OK


def revert_source(
    *selector: str,
    reason: str | None = None,
    dry_run: Flag = False,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Undo what a source, an actor or a block changed; what was changed since is kept.

    Nothing is deleted: `mnemic diff` and `as-of` show the state before.

    Args:
        selector: source=NAME, actor=NAME, block=ID, since=DATE or until=DATE, when it was recorded;
            repeat a key for alternatives, all keys must hold.
        reason: The reason, for the log.
        dry_run: Show what would be done, and do nothing.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import history

    with run.memory(read_only=dry_run) as memory:
        result = memory.revert_source(
            chosen(memory, selector), reason, dry_run=dry_run, command_id=command_id
        )
        run.show(result, *history.reverted(result, memory.block))
    return Exit.OK
