"""Who asks, and what they may: bearer tokens, or whoever sits at the machine if that is wished."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from attrs import frozen

from mnemic.adapters.access import Keyring, Token
from mnemic.adapters.http.failures import HostRefused, OriginRefused
from mnemic.adapters.http.settings import Settings, is_loopback
from mnemic.adapters.wire.verbs import Scope
from mnemic.kernel.errors import Forbidden, PointOutOfRange, Unauthenticated, ViewReadOnly

BEARER = "bearer"
LOCAL = "local"
"""Who acts, as the log names whoever comes from this machine without a token."""
CHALLENGE = 'Bearer realm="mnemic"'
"""What an answer 401 asks for. Source: RFC 6750, section 3."""

FORWARDED = (b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via")
"""Headers of a request that a proxy passes on: who asks is not who has connected."""


@frozen(kw_only=True)
class Caller:
    """Who makes a request."""

    name: str
    """As the log names them."""
    token: Token | None = None
    """None: they sit at the machine, and may do everything."""

    @property
    def zone(self) -> str | None:
        """How far what they write is trusted; None: in full."""
        return None if self.token is None else self.token.zone

    def allows(self, space: str, scope: Scope) -> bool:
        """Return whether they may do as much as *scope* in *space*."""
        return self.token is None or self.token.allows(space, scope)

    def sees(self, space: str) -> bool:
        """Return whether they may know that there is such a space."""
        return self.allows(space, "read")

    def require(self, space: str, scope: Scope) -> None:
        """Refuse what they may not, in a space that they may see.

        Raises:
            Forbidden: Their token does not reach as far.
        """
        if self.token is not None:
            self.token.require(space, scope)


Authenticate = Callable[[Any], Caller]
"""Tells who makes a request, by its ASGI scope."""


def authentication(keyring: Keyring, settings: Settings) -> Authenticate:
    """Return what tells callers apart.

    A request without a token is let in only if the settings say so, and the server, the peer and
    the address that was asked for are all of this machine: a page that was loaded from elsewhere
    can make a name of its own point to this machine, but cannot make the browser ask for ours. What
    it can is to let the browser ask our name, without seeing the answer. Of whatever changes
    something the browser then says where the page is from, and that has to be of this machine too.
    """
    is_open = settings.open_loopback and settings.is_on_loopback

    def authenticate(scope: Any) -> Caller:
        """Return who makes a request.

        Raises:
            Unauthenticated: Nobody knows.
            HostRefused, OriginRefused: It came without a token, by a way that only looks like this
                machine's.
        """
        shown = header(scope, b"authorization")
        if shown is None and is_open:
            check_local(scope)
            check_origin(scope, settings)
            return Caller(name=LOCAL)
        token = keyring.admit(bearer(shown))
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
    """Refuse a request that did not come from this machine, by its own name.

    Raises:
        HostRefused: Which of the two it was.
        Unauthenticated: It came from another machine.
    """
    if any(header(scope, name) is not None for name in FORWARDED):
        raise Unauthenticated("no token was sent, and the request came by way of a proxy")
    peer = scope.get("client")
    if peer is None or not is_loopback(peer[0]):
        raise Unauthenticated("no token was sent, and without one only this machine may come in")
    host = header(scope, b"host") or ""
    if not is_loopback(_name(host)):
        raise HostRefused(f"the request asks for {host!r:.100}, which is no name of this machine")


def check_origin(scope: Any, settings: Settings) -> None:
    """Refuse a request that a page from elsewhere makes, by its header ``Origin``.

    Raises:
        OriginRefused: It is neither of this machine nor one that the settings name.
    """
    origin = header(scope, b"origin")
    if origin is None or origin in settings.origins or "*" in settings.origins:
        return
    if not is_loopback(_host_of(origin)):
        raise OriginRefused(f"a page of {origin!r:.100} asks, which is not of this machine")


def unseen(space: str) -> PointOutOfRange:
    """Return the one refusal for a space that is not there or that a caller may not see."""
    return PointOutOfRange(
        f"there is no space {space!r:.200}",
        recovery="Name a space that GET /v1/spaces lists, or let an admin make it with PUT.",
        space=space,
    )


def check_scope(caller: Caller, space: str, scope: Scope, *, besides: str = "") -> None:
    """Refuse what a caller may not do, without saying whether a space is there.

    Args:
        caller: Who asks.
        space: For which space.
        scope: What has to be theirs.
        besides: What else would help whoever may see the space, in a sentence.

    Raises:
        PointOutOfRange: They may not see it.
        Forbidden: They may see it, and not do that.
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
    """Refuse to write where nobody may.

    Raises:
        ViewReadOnly: The server only reads.
    """
    if settings.read_only and scope != "read":
        raise ViewReadOnly(
            "this server only reads", recovery="Ask a server that was started without --read-only."
        )


def header(scope: Any, name: bytes) -> str | None:
    """Return the first header of a name, in lower case; None: there is none."""
    for each, value in scope["headers"]:
        if each == name:
            return str(value, "latin-1")
    return None


def _name(host: str) -> str:
    """Return the header ``Host`` without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _host_of(origin: str) -> str:
    """Return the host in the header ``Origin``; nothing, if it names none."""
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""
