"""The command explore: the explorer in a browser."""

from __future__ import annotations

import subprocess
import sys
import webbrowser
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode
from urllib.request import urlopen

from attrs import evolve
from rich.text import Text

from mnemic.adapters.cli.invocation.context import Flag, Invocation, Run, plain
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.cli.serving.serve import log_to_stderr, require_extra, spaces_of
from mnemic.kernel.errors import Unavailable

if TYPE_CHECKING:
    from mnemic.adapters.http.settings import Settings

CLONE: Final = Path(__file__).parents[5]
"""The clone that holds this module; of an installed package it is none."""
SPACE: Final = "default"
DEMO: Final = Path("build") / "demo" / "fortnight.db"
"""Where `make demo` leaves its store, in a clone."""
FAILURE_SHOWN: Final = 300
"""Characters of the end of what a failed example printed."""


def explore(
    *,
    demo: Flag = False,
    write: Flag = False,
    host: str = "127.0.0.1",
    port: int = 0,
    token_file: Path | None = None,
    no_browser: Flag = False,
    run: Run,
) -> int:
    """Look at the memory in a browser: what it knew at any moment, and why it answered so.

    ```
    mnemic explore
    mnemic explore --demo
    mnemic explore --db agent.db --space default --port 8378
    ```

    It shows the decisions, the worst first, and everything as of any moment of the log. Nothing is
    written unless `--write` is given. It is served to this machine alone, without a token; a server
    (`mnemic serve`) has the same page under /explore/. Stop it with Ctrl-C.

    Args:
        demo: Show the two-week example of `make demo`, in a clone; it is built if it is missing.
        write: Let the page, and any program on this machine, write to the memory.
        host: Address to listen at. Other machines need tokens; see `mnemic token --help`.
        port: Port to listen at; 0 is any that is free.
        token_file: The file of tokens: STORE.tokens next to the store, if not given.
        no_browser: Print the address and open no browser. Without a terminal none is opened.
        run: The invocation.
    """
    require_extra()
    from mnemic.adapters.cli.serving.access import keyring_of
    from mnemic.adapters.hosting.nearby_stores import spaces_in
    from mnemic.adapters.http import server
    from mnemic.adapters.http.settings import Settings, is_loopback

    if demo:
        run = evolve(run, path=demo_store(run), space=SPACE)
    if run.space not in spaces_in(run.path):
        with run.memory(read_only=True):
            pass  # says whether the store or the space is missing
    settings = Settings(host=host, port=port, open_loopback=is_loopback(host), read_only=not write)
    keyring = keyring_of(run, token_file, option="--token-file")
    server.check_reach(keyring, settings)
    log = partial(log_to_stderr, quiet=True, several=False)
    log()
    server.run(
        spaces_of(run, read_only=not write),
        keyring,
        settings,
        announce=lambda url: _announce_loaded(run, url, settings, opening=not no_browser),
        prepare=log,
    )
    return Exit.OK


def _announce_loaded(run: Invocation, url: str, settings: Settings, *, opening: bool) -> None:
    """Announce the page once the server has loaded the space, so that it appears at once.

    The server serves after this returns. Where a token is needed the page is announced at once.
    """

    def announce() -> None:
        if settings.open_loopback:
            with suppress(OSError):  # what is wrong, the page will say
                urlopen(f"{url}/v1/spaces/{quote(run.space, safe='')}/decisions").close()  # noqa: S310
        _announce(run, f"{url}/explore/?{urlencode({'space': run.space})}", opening=opening)

    Thread(target=announce, daemon=True).start()


def _announce(run: Invocation, page: str, *, opening: bool) -> None:
    """Print the address of the page, and open it in a browser if there is a terminal."""
    if run.as_json:
        run.write_json({"url": page, "store": run.store})
    else:
        run.out.print(Text(plain(f"Explore {run.store} at {page}")), soft_wrap=True)
    run.out.file.flush()
    if opening and not run.as_json and sys.stdout.isatty():
        webbrowser.open(page)


def demo_store(run: Invocation, clone: Path = CLONE) -> Path:
    """Return the store of the two-week example, built first if it is missing.

    Raises:
        Unavailable: This is not a clone, or the example failed.
    """
    store, script = clone / DEMO, clone / "examples" / "fortnight.py"
    if store.is_file():
        return store
    if not script.is_file():
        raise Unavailable(
            "the two-week example is part of a clone of mnemic, not of the package",
            recovery="Run this command in a clone.",
        )
    run.err.print(Text(f"Building the two-week example at {DEMO}: some seconds."), soft_wrap=True)
    store.parent.mkdir(parents=True, exist_ok=True)
    # Built beside its place, so that an interrupted build leaves no half of it there.
    with TemporaryDirectory(dir=store.parent) as folder:
        command = [sys.executable, str(script), folder]
        built = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
        if built.returncode:
            raise Unavailable(
                f"the two-week example failed: {built.stderr[-FAILURE_SHOWN:]}",
                recovery="Run `make demo` in the clone to see all of it.",
            )
        for file in sorted(Path(folder).iterdir(), reverse=True):  # the store last
            file.replace(store.with_name(file.name))
    return store
