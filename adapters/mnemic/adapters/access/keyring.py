"""The keyring: creates and revokes tokens, and authenticates their secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from hmac import compare_digest
from pathlib import Path
from typing import Any, NoReturn

import attrs

from mnemic.adapters.access.register import Contents, Register
from mnemic.adapters.access.scopes import Scope, checked_scopes
from mnemic.adapters.access.tokens import (
    DIGEST_BYTES,
    ID_BYTES,
    State,
    Token,
    TokenId,
    checked_actor,
    claimed,
    digest,
    is_id,
    minted,
)
from mnemic.adapters.system.clocks import SystemClock
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.kernel.errors import FieldRefused, TokenExists, TokenNotFound, Unauthenticated
from mnemic.kernel.ports import Clock, Entropy
from mnemic.kernel.timestamps import instant, iso
from mnemic.kernel.validation import checked_name

LIVE_MAX = 10_000
DEAD_KEPT = 1000
"""Revoked and expired tokens that stay listed, the newest; their secrets are invalid in any
case."""
UNKNOWN_DIGEST = bytes(DIGEST_BYTES)
"""Used in place of the digest of an unknown token; no text with this digest is known."""


class Keyring:
    """The tokens of one file, in its current state.

    Every check looks whether the file has changed, which takes microseconds: a token that another
    process revokes is invalid from the next request on. May be shared by threads.

    Args:
        register: The file.
        clock: Returns the time.
        entropy: Source of ids and secrets.
    """

    def __init__(self, register: Register, *, clock: Clock, entropy: Entropy) -> None:
        self._register = register
        self._clock = clock
        self._entropy = entropy
        self._contents: Contents = register.read()

    def __reduce__(self) -> tuple[Any, ...]:
        """Let another process read the file for itself."""
        return partial(Keyring, clock=self._clock, entropy=self._entropy), (self._register,)

    @classmethod
    def open(
        cls, path: str | Path, *, clock: Clock | None = None, entropy: Entropy | None = None
    ) -> Keyring:
        """Return the keyring of a file; one that does not exist holds no token.

        Args:
            path: The file; see ``beside`` for the one of a store.
            clock: The machine's, if not given.
            entropy: The machine's, if not given.

        Raises:
            AccessDamaged: The file is not what was written.
            StoreTooNew: A later release wrote it.
            StoreFailed: It cannot be read, or others can read it.
        """
        return cls(
            Register(Path(path)),
            clock=clock or SystemClock(),
            entropy=entropy or SystemEntropy(),
        )

    @property
    def path(self) -> Path:
        """The file, links resolved."""
        return self._register.path

    # --- changing -----------------------------------------------------------------------------

    def create(
        self,
        name: str,
        scopes: Mapping[str, Scope],
        expires_at: str | datetime | None = None,
        *,
        zone: str | None = None,
    ) -> tuple[Token, str]:
        """Create a token, and return it with its secret, which cannot be recovered later.

        Args:
            name: Actor in the log. 1 to 64 visible characters.
            scopes: The permissions, by space; ``*`` is every space.
            expires_at: When it becomes invalid (naive: UTC); None: never.
            zone: What it learns is of this trust zone at most, and it may change nothing above;
                not with the scope admin. None: it is trusted in full.

        Raises:
            TokenExists: A live token has this name.
            FieldRefused: An argument is invalid.
            StoreFull, StoreFailed, StoreBusy, AccessDamaged: The file is unchanged.
        """
        name, granted = checked_actor(name), checked_scopes(scopes)
        zone = None if zone is None else checked_name("zone", zone)
        now_us = self._clock.now_us()
        expires_us = _future(expires_at, now_us)
        with self._register.write_lock():
            known = self._register.read().tokens
            live = [token for token in known.values() if token.state(now_us) == "live"]
            _check_available(name, live)
            token_id = self._fresh_id(known)
            secret = minted(token_id, self._entropy)
            token = Token(
                id=token_id,
                name=name,
                digest=digest(secret),
                scopes=granted,
                created_us=now_us,
                expires_us=expires_us,
                zone=zone,
            )
            self._register.write((*_kept(known.values(), now_us), token))
        return token, secret

    def revoke(self, token_id: str) -> Token:
        """Revoke a token, at once and for good; a revoked token is left unchanged.

        Args:
            token_id: Its id, which is no secret.

        Raises:
            TokenNotFound: There is no token with this id.
            StoreFull, StoreFailed, StoreBusy, AccessDamaged: The file is unchanged.
        """
        if not is_id(token_id):
            # The argument is not repeated: people revoke a leaked secret by pasting it.
            raise TokenNotFound("that is not the id of a token, which has 8 hexadecimal digits")
        with self._register.write_lock():
            known = dict(self._register.read().tokens)
            token = known.get(TokenId(token_id))
            if token is None:
                raise TokenNotFound(f"no token has the id {token_id}", id=token_id)
            if token.revoked_us is None:
                token = attrs.evolve(token, revoked_us=self._clock.now_us())
                self._register.write((known | {token.id: token}).values())
        return token

    # --- asking -------------------------------------------------------------------------------

    def list(self) -> tuple[Token, ...]:
        """Return all tokens in order of creation, including invalid ones.

        Raises:
            StoreFailed, StoreTooNew, AccessDamaged: See ``open``.
        """
        return tuple(self._tokens().values())

    def check(self, secret: object, now_us: int | None = None) -> Token | None:
        """Return the live token that a secret belongs to; None: there is none.

        Args:
            secret: The presented secret, without the word Bearer.
            now_us: Microseconds since the epoch; None: by the keyring's clock.

        Raises:
            StoreFailed, StoreTooNew, AccessDamaged: See ``open``. Access is then denied.
        """
        token = self._matching(secret)
        return None if token is None or self._state(token, now_us) != "live" else token

    def admit(self, secret: object, now_us: int | None = None) -> Token:
        """Return the live token that a secret belongs to.

        Args:
            secret: The presented secret, without the word Bearer; None: none was presented.
            now_us: Microseconds since the epoch; None: by the keyring's clock.

        Raises:
            Unauthenticated: There is none. Only the holder of the secret of an invalid token learns
                why it is invalid, and that the token exists.
            StoreFailed, StoreTooNew, AccessDamaged: See ``open``. Access is then denied.
        """
        if secret is None or secret == "":
            raise Unauthenticated("no token was sent")
        token = self._matching(secret)
        if token is None:
            raise Unauthenticated("the token that was sent is not known here")
        state = self._state(token, now_us)
        return token if state == "live" else _refuse(token, state)

    def _matching(self, secret: object) -> Token | None:
        """Return the token with this secret, valid or not.

        The id selects the token, and is public. Each comparison of the secret part takes the same
        time, for any position of the first difference; a text without an id, or of an unknown one,
        takes the time of a comparison as well.
        """
        token_id, tokens = claimed(secret), self._tokens()
        token = None if token_id is None else tokens.get(token_id)
        expected = UNKNOWN_DIGEST if token is None else token.digest
        is_right = compare_digest(expected, digest(str(secret)))
        return token if is_right else None

    def _state(self, token: Token, now_us: int | None) -> State:
        return token.state(self._clock.now_us() if now_us is None else now_us)

    def _tokens(self) -> Mapping[TokenId, Token]:
        contents = self._contents
        if self._register.stamp() != contents.stamp:
            # Two threads may both read; either result may be kept: the next check looks again.
            self._contents = contents = self._register.read()
        return contents.tokens

    def _fresh_id(self, known: Mapping[TokenId, Token]) -> TokenId:
        while (drawn := TokenId(self._entropy.token(ID_BYTES).hex())) in known:
            continue
        return drawn


def _future(expires_at: str | datetime | None, now_us: int) -> int | None:
    """Return when a token expires, in microseconds since the epoch.

    Raises:
        FieldRefused: It is not a date, or in the past.
    """
    expires_us = instant("expires_at", expires_at)
    if expires_us is not None and expires_us <= now_us:
        raise FieldRefused(
            f"expires_at is past: {iso(expires_us)}",
            recovery="Give a future time, or none for a token that is valid until it is revoked.",
            field="expires_at",
        )
    return expires_us


def _check_available(name: str, live: Iterable[Token]) -> None:
    """Refuse a name in use, and a token beyond the limit."""
    names = {token.name: token.id for token in live}
    if name in names:
        raise TokenExists(f"the token {names[name]} has the name {name!r}", id=names[name])
    if len(names) >= LIVE_MAX:
        raise FieldRefused(
            f"there are {LIVE_MAX} live tokens, and no room for more",
            recovery="Revoke unused ones.",
            field="name",
        )


def _kept(tokens: Iterable[Token], now_us: int) -> list[Token]:
    """Return the tokens that stay in the file: all live ones, and the newest of the others."""
    known = list(tokens)
    dead = [token.id for token in known if token.state(now_us) != "live"]
    gone = frozenset(dead[:-DEAD_KEPT])
    return [token for token in known if token.id not in gone]


def _refuse(token: Token, state: State) -> NoReturn:
    ended_us = token.revoked_us if state == "revoked" else token.expires_us
    assert ended_us is not None  # noqa: S101 - it is not live
    raise Unauthenticated(
        f"the token {token.id} of {token.name!r} is {state} since {iso(ended_us)}", id=token.id
    )
