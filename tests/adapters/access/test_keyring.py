from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest

from mnemic.adapters.access import Keyring, Token, TokenId
from mnemic.adapters.access.keyring import DEAD_KEPT, LIVE_MAX
from mnemic.adapters.access.register import Register
from mnemic.adapters.system.clocks import NEW_YEAR_2026_US, ManualClock
from mnemic.kernel.errors import FieldRefused, TokenExists, TokenNotFound, Unauthenticated

HOUR_US = 3_600_000_000


def many(token: Token, count: int) -> list[Token]:
    """Return tokens that differ only in name and id."""
    return [
        attrs.evolve(token, id=TokenId(f"{number:08x}"), name=f"token {number}")
        for number in range(count)
    ]


def test_a_missing_file_grants_no_access_and_is_not_created(server: Keyring) -> None:
    assert server.list() == ()
    assert server.check(f"mnemic_{'0' * 8}_{'A' * 43}") is None
    assert list(server.path.parent.iterdir()) == []


def test_a_running_server_sees_created_and_revoked_tokens(
    keyring: Keyring, server: Keyring
) -> None:
    for number in range(20):  # in quicker succession than the resolution of timestamps
        token, secret = keyring.create(f"token {number}", {"notes": "read"})
        assert server.check(secret) == token
        keyring.revoke(token.id)
        assert server.check(secret) is None


def test_a_server_denies_access_once_the_file_is_removed(keyring: Keyring, server: Keyring) -> None:
    _, secret = keyring.create("ines", {"notes": "read"})
    assert server.check(secret) is not None
    server.path.unlink()
    assert server.check(secret) is None


def test_each_secret_opens_its_own_token(keyring: Keyring, server: Keyring) -> None:
    made = [keyring.create(name, {"notes": "read"}) for name in ("ines", "tomasz", "yuki")]
    assert [server.check(secret) for _, secret in made] == [token for token, _ in made]
    assert server.list() == tuple(token for token, _ in made)


STRANGE: dict[str, Callable[[str], Any]] = {
    "nothing": lambda _: "",
    "None": lambda _: None,
    "bytes": lambda secret: secret.encode(),
    "a header": lambda secret: f"Bearer {secret}",
    "a line": lambda secret: f"{secret}\n",
    "cut": lambda secret: secret[:-1],
    "longer": lambda secret: f"{secret}A",
    "padded": lambda secret: f"{secret}=",
    "in capitals": str.upper,
    "of another program": lambda secret: secret.replace("mnemic", "memory"),
    "of another id": lambda secret: secret.replace(secret[7:15], "0" * 8),
    "its id alone": lambda secret: secret[7:15],
    "its digest": lambda secret: f"{secret[:16]}{'0' * 43}",
    # 43 digits of base64 hold 258 bits: other digits may encode the same 256.
    "the same bytes in another spelling": lambda secret: secret[:-1] + chr(ord(secret[-1]) + 1),
    "in other digits": lambda secret: f"mnemic_\u0663{secret[8:]}",
    "half a character": lambda secret: f"{secret[:-1]}\ud800",
    "and half a character": lambda secret: f"{secret}\ud800",
}


@pytest.mark.parametrize("strange", STRANGE)
def test_a_wrong_secret_is_refused_and_not_repeated(keyring: Keyring, strange: str) -> None:
    _, secret = keyring.create("ines", {"notes": "read"})
    shown = STRANGE[strange](secret)
    assert shown != secret
    assert keyring.check(shown) is None
    with pytest.raises(Unauthenticated) as caught:
        keyring.admit(shown)
    assert caught.value.to_dict() == {
        "code": "unauthenticated",
        "detail": "the token that was sent is not known here" if shown else "no token was sent",
        "recovery": Unauthenticated.default_recovery,
    }


def test_a_token_ends_at_its_moment(keyring: Keyring, clock: ManualClock) -> None:
    ends = datetime(2026, 1, 1, 1, tzinfo=UTC)
    token, secret = keyring.create("ines", {"notes": "read"}, ends)
    assert token.expires_us == NEW_YEAR_2026_US + HOUR_US
    clock.advance(hours=1, microseconds=-1)
    assert keyring.admit(secret) == keyring.check(secret) == token
    assert keyring.check(secret, NEW_YEAR_2026_US + HOUR_US) is None
    clock.advance(microseconds=1)
    assert keyring.check(secret) is None
    with pytest.raises(Unauthenticated, match=r"of 'ines' is expired since 2026-01-01T01:00:00"):
        keyring.admit(secret)


def test_the_holder_of_a_secret_learns_of_its_revocation(
    keyring: Keyring, clock: ManualClock
) -> None:
    token, secret = keyring.create("ines", {"notes": "read"}, "2026-01-02")
    keyring.revoke(token.id)
    clock.advance(days=2)
    with pytest.raises(Unauthenticated, match="is revoked since 2026-01-01T00:00:00") as caught:
        keyring.admit(secret)
    assert caught.value.facts == {"id": token.id}
    assert secret not in str(caught.value)


def test_a_second_revocation_changes_nothing(keyring: Keyring, clock: ManualClock) -> None:
    token, _ = keyring.create("ines", {"notes": "read"})
    first = keyring.revoke(token.id)
    written = keyring.path.read_bytes()
    clock.advance(hours=1)
    assert keyring.revoke(token.id) == first
    assert keyring.path.read_bytes() == written


def test_an_unknown_token_cannot_be_revoked(keyring: Keyring) -> None:
    keyring.create("ines", {"notes": "read"})
    written = keyring.path.read_bytes()
    with pytest.raises(TokenNotFound, match="no token has the id 00000000"):
        keyring.revoke("00000000")
    assert keyring.path.read_bytes() == written


def test_a_secret_in_the_place_of_an_id_is_not_repeated(keyring: Keyring) -> None:
    _, secret = keyring.create("ines", {"notes": "read"})
    with pytest.raises(TokenNotFound) as caught:
        keyring.revoke(secret)
    assert caught.value.to_dict() == {
        "code": "token-not-found",
        "detail": "that is not the id of a token, which has 8 hexadecimal digits",
        "recovery": TokenNotFound.default_recovery,
    }


def test_a_name_is_free_again_once_its_token_has_ended(
    keyring: Keyring, clock: ManualClock
) -> None:
    first, _ = keyring.create("ines", {"notes": "read"}, "2026-01-02")
    with pytest.raises(TokenExists, match=f"the token {first.id} has the name 'ines'"):
        keyring.create(" ines", {"team": "read"})
    clock.advance(days=1)
    second, _ = keyring.create("ines", {"notes": "read"})
    keyring.revoke(second.id)
    third, _ = keyring.create("ines", {"notes": "read"})
    assert [token.id for token in keyring.list()] == [first.id, second.id, third.id]


class ScriptedEntropy:
    """Returns the given tokens in order."""

    def __init__(self, *tokens: bytes) -> None:
        self._tokens = iter(tokens)

    def token(self, size: int) -> bytes:
        token = next(self._tokens)
        assert len(token) == size
        return token


def test_an_id_that_is_taken_is_drawn_again(path: Path) -> None:
    script = ScriptedEntropy(b"aaaa", b"x" * 32, b"aaaa", b"aaaa", b"bbbb", b"y" * 32)
    keyring = Keyring.open(path, entropy=script)
    made = [keyring.create(name, {"notes": "read"})[0].id for name in ("ines", "tomasz")]
    assert made == [b"aaaa".hex(), b"bbbb".hex()]


def test_creating_a_token_removes_the_oldest_invalid_ones(keyring: Keyring, path: Path) -> None:
    live, _ = keyring.create("ines", {"notes": "read"})
    dead = many(keyring.revoke(live.id), DEAD_KEPT + 2)
    Register(path).write([live, *dead])
    made, _ = keyring.create("tomasz", {"notes": "read"})
    assert keyring.list() == (live, *dead[2:], made)


def test_there_is_a_limit_to_live_tokens(keyring: Keyring, path: Path) -> None:
    token, _ = keyring.create("ines", {"notes": "read"})
    Register(path).write(many(token, LIVE_MAX))
    with pytest.raises(FieldRefused, match="no room for more"):
        keyring.create("one more", {"notes": "read"})
    keyring.revoke("00000007")
    keyring.create("one more", {"notes": "read"})
