"""Addresses of stores (paths, servers, ``":memory:"``), and how they are shown in messages.

A server is addressed by a libpq URI, which may contain a password. What is shown is therefore an
allow-list: user, host, port, database and schema. Everything else in an address may be a secret, or
lead to one.
"""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from attrs import field, frozen

from mnemic.kernel.errors import NotAStore
from mnemic.kernel.late import late_pattern
from mnemic.kernel.values import Value

Address: TypeAlias = str | Path
"""How a host names a store that is not open yet: see ``open_store``."""
IN_MEMORY = ":memory:"
SCHEMES = ("postgresql", "postgres")
SCHEMA = "mnemic"
"""Schema of our tables, unless the address says ``schema=``."""
ANSWER_TIMEOUT = "answer_timeout"
"""Option for how long a server may stay silent before an answer counts as lost."""
ANSWER_TIMEOUT_S = 60.0
"""Default of that option. No batch of a log takes a server this long."""
NAME_BYTES_MAX = 63
"""Longest name in PostgreSQL; a longer one would be cut. Source: its manual, 4.1.1."""
HIDDEN = "***"
_HOST = late_pattern(r"(\[[^\]]*\]|[^:\[\]]*)(:[0-9]*)?")
_SECRET = ("password", "sslpassword")
_OURS = {"schema", ANSWER_TIMEOUT}
_FORM = "postgresql://user@host/database, with ?schema=… for another schema than mnemic"


@frozen(kw_only=True)
class ServerAddress(Value):
    """A parsed server address."""

    conninfo: str = field(repr=False)
    """The URI for libpq, secrets included."""
    schema: str
    shown: str
    """The address without secrets, for messages."""
    secrets: tuple[str, ...] = field(repr=False)
    """What must not occur in any message."""
    answer_timeout_s: float = ANSWER_TIMEOUT_S
    """How long the server may stay silent before an answer counts as lost. Range: > 0."""

    def __str__(self) -> str:
        return self.shown

    @property
    def whole(self) -> str:
        """The address with its secrets and our options, which opens the same store again."""
        options = {"schema": self.schema, ANSWER_TIMEOUT: f"{self.answer_timeout_s:g}"}
        mark = "&" if urlsplit(self.conninfo).query else "?"
        return f"{self.conninfo}{mark}{urlencode(options, quote_via=quote)}"

    def censored(self, message: object) -> str:
        """Return *message* on one line, without the secrets of this address."""
        told = " ".join(str(message).split())
        for secret in self.secrets:
            told = told.replace(secret, HIDDEN)
        return told


def address_of(given: str) -> Address:
    """Return the address that *given* names: that of a server, or else a path."""
    return given if "://" in given else Path(given)


def told(address: Address) -> str:
    """Return *address* as it may be shown: without the password of a server."""
    if is_server(address):
        return parsed(str(address)).shown
    if isinstance(address, Path) or is_file(address) or address == IN_MEMORY:
        return str(address)
    return f"{address.partition('://')[0]}://…"  # the rest of an unknown scheme may be secret


def is_file(address: Address) -> bool:
    """Return whether *address* names a file, rather than a server or ``":memory:"``."""
    return isinstance(address, Path) or (str(address) != IN_MEMORY and "://" not in address)


def is_server(address: object) -> bool:
    """Return whether *address* names a PostgreSQL server."""
    return isinstance(address, str) and address.partition("://")[0].lower() in SCHEMES


def parsed(
    address: str, *, schema: str | None = None, answer_timeout_s: float | None = None
) -> ServerAddress:
    """Return *address* parsed.

    Args:
        address: ``postgresql://user@host:port/database?option=value``, as libpq takes it. Its
            options ``schema`` and ``answer_timeout`` are ours.
        schema: Schema of the tables; None: as the address says, else ``mnemic``.
        answer_timeout_s: How long the server may be silent; None: as the address says, else 60.

    Raises:
        NotAStore: The address is malformed, or the schema or the time-out has an impossible value.
    """
    try:
        parts = urlsplit(address)
        # libpq takes "+" literally, and so do we.
        query = parts.query.replace("+", "%2B")
        options = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise _misfit("is no address of a PostgreSQL server") from None
    if parts.scheme.lower() not in SCHEMES:
        raise _misfit("is no address of a PostgreSQL server")
    named = dict(options)
    schema = schema or named.pop("schema", SCHEMA)
    # A percent sign would begin a placeholder in some statements and not in others.
    if not schema or len(schema.encode()) > NAME_BYTES_MAX or not {"\0", "%"}.isdisjoint(schema):
        raise _misfit(f"names an invalid schema: {schema!r:.80}")
    bare = urlencode(
        [(name, value) for name, value in options if name not in _OURS], quote_via=quote
    )
    login, _, places = parts.netloc.rpartition("@")
    hosts, strays = _hosts(places)
    user, _, password = login.partition(":")
    return ServerAddress(
        conninfo=urlunsplit(("postgresql", parts.netloc, parts.path, bare, "")),
        schema=schema,
        shown=_shown(named | {"user": named.get("user", unquote(user))}, hosts, parts.path, schema),
        secrets=_secrets(password, *strays, *(named.get(name, "") for name in _SECRET)),
        answer_timeout_s=_seconds(named.get(ANSWER_TIMEOUT), answer_timeout_s),
    )


def _seconds(said: str | None, given: float | None) -> float:
    """Return how long a server may stay silent.

    Raises:
        NotAStore: The value is not a time.
    """
    wanted = next(each for each in (given, said, ANSWER_TIMEOUT_S) if each is not None)
    try:
        seconds = float(wanted)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < inf:
        raise _misfit(f"has an invalid {ANSWER_TIMEOUT}, in seconds: {wanted!r:.80}")
    return seconds


def _hosts(places: str) -> tuple[str, list[str]]:
    """Return the hosts and ports that may be shown, and the values found in place of a port.

    Such a value may be a password, in an address whose host was left out.
    """
    shown: list[str] = []
    strays: list[str] = []
    for each in places.split(","):
        host, port = _HOST.fullmatch(each), each.rpartition(":")[2]
        if host is None:
            strays.append(port)
        shown.append(each if host is not None else each.removesuffix(port) + HIDDEN)
    return ",".join(shown), strays


def _shown(named: dict[str, str], place: str, path: str, schema: str) -> str:
    user = quote(named["user"], safe="") + "@" if named["user"] else ""
    database = quote(named["dbname"], safe="") if "dbname" in named else path.lstrip("/")
    told: list[tuple[str, str]] = [
        (each, named[each]) for each in ("host", "port") if each in named
    ]
    if schema != SCHEMA:
        told.append(("schema", schema))
    query = urlencode(told, quote_via=quote, safe="/")
    return f"postgresql://{user}{place}/{database}" + (f"?{query}" if query else "")


def _secrets(*given: str) -> tuple[str, ...]:
    found = {*given, *map(unquote, given)}
    # The longest first: one secret may be part of another.
    return tuple(sorted((each for each in found if each), key=len, reverse=True))


def _misfit(what: str) -> NotAStore:
    """Return the error for a malformed address, which is not quoted: it may hold a password."""
    return NotAStore(f"the given address {what}", recovery=f"Write it like {_FORM}.")
