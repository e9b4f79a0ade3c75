"""Settings of a server: address, access, and limits."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Literal

from attrs import field, frozen
from attrs.validators import ge, gt

from mnemic.adapters.transfer.exports.importing import IMPORT_BYTES_MAX

PORT = 8377
MEGABYTE = 1 << 20


@frozen(kw_only=True)
class Settings:
    """The settings of a server. All limits are per process; each of several workers has its own."""

    host: str = "127.0.0.1"
    """Address to listen at."""
    port: int = PORT
    """0: any free port."""
    open_loopback: bool = False
    """Whether requests from this machine need no token and have all permissions."""
    read_only: bool = False
    """Whether all writes are refused, for every token."""
    tools: Literal["core", "all"] = "core"
    """Which tools are listed to agents under ``/mcp``."""
    origins: tuple[str, ...] = ()
    """Web origins whose pages may send requests (CORS); ``*`` is every one. Empty: none may."""

    body_max_bytes: int = field(default=16 * MEGABYTE, validator=ge(1))
    query_max_bytes: int = field(default=16 * 1024, validator=ge(1))
    """Length of path and query together."""
    body_timeout_s: float = field(default=30.0, validator=gt(0))
    """Until the whole body of a request must have arrived."""
    call_timeout_s: float = field(default=60.0, validator=gt(0))
    """Until an operation must have answered, including the wait for a thread."""
    long_timeout_s: float = field(default=3600.0, validator=gt(0))
    """The same for long operations, like a verification of everything."""
    import_max_bytes: int = field(default=IMPORT_BYTES_MAX, validator=ge(1))
    """Size of an imported memory; it is written to the disk as it arrives. More than the default is
    refused by every interface."""
    transfers_max: int = field(default=4, validator=ge(1))
    """Exports and imports in progress at once."""
    temporary_exports: str | None = None
    """Folder for their temporary files; None: the system's folder for temporary files."""
    streams_max: int = field(default=256, validator=ge(1))
    """Event streams open at once."""
    heartbeat_s: float = field(default=15.0, validator=gt(0))
    """Silence after which a stream sends a comment, since proxies close idle streams."""
    threads: int = field(default=16, validator=ge(1))
    """Operations that run at once."""
    waiting_max: int = field(default=128, validator=ge(0))
    """Requests that may wait for a thread; the next one is refused with Retry-After."""
    retry_after_s: int = field(default=1, validator=ge(1))
    idle_timeout_s: int = field(default=75, validator=ge(1))
    """Of a connection between two requests."""
    head_timeout_s: float = field(default=20.0, validator=gt(0))
    """Until request line and headers must have arrived."""
    connections_max: int = field(default=1000, validator=ge(1))
    """Beyond it, a new connection replaces a silent one; without one, requests are refused."""
    grace_s: float = field(default=30.0, validator=gt(0))
    """How long a stopping server waits for requests in progress."""
    silence_max_s: float = field(default=30.0, validator=ge(2.0))
    """With several workers: for how long the interpreter of one may not run before the worker is
    killed and replaced. Infinite: for ever."""

    @property
    def is_on_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Return whether an address or a name, without a port, belongs to this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
