"""The command about the keys that lock the words of a store: keys."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import RenderableType
from rich.text import Text

from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import Invocation, Run, plain
from mnemic.kernel.errors import FieldRefused, StoreFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mnemic.adapters.encryption.keys import Holding, KeyTable

WITHOUT = "Without this file nobody can read a word of these spaces, and no backup helps."
REVIVES = (
    "An erasure from now on does not reach this copy: whoever has it and an old backup can read "
    "what was erased. Replace it after an erasure, and keep it apart from backups."
)


def keys(
    action: Literal["status", "copy"] = "status", to: Path | None = None, /, *, run: Run
) -> int:
    """Say how many keys there are, or copy the file that holds them.

    ```
    mnemic --keys /safe/agent.keys learn "Only this file opens what is said here."
    mnemic --keys /safe/agent.keys keys
    mnemic --keys /safe/agent.keys keys copy /vault/agent.keys
    ```

    Every block has a key of its own, which goes when it is erased: no backup of the store gives its
    words back. Losing the file of keys loses all words; a copy of it from before an erasure still
    opens, in an old backup, what was erased since.

    Args:
        action: status, or copy, which is whole even while others write.
        to: Where the copy goes; nothing is overwritten.
        run: This invocation.
    """
    with closing(_table(run)) as table:
        if action == "copy":
            if to is None:
                raise FieldRefused("where should the copy go?", field="to")
            table.copy(to)
            run.show_document(
                {"copied": str(to), "from": str(table.path)},
                Text(plain(f"Copied to {to}. {REVIVES}")),
            )
            return Exit.OK
        holdings = table.holdings()
        document = {
            "file": str(table.path),
            "spaces": [
                {"space": each.space, "live": each.live, "erased": each.erased} for each in holdings
            ],
        }
        run.show_document(document, _drawn(holdings), Text(plain(f"{table.path}: {WITHOUT}")))
    return Exit.OK


def _table(run: Invocation) -> KeyTable:
    """Return the file of keys, open to read.

    Raises:
        FieldRefused: None was named.
        StoreFailed: There is no such file.
    """
    from mnemic.adapters.stores.opening import require_cryptography

    if run.keys is None:
        raise FieldRefused(
            "no file of keys was named",
            recovery="Name it with --keys or MNEMIC_KEYS.",
            field="keys",
        )
    require_cryptography()
    from mnemic.adapters.encryption import KeyTable

    table = KeyTable(run.keys, read_only=True)
    if not table.path.exists():
        raise StoreFailed(
            f"there is no file {table.path}",
            recovery="Name another with --keys; one that is new is made with the first word.",
            path=str(table.path),
        )
    return table


def _drawn(holdings: Sequence[Holding]) -> RenderableType:
    from mnemic.adapters.cli.drawings import table

    drawn = table("space", "keys", "destroyed")
    for each in holdings:
        drawn.add_row(Text(plain(each.space)), Text(str(each.live)), Text(str(each.erased)))
    return drawn
