"""Commands on a store as a whole, for whoever runs it: migrate, backup, restore, salvage."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import SPACE, Flag, Invocation, Run, plain
from mnemic.kernel.errors import FieldRefused, StoreFailed


def migrate(source: str, target: str, /, *spaces: str, dry_run: Flag = False, run: Run) -> int:
    """Copy spaces into another store: same versions, digests, words, keys and command ids.

    ```
    mnemic migrate agent.db postgresql://ann@host/memories
    mnemic migrate agent.db other.db work home
    ```

    Stopped half-way, or when the source has moved on: run it again, and it goes on where it was.
    Words that were erased in the source meanwhile are erased in the target too. A new file appears
    once it is whole and compared; in a store that is there, readers see a sound beginning until
    then, and nobody may write. The source is only read. With --keys, words that stand open in it
    are locked in the target; those that are locked go as they are.

    Args:
        source: A file, or the address of a store.
        target: A file, which is made if it is not there, or the address of a store.
        spaces: Which of the source's memories; the one that --space names, or else all.
        dry_run: Write nothing, and say what would be done.
        run: This invocation.
    """
    from mnemic.adapters.exchange.migrating import migrate as moved

    with run.progress("migrating") as progress:
        result = moved(
            source,
            target,
            spaces=spaces or _named(run),
            dry_run=dry_run,
            keys=run.keys,
            progress=progress,
        )
    run.show(
        result,
        *(Text(f"  {plain(each.summary)}") for each in result.spaces),
        Text(plain(result.summary)),
    )
    return Exit.OK


def _named(run: Invocation) -> tuple[str, ...] | None:
    """Return the space that --space names; None for the default, which nobody may have named."""
    return None if run.space == SPACE else (run.space,)


def backup(to: Path, /, *, run: Run) -> int:
    """Write the whole store, all spaces of it, into one new file, while others go on writing.

    TO is an ordinary store, and TO.manifest.json beside it says what it must hold; `mnemic restore`
    checks both. Tokens and keys are not in it. Both files can be read by their owner alone: they
    hold words. What is erased later stays in it, so make backups anew and delete old ones.

    Args:
        to: A file that does not exist.
        run: This invocation.
    """
    from mnemic.adapters.exchange.backups import backup as made

    if not run.is_there():
        raise StoreFailed(
            f"there is no file {run.path}",
            recovery="Name another with --db or MNEMIC_DB.",
            path=str(run.path),
        )
    with run.progress("checking") as progress:
        result = made(run.path, to, progress=progress)
    run.show(result)
    return Exit.OK


def restore(backup: Path, to: str | None = None, /, *, check: Flag = False, run: Run) -> int:
    """Check a backup to its last byte, and make a store of it. Exit code 4 if it is damaged.

    ```
    mnemic restore backups/monday.db agent.db
    mnemic restore backups/monday.db --check
    ```

    Words that were erased since the backup was made come back with it, unless they were locked by
    --keys: erase them again.

    Args:
        backup: What `mnemic backup` wrote, with its manifest beside it.
        to: A file that does not exist, or the address of a store without spaces of these names.
        check: Only check it.
        run: This invocation.
    """
    from mnemic.adapters.exchange import backups

    if check == (to is not None):
        raise FieldRefused(
            "either a place to restore to, or --check",
            recovery="Name a file that does not exist, or give --check alone.",
            field="to",
        )
    with run.progress("checking") as progress:
        if to is None:
            result = backups.check(backup, progress=progress)
        else:
            result = backups.restore(backup, to, progress=progress)
    run.show(result)
    return Exit.OK


def salvage(damaged: str, to: Path, /, *, gaps: Flag = False, run: Run) -> int:
    """Save what can be read of a damaged store into a new one. Exit code 4 if anything is lost.

    Of every space the longest sound beginning is kept, and what is lost is named. A block whose
    words are damaged is erased in the copy, and nothing else. The damaged store stays as it is.
    One that is encrypted takes its --keys, and so does the copy.

    Args:
        damaged: A file, or the address of a store.
        to: A file that does not exist.
        gaps: Keep also what follows on a lost question or note, which no block can bear; `verify`
            will name the gap for good.
        run: This invocation.
    """
    from mnemic.adapters.exchange.salvage import salvage as saved

    with run.progress("salvaging") as progress:
        result = saved(damaged, to, gaps=gaps, keys=run.keys, progress=progress)
    run.show(
        result,
        *(Text(f"  {plain(each.summary)}") for each in result.spaces),
        *([] if result.problem is None else [Text(f"  Lost besides: {plain(result.problem)}.")]),
        Text(plain(f"Salvaged {result.damaged} into {result.into}.")),
    )
    return Exit.OK if result.complete else Exit.CORRUPT
