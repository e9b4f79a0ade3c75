"""Traces by OpenTelemetry: one span for each request, a child of the caller's span if it has one.

A span is named by its method and route, and holds operation, space, status and version. No text of
a memory is in it: no query, no body, no header, and of an error only the code. Off by default.
``mnemic serve --telemetry`` turns it on, and so does the environment variable
``OTEL_TRACES_EXPORTER``; the usual variables determine where spans go and which are sampled:
``OTEL_TRACES_EXPORTER`` (``otlp``, which has a package of its own, or ``console``),
``OTEL_EXPORTER_OTLP_ENDPOINT``, ``OTEL_SERVICE_NAME``, ``OTEL_TRACES_SAMPLER``.

The span is created here and not by opentelemetry-instrumentation-asgi, because that one puts whole
URLs into its spans, and the query of a URL may hold texts of a memory.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from mnemic.adapters.extras import pip_install
from mnemic.adapters.http.middleware.observation import ObservedRequest, Observer
from mnemic.adapters.http.middleware.request_ids import REQUEST_ID
from mnemic.adapters.remote.transport_errors import ExtraMissing
from mnemic.kernel.errors import FieldRefused

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

EXPORTER = "OTEL_TRACES_EXPORTER"
EXPORTERS = "opentelemetry_traces_exporter"
"""Group of the entry points of exporters. Source: opentelemetry-sdk."""
DEFAULT_EXPORTER = "otlp"
SERVICE = "mnemic"
PACKAGES = {"otlp": "opentelemetry-exporter-otlp-proto-http"}
PREFERRED = {"otlp": ("otlp", "otlp_proto_http", "otlp_proto_grpc")}
FAILED_FROM = 500


def wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the environment asks for traces."""
    return environment.get(EXPORTER, "none").strip().lower() not in {"", "none"}


@contextmanager
def tracing(
    *, asked: bool, environment: Mapping[str, str] = os.environ
) -> Generator[tuple[Observer, ...]]:
    """Return the observers that create spans, for a ``with`` block; its end flushes the last spans.

    Args:
        asked: Whether traces were requested; if not, the environment may request them.
        environment: Holds the variables ``OTEL_…``.

    Raises:
        ExtraMissing, FieldRefused: See ``provider``.
    """
    if not asked and not wanted(environment):
        yield ()
        return
    traces = provider(environment)
    try:
        yield (observer(traces),)
    finally:
        traces.shutdown()


def provider(environment: Mapping[str, str] = os.environ) -> TracerProvider:
    """Return a tracer provider whose spans go where the environment says.

    Its owner shuts it down at the end, which flushes the last spans.

    Raises:
        ExtraMissing: The extra ``telemetry`` is not installed, or an exporter is not.
        FieldRefused: The environment names an unknown exporter.
    """
    try:
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ExtraMissing(
            f"traces need OpenTelemetry, and there is no {error.name}",
            recovery=f"Install it: {pip_install('telemetry')}.",
        ) from error
    named = environment.get("OTEL_SERVICE_NAME")
    made = TracerProvider(resource=Resource.create({} if named else {SERVICE_NAME: SERVICE}))
    for name in environment.get(EXPORTER, DEFAULT_EXPORTER).split(","):
        made.add_span_processor(BatchSpanProcessor(_exporter(name.strip())))
    return made


def observer(traces: TracerProvider) -> Observer:
    """Return an observer that creates a span for every request.

    Args:
        traces: Receives the spans; its owner shuts it down.
    """
    from opentelemetry.trace import SpanKind, Status, StatusCode
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    tracer = traces.get_tracer(__name__)
    parents = TraceContextTextMapPropagator()

    @contextmanager
    def observe(observed: ObservedRequest) -> Generator[None]:
        method = observed.scope["method"]
        with tracer.start_as_current_span(
            method,
            context=parents.extract(_carried(observed.scope)),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method},
            record_exception=False,  # its message may hold texts of a memory
            set_status_on_exception=False,
        ) as span:
            try:
                yield
            finally:
                if span.is_recording():
                    span.update_name(f"{method} {_route(observed.scope)}".rstrip())
                    span.set_attributes(_attributes(observed))
                    if observed.status >= FAILED_FROM:
                        span.set_status(Status(StatusCode.ERROR))

    return observe


def _attributes(observed: ObservedRequest) -> dict[str, str | int]:
    """Return the attributes of a span, once the request is answered."""
    said: dict[str, str | int | None] = {
        "http.route": _route(observed.scope) or None,
        "http.response.status_code": observed.status or None,
        "mnemic.operation": observed.operation,
        "mnemic.space": observed.space,
        "mnemic.version": observed.version,
        "mnemic.request_id": observed.scope.get(REQUEST_ID),
    }
    return {name: value for name, value in said.items() if value is not None}


def _route(scope: Any) -> str:
    """Return the path template of the matched route; empty if there is none."""
    template: str = scope.get("path_template") or ""
    return template.replace(":str}", "}")


def _carried(scope: Any) -> dict[str, str]:
    """Return the headers that name the parent of a span. Source: W3C Trace Context."""
    return {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in scope["headers"]
        if name in {b"traceparent", b"tracestate"}
    }


def _exporter(name: str) -> Any:
    for each in PREFERRED.get(name, (name,)):
        for found in entry_points(group=EXPORTERS, name=each):
            return found.load()()
    if name in PACKAGES:
        raise ExtraMissing(
            f"no exporter {name!r} is installed",
            recovery=f"pip install {PACKAGES[name]}, or set {EXPORTER}=console.",
        )
    raise FieldRefused(
        f"{EXPORTER} names {name!r:.40}, which is no exporter here",
        recovery="Set it to otlp, console or none.",
        field=EXPORTER,
    )
