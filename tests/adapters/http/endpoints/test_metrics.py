"""Metrics and health: what is counted, and who may read it."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from mnemic.adapters.http.settings import Settings
from tests.adapters.http.live_servers import Running, running, stream


@pytest.fixture
def server(tmp_path: Path) -> Generator[Running]:
    with running(tmp_path) as found:
        yield found


@pytest.fixture
def root(server: Running) -> Generator[httpx.Client]:
    with server.client() as found:
        yield found


Samples = dict[tuple[str, frozenset[str]], float]


def samples(client: httpx.Client) -> Samples:
    """Return every sample by its name and the values of its labels."""
    answer = client.get("/metrics")
    answer.raise_for_status()
    return {
        (sample.name, frozenset(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_requests_are_counted_by_operation_and_status(server: Running, root: httpx.Client) -> None:
    with server.inside("a") as client:
        client.post("blocks", json={"content": "gulls are loud"})
        client.post("blocks", json={"content": "gulls are loud"})
        client.post("blocks", json={"content": ""})
        client.get("/nowhere")
        found = samples(root)
    counted = {labels: found["mnemic_requests_total", frozenset(labels)] for labels in WANTED}
    assert counted == WANTED
    assert found["mnemic_request_duration_seconds_count", frozenset({"learn"})] == 3
    assert found["mnemic_requests_in_flight", frozenset()] == 1  # this request itself


WANTED = {
    ("learn", "201"): 2.0,
    ("learn", "422"): 1.0,
    ("make_space", "201"): 1.0,
    ("other", "404"): 1.0,
}


def test_open_spaces_have_metrics(server: Running, root: httpx.Client) -> None:
    with server.inside("a") as client:
        client.post("sessions").raise_for_status()
        client.post("blocks", json={"content": "gulls are loud"}).raise_for_status()
        client.post("consolidate").raise_for_status()
        status = client.get(".").json()
        found = samples(root)
    assert found["mnemic_spaces_open", frozenset()] == 1
    assert found["mnemic_space_version", frozenset({"a"})] == status["version"]
    assert found["mnemic_space_blocks", frozenset({"a", "active"})] == 1
    assert found["mnemic_space_open_sessions", frozenset({"a"})] == 1


def test_open_streams_are_counted_and_their_length_is_no_latency(
    server: Running, root: httpx.Client
) -> None:
    with server.inside("a") as client:
        with stream(client, "events") as found:
            next(found)
            assert samples(root)["mnemic_streams_open", frozenset()] == 1
        assert ("mnemic_request_duration_seconds_count", frozenset({"events"})) not in samples(root)


def test_the_process_and_the_release_are_named(root: httpx.Client) -> None:
    names = {name for name, _ in samples(root)}
    assert {"mnemic_build_info", "process_resident_memory_bytes", "mnemic_calls_waiting"} <= names


def test_two_servers_of_one_process_count_apart(tmp_path: Path, root: httpx.Client) -> None:
    (tmp_path / "other").mkdir()
    with running(tmp_path / "other") as other, other.client() as elsewhere:
        root.get("/v1/spaces")
        wanted = ("mnemic_requests_total", frozenset({"spaces", "200"}))
        assert (wanted in samples(root), wanted in samples(elsewhere)) == (True, False)


@pytest.mark.parametrize(
    ("scopes", "status"),
    [
        ({"*": "read"}, 200),
        ({"*": "admin"}, 200),
        ({"a": "admin"}, 403),
        ({"a": "admin", "b": "read"}, 403),
    ],
)
def test_metrics_require_read_on_every_space(
    server: Running, scopes: dict[str, str], status: int
) -> None:
    with server.client(**scopes) as client:
        assert client.get("/metrics").status_code == status


def test_other_tokens_get_no_metrics(server: Running) -> None:
    with server.anonymous() as client:
        assert client.get("/metrics").status_code == 401


def test_open_loopback_may_read_metrics(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    settings = Settings(open_loopback=True)
    with running(tmp_path / "open", settings) as server, server.anonymous() as client:
        assert client.get("/metrics").status_code == 200


# --- health ---------------------------------------------------------------------------------------


def test_health_needs_no_token(server: Running) -> None:
    with server.anonymous() as client:
        assert client.get("/healthz").json() == {"status": "alive"}
        assert client.get("/readyz").json() == {"status": "ready"}
        assert client.get("/readyz?verbose").status_code == 422


def test_a_store_that_cannot_be_written_is_not_ready(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    with running(folder) as server, server.anonymous() as client:
        folder.rename(tmp_path / "moved")
        answer = client.get("/readyz")
        assert client.get("/healthz").status_code == 200
        (tmp_path / "moved").rename(folder)
    assert (answer.status_code, answer.json()["code"]) == (503, "not-ready")
    assert str(tmp_path) not in answer.text
