"""``GET /metrics``: metrics in Prometheus' text format.

Access requires a token that may read every space (``read`` on ``*``), or loopback access where that
is enabled. The reason is that the metrics concern all spaces: names of spaces and their sizes are
in labels, and even the rate at which an operation is called tells one tenant about another. So a
token for some spaces gets no metrics (403), rather than fewer.

Every application has a registry of its own; nothing is global. Series, all with the prefix
``mnemic_``:

- ``requests_total{operation, status}``, ``request_duration_seconds{operation}`` (histogram, up to
  the last byte; without event streams, and those on which agents only listen),
  ``requests_in_flight``;
- ``calls_running`` and ``calls_waiting`` (operations on their threads, and in their queue),
  ``streams_open``, ``spaces_open``;
- of each open space: ``space_version``, ``space_active_hours``, ``space_edges``,
  ``space_blocks{status}``, ``space_decisions``, ``space_pending_connections``,
  ``space_open_sessions``, each with the label ``space``;
- of a host of a cluster: ``cluster_spaces_led``, ``cluster_lease_left_seconds``,
  ``cluster_takeovers_total`` (epochs that it began), ``cluster_passed_on_total`` (requests that it
  passed on to the leader of their space);
- ``build_info{version}``; and of the process, under the usual names, ``process_…``.

Of several workers that serve one address each answers for all of them, in the multiprocess mode of
prometheus_client: requests, durations, calls and streams are summed, those of ended workers
included. A host of a cluster with several workers gives the most spaces that one of them leads, and
the shortest lease. Open spaces are those of the worker that answers, so take ``max by (space)
(mnemic_space_version)`` over a while; ``process_…`` is missing.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from anyio import to_thread
from litestar.types import ControllerRouterHandler
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
    multiprocess,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from mnemic.adapters.access import EVERY_SPACE
from mnemic.adapters.http.endpoints import events
from mnemic.adapters.http.endpoints.dispatch import Dispatcher
from mnemic.adapters.http.messages import requests
from mnemic.adapters.http.messages.responses import Answer
from mnemic.adapters.http.middleware.observation import ObservedRequest
from mnemic.adapters.http.routing.handlers import Asked, placed
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.results import Status

if TYPE_CHECKING:
    from mnemic.adapters.cluster.host import ClusterHost

PATH = "/metrics"
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the folder in which several processes share their metrics; it has to be
set when prometheus_client is first imported."""
NAME = "metrics"
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
"""Covers usual durations: a few milliseconds, and up to minutes for long operations."""
SPACE = "space"


class Metrics:
    """The metrics of one application.

    Args:
        dispatcher: The dependencies that its requests share.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._registry = CollectorRegistry()
        self._is_shared = SHARED_FOLDER in os.environ
        if not self._is_shared:
            ProcessCollector(registry=self._registry)
        self._requests = self._counter(
            "requests", "Requests that were answered", "operation", "status"
        )
        self._durations = Histogram(
            "mnemic_request_duration_seconds",
            "From the first byte of a request to the last one of its answer",
            ("operation",),
            buckets=BUCKETS_S,
            registry=self._registry,
        )
        self._in_flight = self._gauge("requests_in_flight", "Requests that are being answered")
        self._running = self._gauge("calls_running", "Operations that run on a thread")
        self._waiting = self._gauge("calls_waiting", "Operations that wait for a thread")
        self._streams = self._gauge("streams_open", "Streams of events that are open")
        build = self._gauge("build_info", "Which release this is", "version", mode="max")
        build.labels(release()).set(1)
        self._cluster: ClusterMetrics | None = None

    @contextmanager
    def observe(self, observed: ObservedRequest) -> Generator[None]:
        """Count a request, for a ``with`` block."""
        self._in_flight.inc()
        self._share()
        try:
            yield
        finally:
            self._in_flight.dec()
            self._share()
            operation = observed.operation
            if observed.status:
                self._requests.labels(operation, str(observed.status)).inc()
            if operation != events.NAME and not observed.is_listening:
                self._durations.labels(operation).observe(observed.duration_s)

    def _share(self) -> None:
        """Set the gauges for another process that may answer a scrape; a scrape here sets them."""
        if self._is_shared:
            self._measure()

    def _measure(self) -> None:
        """Set the gauges of calls and streams, and what there is of a cluster."""
        host = self._dispatcher.spaces.cluster
        if host is not None:
            if self._cluster is None:
                self._cluster = ClusterMetrics(self._registry)
            self._cluster.measure(host, passed_on=self._dispatcher.forwarding.passed_on)
        busy, at_once = self._dispatcher.workers.busy, self._dispatcher.settings.threads
        self._running.set(min(busy, at_once))
        self._waiting.set(max(0, busy - at_once))
        self._streams.set(self._dispatcher.watches.followers)

    async def text(self) -> bytes:
        """Return all metrics in Prometheus' format."""
        self._measure()
        opened = self._dispatcher.spaces.opened
        return await to_thread.run_sync(partial(self._text, opened))

    def _text(self, opened: Mapping[str, SyncMemory]) -> bytes:
        spaces = CollectorRegistry()
        spaces.register(OpenSpaces(opened))
        registry = self._registry
        if self._is_shared:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry) + generate_latest(spaces)

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(f"mnemic_{name}", documentation, labels, registry=self._registry)

    def _gauge(
        self,
        name: str,
        documentation: str,
        *labels: str,
        mode: Literal["livesum", "max"] = "livesum",
    ) -> Gauge:
        return Gauge(
            f"mnemic_{name}",
            documentation,
            labels,
            registry=self._registry,
            multiprocess_mode=mode,
        )


class ClusterMetrics:
    """The metrics of a host of a cluster, whose spaces are open when they are made."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._led = Gauge(
            "mnemic_cluster_spaces_led",
            "Spaces that this host leads",
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._lease = Gauge(
            "mnemic_cluster_lease_left_seconds",
            "Time until the lease of this host ends unless it is renewed",
            registry=registry,
            multiprocess_mode="livemin",
        )
        self._takeovers = Counter(
            "mnemic_cluster_takeovers", "Epochs that this host has begun", registry=registry
        )
        self._passed_on = Counter(
            "mnemic_cluster_passed_on", "Requests passed on to another host", registry=registry
        )
        self._counted = 0, 0

    def measure(self, host: ClusterHost, *, passed_on: int) -> None:
        """Set all of them."""
        self._led.set(host.led)
        self._lease.set(host.lease_left_s)
        before, self._counted = self._counted, (host.takeovers, passed_on)
        self._takeovers.inc(self._counted[0] - before[0])
        self._passed_on.inc(self._counted[1] - before[1])


class OpenSpaces(Collector):
    """Collector for the spaces that are already open.

    Args:
        opened: By name.
    """

    def __init__(self, opened: Mapping[str, SyncMemory]) -> None:
        self._opened = opened

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return the metrics of all of them."""
        found = dict(self._found())
        count = GaugeMetricFamily("mnemic_spaces_open", "Spaces that are open")
        count.add_metric((), len(self._opened))
        yield count
        yield _of_each(found, "version", "Last version of the log")
        yield _of_each(found, "hour", "Active hours of the log", called="active_hours")
        yield _of_each(found, "edges", "Edges between blocks")
        yield _of_each(found, "decisions", "Recalls that were recorded")
        yield _of_each(found, "pending_connections", "Connections that are pending")
        sessions = GaugeMetricFamily(
            "mnemic_space_open_sessions", "Sessions that are open", labels=(SPACE,)
        )
        blocks = GaugeMetricFamily(
            "mnemic_space_blocks", "Blocks, by status", labels=(SPACE, "status")
        )
        for space, status in found.items():
            sessions.add_metric((space,), len(status.open_sessions))
            for each in ("inbox", "active", "archived"):
                blocks.add_metric((space, each), getattr(status, each))
        yield sessions
        yield blocks

    def _found(self) -> Iterator[tuple[str, Status]]:
        for space, memory in self._opened.items():
            with suppress(MnemicError):  # closed in the meantime, or its store has failed
                yield space, memory.status()


def _of_each(
    found: Mapping[str, Status], name: str, documentation: str, *, called: str | None = None
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"mnemic_space_{called or name}", documentation, labels=(SPACE,))
    for space, status in found.items():
        family.add_metric((space,), getattr(status, name))
    return family


def forget_ended() -> None:
    """Remove the live gauges of processes that have ended without doing so themselves."""
    for file in Path(os.environ[SHARED_FOLDER]).glob("gauge_live*.db"):
        pid = int(file.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]


def release() -> str:
    """Return the installed version of mnemic."""
    return version("mnemic")


def handlers(dispatcher: Dispatcher, metrics: Metrics) -> list[ControllerRouterHandler]:
    """Return the handlers of this module."""

    async def answer(request: Asked) -> Answer:
        dispatcher.authenticate(request.scope).require(EVERY_SPACE, "read")
        requests.check_fields(requests.query(request.scope), ())
        return Answer(
            body=await metrics.text(),
            headers={"content-type": CONTENT_TYPE_PLAIN_0_0_4, "cache-control": "no-store"},
        )

    return [placed(answer, "GET", PATH, name=NAME)]
