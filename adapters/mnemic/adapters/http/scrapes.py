"""The numbers of several processes on one page, each sample with the number of its process.

They are not added up: one that began anew would make a sum go back, which Prometheus takes for a
new beginning of all. It adds up itself what it is asked for, and knows of each when it began.
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

from mnemic.adapters.http.board import Board
from mnemic.adapters.http.relays import Relays

LOG = logging.getLogger("mnemic.http")
PATH = "/metrics"
WORKER = "worker"


async def of_all(relays: Relays, own: Callable[[], Awaitable[bytes]]) -> bytes:
    """Return the numbers of all processes; of one that is just not there, nothing.

    Args:
        relays: The way to the others.
        own: Gives those of this one.
    """

    async def of_one(number: int) -> bytes:
        if number == relays.post.number:
            return await own()
        try:
            return await relays.ask(number, PATH)
        except (OSError, HttpParserError) as error:
            LOG.warning("worker %d does not say its numbers: %s", number, error)
            return b""

    texts = await asyncio.gather(*(of_one(number) for number in range(relays.post.count)))
    own_words = merged({str(number): text.decode() for number, text in enumerate(texts)})
    return ends(relays.post.board) + own_words


def merged(texts: Mapping[str, str]) -> bytes:
    """Return several texts as one, with a label that tells which one each sample is of.

    Args:
        texts: As Prometheus reads them, by what the label says.
    """
    registry = CollectorRegistry()
    registry.register(_Merged(texts))
    return generate_latest(registry)


def ends(board: Board) -> bytes:
    """Return how often each process has ended without being told to, and another taken over."""
    registry = CollectorRegistry()
    registry.register(_Ends(board))
    return generate_latest(registry)


class _Ends(Collector):
    """What the parent has counted.

    Args:
        board: Where it stands.
    """

    def __init__(self, board: Board) -> None:
        self._board = board

    def collect(self) -> Iterable[Metric]:
        """Return one family, with a sample for each process and reason."""
        family = CounterMetricFamily(
            "mnemic_worker_ends",
            "Processes that died, or hung and were killed, and were replaced",
            labels=(WORKER, "reason"),
        )
        for number in range(self._board.count):
            for reason, count in self._board.ends(number).items():
                family.add_metric((str(number), reason), count)
        yield family


class _Merged(Collector):
    """What stands in several texts.

    Args:
        texts: By what the label says.
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
