"""What can be asked of the live memory and of any view of the past alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from mnemic.adapters.inprocess import history, records
from mnemic.adapters.inprocess.points import NOW, Point, view_of_point
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.identity import BlockId
from mnemic.kernel.results import (
    Analogy,
    Block,
    ComposedNeighbour,
    Composition,
    DiffResult,
    Edge,
    Frontier,
    Moment,
    Page,
    Status,
    Timeline,
)
from mnemic.projections import blocks, chronicle, compositions, differences, likeness
from mnemic.projections.frontier.queue import frontier
from mnemic.projections.views import View


class Queries(ABC):
    """Queries over one space at one point. None of them writes."""

    _space: Space

    @abstractmethod
    def _view(self) -> View:
        """Return the view to ask."""

    def block(self, block_id: str) -> Block:
        """Return one block.

        Raises:
            BlockNotFound: It was not learned by now.
        """
        with self._space.guard:
            view = self._view()
            return blocks.block_result(view, blocks.find(view, block_id))

    def _ids(self) -> list[BlockId]:
        """Return the id of every block, sorted."""
        with self._space.guard:
            return blocks.ids(self._view())

    def _embedder(self) -> EmbedderIdentity | None:
        """Return the embedder in force, as the log names it."""
        with self._space.guard:
            return self._view().embedder

    def blocks(
        self,
        *,
        tag: str | None = None,
        category: str | None = None,
        author: str | None = None,
        thread: str | None = None,
        status: str | None = None,
        after: int | None = None,
        limit: int = 100,
    ) -> Page:
        """Return a page of blocks in the order of learning.

        Args:
            tag: With this tag; one that ends in ``/`` stands for every tag below it.
            category: Of this category.
            author: Said by this author.
            thread: Of this thread.
            status: ``inbox``, ``active`` or ``archived``.
            after: Continue behind this version (``next_after`` of the page before).
            limit: Most blocks of the page. Range: 1 to 1000.
        """
        with self._space.guard:
            return blocks.blocks(
                self._view(),
                tag=tag,
                category=category,
                author=author,
                thread=thread,
                status=status,
                after=after,
                limit=limit,
            )

    def edges(self, block_id: str) -> tuple[Edge, ...]:
        """Return the edges of a block, strongest now first.

        Raises:
            BlockNotFound: It was not learned by now.
        """
        with self._space.guard:
            return blocks.edges(self._view(), block_id)

    def near_duplicates(self) -> tuple[tuple[Block, Block, float], ...]:
        """Return the recorded pairs of active blocks that say almost the same, and their cosine."""
        with self._space.guard:
            return blocks.near_duplicates(self._view())

    def pending_connections(self) -> tuple[Edge, ...]:
        """Return the connections that wait for room, first in first."""
        with self._space.guard:
            return blocks.pending_connections(self._view())

    def composition(self, composition_id: str) -> Composition:
        """Return one composition with its members and the labels that count.

        Raises:
            CompositionNotFound: Nothing had been composed under this id.
        """
        with self._space.guard:
            return compositions.composition(self._view(), composition_id)

    def ledger(self, *, of: str | None = None, limit: int = 10) -> tuple[Composition, ...]:
        """Return the latest compositions, or those that one block is a member of.

        Args:
            of: A block.
            limit: Most compositions. Range: 1 to 1000.

        Raises:
            BlockNotFound: It was not learned by now.
        """
        with self._space.guard:
            return compositions.listed(self._view(), block=of, limit=limit)

    def composed_with(self, block_id: str, *, limit: int = 10) -> tuple[ComposedNeighbour, ...]:
        """Return the blocks that a block was composed with, most often first.

        Args:
            block_id: A block.
            limit: Most blocks. Range: 1 to 1000.

        Raises:
            BlockNotFound: It was not learned by now.
        """
        with self._space.guard:
            return compositions.neighbours(self._view(), block_id, limit=limit)

    def analogies(self, block_id: str, *, limit: int = 10) -> tuple[Analogy, ...]:
        """Return the blocks that stand in relations as this one does and say something else.

        Args:
            block_id: A block with at least one typed edge (supports, elaborates, contradicts,
                outcome, or a relation of your own).
            limit: Most blocks. Range: 1 to 1000.

        Raises:
            BlockNotFound: It was not learned by now.
        """
        with self._space.guard:
            return likeness.analogies(self._view(), block_id, limit=limit)

    def compare(self, block_id: str, other_id: str) -> Analogy:
        """Return how two blocks compare: in structure, in looks, and which of four kinds that is.

        Raises:
            BlockNotFound: One was not learned by now.
        """
        with self._space.guard:
            return likeness.compare(self._view(), block_id, other_id)

    def frontier(
        self,
        *,
        mode: str = "default",
        tags: Sequence[str] = (),
        limit: int = 10,
        size: int | str = 2,
        decision: str | None = None,
    ) -> Frontier:
        """Return blocks that were never composed and look worth it: a queue, not a finding.

        Args:
            mode: ``default``, or ``classic``: the scores that clients of ``composed_graph`` know.
            tags: A member must have one of these, or one in its namespace (``project:x`` for
                ``project``).
            limit: Most candidates. Range: 1 to 1000.
            size: How many blocks at a time: 2, 3, 4 or ``any``.
            decision: A recorded recall: the frontier as it stood when that was asked. What was
                composed since and worked is told apart, as ``hindsight``.

        Raises:
            FieldRefused: An argument is none of what it should be.
            DecisionNotFound: No recorded recall has this id.
        """
        with self._space.guard:
            now = then = self._view()
            if decision is not None:
                then = records.view_before(self._space, now, decision)
            return frontier(
                then,
                mode=mode,
                tags=tags,
                limit=limit,
                size=size,
                until=None if decision is None else now,
            )

    def diff(self, before: Point, after: Point = NOW, *, limit: int = 50) -> DiffResult:
        """Return what is otherwise at one point than at an earlier one.

        Blocks, edges, evidence, labels and policies are compared as they stand at both points, so
        what came and went in between shows in ``events`` alone.

        Args:
            before: A version (``120``), active hours (``"12.5h"``), a decision (``"d45"``, as it
                read the memory), a wall-clock instant (ISO 8601, or a datetime), or ``"now"``.
            after: The same, and not earlier; a difference is never told backwards.
            limit: Most entries of each list; ``totals`` counts them all. Range: 1 to 1000.

        Raises:
            FieldRefused: A point or the limit is none, or *after* is the earlier one.
            PointOutOfRange, DecisionNotFound: There is no such point.
        """
        with self._space.guard:
            now = self._view()
            points = [
                view_of_point(self._space, now, name, point)
                for name, point in (("before", before), ("after", after))
            ]
            return differences.difference(points[0], points[1], limit=limit)

    def timeline(
        self, *, bins: int | None = None, after: int | None = None, limit: int = 100
    ) -> Timeline:
        """Return when everything happened: by active hours, by wall clock and by session.

        Args:
            bins: Into how many equal stretches the active hours are cut; None: 24. Range: 1 to
                1000.
            after: Sessions that started behind this version (``next_after`` of the page before).
            limit: Most sessions of the page. Range: 1 to 1000.

        Raises:
            FieldRefused: An argument is none of these.
        """
        with self._space.guard:
            return chronicle.timeline(self._view(), bins=bins, after=after, limit=limit)

    def status(self) -> Status:
        """Return counts, the clock, and what is in force."""
        with self._space.guard:
            return blocks.status(self._view(), self._space.log.name)

    def history(self, *, of: str | None = None, limit: int = 100) -> tuple[Moment, ...]:
        """Return the last events, or those behind one block, in order.

        Args:
            of: A block.
            limit: Most events. Range: 1 to 1000.

        Raises:
            BlockNotFound: It was not learned by now.
        """
        with self._space.guard:
            view = self._view()
            if of is not None:
                return history.behind(self._space, view, of, limit=limit)
            return history.latest(self._space, view.point.version, limit=limit)

    def log(self, *, after: int = -1, limit: int = 100) -> tuple[Moment, ...]:
        """Return up to *limit* events behind version *after*, in order."""
        with self._space.guard:
            upto = self._view().point.version
            found = history.entries(self._space, after=after, limit=limit)
            return tuple(entry for entry in found if entry.version <= upto)


def known_ids(known: Queries) -> list[BlockId]:
    """Return the id of every block that *known* shows, sorted: for doors that take short ones."""
    return known._ids()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - no verb of its own


def embedder_in_force(known: Queries) -> EmbedderIdentity | None:
    """Return the identity of the embedder that *known* asks; None: none was adopted yet."""
    return known._embedder()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - as above
