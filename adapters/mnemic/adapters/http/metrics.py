"""``GET /metrics``: what Prometheus may know, in its text format.

Who may ask: a token that may read every space (``read`` on ``*``), or whoever sits at the machine
where that is allowed. The reason is that all of it tells of everybody: names of spaces and how much
is in them stand there as labels, and even how often a verb is called tells one tenant of another.
So a token of some spaces gets nothing (403), rather than less.

Every application has a registry of its own; nothing is global. Series, all beginning ``mnemic_``:

- ``requests_total{verb, status}``, ``request_duration_seconds{verb}`` (histogram, up to the last
  byte; streams of events, and those on which agents only listen, aside), ``requests_in_flight``;
- ``calls_running`` and ``calls_waiting`` (verbs on their threads, and in front of them),
  ``streams_open``, ``spaces_open``;
- of each space that is open: ``space_version``, ``space_active_hours``, ``space_edges``,
  ``space_blocks{status}``, ``space_decisions``, ``space_pending_connections``,
  ``space_open_sessions``, each with the label ``space``;
- ``build_info{version}``; and of the process, under the usual names, ``process_…``.

Where several workers serve one address each answers for all of them: every sample is there once for
each, with the label ``worker`` (its number, which whoever takes its place goes on with). Prometheus
adds them up, and sees one that began anew: ``sum by (verb) (rate(mnemic_requests_total[5m]))``, but
``max by (space) (mnemic_space_version)``. Beside them stands, as their parent has counted it,
``worker_ends_total{worker, reason}``: workers that ``died``, or ``hung`` and were killed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib.metadata import version

from anyio import to_thread
from litestar.types import ControllerRouterHandler
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from mnemic.adapters.access import EVERY_SPACE
from mnemic.adapters.http import reading, scrapes, streams
from mnemic.adapters.http.answers import Answer
from mnemic.adapters.http.calling import Desk
from mnemic.adapters.http.handlers import Asked, placed
from mnemic.adapters.http.observing import Seen
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.kernel.errors import MnemicError
from mnemic.kernel.results import Status

PATH = "/metrics"
NAME = "metrics"
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
"""Around what verbs take: a few milliseconds, and up to minutes for those that take long."""
SPACE = "space"


class Metrics:
    """The numbers of one application.

    Args:
        desk: What its requests share.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = self._counter("requests", "Requests that were answered", "verb", "status")
        self._durations = Histogram(
            "mnemic_request_duration_seconds",
            "From the first byte of a request to the last one of its answer",
            ("verb",),
            buckets=BUCKETS_S,
            registry=self._registry,
        )
        self._in_flight = self._gauge("requests_in_flight", "Requests that are being answered")
        self._gauge("build_info", "Which release this is", "version").labels(release()).set(1)
        workers, crew = desk.workers, desk.settings.threads
        running = self._gauge("calls_running", "Verbs that run on a thread")
        running.set_function(lambda: min(workers.busy, crew))
        waiting = self._gauge("calls_waiting", "Verbs that wait for a thread")
        waiting.set_function(lambda: max(0, workers.busy - crew))
        open_streams = self._gauge("streams_open", "Streams of events that are open")
        open_streams.set_function(lambda: desk.watches.followers)

    @contextmanager
    def observe(self, seen: Seen) -> Generator[None]:
        """Count a request, for a ``with`` block."""
        self._in_flight.inc()
        try:
            yield
        finally:
            self._in_flight.dec()
            verb = seen.verb
            if seen.status:
                self._requests.labels(verb, str(seen.status)).inc()
            if verb != streams.NAME and not seen.is_listening:
                self._durations.labels(verb).observe(seen.duration_s)

    async def text(self) -> bytes:
        """Return everything, as Prometheus reads it; of several processes that of each."""
        if self._desk.relays is None:
            return await self.own()
        return await scrapes.of_all(self._desk.relays, self.own)

    async def own(self) -> bytes:
        """Return what is known of this process."""
        opened = self._desk.spaces.opened
        return await to_thread.run_sync(partial(self._text, opened))

    def _text(self, opened: Mapping[str, SyncMemory]) -> bytes:
        spaces = CollectorRegistry()
        spaces.register(OpenSpaces(opened))
        return generate_latest(self._registry) + generate_latest(spaces)

    def _counter(self, name: str, told: str, *labels: str) -> Counter:
        return Counter(f"mnemic_{name}", told, labels, registry=self._registry)

    def _gauge(self, name: str, told: str, *labels: str) -> Gauge:
        return Gauge(f"mnemic_{name}", told, labels, registry=self._registry)


class OpenSpaces(Collector):
    """What is known of the spaces that are open, without opening one for it.

    Args:
        opened: By name.
    """

    def __init__(self, opened: Mapping[str, SyncMemory]) -> None:
        self._opened = opened

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return the numbers of all of them."""
        found = dict(self._found())
        count = GaugeMetricFamily("mnemic_spaces_open", "Spaces that are open")
        count.add_metric((), len(self._opened))
        yield count
        yield _of_each(found, "version", "Last version of the log")
        yield _of_each(found, "hour", "Active hours of the log", called="active_hours")
        yield _of_each(found, "edges", "Edges between blocks")
        yield _of_each(found, "decisions", "Recalls that were recorded")
        yield _of_each(found, "pending_connections", "Connections that wait for room")
        sessions = GaugeMetricFamily(
            "mnemic_space_open_sessions", "Sessions that are open", labels=(SPACE,)
        )
        blocks = GaugeMetricFamily(
            "mnemic_space_blocks", "Blocks, by where they stand", labels=(SPACE, "status")
        )
        for space, status in found.items():
            sessions.add_metric((space,), len(status.open_sessions))
            for each in ("inbox", "active", "archived"):
                blocks.add_metric((space, each), getattr(status, each))
        yield sessions
        yield blocks

    def _found(self) -> Iterator[tuple[str, Status]]:
        for space, memory in self._opened.items():
            with suppress(MnemicError):  # closed meanwhile, or its store is not well
                yield space, memory.status()


def _of_each(
    found: Mapping[str, Status], name: str, told: str, *, called: str | None = None
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"mnemic_space_{called or name}", told, labels=(SPACE,))
    for space, status in found.items():
        family.add_metric((space,), getattr(status, name))
    return family


def release() -> str:
    """Return which release of mnemic this is."""
    return version("mnemic")


def handlers(desk: Desk, metrics: Metrics) -> list[ControllerRouterHandler]:
    """Return the handlers of this module."""

    async def answer(request: Asked) -> Answer:
        desk.authenticate(request.scope).require(EVERY_SPACE, "read")
        reading.check_fields(reading.query(request.scope), ())
        return Answer(
            body=await metrics.text(),
            headers={"content-type": CONTENT_TYPE_PLAIN_0_0_4, "cache-control": "no-store"},
        )

    return [placed(answer, "GET", PATH, name=NAME)]
