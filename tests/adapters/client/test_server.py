from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.client import SyncMemory
from mnemic.adapters.client.server import server_at
from mnemic.kernel.errors import FieldRefused

AT = "http://127.0.0.1:8377"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "127.0.0.1:8377",
        "ftp://127.0.0.1",
        "http://",
        "http://user:hidden@host",
        "http://host?x=1",
        "http://host#x",
        "http://host:99999",
        "http://host/a b\n",
        Path("agent.db"),
    ],
)
def test_an_invalid_address_is_refused_and_not_shown(address: Any) -> None:
    with pytest.raises(FieldRefused) as refused:
        server_at(address)
    assert refused.value.facts == {"field": "address"}
    assert "hidden" not in str(refused.value)


def test_a_server_may_be_below_a_path() -> None:
    assert server_at("https://host/memory/").address == "https://host/memory"


@pytest.mark.parametrize("token", ["two words", "new\nline", "ümlaut", 7])
def test_a_token_unfit_for_a_header_is_refused_and_not_shown(token: Any) -> None:
    with pytest.raises(FieldRefused) as refused:
        server_at(AT, token=token)
    assert refused.value.facts == {"field": "token"}
    assert str(token) not in str(refused.value)


def test_a_token_is_shown_nowhere() -> None:
    server = server_at(AT, token="mnemic_hidden")  # noqa: S106 - of nobody
    assert "hidden" not in repr(server)
    assert server.headers["Authorization"] == "Bearer mnemic_hidden"


def test_the_token_is_that_of_the_environment_unless_one_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MNEMIC_TOKEN", "mnemic_theirs")
    tokens = [server_at(AT, token=given).token for given in (None, "", "mnemic_mine")]
    assert tokens == ["mnemic_theirs", "", "mnemic_mine"]


def test_requests_name_the_client_and_its_token_if_any() -> None:
    headers = server_at(AT, token="").headers
    assert [*headers] == ["User-Agent"]
    assert headers["User-Agent"].startswith("mnemic-client/")


@pytest.mark.parametrize(
    ("address", "is_loopback"),
    [
        (AT, True),
        ("http://localhost:1", True),
        ("http://[::1]:1", True),
        ("https://memory.example", False),
        ("http://10.0.0.1", False),
    ],
)
def test_no_proxy_is_used_on_loopback(address: str, is_loopback: bool) -> None:  # noqa: FBT001 - a row
    assert server_at(address).is_loopback is is_loopback


@pytest.mark.parametrize(
    "given",
    [
        {"timeout_s": 0},
        {"timeout_s": float("nan")},
        {"timeout_s": "long"},
        {"retries": -1},
        {"retries": 1.5},
        {"retries": True},
        {"backoff_s": -1.0},
        {"backoff_s": float("inf")},
        {"space": " "},
        {"session": "\n"},
    ],
)
def test_settings_out_of_range_are_refused_before_anything_is_sent(given: dict[str, Any]) -> None:
    with pytest.raises(FieldRefused) as refused:
        SyncMemory.open(AT, **given)
    assert refused.value.facts == {"field": next(iter(given))}
