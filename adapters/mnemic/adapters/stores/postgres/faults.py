"""Maps errors of PostgreSQL and its driver to those of mnemic. No message holds a password."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from eventsourcing.persistence import ConnectionPoolClosedError

from mnemic.adapters.stores.addresses import ANSWER_TIMEOUT, ServerAddress
from mnemic.adapters.stores.postgres.connections import Forked, Lost, Unreplicated
from mnemic.kernel.errors import (
    Closed,
    LogCorrupt,
    MnemicError,
    NotAStore,
    StoreBusy,
    StoreFailed,
    StoreFull,
)

_RIGHTS = "Let the user use the schema and its tables, or name another user in the address."
_LOGIN = (
    "Check the user in the address, and its password there, in PGPASSWORD or in a password file."
)
_CROWD = (
    "Close other connections, or raise max_connections on the server; each process of mnemic keeps "
    "a few."
)
_WAIT = "Wait until the server has started, then try again."
_READ_ONLY = "Name the primary server, or open the store with read_only=True."
_TABLES = "Restore the tables from a backup, or name another schema with ?schema=… in the address."
_DATABASE = "Make the database (createdb), or name another in the address."
_SERVER = (
    "Check the host and the port in the address, whether the server runs, and the network between."
)
_SILENCE = (
    "See whether a process of the server hangs, and check the network between. An answer that "
    f"takes longer has the time that {ANSWER_TIMEOUT}=… in the address allows, in seconds."
)

_STATES: dict[str, tuple[type[MnemicError], str | None]] = {
    "25006": (StoreFailed, _READ_ONLY),
    "28": (StoreFailed, _LOGIN),
    "3D000": (StoreFailed, _DATABASE),
    "3F000": (NotAStore, _TABLES),
    "40": (StoreBusy, None),
    "42501": (StoreFailed, _RIGHTS),
    "42703": (NotAStore, _TABLES),
    "42P01": (NotAStore, _TABLES),
    "53100": (StoreFull, "Free some disk space on the server and repeat; nothing was lost."),
    "53300": (StoreBusy, _CROWD),
    "55P03": (StoreBusy, None),
    "57014": (StoreBusy, "Raise statement_timeout for this user, or try again."),
    "57P": (StoreFailed, _WAIT),
    "XX001": (LogCorrupt, None),
    "XX002": (LogCorrupt, "Rebuild the indexes on the server (REINDEX), then try again."),
}
"""By SQLSTATE, or its prefix. Source: the manual of PostgreSQL, appendix A."""

_WORDS: tuple[tuple[re.Pattern[str], type[MnemicError], str | None], ...] = tuple(
    (re.compile(words), kind, recovery)
    for words, kind, recovery in (
        ("too many (clients|connections)|connection slots", StoreBusy, _CROWD),
        ("starting up|shutting down|in recovery mode", StoreFailed, _WAIT),
        ("authentication failed|no password|role .* does not exist", StoreFailed, _LOGIN),
        ("no pg_hba.conf entry|permission denied|not permitted", StoreFailed, _LOGIN),
        ("database .* does not exist", StoreFailed, _DATABASE),
        ("invalid .*(option|parameter|integer|value|URI)", NotAStore, "Correct the address."),
    )
)
"""Refused connections come as a sentence without SQLSTATE. A server in another language falls
through, to the most general recovery."""


@contextmanager
def named(address: ServerAddress) -> Generator[None]:
    """Convert what PostgreSQL and its driver raise about *address* to our errors."""
    try:
        yield
    except (psycopg.Error, ConnectionPoolClosedError, Lost, Forked) as error:
        raise fault(error, address) from _recorded(error, address)


def fault(error: Exception, address: ServerAddress) -> MnemicError:
    """Return the error of mnemic that corresponds to *error*."""
    shown = address.shown
    if isinstance(error, ConnectionPoolClosedError):
        return Closed(f"the store {shown} is closed", path=shown)
    if isinstance(error, Forked):
        return StoreFailed(
            f"the store {shown} was opened by another process",
            recovery="Open it after the fork, in each process for itself.",
            path=shown,
        )
    if isinstance(error, Unreplicated):
        return unreplicated(address)
    if isinstance(error, Lost):
        return StoreFailed(
            f"{shown}: the connection was lost: {error}",
            recovery=_SILENCE if error.is_silence else _SERVER,
            path=shown,
        )
    said = address.censored(error)
    kind, recovery = _meant(error, said)
    return kind(f"{shown}: {said}", recovery=recovery, path=shown)


def unreplicated(address: ServerAddress) -> StoreFailed:
    """Return the error for a commit of which it is unknown whether the replicas have it."""
    return StoreFailed(
        f"{address.shown}: something was written, and a wait for the server's replicas was ended "
        "before they had answered: if the server fails now, it may be lost",
        recovery="When the replicas are back, repeat the command with its command id: what was "
        "written is answered, and not written twice.",
        path=address.shown,
    )


def _meant(error: Exception, said: str) -> tuple[type[MnemicError], str | None]:
    state: str | None = getattr(error, "sqlstate", None)
    if state is not None:
        for start in (state, state[:3], state[:2]):
            if start in _STATES:
                return _STATES[start]
        return StoreFailed, "See the server's own log, then try again."
    for words, kind, recovery in _WORDS:
        if words.search(said):
            return kind, recovery
    if isinstance(error, psycopg.OperationalError):
        return StoreFailed, _SERVER
    return StoreFailed, "Check the address and what the server says, then try again."


def _recorded(error: Exception, address: ServerAddress) -> Exception | None:
    """Return *error* as the cause of ours, unless its message holds a secret."""
    held = str(error)
    return None if any(secret in held for secret in address.secrets) else error
