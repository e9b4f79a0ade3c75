"""Commands that copy a memory or prove something about it: receipt, export, import, fork, dump."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

from mnemic.adapters.cli.invocation.context import Flag, Run, VersionOption
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.stores.addresses import address_of
from mnemic.adapters.tokens import counter_named
from mnemic.kernel.errors import FieldRefused, StoreFailed

if TYPE_CHECKING:
    from mnemic.kernel.results import Receipt

IMPORTER = "import"
"""The default actor of a copy in the log."""
NOT_ENCRYPTED = "the exported texts are not encrypted: --keys encrypt the store, but no export"
Format = Literal["markdown", "jsonl", "csv"]
ENDINGS: Final[dict[str, Format]] = {".md": "markdown", ".jsonl": "jsonl", ".csv": "csv"}
"""Formats of dumps by the endings of files."""
RECEIPT_MAX = 2**24
"""Longer than any receipt, in bytes."""


def receipt(decision: str, /, *, run: Run) -> int:
    """Print the receipt of a recorded recall, as JSON: proof for later, without texts.

    ```
    mnemic receipt d45 > d45.json
    mnemic verify --receipt d45.json
    ```

    Args:
        decision: A recorded recall, like d45; `mnemic log` lists them.
        run: The invocation.
    """
    with run.memory(read_only=True) as memory:
        made = memory.receipt(decision)
    run.write_json(made.to_dict())
    return Exit.OK


def verify_receipt(
    receipt: Path, /, *, export: Path | None = None, replay: Flag = False, run: Run
) -> int:
    """Compare a receipt with the memory, as `verify --receipt` does. Exit code 4 if it fails.

    Args:
        receipt: A file that `mnemic receipt` wrote.
        export: Compare it with this exported file; no store is opened.
        replay: Also compute the decision again.
        run: The invocation.
    """
    claimed = _read(receipt)
    if export is not None:
        from mnemic.adapters.inprocess.receipt_replay import verify

        with run.progress("verifying") as progress:
            check = verify(
                claimed,
                export,
                replay=replay,
                tokens=counter_named(run.counter),
                progress=progress,
            )
    else:
        with (
            run.memory(read_only=True, warning=False) as memory,
            run.progress("verifying") as progress,
        ):
            check = memory.verify_receipt(claimed, replay=replay, progress=progress)
    run.show(check)
    return Exit.OK if check.holds and check.replayed != "differs" else Exit.CORRUPT


def _read(path: Path) -> Receipt:
    """Return the receipt in a file.

    Raises:
        StoreFailed: The file cannot be read.
        FieldRefused: It contains no receipt.
    """
    from mnemic.kernel.results import Receipt

    try:
        with path.open("rb") as source:
            document = json.loads(source.read(RECEIPT_MAX))
    except OSError as error:
        raise StoreFailed(f"{path}: {error.strerror}", path=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise FieldRefused(
            f"{path} is not a receipt: {error}",
            recovery="Give the file that `mnemic receipt` wrote, unchanged.",
            field="receipt",
        ) from error
    return Receipt.from_dict(document)


def export(file: Path, /, *, upto: VersionOption = None, no_words: Flag = False, run: Run) -> int:
    """Write the log as CloudEvents, one per line, and its vectors to FILE.vectors next to it.

    The files contain all texts, unencrypted even where --keys encrypt them in the store, and the
    keys that authenticate them: keep them as safe as the store and its keys.

    Args:
        file: The file to write; it must not exist.
        upto: Last version; all if not given.
        no_words: Leave texts and vectors out; then the file is only good for checking the chain
            and receipts.
        run: The invocation.
    """
    with (
        run.memory(read_only=True, warning=False) as memory,
        run.progress("exporting") as progress,
    ):
        result = memory.export(file, upto=upto, words=not no_words, progress=progress)
    if run.keys is not None and not no_words:
        run.warn(NOT_ENCRYPTED)
    run.show(result)
    return Exit.OK


def import_(file: Path, /, *, run: Run) -> int:
    """Create a space from an export: same versions, digests and texts. --db and --space name it.

    Everything is checked before anything is written. Exit code 4 if the export is damaged.

    Args:
        file: What `mnemic export` wrote, with the vectors next to it.
        run: The invocation.
    """
    from mnemic.adapters.inprocess import SyncMemory

    with run.progress("importing") as progress:
        result = SyncMemory.import_space(
            file,
            run.path,
            space=run.space,
            actor=run.actor or IMPORTER,
            keys=run.keys,
            progress=progress,
        )
    run.show(result)
    return Exit.OK


def fork(
    name: str,
    /,
    *,
    into: str | None = None,
    hour: float | None = None,
    version: VersionOption = None,
    at: str | None = None,
    decision: str | None = None,
    run: Run,
) -> int:
    """Create a new space with the history of this one, up to a point or to now.

    ```
    mnemic fork trial --hour 12.5
    mnemic --space trial recall "When is the demo?"
    ```

    The two are independent afterwards: what is erased in one stays in the other.

    Args:
        name: The new space.
        into: Another store: a file, created if it does not exist, or a server. Then nothing is
            written to this one, and the part of a damaged log before the damage can be saved.
        hour: Active hours: everything up to and including it.
        version: A version of the log.
        at: A wall-clock instant, ISO 8601: the last version recorded by then.
        decision: What a recorded recall read, like d45.
        run: The invocation.
    """
    from mnemic.adapters.cli.invocation.opening import check_hour

    with run.memory(read_only=into is not None) as memory, run.progress("copying") as progress:
        check_hour(memory, hour)
        result = memory.fork(
            name,
            into=None if into is None else address_of(into),
            hour=hour,
            version=version,
            at=at,
            decision=decision,
            progress=progress,
        )
    run.show(result)
    return Exit.OK


def dump(
    into: Path | None = None,
    /,
    *,
    format_: Annotated[Format | None, Parameter(name="--format")] = None,
    tag: str | None = None,
    category: str | None = None,
    author: str | None = None,
    thread: str | None = None,
    status: str | None = None,
    at: str | None = None,
    run: Run,
) -> int:
    """Write the blocks as Markdown, JSON lines or CSV, for people and other programs.

    ```
    mnemic dump --status active
    mnemic dump memory.csv --at 2026-11-17
    ```

    It has the texts and what is known of each block; to move a memory with its log, see export.

    Args:
        into: A file that does not exist; standard output if not given.
        format_: markdown, jsonl or csv; as the name of the file ends (.md, .jsonl, .csv), else
            markdown, with --json jsonl.
        tag: Only with this tag; one that ends in / matches every tag below it.
        category: Only of this category.
        author: Only by this author.
        thread: Only of this thread.
        status: Only inbox, active, archived or quarantined; all if not given.
        at: As the memory was at the end of this day, or at this instant (ISO 8601).
        run: The invocation.
    """
    from mnemic.adapters.files import atomic_files
    from mnemic.adapters.inprocess import dumps

    suffix = "" if into is None else into.suffix.lower()
    form = format_ or ENDINGS.get(suffix) or ("jsonl" if run.as_json else "markdown")
    conditions = {
        "tag": tag,
        "category": category,
        "author": author,
        "thread": thread,
        "status": status,
    }
    with run.memory(read_only=True) as memory:
        view = memory.as_of(at=at) if at else memory.as_of(version=memory.status().version)
        written = dumps.FORMATS[form](dumps.listed(view, conditions))
        if into is None:
            for piece in written:
                run.out.file.write(piece)
            return Exit.OK
        atomic_files.checked_new(into)
        with atomic_files.named(into), atomic_files.appearing(into) as (file,):
            file.writelines(piece.encode() for piece in written)
    run.remark(f"Written: {into}")
    return Exit.OK
