"""Commands that carry a memory away, or prove something about it: receipt, export, import, fork."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import Flag, Run, VersionOption
from mnemic.adapters.stores.addresses import address_of
from mnemic.adapters.tokens import counter_named
from mnemic.kernel.errors import FieldRefused, StoreFailed

if TYPE_CHECKING:
    from mnemic.kernel.results import Receipt

IMPORTER = "import"
"""Who copies, as the log names it, if nobody else is named."""
IN_THE_OPEN = "the exported words stand in the open: --keys lock the store, and no export"
RECEIPT_MAX = 2**24
"""Longer than any receipt, in bytes."""


def receipt(decision: str, /, *, run: Run) -> int:
    """Print the receipt of a recorded recall, as JSON: proof for later, without words.

    ```
    mnemic receipt d45 > d45.json
    mnemic verify --receipt d45.json
    ```

    Args:
        decision: A recorded recall, like d45; `mnemic log` lists them.
        run: This invocation.
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
        run: This invocation.
    """
    claimed = _read(receipt)
    if export is not None:
        from mnemic.adapters.exchange import receipts

        with run.progress("verifying") as progress:
            check = receipts.verify(
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
        StoreFailed: It cannot be read.
        FieldRefused: It holds none.
    """
    from mnemic.kernel.results import Receipt

    try:
        with path.open("rb") as source:
            document = json.loads(source.read(RECEIPT_MAX))
    except OSError as error:
        raise StoreFailed(f"{path}: {error.strerror}", path=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise FieldRefused(
            f"{path} is no receipt: {error}",
            recovery="Give the file that `mnemic receipt` wrote, unchanged.",
            field="receipt",
        ) from error
    return Receipt.from_dict(document)


def export(file: Path, /, *, upto: VersionOption = None, no_words: Flag = False, run: Run) -> int:
    """Write the log as CloudEvents, one to a line, and its vectors to FILE.vectors beside it.

    The files hold all words, in the open even where --keys lock them in the store, and the keys
    that vouch for them: keep them as safe as the store and its keys.

    Args:
        file: Where to; it must not exist.
        upto: Last version; all if not given.
        no_words: Leave words and vectors out; then the file is good for checking the chain and
            receipts, and for nothing else.
        run: This invocation.
    """
    with (
        run.memory(read_only=True, warning=False) as memory,
        run.progress("exporting") as progress,
    ):
        result = memory.export(file, upto=upto, words=not no_words, progress=progress)
    if run.keys is not None and not no_words:
        run.warn(IN_THE_OPEN)
    run.show(result)
    return Exit.OK


def import_(file: Path, /, *, run: Run) -> int:
    """Make a space of an export: same versions, digests and words. --db and --space say where.

    Everything is checked before anything is written. Exit code 4 if the export is damaged.

    Args:
        file: What `mnemic export` wrote; the vectors stand beside it.
        run: This invocation.
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
    """Begin a new space with the past of this one, up to a point or to now.

    ```
    mnemic fork trial --hour 12.5
    mnemic --space trial recall "When is the demo?"
    ```

    The two live on alone: what is erased in one stays in the other.

    Args:
        name: The new space.
        into: Another store: a file, made if it is not there, or a server. Then nothing is written
            to this one, and of a damaged log what stands before the damage can be saved.
        hour: Active hours: everything up to and including it.
        version: A version of the log.
        at: A wall-clock instant, ISO 8601: the last version recorded by then.
        decision: What a recorded recall read, like d45.
        run: This invocation.
    """
    with run.memory(read_only=into is not None) as memory, run.progress("copying") as progress:
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
