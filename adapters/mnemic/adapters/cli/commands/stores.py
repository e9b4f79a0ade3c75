"""Commands on a store as a whole: spaces, migrate, backup, restore, salvage."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from rich.text import Text

from mnemic.adapters.cli.invocation.context import (
    Flag,
    Invocation,
    Run,
    plain,
    shown,
)
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.cli.invocation.options import SPACE
from mnemic.kernel.errors import FieldRefused


def spaces(*, run: Run) -> int:
    """List the spaces of the store, and which one is in use.

    Args:
        run: The invocation.
    """
    from mnemic.adapters.stores.opening import open_store

    run.check_is_there()
    with closing(open_store(run.path, read_only=True, keys=run.keys)) as store:
        heads = {name: store.log(name).head().version for name in sorted(store.spaces())}
    document = {
        "store": run.store,
        "space": run.space,
        "spaces": [{"space": name, "version": version} for name, version in heads.items()],
    }
    lines = [
        f"{'*' if name == run.space else ' '} {shown(name)}, version {version}"
        for name, version in heads.items()
    ]
    if run.space not in heads:
        lines.append(f"There is no space {run.space!r} yet.")
    run.show_document(document, *map(Text, lines))
    return Exit.OK


def migrate(source: str, target: str, /, *spaces: str, dry_run: Flag = False, run: Run) -> int:
    """Copy spaces into another store: same versions, digests, texts, keys and command ids.

    ```
    mnemic migrate agent.db postgresql://ann@host/memories
    mnemic migrate agent.db other.db work home
    ```

    If it was interrupted, or the source has new events, run it again: it continues where it
    stopped. Texts erased in the source meanwhile are erased in the target too. A new file appears
    once it is complete and compared; in an existing store, readers see a valid prefix of the log
    until then, and no process may write. The source is only read. With --keys, unencrypted texts
    are encrypted in the target; encrypted ones are copied unchanged.

    Args:
        source: A file, or the address of a store.
        target: A file, which is created if it does not exist, or the address of a store.
        spaces: The spaces to copy; the one that --space names, or else all.
        dry_run: Write nothing, and show what would be done.
        run: The invocation.
    """
    from mnemic.adapters.transfer.migration import migrate as moved

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
    """Return the space that --space names; None for the default, which may not have been given."""
    return None if run.space == SPACE else (run.space,)


def backup(to: Path, /, *, run: Run) -> int:
    """Write the whole store, with all spaces, into one new file, while others continue to write.

    TO is an ordinary store, and TO.manifest.json next to it lists its contents; `mnemic restore`
    checks both. It contains no tokens or keys. Both files are readable by their owner alone, since
    they contain texts. What is erased later stays in it, so renew backups and delete old ones.

    Args:
        to: A file that does not exist.
        run: The invocation.
    """
    from mnemic.adapters.transfer.backup import backup as made

    run.check_is_there()
    with run.progress("checking") as progress:
        result = made(run.path, to, progress=progress)
    run.show(result)
    return Exit.OK


def restore(backup: Path, to: str | None = None, /, *, check: Flag = False, run: Run) -> int:
    """Check a backup to its last byte, and create a store from it. Exit code 4 if it is damaged.

    ```
    mnemic restore backups/monday.db agent.db
    mnemic restore backups/monday.db --check
    ```

    A backup has the text that it had when it was made: what was erased after that is in it, and has
    to be erased again, unless it was encrypted with --keys. Encrypted text is counted only, since
    that needs no keys.

    Args:
        backup: What `mnemic backup` wrote, with its manifest next to it.
        to: A file that does not exist, or the address of a store that has none of these spaces, or
            their beginnings only.
        check: Only check it.
        run: The invocation.
    """
    from mnemic.adapters.transfer import backup as backups

    if check == (to is not None):
        raise FieldRefused(
            "give either a place to restore to, or --check",
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


def salvage(
    damaged: str, to: Path, /, *, gaps: Flag = False, drop_newer: Flag = False, run: Run
) -> int:
    """Save what can be read of a damaged store into a new one. Exit code 4 if anything is lost.

    Of every space the longest valid prefix of the log is kept, and losses are listed. A block whose
    text is damaged is erased in the copy, and nothing else. The damaged store is not changed. An
    encrypted store needs its --keys, and so does the copy.

    Args:
        damaged: A file, or the address of a store.
        to: A file that does not exist.
        gaps: Also keep what follows a lost question or note, which is possible for no block;
            the copy shows it as lost.
        drop_newer: Leave out what a newer release wrote; otherwise such a store is refused.
        run: The invocation.
    """
    from mnemic.adapters.transfer.salvage import salvage as saved

    with run.progress("salvaging") as progress:
        result = saved(
            damaged, to, gaps=gaps, drop_newer=drop_newer, keys=run.keys, progress=progress
        )
    run.show(
        result,
        *(Text(f"  {plain(each.summary)}") for each in result.spaces),
        *([] if result.problem is None else [Text(f"  Also lost: {plain(result.problem)}.")]),
        Text(plain(f"Salvaged {result.damaged} into {result.into}.")),
    )
    return Exit.OK if result.complete else Exit.CORRUPT
