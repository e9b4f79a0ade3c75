"""The command doctor: checks everything, and changes nothing unless asked to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from cyclopts import Parameter
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mnemic.adapters.cli.invocation.context import (
    Flag,
    Invocation,
    Run,
    plain,
)
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.kernel.errors import MnemicError

if TYPE_CHECKING:
    from mnemic.adapters.cli.doctor.findings import Finding
    from mnemic.adapters.stores.postgres import PostgresStore
    from mnemic.kernel.ports import Store

STYLES = {"ok": "green", "warning": "yellow", "problem": "bold red"}


def doctor(
    *,
    sweep: Flag = False,
    erased: str | None = None,
    look: Annotated[tuple[Path, ...], Parameter(name="--look")] = (),
    run: Run,
) -> int:
    """Check the settings, the installation, the store and every space of it; change nothing.

    Settings are shown with their origin: an option, an environment variable or the default. Each
    other line is ok, a warning or a problem, and says what to do. The chain of every space is
    verified, so a long log takes a while. Exit code 1 if there is a problem.

    Args:
        sweep: First remove the hidden data that killed imports have left in the store. An import
            still running is left alone; one that stalled meanwhile ends with a conflict.
        erased: Only list every place where the text of this erased block may remain: the store, its
            write-ahead log, checkpoints, forks, copies, backups and exports by their manifests,
            temporary files and copies of keys. Exit code 1 if there is one that holds it.
        look: A folder to search for copies, besides that of the store; repeat for more.
        run: The invocation.
    """
    from mnemic.adapters.cli.doctor.findings import Diagnosis
    from mnemic.adapters.cli.doctor.settings import settings

    if erased is not None:
        return _erased(run, erased, look)
    swept = tuple(_swept(run)) if sweep else ()
    if isinstance(run.path, Path):
        path = Path(os.path.realpath(run.path))
        found = Diagnosis.of(str(path), (*settings(run), *_examined(run, path), *swept))
    else:
        found = Diagnosis.of(run.store, (*settings(run), *_examined_server(run, run.path), *swept))
    run.show(found, *_drawn(found.findings), Text(found.summary, style="bold"))
    return Exit.REFUSED if found.problems else Exit.OK


def _erased(run: Invocation, block: str, look: Iterable[Path]) -> int:
    """Show where the text of an erased block may remain."""
    from mnemic.adapters.cli.doctor.erased import remains
    from mnemic.adapters.cli.doctor.findings import Diagnosis
    from mnemic.adapters.stores.opening import open_store

    path = Path(os.path.realpath(run.path)) if isinstance(run.path, Path) else None
    with closing(open_store(run.path, read_only=True, keys=run.keys)) as store:
        places = remains(store, run.space, block, path=path, keys=run.keys, folders=look)
        found = Diagnosis.of(run.store if path is None else str(path), tuple(places))
    run.show(found, *_drawn(found.findings), Text(found.summary, style="bold"))
    return Exit.REFUSED if found.problems else Exit.OK


def _swept(run: Invocation) -> Iterator[Finding]:
    """Remove abandoned imports from an existing store."""
    from mnemic.adapters.cli.doctor.sweeping import swept

    if run.is_there():
        with run.progress("checking for running imports"):
            yield from swept(run.path)


def _examined(run: Invocation, path: Path) -> Iterator[Finding]:
    from mnemic.adapters.cli.doctor.environment import environment
    from mnemic.adapters.cli.doctor.store_files import (
        ABOUT,
        missing,
        premises,
        tables,
    )
    from mnemic.adapters.stores.sqlite import SQLiteStore

    yield from environment()
    if not run.is_there():
        yield missing(path)
        return
    if not path.is_file():
        yield ABOUT.problem(
            "file", f"{path} is not a file", remedy="Name a file with --db or MNEMIC_DB."
        )
        return
    yield from premises(path)
    try:
        store = SQLiteStore(path, read_only=True)
    except MnemicError as error:
        yield ABOUT.failure("format", error)
        return
    try:
        yield from tables(store)
        if run.keys is None:
            yield from _inside(run, path, store)
        else:
            yield from _unlocked(run, path, store, run.keys)
    except MnemicError as error:
        yield ABOUT.failure("spaces", error)
    finally:
        store.close()


def _examined_server(run: Invocation, address: str) -> Iterator[Finding]:
    from mnemic.adapters.cli.doctor.environment import environment
    from mnemic.adapters.cli.doctor.servers import server
    from mnemic.adapters.cli.doctor.store_files import ABOUT
    from mnemic.adapters.stores.opening import open_store

    yield from environment()
    try:
        store = open_store(address, read_only=True)
    except MnemicError as error:
        yield ABOUT.failure("server", error)
        return
    try:
        yield from server(cast("PostgresStore", store))
        if run.keys is None:
            yield from _spaces(run, store)
        else:
            yield from _unlocked(run, None, store, run.keys)
    except MnemicError as error:
        yield ABOUT.failure("server", error)
    finally:
        store.close()


def _unlocked(run: Invocation, path: Path | None, store: Store, keys: Path) -> Iterator[Finding]:
    """Check the file of keys, and with it the spaces of a store open for reading."""
    from mnemic.adapters.cli.doctor.keys import locks, table
    from mnemic.adapters.stores.encrypted import EncryptedStore

    yield from locks(keys, path)
    found = table(keys)
    if found is not None:
        with closing(found):
            unlocked = EncryptedStore(store, found)
            if path is None:
                yield from _spaces(run, unlocked)
            else:
                yield from _inside(run, path, unlocked)


def _inside(run: Invocation, path: Path, store: Store) -> Iterator[Finding]:
    """Check the spaces of a file open for reading, and look for other stores near it."""
    from mnemic.adapters.cli.doctor.spaces import is_empty
    from mnemic.adapters.cli.doctor.store_files import ABOUT, listed, neighbours

    others = neighbours(path)
    if others and is_empty(store):
        yield ABOUT.warning(
            "neighbours",
            f"nothing was ever learned here, and next to it is {listed(others)}",
            remedy="If that one was meant, name it with --db or MNEMIC_DB.",
        )
    yield from _spaces(run, store)


def _spaces(run: Invocation, store: Store) -> Iterator[Finding]:
    """Check the spaces of a store open for reading."""
    from mnemic.adapters.cli.doctor.spaces import space
    from mnemic.adapters.cli.doctor.store_files import ABOUT

    names = store.spaces()
    if run.space not in names:
        yield ABOUT.warning(
            "spaces",
            f"there is no space {run.space!r}",
            remedy=f"Name one with --space; the store has: {', '.join(names) or 'none yet'}.",
        )
    else:
        yield ABOUT.ok("spaces", ", ".join(names))
    for name in getattr(store, "unfinished", tuple)():
        yield ABOUT.warning(
            "unfinished",
            f"the space {name!r} is being imported, or an import was killed and left hidden texts "
            "here",
            remedy="If no import is running, remove them: `mnemic doctor --sweep`. They are also "
            "removed when something is imported under this name.",
        )
    for name in names:
        with run.progress(f"verifying {name}") as progress:
            yield from space(store, name, progress)


def _drawn(findings: Iterable[Finding]) -> Iterator[RenderableType]:
    for about, together in groupby(findings, key=lambda finding: finding.about):
        yield Text(plain(about), style="bold")
        drawn = Table(box=None, pad_edge=False, show_header=False)
        drawn.add_column(no_wrap=True)
        drawn.add_column(no_wrap=True)
        drawn.add_column(ratio=1)
        for each in together:
            drawn.add_row(Text(each.state, style=STYLES[each.state]), plain(each.what), _text(each))
        yield Padding(drawn, (0, 0, 1, 2))


def _text(finding: Finding) -> Text:
    text = Text(plain(finding.detail))
    return (
        text if finding.remedy is None else text.append(f"\n{plain(finding.remedy)}", style="dim")
    )
