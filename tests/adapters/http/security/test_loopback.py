"""The open loopback interface: requests from this machine need no token, all others do."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from mnemic.adapters.http.settings import Settings, is_loopback
from tests.adapters.http.interfaces import NOTES, interface

OPEN = Settings(open_loopback=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8377", "localhost:8377", "[::1]:8377"])
def test_loopback_requests_may_do_everything(tmp_path: Path, host: str) -> None:
    with interface(tmp_path, OPEN) as opened:
        answer = opened.learn("Ines moved the demo.", by=None, headers={"host": host})
        log = opened.ask("GET", f"{NOTES}/log?after=1", by=None).json()["items"]
    assert answer.status_code == 201
    assert [entry["actor"] for entry in log] == ["local"]


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil:80", "0.0.0.0"],  # noqa: S104
)
def test_dns_rebinding_is_refused(tmp_path: Path, host: str) -> None:
    with interface(tmp_path, OPEN) as opened:
        answer = opened.learn("Mine.", by=None, headers={"host": host})
    assert (answer.status_code, answer.json()["code"]) == (421, "host-refused")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1.evil.example", "null", "http://[", ""]
)
def test_cross_origin_requests_change_nothing(tmp_path: Path, origin: str) -> None:
    with interface(tmp_path, OPEN) as opened:
        # A browser sends a request without a body for any page, without a preflight.
        answer = opened.ask("POST", f"{NOTES}/curate", by=None, headers={"origin": origin})
        by_token = opened.ask("POST", f"{NOTES}/curate", headers={"origin": origin})
    assert (answer.status_code, answer.json()["code"]) == (403, "origin-refused")
    assert by_token.status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://localhost:3000", "http://[::1]:8377", "https://app.example"]
)
def test_pages_of_this_machine_and_of_named_origins_are_allowed(
    tmp_path: Path, origin: str
) -> None:
    with interface(tmp_path, evolve(OPEN, origins=("https://app.example",))) as opened:
        answer = opened.ask("POST", f"{NOTES}/curate", by=None, headers={"origin": origin})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "header",
    """
    forwarded via x-real-ip x-client-ip true-client-ip cf-connecting-ip CF-Connecting-IP
    x-forwarded-for X-Forwarded-Host x-forwarded-host x-forwarded-proto x-forwarded-port
    """.split(),
)
def test_proxied_requests_need_a_token(tmp_path: Path, header: str) -> None:
    with interface(tmp_path, OPEN) as opened:
        answer = opened.learn("Mine.", by=None, headers={header: "203.0.113.7"})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


def test_another_machine_needs_a_token(tmp_path: Path) -> None:
    with interface(tmp_path, OPEN, peer=("203.0.113.7", 4000)) as opened:
        refused, authorize = opened.learn("Mine.", by=None), opened.learn("Mine.", by="ines")
    assert (refused.status_code, authorize.status_code) == (401, 201)


def test_a_token_is_checked_at_an_open_interface_too(tmp_path: Path) -> None:
    with interface(tmp_path, OPEN) as opened:
        assert opened.learn("Mine.", by="reader").status_code == 403


def test_a_server_that_others_reach_is_never_open(tmp_path: Path) -> None:
    with interface(tmp_path, Settings(open_loopback=True, host="0.0.0.0")) as opened:  # noqa: S104
        assert opened.learn("Mine.", by=None).status_code == 401


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("LOCALHOST", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_loopback_addresses_are_recognized(host: str, expected: bool) -> None:  # noqa: FBT001
    assert is_loopback(host) is expected
