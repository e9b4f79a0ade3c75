"""What is retried, how long the pauses are, and what is never shown."""

from __future__ import annotations

import gzip
from collections.abc import Generator
from contextlib import closing
from socket import socket
from threading import Event
from typing import Any

import pytest

from mnemic.adapters.endpoints import EndpointRefused, EndpointUnavailable
from mnemic.adapters.endpoints.connection import ANSWER_BYTES_MAX, Endpoint
from mnemic.kernel.errors import FieldRefused
from tests.adapters.endpoints.conftest import Reply, Server

GOOD = Reply(200, b"fine")


@pytest.fixture
def endpoint(server: Server, pauses: list[float]) -> Generator[Endpoint]:
    with closing(Endpoint(server.url, api_key="", backoff_s=0.5, sleep=pauses.append)) as made:
        yield made


def asked(endpoint: Endpoint) -> bytes:
    return endpoint.post("/x", {"one": 1})


def test_a_request_carries_json_to_a_path_below_the_address(
    server: Server, endpoint: Endpoint
) -> None:
    server.script.append(GOOD)
    assert asked(endpoint) == b"fine"
    (request,) = server.requests
    assert (request.path, request.key, request.document) == ("/v1/x", None, {"one": 1})


def test_one_connection_serves_many_requests(server: Server, endpoint: Endpoint) -> None:
    server.script.extend([GOOD] * 3)
    assert [asked(endpoint) for _ in range(3)] == [b"fine"] * 3
    assert len({request.client for request in server.requests}) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_temporary_failures_are_retried_with_doubling_pauses(
    server: Server, endpoint: Endpoint, pauses: list[float], status: int
) -> None:
    server.script.extend([*[Reply(status)] * 3, GOOD])
    assert asked(endpoint) == b"fine"
    assert pauses == [0.5, 1.0, 2.0]


def test_persistent_failures_are_given_up_with_the_last_message(
    server: Server, endpoint: Endpoint, pauses: list[float]
) -> None:
    server.script.extend([Reply(500, b"out of\n order")] * 4)
    with pytest.raises(EndpointUnavailable) as caught:
        asked(endpoint)
    assert caught.value.to_dict() == {
        "code": "endpoint-unavailable",
        "detail": f"{server.url}/x failed 4 times, at last with 500 out of order",
        "recovery": EndpointUnavailable.default_recovery,
        "http_status": 500,
        "attempts": 4,
    }
    assert pauses == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:05 GMT"}, 0.5),
        ({"Retry-After": "soon"}, 0.5),
        ({"Retry-After": "-3"}, 0.5),
    ],
)
def test_a_server_may_name_the_pause(
    server: Server, pauses: list[float], headers: dict[str, str], pause: float
) -> None:
    server.script.extend([Reply(429, b"", headers), GOOD])
    with closing(Endpoint(server.url, api_key="", sleep=pauses.append)) as endpoint:
        asked(endpoint)
    assert pauses == [pause]


def test_a_very_long_retry_after_is_not_obeyed(
    server: Server, endpoint: Endpoint, pauses: list[float]
) -> None:
    server.script.append(Reply(429, b"quota", {"Retry-After": "3600"}))
    with pytest.raises(EndpointUnavailable):
        asked(endpoint)
    assert (len(server.requests), pauses) == (1, [])


@pytest.mark.parametrize("status", [201, 301, 302, 400, 401, 403, 404, 413, 422])
def test_any_other_answer_is_final(
    server: Server, endpoint: Endpoint, pauses: list[float], status: int
) -> None:
    server.script.append(Reply(status, b"no", {"Location": f"{server.url}/elsewhere"}))
    with pytest.raises(EndpointRefused, match=f"answered {status} no") as caught:
        asked(endpoint)
    assert caught.value.facts == {"http_status": status}
    assert (len(server.requests), pauses) == (1, [])


def test_a_silent_server_is_given_up(server: Server, pauses: list[float]) -> None:
    silence = Event()
    server.script.extend([Reply(200, b"late", waits_for=silence)] * 2)
    client = Endpoint(server.url, api_key="", timeout_s=0.05, retries=1, sleep=pauses.append)
    with closing(client), pytest.raises(EndpointUnavailable, match="timed out") as caught:
        asked(client)
    silence.set()
    assert caught.value.facts == {"http_status": None, "attempts": 2}
    assert pauses == [0.5]


def test_an_unreachable_server_is_given_up(pauses: list[float]) -> None:
    with socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    client = Endpoint(f"http://127.0.0.1:{port}", api_key="", retries=2, sleep=pauses.append)
    with closing(client), pytest.raises(EndpointUnavailable, match="/v1/x failed 3 times"):
        asked(client)


def test_a_truncated_body_is_retried(
    server: Server, endpoint: Endpoint, pauses: list[float]
) -> None:
    server.script.extend([Reply(200, b"half", {"Content-Encoding": "gzip"}), GOOD])
    assert asked(endpoint) == b"fine"
    assert pauses == [0.5]


def test_an_answer_beyond_the_limit_is_refused(
    server: Server, endpoint: Endpoint, pauses: list[float]
) -> None:
    bomb = gzip.compress(bytes(ANSWER_BYTES_MAX + 1))
    server.script.append(Reply(200, bomb, {"Content-Encoding": "gzip"}))
    with pytest.raises(EndpointRefused, match="sent more than 67108864 bytes"):
        asked(endpoint)
    assert pauses == []


def test_proxies_of_the_environment_are_used_except_on_this_machine(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url.removesuffix("/v1"))
    server.script.extend([GOOD] * 2)
    for address in (server.url, "http://models.invalid"):
        with closing(Endpoint(address, api_key="")) as client:
            asked(client)
    assert [request.path for request in server.requests] == [
        "/v1/x",
        "http://models.invalid/v1/x",
    ]


# --- the key ------------------------------------------------------------------------------------


def test_the_key_is_sent_and_never_shown(server: Server) -> None:
    server.script.append(Reply(401, b"no such key: k3y-of-mine"))
    with closing(Endpoint(server.url, api_key=" k3y-of-mine\n")) as client:
        with pytest.raises(EndpointRefused) as caught:
            asked(client)
        assert "k3y" not in repr(client)
    assert server.requests[0].key == "Bearer k3y-of-mine"
    assert caught.value.message == f"{server.url}/x answered 401 no such key: …"


def test_the_key_of_the_environment_is_taken_unless_one_is_given(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    server.script.extend([GOOD] * 3)
    for given in (None, "ours", ""):
        with closing(Endpoint(server.url, api_key=given)) as client:
            asked(client)
    assert [request.key for request in server.requests] == ["Bearer theirs", "Bearer ours", None]


@pytest.mark.parametrize("key", ["two\nlines", "schlüssel", 7])
def test_an_invalid_key_is_refused_without_quoting_it(key: Any) -> None:
    with pytest.raises(FieldRefused) as caught:
        Endpoint("http://localhost", api_key=key)
    assert caught.value.message == "api_key is not printable ASCII text"


# --- addresses and numbers ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1"),
        ("http://localhost:11434/", "http://localhost:11434/v1"),
        (" https://example.org/v1/ ", "https://example.org/v1"),
        ("https://example.org/models/openai", "https://example.org/models/openai"),
    ],
)
def test_an_address_without_a_path_gets_the_usual_one(given: str, address: str) -> None:
    with closing(Endpoint(given, api_key="")) as client:
        assert client.address == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "localhost:11434",
        "ftp://example.org",
        "http://",
        "http://ann:secret@example.org",
        "http://example.org/v1?key=secret",
        "http://example.org/v1#top",
        "http://example.org:eighty",
        "http://[::1",
        7,
    ],
)
def test_an_unsuitable_address_is_refused_without_quoting_it(address: Any) -> None:
    with pytest.raises(FieldRefused) as caught:
        Endpoint(address)
    assert caught.value.message == "base_url is not a plain address"


@pytest.mark.parametrize(
    "numbers",
    [
        {"timeout_s": 0},
        {"timeout_s": float("nan")},
        {"timeout_s": float("inf")},
        {"timeout_s": "30"},
        {"retries": -1},
        {"backoff_s": -0.5},
        {"backoff_s": True},
    ],
)
def test_a_number_out_of_range_is_refused_by_name(numbers: dict[str, Any]) -> None:
    with pytest.raises(FieldRefused) as caught:
        Endpoint("http://localhost", **numbers)
    assert caught.value.facts == {"field": next(iter(numbers))}
