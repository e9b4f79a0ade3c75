"""What a server may be told: where it listens, who may come in, and how much it takes on."""

from __future__ import annotations

from ipaddress import ip_address

from attrs import field, frozen
from attrs.validators import ge, gt

PORT = 8377
MEGABYTE = 1 << 20


@frozen(kw_only=True)
class Settings:
    """The settings of a server. All limits are per process: of several workers, each has them."""

    host: str = "127.0.0.1"
    """Address to listen at."""
    port: int = PORT
    """0: one that is free."""
    open_loopback: bool = False
    """Whether whoever sits at this machine may come in without a token, and do everything."""
    read_only: bool = False
    """Whether nobody may write, whatever their token."""
    origins: tuple[str, ...] = ()
    """Web origins whose pages may ask (CORS); ``*`` is every one. None: pages may not."""

    body_max_bytes: int = field(default=16 * MEGABYTE, validator=ge(1))
    query_max_bytes: int = field(default=16 * 1024, validator=ge(1))
    """Of path and query together."""
    body_timeout_s: float = field(default=30.0, validator=gt(0))
    """Until the whole body of a request has to be there."""
    call_timeout_s: float = field(default=60.0, validator=gt(0))
    """Until a verb has to have answered, waiting for a thread included."""
    long_timeout_s: float = field(default=3600.0, validator=gt(0))
    """The same of verbs that take long, like a verification of everything."""
    import_max_bytes: int = field(default=16 * 1024 * MEGABYTE, validator=ge(1))
    """Of a memory that is brought as a whole; it goes to the disk as it comes."""
    transfers_max: int = field(default=4, validator=ge(1))
    """Exports and imports that are under way at once."""
    spool: str | None = None
    """Where they lie on their way; None: in the system's folder for temporary files."""
    streams_max: int = field(default=256, validator=ge(1))
    """Streams of events that are open at once."""
    heartbeat_s: float = field(default=15.0, validator=gt(0))
    """Silence after which a stream says that it lives. Proxies cut off what is silent for long."""
    threads: int = field(default=16, validator=ge(1))
    """Verbs that run at once."""
    waiting_max: int = field(default=128, validator=ge(0))
    """Requests that wait for a thread; the next one is told to come again."""
    retry_after_s: int = field(default=1, validator=ge(1))
    idle_timeout_s: int = field(default=75, validator=ge(1))
    """Of a connection between two requests."""
    head_timeout_s: float = field(default=20.0, validator=gt(0))
    """Until first line and headers of a request have to be there."""
    connections_max: int = field(default=1000, validator=ge(1))
    grace_s: float = field(default=30.0, validator=gt(0))
    """How long a server that stops waits for what is under way."""
    silence_max_s: float = field(default=30.0, validator=ge(2.0))
    """Of several workers: for how long the event loop of one may stand still before the worker is
    killed, and another takes its place. Infinite: for ever."""

    @property
    def is_on_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Return whether an address or a name, without a port, is of this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
