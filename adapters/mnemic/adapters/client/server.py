"""The settings of a connection to a server: address, token, timeout and retries."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as release_of
from ipaddress import ip_address
from math import isfinite
from typing import Final
from urllib.parse import urlsplit

from attrs import field, frozen

from mnemic.kernel.errors import FieldRefused, Unavailable
from mnemic.kernel.validation import checked_name

TOKEN_VARIABLE: Final = "MNEMIC_TOKEN"  # noqa: S105 - where it is, not what it is
TIMEOUT_S: Final = 75.0
"""Longer than a server lets an operation run, so that the server's own timeout comes first."""
RETRIES: Final = 2
BACKOFF_S: Final = 0.2
RETRIES_MAX: Final = 100
SECONDS_MAX: Final = 86_400.0


class ServerUnreachable(Unavailable):
    """No server of mnemic answered, despite retries."""

    code = "server-unreachable"
    default_recovery = (
        "Check that `mnemic serve` runs at this address, then try again. A write that was not "
        "answered may have been done: repeat it with the command_id in the facts of this error."
    )


@frozen(kw_only=True)
class Server:
    """The address, token and retry settings of a server."""

    address: str
    """Such as ``http://127.0.0.1:8377``, without a slash at its end."""
    token: str = field(repr=False)
    """Empty: none."""
    timeout_s: float = TIMEOUT_S
    """How long to wait for a connection, and for each part of an answer."""
    retries: int = RETRIES
    """How often a request that may be repeated is sent again."""
    backoff_s: float = BACKOFF_S
    """The first pause; each later one is twice the one before."""
    read_your_writes: bool = False
    """Whether each answer must be of the last version seen of its space, at least."""

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine, where no proxy is used."""
        host = urlsplit(self.address).hostname or ""
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    @property
    def headers(self) -> dict[str, str]:
        """The headers that identify the client in every request."""
        answer = {"User-Agent": f"mnemic-client/{_release()}"}
        return {**answer, "Authorization": f"Bearer {self.token}"} if self.token else answer


def server_at(
    address: str,
    *,
    token: str | None = None,
    timeout_s: float = TIMEOUT_S,
    retries: int = RETRIES,
    backoff_s: float = BACKOFF_S,
    read_your_writes: bool = False,
) -> Server:
    """Return checked settings of a server; nothing is sent.

    Args:
        address: A plain ``http`` or ``https`` address; a path is the prefix of a proxy.
        token: None: the environment's ``MNEMIC_TOKEN``, if there is one. Empty: none.
        timeout_s: In seconds. Range: (0, 86400].
        retries: Range: [0, 100].
        backoff_s: In seconds. Range: [0, 86400].
        read_your_writes: Whether each answer must be of the last version seen of its space.

    Raises:
        FieldRefused: One of them is invalid.
    """
    _check_number("timeout_s", timeout_s, SECONDS_MAX)
    if timeout_s == 0:
        raise FieldRefused("timeout_s must be above 0", field="timeout_s")
    _check_number("backoff_s", backoff_s, SECONDS_MAX)
    _check_number("retries", retries, RETRIES_MAX)
    if not isinstance(retries, int):
        raise FieldRefused(f"retries must be a whole number, got {retries!r}", field="retries")
    return Server(
        address=_address(address),
        token=_token(os.environ.get(TOKEN_VARIABLE, "") if token is None else token),
        timeout_s=timeout_s,
        retries=retries,
        backoff_s=backoff_s,
        read_your_writes=read_your_writes,
    )


def space_named(space: object) -> str:
    """Return the name of a space.

    Raises:
        FieldRefused: It is not a valid name.
    """
    return checked_name("space", space)


def _address(given: object) -> str:
    """Return an address without a slash at its end.

    Raises:
        FieldRefused: It is not a plain one. The message omits it, since it may contain a password.
    """
    refused = FieldRefused(
        "the address of the server is not a plain one",
        recovery="Write it like http://127.0.0.1:8377, without user, query or fragment.",
        field="address",
    )
    if not isinstance(given, str):
        raise refused
    try:
        parts = urlsplit(given.strip())
        is_plain = parts.port != 0 and "@" not in parts.netloc and parts.netloc.isascii()
    except ValueError as error:
        raise refused from error
    if not (is_plain and parts.hostname and parts.scheme in {"http", "https"}):
        raise refused
    is_path = parts.path.isascii() and parts.path.isprintable() and " " not in parts.path
    if parts.query or parts.fragment or not is_path:
        raise refused
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _token(given: object) -> str:
    """Return a token that fits into a header.

    Raises:
        FieldRefused: It does not. The message omits it.
    """
    token = given.strip() if isinstance(given, str) else "\n"
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise FieldRefused(
            "the token is not a word of printable ASCII characters",
            recovery="Give the token as `mnemic token create` printed it.",
            field="token",
        )
    return token


def _check_number(name: str, value: object, most: float) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not isfinite(value) or not 0 <= value <= most:  # type: ignore[arg-type,operator]
        raise FieldRefused(f"{name} must be from 0 to {most:g}, got {value!r}", field=name)


def _release() -> str:
    try:
        return release_of("mnemic")
    except PackageNotFoundError:
        return "unknown"
