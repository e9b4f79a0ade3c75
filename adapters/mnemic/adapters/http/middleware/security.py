"""Authentication and permissions: bearer tokens, or loopback access without one if enabled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from attrs import frozen

from mnemic.adapters.access import Keyring, Token
from mnemic.adapters.http.middleware.request_ids import LOGGED
from mnemic.adapters.http.settings import Settings, is_loopback
from mnemic.adapters.inprocess.registry import Scope
from mnemic.adapters.remote.asgi_requests import header
from mnemic.adapters.remote.shares import Client, client_of
from mnemic.adapters.remote.transport_errors import HostRefused, OriginRefused
from mnemic.kernel.errors import Forbidden, SpaceNotFound, Unauthenticated, ViewReadOnly

BEARER = "bearer"
LOCAL = "local"
"""Actor in the log for requests from this machine without a token."""
CHALLENGE = 'Bearer realm="mnemic"'
"""Challenge of a response with status 401. Source: RFC 6750, section 3."""

FORWARDED = frozenset(
    [b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"true-client-ip", b"cf-connecting-ip"]
)
"""Headers of a request that a proxy forwards: the peer of the connection is not the client."""
FORWARDED_PREFIX = b"x-forwarded-"
"""The beginning of others: ``-for``, ``-host``, ``-proto``, ``-port`` and so on."""


@frozen(kw_only=True)
class Caller:
    """The authenticated origin of a request."""

    name: str
    """Actor in the log."""
    token: Token | None = None
    """None: a request from this machine without a token, which has all permissions."""

    @property
    def zone(self) -> str | None:
        """Trust zone of what the caller writes; None: full trust."""
        return None if self.token is None else self.token.zone

    @property
    def client(self) -> Client | None:
        """The client whose share of the server the requests use; None: they are not limited."""
        return client_of(self.token)

    def allows(self, space: str, scope: Scope) -> bool:
        """Return whether the caller has *scope* on *space*."""
        return self.token is None or self.token.allows(space, scope)

    def sees(self, space: str) -> bool:
        """Return whether the caller may know that the space exists."""
        return self.allows(space, "read")

    def require(self, space: str, scope: Scope) -> None:
        """Refuse a caller without *scope* on a space that the caller may see.

        Raises:
            Forbidden: The token does not have the scope.
        """
        if self.token is not None:
            self.token.require(space, scope)


Authenticate = Callable[[Any], Caller]
"""Returns the caller of a request, given its ASGI scope."""


def authentication(keyring: Keyring, settings: Settings) -> Authenticate:
    """Return the function that authenticates requests.

    A request without a token is accepted only if the settings allow it, and the server, the peer
    and the requested host name all belong to this machine: a page from another site can make a host
    name of its own resolve to this machine (DNS rebinding), but cannot make the browser send our
    host name with it. It can make the browser send a request to our host name, without seeing the
    response. For requests that change something the browser then sends the origin of the page, and
    that has to be this machine as well.
    """
    is_open = settings.open_loopback and settings.is_on_loopback

    def authenticate(scope: Any) -> Caller:
        """Return the caller of a request.

        Raises:
            Unauthenticated: The caller cannot be identified.
            HostRefused, OriginRefused: It came without a token, and its host name or origin does
                not belong to this machine.
        """
        shown = header(scope, b"authorization")
        if shown is None and is_open:
            check_local(scope)
            check_origin(scope, settings)
            return Caller(name=LOCAL)
        token = keyring.admit(bearer(shown))
        scope.get(LOGGED, {}).update(token=token.id)
        return Caller(name=token.name, token=token)

    return authenticate


def bearer(shown: str | None) -> str | None:
    """Return the secret in the header ``Authorization``.

    Raises:
        Unauthenticated: It is of another scheme.
    """
    if shown is None:
        return None
    scheme, _, secret = shown.partition(" ")
    if scheme.lower() != BEARER:
        raise Unauthenticated("the header Authorization holds no bearer token")
    return secret.strip()


def check_local(scope: Any) -> None:
    """Refuse a request that did not come from this machine and to a name of this machine.

    Raises:
        HostRefused: The requested host name does not belong to this machine.
        Unauthenticated: It came from another machine.
    """
    if any(name in FORWARDED or name.startswith(FORWARDED_PREFIX) for name, _ in scope["headers"]):
        raise Unauthenticated("no token was sent, and the request came through a proxy")
    peer = scope.get("client")
    if peer is None or not is_loopback(peer[0]):
        raise Unauthenticated("no token was sent, which is accepted from this machine only")
    host = header(scope, b"host") or ""
    if not is_loopback(_name(host)):
        raise HostRefused(f"the request asks for {host!r:.100}, which is no name of this machine")


def check_origin(scope: Any, settings: Settings) -> None:
    """Refuse a request that a page of another site makes, by its header ``Origin``.

    Raises:
        OriginRefused: The origin is neither this machine nor one that the settings name.
    """
    origin = header(scope, b"origin")
    if origin is None or origin in settings.origins or "*" in settings.origins:
        return
    if not is_loopback(_host_of(origin)):
        raise OriginRefused(
            f"the request comes from a page of {origin!r:.100}, which is not on this machine"
        )


def unseen(space: str) -> SpaceNotFound:
    """Return the error for a space that does not exist or that the caller may not see."""
    return SpaceNotFound(
        f"there is no space {space!r:.200}",
        recovery="Name a space that GET /v1/spaces lists, or let an admin make it with PUT.",
        space=space,
    )


def check_scope(caller: Caller, space: str, scope: Scope, *, besides: str = "") -> None:
    """Refuse a caller without a scope, without revealing whether the space exists.

    Args:
        caller: The caller.
        space: The space.
        scope: The required scope.
        besides: Further advice for a caller who may see the space, in a sentence.

    Raises:
        SpaceNotFound: They may not see the space.
        Forbidden: They may see it, but do not have the scope.
    """
    if not caller.sees(space):
        raise unseen(space)
    try:
        caller.require(space, scope)
    except Forbidden as error:
        if besides:
            error.recovery += f" {besides}"
        raise


def check_writes(settings: Settings, scope: Scope) -> None:
    """Refuse writes on a read-only server.

    Raises:
        ViewReadOnly: The server only reads.
    """
    if settings.read_only and scope != "read":
        raise ViewReadOnly(
            "this server only reads",
            recovery="Ask a server that also writes: `mnemic serve` without --read-only, or "
            "`mnemic explore --write`.",
        )


def _name(host: str) -> str:
    """Return the header ``Host`` without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _host_of(origin: str) -> str:
    """Return the host in the header ``Origin``; empty if there is none."""
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""
