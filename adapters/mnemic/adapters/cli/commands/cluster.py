"""The command cluster: the hosts of a cluster, and what each of them leads."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from attrs import asdict
from rich.text import Text

from mnemic.adapters.cli.invocation.context import Run, plain, shown
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.stores.addresses import is_server, parsed
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
    from mnemic.adapters.stores.postgres.leadership import Leadership

    with closing(Leadership(parsed(str(run.path)))) as leadership:
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


def _lines(
    hosts: list[dict[str, Any]], spaces: list[dict[str, Any]], standbys: list[dict[str, Any]]
) -> list[str]:
    lines = []
    for each in hosts:
        left_s = each["left_s"]
        state = f"lease {left_s:.1f} s" if left_s > 0 else f"gone for {-left_s:.0f} s"
        lines.append(plain(f"host {each['url']}, {state}, leads {each['spaces']} spaces"))
    for each in spaces:
        led = plain(f"led by {each['leader']}") if each["leader"] else "led by none"
        where = plain(f", moved to {each['moved_to']}") if each["moved_to"] else ""
        lines.append(
            f"space {shown(each['space'])}, version {each['version']}, epoch {each['epoch']}, "
            f"{led}{where}"
        )
    for each in standbys:
        lines.append(
            plain(
                f"standby {each['name']} {each['address']}, {each['state']}, {each['mode']}, "
                f"{each['behind_bytes']:,} bytes behind"
            )
        )
    return lines or ["There is no host."]
