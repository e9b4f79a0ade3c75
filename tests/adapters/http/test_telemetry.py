"""Traces: one span for each request, with its outcome and no text of a memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from mnemic.adapters.access import Keyring
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.extras import pip_install
from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http.application import application
from mnemic.adapters.http.middleware import telemetry
from mnemic.adapters.remote.transport_errors import ExtraMissing
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import FieldRefused

pytestmark = pytest.mark.anyio
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
HIDDEN = "the secret of the harbour"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def traced(folder: Path) -> AsyncGenerator[tuple[httpx.AsyncClient, InMemorySpanExporter]]:
    """Return a client of an application whose spans are kept, for an ``async with`` block."""
    spans, traces = InMemorySpanExporter(), TracerProvider()
    traces.add_span_processor(SimpleSpanProcessor(spans))
    keyring = Keyring.open(folder / "tokens")
    _, secret = keyring.create("ines", {"*": "admin"})
    async with Spaces(MemoryStore(), embedder=HashEmbedder()) as spaces:
        interface: Any = application(spaces, keyring, observers=[telemetry.observer(traces)])
        headers = {"authorization": f"Bearer {secret}"}
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(interface), base_url="http://mnemic", headers=headers
        ) as client:
            yield client, spans
    traces.shutdown()


def only(spans: InMemorySpanExporter) -> ReadableSpan:
    (span,) = spans.get_finished_spans()
    spans.clear()
    return span


async def test_a_span_says_operation_space_status_and_version(tmp_path: Path) -> None:
    async with traced(tmp_path) as (client, spans):
        await client.put("/v1/spaces/a")
        spans.clear()
        await client.post(
            "/v1/spaces/a/blocks", json={"content": "gulls"}, headers={"x-request-id": "r"}
        )
        span = only(spans)
    assert (span.name, span.kind) == ("POST /v1/spaces/{space}/blocks", SpanKind.SERVER)
    assert dict(span.attributes or {}) == {
        "http.request.method": "POST",
        "http.route": "/v1/spaces/{space}/blocks",
        "http.response.status_code": 201,
        "mnemic.operation": "learn",
        "mnemic.space": "a",
        "mnemic.version": 2,
        "mnemic.request_id": "r",
    }
    assert span.status.status_code is StatusCode.UNSET


async def test_spans_hold_no_text_of_a_memory(tmp_path: Path) -> None:
    async with traced(tmp_path) as (client, spans):
        await client.put("/v1/spaces/a")
        await client.post("/v1/spaces/a/blocks", json={"content": HIDDEN, "category": HIDDEN})
        await client.post("/v1/spaces/a/recall", json={"query": HIDDEN})
        await client.get("/v1/spaces/a/blocks", params={"tag": HIDDEN})
        await client.get("/v1/spaces/a/blocks", params={HIDDEN: HIDDEN})
        answer = " ".join(span.to_json() for span in spans.get_finished_spans())
    assert len(answer) > 1000
    assert "secret" not in answer
    assert "Bearer" not in answer


async def test_a_span_is_the_child_of_the_callers(tmp_path: Path) -> None:
    async with traced(tmp_path) as (client, spans):
        await client.get("/healthz", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
        span = only(spans)
    assert span.parent is not None
    assert (f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, PARENT)


@pytest.mark.parametrize("sent", ["nonsense", "00-0-0-01", ""])
async def test_an_invalid_parent_begins_a_new_trace(tmp_path: Path, sent: str) -> None:
    async with traced(tmp_path) as (client, spans):
        await client.get("/healthz", headers={"traceparent": sent})
        assert only(spans).parent is None


async def test_client_errors_do_not_fail_the_span(tmp_path: Path) -> None:
    async with traced(tmp_path) as (client, spans):
        await client.get("/v1/spaces/nowhere")
        span = only(spans)
    assert (span.attributes or {})["http.response.status_code"] == 404
    assert span.status.status_code is StatusCode.UNSET


async def test_a_request_without_a_route_has_a_span_without_its_path(tmp_path: Path) -> None:
    async with traced(tmp_path) as (client, spans):
        await client.get("/the-secret")
        span = only(spans)
    assert (span.name, (span.attributes or {})["mnemic.operation"]) == ("GET", "other")


# --- where spans go -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({}, "no"),
        ({"OTEL_TRACES_EXPORTER": "none"}, "no"),
        ({"OTEL_TRACES_EXPORTER": ""}, "no"),
        ({"OTEL_TRACES_EXPORTER": "console"}, "yes"),
    ],
)
def test_the_environment_may_ask_for_traces(said: dict[str, str], wanted: str) -> None:
    assert telemetry.wanted(said) is (wanted == "yes")


def test_spans_go_where_the_environment_says() -> None:
    traces = telemetry.provider({"OTEL_TRACES_EXPORTER": "console"})
    assert traces.resource.attributes["service.name"] == "mnemic"
    traces.shutdown()


def test_an_unknown_exporter_is_refused() -> None:
    with pytest.raises(FieldRefused, match="carrier-pigeon"):
        telemetry.provider({"OTEL_TRACES_EXPORTER": "carrier-pigeon"})


@pytest.mark.parametrize(
    ("asked", "said", "observers"),
    [("no", "none", 0), ("no", "console", 1), ("yes", "console", 1)],
)
def test_requests_are_traced_when_enabled(asked: str, said: str, observers: int) -> None:
    environment = {"OTEL_TRACES_EXPORTER": said}
    with telemetry.tracing(asked=asked == "yes", environment=environment) as found:
        assert len(found) == observers


WITHOUT = """
import sys
sys.modules["opentelemetry.sdk.resources"] = None
from mnemic.adapters.http.middleware import telemetry
try:
    telemetry.provider({})
except telemetry.ExtraMissing as error:
    print(error.recovery)
"""


def test_a_missing_extra_names_the_package_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"Install it: {pip_install('telemetry')}.\n"
    assert ExtraMissing.code == "extra-missing"
