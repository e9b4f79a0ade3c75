"""One token: its name, its scopes, and the digest of the secret that proves it."""

from __future__ import annotations

import re
import unicodedata
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal, NewType, TypeAlias

import attrs
from attrs import field, frozen
from attrs.validators import ge, instance_of, optional

from mnemic.adapters.access.scopes import EVERY_SPACE, Scope, allows, checked_scopes
from mnemic.kernel.errors import FieldRefused, Forbidden
from mnemic.kernel.ports import Entropy
from mnemic.kernel.results.shape import Result
from mnemic.kernel.timestamps import iso
from mnemic.kernel.validation import checked_name

TokenId = NewType("TokenId", str)
State: TypeAlias = Literal["live", "expired", "revoked"]

NAME_LENGTH_MAX = 64
ID_BYTES = 4
SECRET_BYTES = 32
PREFIX = "mnemic"
"""Prefix of every secret, so that a leaked one can be searched for."""

_ID = re.compile(rf"[0-9a-f]{{{2 * ID_BYTES}}}")
_SECRET = re.compile(rf"{PREFIX}_({_ID.pattern})_[A-Za-z0-9_-]{{43}}")
DIGEST_BYTES = 32


def _is_id(_: object, __: object, value: Any) -> None:
    if not is_id(value):
        raise ValueError("an id has 8 hexadecimal digits")


def _is_digest(_: object, __: object, value: Any) -> None:
    if not isinstance(value, bytes) or len(value) != DIGEST_BYTES:
        raise ValueError("a digest has 32 bytes")


def _is_name(_: object, __: object, value: Any) -> None:
    if checked_actor(value) != value:
        raise ValueError("a name has no white space around it")


def _is_zone(_: object, __: object, value: Any) -> None:
    if checked_name("zone", value) != value:
        raise ValueError("a zone has no white space around it")


_moment = (instance_of(int), ge(0))


@frozen(kw_only=True, str=False)
class Token(Result):
    """The known facts about a token, which do not include its secret."""

    id: TokenId = field(validator=_is_id)
    """Public: 8 hexadecimal digits, part of the secret's text."""
    name: str = field(validator=_is_name)
    """Actor in the log for requests with it. 1 to 64 visible characters."""
    digest: bytes = field(repr=False, validator=_is_digest)
    """SHA-256 of the secret's text. Neither salted nor slow, which passwords need because people
    choose them: there is nothing to guess in 256 random bits, and no two are ever equal."""
    scopes: Mapping[str, Scope] = field(converter=checked_scopes, hash=False)
    """Permissions, by space; ``*`` is every space."""
    created_us: int = field(validator=_moment)
    """Microseconds since the epoch."""
    expires_us: int | None = field(default=None, validator=optional(_moment))
    """When it becomes invalid; None: never."""
    revoked_us: int | None = field(default=None, validator=optional(_moment))
    """When it was revoked; None: it was not."""
    zone: str | None = field(default=None, validator=optional(_is_zone))
    """Trust zone of its writes in every space: what it learns is of this zone at most, and it
    cannot change anything above it; None: in full."""

    def __attrs_post_init__(self) -> None:
        if self.zone is not None and "admin" in self.scopes.values():
            raise FieldRefused(
                "a token with the scope admin cannot be bound to a zone: it may change what zones "
                "mean",
                recovery="Leave out the zone, or give read and write only.",
                field="zone",
            )

    def allows(self, space: str, scope: Scope) -> bool:
        """Return whether it has *scope* on *space*.

        Raises:
            FieldRefused: There is no such scope.
        """
        return allows(self.scopes, space, scope)

    def require(self, space: str, scope: Scope) -> None:
        """Refuse a scope that it does not have, whether or not the space exists.

        Raises:
            Forbidden: It does not have the scope.
            FieldRefused: There is no such scope.
        """
        if not self.allows(space, scope):
            raise Forbidden(
                f"the token of {self.name!r} has no scope {scope!r} on space {space!r:.100}",
                space=space,
                scope=scope,
            )

    @property
    def spaces(self) -> tuple[str, ...]:
        """Names of the spaces it has a scope on, sorted; ``*`` is every space."""
        return tuple(self.scopes)

    def state(self, now_us: int) -> State:
        """Return whether it is valid at an instant, in microseconds since the epoch."""
        if self.revoked_us is not None:
            return "revoked"
        return "live" if self.expires_us is None or now_us < self.expires_us else "expired"

    @property
    def summary(self) -> str:
        granted = "; ".join(
            f"{scope} on {'every space' if space == EVERY_SPACE else space}"
            for space, scope in self.scopes.items()
        )
        until = "" if self.expires_us is None else f", until {iso(self.expires_us)}"
        taken = "" if self.revoked_us is None else f", revoked {iso(self.revoked_us)}"
        bound = "" if self.zone is None else f", in the zone {self.zone} at most"
        return f"{self.name} ({self.id}): {granted}{bound}{until}{taken}."

    def to_dict(self) -> dict[str, Any]:
        """Return what may be shown: everything except the digest."""
        return {
            "id": self.id,
            "name": self.name,
            "scopes": dict(self.scopes),
            "zone": self.zone,
            "created_at": iso(self.created_us),
            "expires_at": None if self.expires_us is None else iso(self.expires_us),
            "revoked_at": None if self.revoked_us is None else iso(self.revoked_us),
        }

    def stored(self) -> dict[str, Any]:
        """Return the stored form: everything, in types that JSON can represent.

        The zone is left out if there is none, so that releases without zones can read the file;
        they refuse a file that holds a zone, and grant no access by it.
        """
        answer = attrs.asdict(self, recurse=False) | {
            "digest": self.digest.hex(),
            "scopes": dict(self.scopes),
        }
        if self.zone is None:
            del answer["zone"]
        return answer


def restored(given: Mapping[str, Any]) -> Token:
    """Return the token with the stored form *given*.

    Raises:
        KeyError, TypeError, ValueError, FieldRefused: It is not a token.
    """
    fields: dict[str, Any] = {**given, "digest": bytes.fromhex(given["digest"])}
    return Token(**fields)


def minted(token_id: TokenId, entropy: Entropy) -> str:
    """Return the text of a new secret: prefix, id, and 256 random bits in base64url."""
    random = urlsafe_b64encode(entropy.token(SECRET_BYTES)).rstrip(b"=").decode()
    return f"{PREFIX}_{token_id}_{random}"


def digest(secret: str) -> bytes:
    """Return the stored digest of a secret. It covers the text, so only one spelling matches."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


def claimed(secret: object) -> TokenId | None:
    """Return the token id in the text of a secret; None: it is not in the form of one."""
    found = _SECRET.fullmatch(secret) if isinstance(secret, str) else None
    return None if found is None else TokenId(found[1])


def is_id(text: object) -> bool:
    """Return whether *text* has the form of a token's id."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def checked_actor(name: object) -> str:
    """Return the name of a token, stripped and in Unicode form NFC, so that equal looks are equal.

    Raises:
        FieldRefused: It is not a text of 1 to 64 visible characters.
    """
    text = unicodedata.normalize("NFC", name.strip()) if isinstance(name, str) else ""
    if not 0 < len(text) <= NAME_LENGTH_MAX or not text.isprintable():
        raise FieldRefused(
            f"a token's name must have 1 to {NAME_LENGTH_MAX} visible characters, "
            f"got {name!a:.100}",
            recovery="Name who will act with it, like ines or nightly-import.",
            field="name",
        )
    return text
