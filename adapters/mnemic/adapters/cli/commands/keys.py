"""The command keys, on the keys that encrypt the texts of a store."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import RenderableType
from rich.text import Text

from mnemic.adapters.cli.invocation.context import Invocation, Run, plain
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.kernel.errors import FieldRefused, StoreFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mnemic.adapters.stores.encrypted.keys import KeyHolding, KeyTable

WITHOUT = "Without this file no text of these spaces can be read, and no backup helps."
REVIVES = (
    "Later erasures do not reach this copy: with it and an old backup, erased texts can be read. "
    "Replace it after an erasure, and keep it apart from backups."
)


def keys(
    action: Literal["status", "copy"] = "status", to: Path | None = None, /, *, run: Run
) -> int:
    """Show how many keys there are, or copy the file that holds them.

    ```
    mnemic --keys /safe/agent.keys learn "Only this file opens what is said here."
    mnemic --keys /safe/agent.keys keys
    mnemic --keys /safe/agent.keys keys copy /vault/agent.keys
    ```

    Every block has a key of its own, which is destroyed when it is erased: no backup of the store
    can restore its text. Losing the file of keys loses all texts; a copy of it from before an
    erasure can still decrypt, in an old backup, what was erased since.

    Args:
        action: status, or copy, which is consistent even while others write.
        to: The file to copy to; nothing is overwritten.
        run: The invocation.
    """
    with closing(_table(run)) as table:
        if action == "copy":
            if to is None:
                raise FieldRefused("no file to copy to was named", field="to")
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
    """Return the file of keys, open for reading.

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
    from mnemic.adapters.stores.encrypted import KeyTable

    table = KeyTable(run.keys, read_only=True)
    if not table.path.exists():
        raise StoreFailed(
            f"there is no file {table.path}",
            recovery="Name another with --keys; a new one is created with the first text learned.",
            path=str(table.path),
        )
    return table


def _drawn(holdings: Sequence[KeyHolding]) -> RenderableType:
    from mnemic.adapters.cli.render.tables import table

    drawn = table("space", "keys", "destroyed")
    for each in holdings:
        drawn.add_row(Text(plain(each.space)), Text(str(each.live)), Text(str(each.erased)))
    return drawn
