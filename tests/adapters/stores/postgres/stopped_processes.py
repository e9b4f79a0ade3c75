"""Server processes that hang: they exist but do nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager

import psycopg

SESSIONS = """SELECT pid FROM pg_stat_activity
    WHERE application_name = 'mnemic' AND query LIKE %s ORDER BY pid"""
POSTMASTER = "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int"


def sessions(server: str, asked: str = "%") -> list[int]:
    """Return the server processes of stores whose last query was like *asked*."""
    with closing(psycopg.connect(server, autocommit=True)) as connection:
        return [pid for (pid,) in connection.execute(SESSIONS, (asked,)).fetchall()]


def postmaster(server: str) -> int:
    """Return the process that accepts connections."""
    with closing(psycopg.connect(server, autocommit=True)) as connection:
        row = connection.execute(POSTMASTER).fetchone()
    assert row is not None
    return int(row[0])


@contextmanager
def stopped(pids: Sequence[int]) -> Generator[None]:
    """Stop processes for a ``with`` block."""
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
