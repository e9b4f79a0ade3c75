"""Metrics of several processes on one page, each sample labelled with the number of its process.

They are not summed: a process that restarts would make a sum decrease, which Prometheus takes for a
reset of the whole counter. Prometheus sums samples in queries, and knows of each when it restarted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping

from httptools import HttpParserError
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from mnemic.adapters.http.processes.proxy import WorkerProxy
from mnemic.adapters.http.processes.shared_counters import SharedCounters

LOG = logging.getLogger("mnemic.http")
PATH = "/metrics"
WORKER = "worker"


async def merged_of_workers(proxy: WorkerProxy, own: Callable[[], Awaitable[bytes]]) -> bytes:
    """Return the metrics of all processes; a process that is unavailable contributes nothing.

    Args:
        proxy: Connection to the other processes.
        own: Returns the metrics of this process.
    """

    async def of_one(number: int) -> bytes:
        if number == proxy.worker_slot.number:
            return await own()
        try:
            return await proxy.ask(number, PATH)
        except (OSError, HttpParserError) as error:
            LOG.warning("worker %d does not return its metrics: %s", number, error)
            return b""

    texts = await asyncio.gather(*(of_one(number) for number in range(proxy.worker_slot.count)))
    own_words = merged({str(number): text.decode() for number, text in enumerate(texts)})
    return ends(proxy.worker_slot.counters) + own_words


def merged(texts: Mapping[str, str]) -> bytes:
    """Merge several texts of metrics into one, with a label for the origin of each sample.

    Args:
        texts: Metrics in Prometheus' text format, by the value of the label.
    """
    registry = CollectorRegistry()
    registry.register(_Merged(texts))
    return generate_latest(registry)


def ends(counters: SharedCounters) -> bytes:
    """Return how often each process has ended unexpectedly and was replaced."""
    registry = CollectorRegistry()
    registry.register(_Ends(counters))
    return generate_latest(registry)


class _Ends(Collector):
    """Collector of the unexpected ends that the parent has counted.

    Args:
        counters: The shared counters that hold them.
    """

    def __init__(self, counters: SharedCounters) -> None:
        self._counters = counters

    def collect(self) -> Iterable[Metric]:
        """Return one family, with a sample for each process and reason."""
        family = CounterMetricFamily(
            "mnemic_worker_ends",
            "Processes that died, or hung and were killed, and were replaced",
            labels=(WORKER, "reason"),
        )
        for number in range(self._counters.count):
            for reason, count in self._counters.ends(number).items():
                family.add_metric((str(number), reason), count)
        yield family


class _Merged(Collector):
    """Collector of the metrics in several texts.

    Args:
        texts: Metrics in Prometheus' text format, by the value of the label.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def collect(self) -> Iterable[Metric]:
        """Return all families, each with the samples of all texts."""
        families: dict[str, Metric] = {}
        for worker, text in self._texts.items():
            for found in text_string_to_metric_families(text):
                family = families.setdefault(
                    found.name, Metric(found.name, found.documentation, found.type)
                )
                for sample in found.samples:
                    family.add_sample(sample.name, {**sample.labels, WORKER: worker}, sample.value)
        return families.values()
