"""The command serve: the HTTP server."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import uuid4

from cyclopts import Parameter
from rich.text import Text

from mnemic.adapters.cli.invocation.context import (
    Flag,
    Invocation,
    Run,
    plain,
)
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.extras import pip_install
from mnemic.adapters.stores.addresses import is_server
from mnemic.adapters.system.processors import processors
from mnemic.adapters.tokens import counter_named
from mnemic.kernel.errors import FieldRefused, Unavailable

if TYPE_CHECKING:
    from mnemic.adapters.access import Keyring
    from mnemic.adapters.checkpoints.directory import SharedCheckpoints
    from mnemic.adapters.cluster.settings import ClusterSettings
    from mnemic.adapters.hosting import Spaces
    from mnemic.kernel.ports import Extractor

NEEDED = ("litestar", "uvicorn", "httptools")
"""Packages of the extra ``http`` that serving imports."""
LOGGERS = ("mnemic.http", "uvicorn.error")
SERVER = "server"
"""The actor in the log for what the server does itself, such as creating a space."""


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 8377,
    open_loopback: Flag = False,
    token_file: Path | None = None,
    cors: Annotated[tuple[str, ...], Parameter(name="--cors")] = (),
    read_only: Flag = False,
    tools: Literal["core", "all"] = "core",
    make: Flag = False,
    workers: int | Literal["auto"] = 1,
    cluster: str | None = None,
    elsewhere: Literal["forward", "redirect"] = "forward",
    read_from: str | None = None,
    lease: float = 5.0,
    checkpoints: str | None = None,
    checkpoint_cache: Path | None = None,
    telemetry: Flag = False,
    quiet: Flag = False,
    run: Run,
) -> int:
    """Serve all memories of the store over HTTP, until stopped.

    ```
    mnemic token create ines --write default
    mnemic serve
    curl -H "Authorization: Bearer mnemic_..." http://127.0.0.1:8377/v1/spaces/default
    ```

    Every request needs a token; see `mnemic token --help`. Stop it with Ctrl-C or SIGTERM: requests
    under way are finished first.

    Args:
        host: Address to listen at. Other machines need tokens, and the server should be behind a
            proxy that terminates TLS.
        port: Port to listen at; 0 is any that is free.
        open_loopback: Grant all rights without a token to clients on this machine; agents under
            /mcp may read and write.
        token_file: The file of tokens: STORE.tokens next to the store, if not given. Required for a
            store on a server.
        cors: A web origin whose pages may send requests, like https://app.example; repeat for more.
        read_only: Refuse all writes, for every token.
        tools: Tools listed to agents under /mcp: those of everyday work, or all.
        make: Create a new store even if another one is next to it.
        workers: Processes that serve; auto: as many as there are processors. Each opens the spaces
            it is asked for, so memory grows with them, and applies the limits of a server
            separately. One that dies or whose interpreter hangs is replaced. Agents under /mcp get
            no protocol session.
        cluster: Serve as one of several hosts of a store on a server, each of which leads the
            spaces that it writes; the URL at which the others reach this one, like
            http://one.example:8377. Give all hosts the same tokens.
        elsewhere: What becomes of a write to a space that another host leads: it is passed on, or
            the client is sent there (307).
        read_from: Address of a hot standby of the database, which answers reads of spaces that
            other hosts lead.
        lease: Seconds after which another host takes over from one that is not heard of. Range:
            >= 0.5.
        checkpoints: Where a space of a store on a server is opened from, instead of its first
            event: `database`, or a bucket like s3://bucket/prefix (extra bucket), in which hosts
            publish checkpoints for each other; or a folder, which hosts may share, but not over
            NFS. They hold texts, unless the store is encrypted.
        checkpoint_cache: Folder of this host for copies of what is in the database or the bucket;
            ~/.cache/mnemic/checkpoints, if not given.
        telemetry: Send a trace of each request to where the variables OTEL_* say; it contains no
            text of a memory. It needs the extra telemetry.
        quiet: Log no requests.
        run: The invocation.
    """
    require_extra()
    from mnemic.adapters.cli.invocation.extractors import chat_extractor
    from mnemic.adapters.cli.serving.access import keyring_of
    from mnemic.adapters.hosting.nearby_stores import check_meant
    from mnemic.adapters.http import server
    from mnemic.adapters.http.middleware.telemetry import tracing
    from mnemic.adapters.http.settings import Settings
    from mnemic.adapters.http.workers import check_count

    settings = Settings(
        host=host,
        port=port,
        open_loopback=open_loopback,
        origins=cors,
        read_only=read_only,
        tools=tools,
    )
    keyring = keyring_of(run, token_file, option="--token-file")
    count = _processors() if workers == "auto" else workers
    check_count(count)
    server.check_reach(keyring, settings)
    part = _part(
        cluster,
        elsewhere=elsewhere,
        read_from=read_from,
        lease_s=lease,
        is_shared=count > 1,
    )
    kept = _checkpoints(run, checkpoints, checkpoint_cache)
    if not make:
        check_meant(run.path)
    log = partial(log_to_stderr, quiet=quiet, several=count > 1)
    log()
    _begin(run, read_only=read_only)
    if not (open_loopback or server.has_live_token(keyring)):
        run.warn(
            f"no client has access yet: there is no token in {keyring.path}. Create one with "
            "`mnemic token create NAME --write SPACE`; it takes effect at once."
        )
    if part is not None and read_only:
        raise FieldRefused(
            "a host of a cluster leads spaces, so it is not read-only",
            recovery="Leave out --cluster: any host may read the database.",
            field="read_only",
        )
    extractor = None if read_only else chat_extractor(run)
    spaces = spaces_of(
        run,
        read_only=read_only,
        extractor=extractor,
        cluster=part,
        checkpoints=kept,
    )
    with extractor or nullcontext(), _given_up(run, part):
        server.run(
            spaces,
            keyring,
            settings,
            announce=lambda url: _announce(run, url, keyring),
            observing=partial(tracing, asked=telemetry),
            prepare=log,
            workers=count,
        )
    return Exit.OK


def _checkpoints(
    run: Invocation, at: str | None, cache: Path | None
) -> SharedCheckpoints | Path | None:
    """Return where checkpoints are kept.

    Raises:
        FieldRefused: The store is a file, or there is a cache of nothing, or the URL is invalid.
        Unavailable: The package for buckets is not installed.
    """
    from mnemic.adapters.checkpoints.directory import DATABASE, SharedCheckpoints, is_place

    if at is not None and not is_server(run.path):
        raise FieldRefused(
            f"{run.store} is a file, which has its checkpoints beside it",
            recovery="Leave out --checkpoints.",
            field="checkpoints",
        )
    if cache is not None and not is_place(at):
        raise FieldRefused(
            "a cache is for checkpoints in the database or in a bucket",
            recovery="Give --checkpoints database, or leave out --checkpoint-cache.",
            field="checkpoint_cache",
        )
    if at is None:
        return None
    if not is_place(at):
        return Path(at)
    if at != DATABASE:
        from mnemic.adapters.checkpoints.bucket import check_place

        check_place(at)
    return SharedCheckpoints(at=at) if cache is None else SharedCheckpoints(at=at, cache=cache)


def require_extra() -> None:
    """Check that the packages for serving are installed.

    Raises:
        Unavailable: Some are missing; the recovery says how to install them.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise Unavailable(
            f"serving needs {', '.join(missing)}",
            recovery=f"Install it: {pip_install('http')}.",
        )


def _begin(run: Invocation, *, read_only: bool) -> None:
    """Create a space in a store that has none, so that there is one to serve."""
    from mnemic.adapters.hosting.nearby_stores import spaces_in

    if not read_only and not spaces_in(run.path):
        with run.memory(making=True):
            pass


@contextmanager
def _given_up(run: Invocation, part: ClusterSettings | None) -> Generator[None]:
    """Give up the lease that several workers share when all of them have ended."""
    try:
        yield
    finally:
        if part is not None and part.is_shared:
            from mnemic.adapters.cluster.host import give_up

            give_up(str(run.path), part)


def _part(
    url: str | None,
    *,
    elsewhere: Literal["forward", "redirect"],
    read_from: str | None,
    lease_s: float,
    is_shared: bool,
) -> ClusterSettings | None:
    """Return how this host takes part in a cluster; None: it does not.

    Raises:
        FieldRefused: The URL or the lease is invalid.
    """
    if url is None:
        return None
    from mnemic.adapters.client.server import server_at
    from mnemic.adapters.cluster.settings import LEASE_MIN_S, ClusterSettings

    if not lease_s >= LEASE_MIN_S:
        raise FieldRefused(f"a lease lasts at least {LEASE_MIN_S} s, got {lease_s}", field="lease")
    return ClusterSettings(
        id=f"{url}#{uuid4().hex[:8]}",
        url=server_at(url, token="").address,
        lease_s=lease_s,
        is_shared=is_shared,
        elsewhere=elsewhere,
        read_from=read_from,
    )


def spaces_of(
    run: Invocation,
    *,
    read_only: bool,
    extractor: Extractor | None = None,
    cluster: ClusterSettings | None = None,
    checkpoints: SharedCheckpoints | Path | None = None,
) -> Spaces:
    """Return the spaces of the store, to be served."""
    from mnemic.adapters.embedders.shipped import embedder_named
    from mnemic.adapters.hosting import Spaces

    opening: dict[str, Any] = {
        "actor": SERVER,
        "read_only": read_only,
        "extractor": extractor,
        "checkpoints": checkpoints,
    }
    if run.embedder is not None and not read_only:
        opening["embedder"] = embedder_named(run.embedder)
    return Spaces(
        run.path,
        keys=run.keys,
        cluster=cluster,
        tokens=counter_named(run.counter),
        retriever=_retriever(run),
        **opening,
    )


def _retriever(run: Invocation) -> str:
    """Return how near vectors are found: a server is queried often enough for graphs to pay off."""
    return "auto" if run.retriever == "ann" else run.retriever


def _announce(run: Invocation, url: str, keyring: Keyring) -> None:
    """Print the URL of the server, and what it serves."""
    from mnemic.adapters.hosting.nearby_stores import spaces_in

    spaces = spaces_in(run.path)
    if run.as_json:
        document = {"url": url, "store": run.store, "spaces": list(spaces)}
        run.write_json(document | {"tokens": str(keyring.path)})
    else:
        for name, value in {
            "url": url,
            "store": run.store,
            "spaces": ", ".join(spaces),
            "tokens": keyring.path,
        }.items():
            run.out.print(Text(plain(f"{name:7} {value}")), soft_wrap=True)
    run.out.file.flush()


def _processors() -> int:
    """Return the number of processors available to this process, at most ``WORKERS_MAX``."""
    from mnemic.adapters.http.workers import WORKERS_MAX

    return min(processors(), WORKERS_MAX)


def log_to_stderr(*, quiet: bool, several: bool) -> None:
    """Send the log of requests and errors to standard error.

    Args:
        quiet: Log no requests.
        several: Whether several processes write it, so that each line names its process.
    """
    handler = logging.StreamHandler()
    process = "[%(process)d] " if several else ""
    handler.setFormatter(logging.Formatter(f"%(asctime)s {process}%(levelname)s %(message)s"))
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(logging.WARNING if quiet or name.startswith("uvicorn") else logging.INFO)
