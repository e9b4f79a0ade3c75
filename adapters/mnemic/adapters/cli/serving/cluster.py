"""Commands of a cluster: its hosts and what each of them leads, and moving a space."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from attrs import asdict
from rich.text import Text

from mnemic.adapters.cli.invocation.context import Run, plain, shown
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.stores.addresses import is_server, parsed, told
from mnemic.kernel.errors import FieldRefused

SHOWN_MAX = 100
"""Spaces that are listed, unless --limit says otherwise."""


def cluster(*, limit: int = SHOWN_MAX, run: Run) -> int:
    """Show the hosts of a cluster, the spaces that each leads, and the standbys of the database.

    ```
    mnemic --db postgresql://memory@host/memories cluster
    ```

    A host is `gone` when its lease has ended: the next host that is asked to write takes over its
    spaces. See `mnemic serve --cluster`.

    Args:
        limit: The largest number of spaces that are listed. Range: >= 1.
        run: The invocation.
    """
    if not is_server(run.path):
        raise FieldRefused(
            f"{run.store} is a file, which one host serves",
            recovery="Name a store on a server with --db postgresql://user@host/database.",
            field="db",
        )
    if limit < 1:
        raise FieldRefused(f"limit must be at least 1, got {limit}", field="limit")
    from mnemic.adapters.stores.postgres.connections import Datastore
    from mnemic.adapters.stores.postgres.leadership import Leadership

    with closing(Datastore(parsed(str(run.path)))) as datastore:
        leadership = Leadership(datastore)
        if not leadership.is_enabled():
            raise FieldRefused(
                f"{run.store} is served by no cluster",
                recovery="Begin its hosts with `mnemic serve --cluster URL`.",
                field="db",
            )
        hosts = [asdict(each) for each in leadership.hosts()]
        spaces = [asdict(each) for each in leadership.spaces(limit)]
        standbys = [asdict(each) for each in leadership.standbys()]
    document = {"store": run.store, "hosts": hosts, "spaces": spaces, "standbys": standbys}
    run.show_document(document, *map(Text, _lines(hosts, spaces, standbys)))
    return Exit.OK


def move(space: str, /, *, to: str, run: Run) -> int:
    """Move a space to another database while the hosts of a cluster go on writing to it.

    ```
    mnemic --db postgresql://memory@host/memories move ines --to postgresql://memory@other/memories
    ```

    Versions, digests, texts and command ids stay the same. The hosts follow; writes wait for a
    moment while the last events are copied. Text does not stay in the old database. If it was
    interrupted, run it again. Processes that are no hosts have to be ended before.

    Args:
        space: Its name.
        to: Address of the other database, as every host can use it: without a password.
        run: The invocation.
    """
    from mnemic.adapters.cluster.moving import move as moved

    with run.progress("moving") as progress:
        result = moved(str(run.path), space, to, progress=progress)
    run.show(result)
    return Exit.OK


def _lines(
    hosts: list[dict[str, Any]], spaces: list[dict[str, Any]], standbys: list[dict[str, Any]]
) -> list[str]:
    lines = []
    for each in hosts:
        left_s = each["left_s"]
        state = f"lease {left_s:.1f} s" if left_s > 0 else f"gone for {-left_s:.0f} s"
        lines.append(f"host {each['url'] or each['id']}, {state}, leads {each['spaces']} spaces")
    for each in spaces:
        name = shown(each["space"])
        if each["moved_to"]:
            lines.append(f"space {name}, moved to {told(each['moved_to'])}")
        else:
            led = f"led by {each['leader']}" if each["leader"] else "led by none"
            lines.append(f"space {name}, version {each['version']}, epoch {each['epoch']}, {led}")
    lines += [
        f"standby {each['name']} {each['address']}, {each['state']}, {each['mode']}, "
        f"{each['behind_bytes']:,} bytes behind"
        for each in standbys
    ]
    return [plain(each) for each in lines] or ["There is no host."]
