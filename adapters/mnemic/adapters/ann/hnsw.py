"""One graph over one range of vectors, built once and never changed.

The library checks little: a vector of another size, or links that lead nowhere, make it read
invalid memory. So it is only passed rows of an index, and links that ``_check`` has followed once.
It is given the quantised vectors unchanged. All are of nearly one length, and its products are as
exact as ours.

Links are stored as plain arrays, without the vectors: an index has those already. So a file of a
graph holds no text, and is a tenth as large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.ann.library import obstacle
from mnemic.adapters.extras import pip_install
from mnemic.kernel.errors import Unavailable
from mnemic.projections.retrieval.approximate_search import BREADTH, Floats, Ints
from mnemic.projections.storage.array_bundle import ArrayBundle, packed, unpacked
from mnemic.projections.vectors.local_rows import Stored

LINKS: Final = 16
"""Links of a row on the upper levels; twice as many on the lowest (``M``)."""
CARE: Final = 200
"""Candidates considered while a row is added (``ef_construction``)."""
SEED: Final = 100
BATCH: Final = 256
"""Rows added between two checks of whether the graph is obsolete: a tenth of a second."""
FOLLOWED: Final = 4_096
"""Link lists checked in one go: no other thread waits longer than 2 ms for that."""

_WORD: Final = 4
"""Bytes of a link, and of the number of links before them."""
_LABEL: Final = 8
"""Bytes of a label: the library's external id of a row, here its position."""


class Unwanted(Exception):
    """A graph was not finished because it is obsolete. Internal to the adapter."""


class Misfit(Exception):
    """Stored links cannot belong to these vectors. Internal to the adapter."""


class HnswGraph:
    """Nearest neighbours among the vectors of one range. Safe for concurrent queries."""

    def __init__(self, graph: Any, count: int, dimension: int) -> None:
        """Wrap a graph of the library; use ``built`` or ``restored`` to make one."""
        self._graph = graph
        self._count = count
        self._dimension = dimension

    @classmethod
    def built(cls, rows: Stored, *, wanted: Callable[[], bool] = lambda: True) -> HnswGraph:
        """Return the graph of *rows*: built on one thread, hence the same every time.

        Raises:
            Unwanted: *wanted* returned False.
            Unavailable: The library cannot be used.
        """
        count, dimension = rows.shape
        graph = _library().Index("ip", dimension)
        graph.init_index(count, M=LINKS, ef_construction=CARE, random_seed=SEED)
        for start in range(0, count, BATCH):
            if not wanted():
                raise Unwanted
            end = min(start + BATCH, count)
            graph.add_items(rows[start:end], np.arange(start, end), num_threads=1)
        graph.set_ef(BREADTH)
        return cls(graph, count, dimension)

    def nearest(self, query: Floats, count: int) -> tuple[Ints, Floats] | None:
        """Return positions of rows, nearest first, and the products of *query* with them."""
        if query.shape != (self._dimension,) or not 1 <= count <= self._count:
            raise ValueError(f"{count} of {self._count} rows near a query of {query.shape}")
        try:
            labels, distances = self._graph.knn_query(query[None], k=count, num_threads=1)
        except RuntimeError:  # fewer than that are reachable
            return None
        # A distance is 1 - product, and both are whole numbers that a float holds exactly.
        return labels[0].astype(np.int64), 1.0 - distances[0]

    # --- as arrays ------------------------------------------------------------------------------

    def parts(self) -> ArrayBundle:
        """Return the links as arrays, without the vectors."""
        state = self._graph.__getstate__()[0]
        table = _table(state["data_level0"], self._count, self._dimension)
        return {
            "lowest": table[:, : _WORD * (1 + 2 * LINKS)].copy(),
            "upper": np.asarray(state["link_lists"]).view(np.uint8),
            "levels": np.asarray(state["element_levels"]).astype(np.int32),
            "entry": packed([int(state["enterpoint_node"]), int(state["max_level"])]),
        }

    @classmethod
    def restored(cls, parts: ArrayBundle, rows: Stored) -> HnswGraph:
        """Return the graph with these links.

        Raises:
            Misfit: They do not belong together, or lead nowhere.
            Unavailable: The library cannot be used.
        """
        count, dimension = rows.shape
        try:
            entry, highest = unpacked(parts["entry"])
            _check(parts, entry, highest, count)
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise Misfit(f"these are no links: {error!r}") from error
        kind = _library().Index
        empty = kind("ip", dimension)
        empty.init_index(1, M=LINKS, ef_construction=CARE, random_seed=SEED)
        state = empty.__getstate__()[0]
        links = _WORD * (1 + 2 * LINKS)
        table = np.empty((count, links + _WORD * dimension + _LABEL), dtype=np.uint8)
        table[:, :links] = parts["lowest"]
        table[:, links:-_LABEL] = rows.astype(np.float32).view(np.uint8)
        places = np.arange(count, dtype=np.uint64)
        table[:, -_LABEL:] = places[:, None].view(np.uint8)
        state |= {
            "max_elements": count,
            "cur_element_count": count,
            "max_level": highest,
            "enterpoint_node": entry,
            "ep_added": True,
            "num_threads": 1,
            "ef": BREADTH,
            "label_lookup_external": places,
            "label_lookup_internal": places.astype(np.uint32),
            "element_levels": parts["levels"],
            "data_level0": table.reshape(-1).view(np.int8),
            "link_lists": parts["upper"].view(np.int8),
        }
        graph = kind.__new__(kind)  # setting the state of an existing one ends the process
        graph.__setstate__((state,))
        return cls(graph, count, dimension)


def _library() -> Any:
    """Return hnswlib, after a trial has shown that it works.

    Raises:
        Unavailable: It does not.
    """
    if (trouble := obstacle()) is not None:
        raise Unavailable(trouble, recovery=f"Install it on this machine: {pip_install('hnsw')}.")
    import hnswlib

    return hnswlib


def _table(data: NDArray[Any], count: int, dimension: int) -> NDArray[np.uint8]:
    """Return the library's own memory as one row per vector: links, vector, label."""
    table: NDArray[np.uint8] = np.asarray(data).view(np.uint8)
    return table.reshape(count, _WORD * (1 + 2 * LINKS + dimension) + _LABEL)


def _check(parts: ArrayBundle, entry: int, highest: int, count: int) -> None:
    """Follow every link once.

    Raises:
        Misfit: One leads nowhere.
        KeyError, ValueError, TypeError, IndexError: Something is not what it is called.
    """
    levels, lowest = parts["levels"], parts["lowest"]
    if levels.shape != (count,) or levels.dtype != np.int32 or lowest.dtype != np.uint8:
        raise Misfit("another number of rows")
    whole = (levels >= 0).all() and highest == levels.max() and levels[entry] == highest
    if not whole or not 0 <= entry < count:
        raise Misfit("no row to begin with")
    width = _WORD * (1 + LINKS)
    upper = parts["upper"]
    if upper.dtype != np.uint8 or upper.shape != (int(levels.sum()) * width,):
        raise Misfit("upper levels of another size")
    _follow(lowest.reshape(count, _WORD * (1 + 2 * LINKS)), np.zeros(count, np.int32), levels)
    # A row's lists are stored one after the other, from level one up to its own.
    risen = np.repeat(np.arange(count), levels)
    starts = np.cumsum(levels) - levels
    heights = np.arange(len(risen)) - starts[risen] + 1
    _follow(upper.reshape(len(risen), width), heights, levels)


def _follow(lists: NDArray[np.uint8], heights: NDArray[Any], levels: NDArray[Any]) -> None:
    """Check lists of links, each of which must lead to a row that reaches up to the list's height.

    Raises:
        Misfit: One does not.
    """
    for start in range(0, len(lists), FOLLOWED):
        part = slice(start, start + FOLLOWED)
        words = np.ascontiguousarray(lists[part]).view(np.uint32)
        counts, links = words[:, :1], words[:, 1:]
        used = np.arange(links.shape[1]) < counts
        if (counts > links.shape[1]).any() or (links[used] >= len(levels)).any():
            raise Misfit("a link leads nowhere")
        reached = levels[np.where(used, links, 0)]
        if (used & (reached < heights[part, None])).any():
            raise Misfit("a link leads above a row")
