from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from hashlib import sha256
from typing import Any

import pytest

from mnemic.adapters.access import Keyring
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.errors import FieldRefused, Forbidden


def test_a_secret_names_mnemic_and_its_token_and_carries_256_bits(keyring: Keyring) -> None:
    token, secret = keyring.create("ines", {"notes": "read"})
    found = re.fullmatch(r"mnemic_([0-9a-f]{8})_([A-Za-z0-9_-]{43})", secret)
    assert found is not None
    assert found[1] == token.id
    assert len(urlsafe_b64decode(found[2] + "=")) == 32
    assert token.digest == sha256(secret.encode()).digest()


def test_a_token_shows_everything_except_its_digest(keyring: Keyring, clock: ManualClock) -> None:
    token, secret = keyring.create("ines", {"team": "read", "*": "write"}, "2026-02-01")
    clock.advance(days=1)
    revoked = keyring.revoke(token.id)
    assert revoked.to_dict() == {
        "id": token.id,
        "name": "ines",
        "scopes": {"*": "write", "team": "read"},
        "zone": None,
        "created_at": "2026-01-01T00:00:00+00:00",
        "expires_at": "2026-02-01T00:00:00+00:00",
        "revoked_at": "2026-01-02T00:00:00+00:00",
    }
    assert str(token) == (
        f"ines ({token.id}): write on every space; read on team, until 2026-02-01T00:00:00+00:00."
    )
    shown = f"{token!r}{token}{revoked!r}{revoked}{revoked.to_dict()}"
    assert secret.split("_", 2)[2] not in shown
    assert token.digest.hex() not in shown
    assert repr(token.digest) not in shown


def test_a_token_may_be_bound_to_a_zone(keyring: Keyring) -> None:
    token, secret = keyring.create("mailbox", {"notes": "write"}, zone=" untrusted ")
    found = Keyring.open(keyring.path).check(secret)
    assert found is not None
    assert (token.zone, found.zone, found.to_dict()["zone"]) == ("untrusted",) * 3
    assert str(found) == (f"mailbox ({token.id}): write on notes, in the zone untrusted at most.")


@pytest.mark.parametrize("zone", ["", " ", "x" * 201, 7])
def test_an_invalid_zone_is_refused(keyring: Keyring, zone: Any) -> None:
    with pytest.raises(FieldRefused) as refused:
        keyring.create("mailbox", {"notes": "write"}, zone=zone)
    assert (refused.value.facts["field"], keyring.list()) == ("zone", ())


def test_an_admin_token_has_no_zone(keyring: Keyring) -> None:
    with pytest.raises(FieldRefused) as refused:
        keyring.create("mailbox", {"notes": "admin"}, zone="untrusted")
    assert (refused.value.facts["field"], keyring.list()) == ("zone", ())


def test_tokens_without_a_zone_keep_their_stored_form(keyring: Keyring) -> None:
    keyring.create("ines", {"notes": "write"})
    assert b"zone" not in keyring.path.read_bytes()


def test_a_token_knows_its_spaces_and_how_far_it_reaches(keyring: Keyring) -> None:
    token, _ = keyring.create("ines", {"team": "read", "notes": "write"})
    assert token.spaces == ("notes", "team")
    assert (token.allows("notes", "read"), token.allows("team", "write")) == (True, False)
    token.require("notes", "write")


@pytest.mark.parametrize("space", ["team", "of nobody"])
def test_forbidden_spaces_answer_alike_whether_they_exist(keyring: Keyring, space: str) -> None:
    token, _ = keyring.create("ines", {"notes": "admin"})
    with pytest.raises(Forbidden) as caught:
        token.require(space, "read")
    assert caught.value.to_dict() == {
        "code": "forbidden",
        "detail": f"the token of 'ines' has no scope 'read' on space '{space}'",
        "recovery": Forbidden.default_recovery,
        "space": space,
        "scope": "read",
    }


@pytest.mark.parametrize(
    "name", ["", " ", "x" * 65, "a\nb", "a\tb", "a\x1b[31m", "\u202eb", "\ud800", None, 7, b"ines"]
)
def test_a_name_that_a_log_cannot_show_is_refused(keyring: Keyring, name: Any) -> None:
    with pytest.raises(FieldRefused) as caught:
        keyring.create(name, {"notes": "read"})
    assert caught.value.facts == {"field": "name"}
    assert not keyring.path.exists()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("  ines ", "ines"),
        ("nightly import", "nightly import"),
        ("Zoe\u0308", "Zo\xeb"),
        ("猫", "猫"),
    ],
)
def test_a_name_is_stripped_and_composed(keyring: Keyring, given: str, kept: str) -> None:
    assert keyring.create(given, {"notes": "read"})[0].name == kept


@pytest.mark.parametrize("expires_at", ["soon", "2025-12-31", "2026-01-01T00:00:00+00:00", 7])
def test_a_token_ends_in_the_future_or_never(keyring: Keyring, expires_at: Any) -> None:
    with pytest.raises(FieldRefused) as caught:
        keyring.create("ines", {"notes": "read"}, expires_at)
    assert caught.value.facts == {"field": "expires_at"}
    assert not keyring.path.exists()
