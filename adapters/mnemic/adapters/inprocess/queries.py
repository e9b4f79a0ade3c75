"""Queries shared by the live memory and the views of the past."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mnemic.adapters.inprocess.dumps import SyncDumps
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.recall import decision_records
from mnemic.adapters.inprocess.registry import operation
from mnemic.adapters.inprocess.time_points import NOW, Point, view_of_point
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.results import ResultList
from mnemic.projections.listing import blocks
from mnemic.projections.view import View, as_of
from mnemic.projections.view.block_results import block_result, find

if TYPE_CHECKING:
    from mnemic.kernel.results import (
        Analogy,
        Block,
        ComposedNeighbour,
        Composition,
        DecisionPage,
        Descent,
        DiffResult,
        Edge,
        FactResult,
        Frontier,
        LogEntry,
        Page,
        Status,
        Subgraph,
        Timeline,
        Trajectory,
    )


class Queries(SyncDumps, ABC):
    """Read-only queries over one space at one point."""

    _space: SessionHandle

    @abstractmethod
    def _view(self) -> View:
        """Return the view that the queries are evaluated on."""

    @operation("GET ./blocks/{block_id}", "Blocks")
    def block(self, block_id: str) -> Block:
        """Return one block.

        Raises:
            BlockNotFound: It was not learned by now.
        """
        view = self._view()
        return block_result(view, find(view, block_id))

    def _ids(self, start: str) -> list[BlockId]:
        """Return the id of every block whose id begins with *start*, sorted."""
        return blocks.ids(self._view(), start)

    def _embedder(self) -> EmbedderIdentity | None:
        """Return the embedder in force, as the log names it."""
        return self._view().embedder

    @operation("GET ./blocks", "Blocks")
    def blocks(
        self,
        *,
        tag: str | None = None,
        category: str | None = None,
        author: str | None = None,
        thread: str | None = None,
        key: str | None = None,
        status: str | None = None,
        after: int | None = None,
        limit: int = 100,
    ) -> Page:
        """Return a page of blocks in the order of learning.

        Args:
            tag: With this tag; one that ends in ``/`` matches every tag below it. None: any tags.
            category: In this category; None: any.
            author: By this author; None: any.
            thread: In this thread; None: any.
            key: Learned with this key, the last one being current unless it was forgotten; a key
                that ends in ``/`` matches every key below it. None: any, or none.
            status: ``inbox``, ``active``, ``archived`` or ``quarantined``.
            after: Continue after this version: ``next_after`` of the page before. None: from the
                start. Any whole number.
            limit: Most blocks of the page. Range: 1 to 1000.
        """
        return blocks.blocks(
            self._view(),
            tag=tag,
            category=category,
            author=author,
            thread=thread,
            key=key,
            status=status,
            after=after,
            limit=limit,
        )

    @operation("GET ./blocks/{of}/facts", "Blocks")
    def facts(self, of: str) -> ResultList[FactResult]:
        """Return the facts that extractors found in a message, in the order of extraction.

        Args:
            of: The message, a block.

        Raises:
            BlockNotFound: It was not learned by now.
        """
        from mnemic.adapters.inprocess.extraction.results import finding_result
        from mnemic.projections.view.extracted import findings_in

        view = self._view()
        found = findings_in(view, find(view, of))
        return ResultList(finding_result(view, each) for each in found)

    @operation("GET ./blocks/{of}/sources", "Blocks")
    def sources(self, of: str) -> ResultList[FactResult]:
        """Return on what a fact rests: each extraction that found it, with what it quotes.

        A block that no extractor found rests on nothing but its own learning.

        Args:
            of: The fact, a block.

        Raises:
            BlockNotFound: It was not learned by now.
        """
        from mnemic.adapters.inprocess.extraction.results import finding_result
        from mnemic.projections.view.extracted import findings_of

        view = self._view()
        found = findings_of(view, find(view, of))
        return ResultList(finding_result(view, each) for each in found)

    @operation("GET ./blocks/{block_id}/edges", "Edges")
    def edges(self, block_id: str) -> ResultList[Edge]:
        """Return the edges of a block, strongest now first.

        Raises:
            BlockNotFound: It was not learned by now.
        """
        return ResultList(blocks.edges(self._view(), block_id))

    @operation("GET ./blocks/{block_id}/trajectory", "Blocks")
    def trajectory(self, block_id: str, *, points: int = 50) -> Trajectory:
        """Return the strength and the evidence of a block over time.

        Args:
            block_id: Id of a block: 16 hexadecimal digits.
            points: Points of equal distance in active hours since it was learned, and most of the
                versions that changed it, each of which is shown before and after. Range: 2 to 500.

        Raises:
            FieldRefused: The number of points is out of range.
            BlockNotFound: It was not learned by now.
        """
        from mnemic.projections.listing import trajectories

        return trajectories.trajectory(self._view(), block_id, points=points)

    @operation("GET ./subgraph", "Edges")
    def subgraph(self, block_ids: Sequence[str], *, hops: int = 2, limit: int = 60) -> Subgraph:
        """Return the strongest connections around some blocks.

        Blocks are added by the product of the effective weights on the best way to them, until
        there are *limit*; so it stays small where everything is connected.

        Args:
            block_ids: Where to begin, such as the blocks of an answer.
            hops: Most edges on a way. Range: 1 to 5.
            limit: Most blocks. Range: 1 to 300.

        Raises:
            FieldRefused: An argument is not valid.
            BlockNotFound: A block was not learned by now.
        """
        from mnemic.projections.listing import subgraphs

        return subgraphs.subgraph(self._view(), block_ids, hops=hops, limit=limit)

    @operation("GET ./decisions", "Decisions")
    def decisions(
        self,
        *,
        of: str | None = None,
        outcome: str | None = None,
        text: str | None = None,
        order: str = "latest",
        after: int | None = None,
        limit: int = 50,
    ) -> DecisionPage:
        """Return a page of recorded recalls, and how each went.

        Args:
            of: Only those that returned this block; None: all.
            outcome: ``bad`` (below 0.5), ``good``, or ``none``: not scored. None: any.
            text: Only questions that contain this, in any case. A page looks through 1,000
                decisions at most, so it may be short, or empty, although there are more.
            order: ``latest`` first, or ``worst`` first, where what was not scored is last.
            after: Continue after this version: ``next_after`` of the page before. None: from the
                start. Any whole number.
            limit: Most decisions of the page. Range: 1 to 200.

        Raises:
            FieldRefused: An argument is not valid.
            BlockNotFound: The block was not learned by now.
        """
        from mnemic.adapters.inprocess.replay import decision_list

        return decision_list.listed(
            self._space,
            self._view(),
            of=of,
            outcome=outcome,
            text=text,
            order=order,
            after=after,
            limit=limit,
        )

    @operation("GET ./near-duplicates", "Blocks")
    def near_duplicates(self) -> ResultList[tuple[Block, Block, float]]:
        """Return the recorded near-duplicate pairs of active blocks, and their cosine."""
        return ResultList(blocks.near_duplicates(self._view()))

    @operation("GET ./edges/pending", "Edges")
    def pending_connections(self) -> ResultList[Edge]:
        """Return the connections that wait under the degree cap, oldest first."""
        return ResultList(blocks.pending_connections(self._view()))

    @operation("GET ./compositions/{composition_id}", "Compositions")
    def composition(self, composition_id: str) -> Composition:
        """Return one composition with its members and the labels in force.

        Raises:
            CompositionNotFound: No composition has this id.
        """
        from mnemic.projections.listing import compositions

        return compositions.composition(self._view(), composition_id)

    @operation("GET ./compositions", "Compositions")
    def ledger(self, *, of: str | None = None, limit: int = 10) -> ResultList[Composition]:
        """Return the latest compositions, or those that one block is a member of.

        Args:
            of: Only compositions with this block; None: all.
            limit: Most compositions. Range: 1 to 1000.

        Raises:
            BlockNotFound: It was not learned by now.
        """
        from mnemic.projections.listing import compositions

        return ResultList(compositions.listed(self._view(), block=of, limit=limit))

    @operation("GET ./blocks/{block_id}/composed-with", "Compositions")
    def composed_with(self, block_id: str, *, limit: int = 10) -> ResultList[ComposedNeighbour]:
        """Return the blocks that a block was composed with, most often first.

        Args:
            block_id: A block.
            limit: Most blocks. Range: 1 to 1000.

        Raises:
            BlockNotFound: It was not learned by now.
        """
        from mnemic.projections.listing import compositions

        return ResultList(compositions.neighbours(self._view(), block_id, limit=limit))

    @operation("GET ./blocks/{block_id}/analogies", "Compositions")
    def analogies(self, block_id: str, *, limit: int = 10) -> ResultList[Analogy]:
        """Return the blocks with relations like this one's and different content.

        Args:
            block_id: A block with at least one typed edge (supports, elaborates, contradicts,
                outcome, or a relation of your own).
            limit: Most blocks. Range: 1 to 1000.

        Raises:
            BlockNotFound: It was not learned by now.
        """
        from mnemic.projections.listing import analogies

        return ResultList(analogies.analogies(self._view(), block_id, limit=limit))

    @operation("GET ./blocks/{block_id}/compare/{other_id}", "Compositions")
    def compare(self, block_id: str, other_id: str) -> Analogy:
        """Return how two blocks compare in structure and surface, as one of four kinds.

        Raises:
            BlockNotFound: One was not learned by now.
        """
        from mnemic.projections.listing import analogies

        return analogies.compare(self._view(), block_id, other_id)

    @operation("GET ./frontier", "Compositions")
    def frontier(
        self,
        *,
        mode: str = "default",
        tags: Sequence[str] = (),
        limit: int = 10,
        size: int | str = 2,
        decision: str | None = None,
    ) -> Frontier:
        """Return blocks never composed together that look worth it: a queue, not a finding.

        Args:
            mode: ``default``, or ``classic``: the scores that clients of ``composed_graph`` know.
            tags: A member must have one of these, or one in its namespace (``project:x`` for
                ``project``). None: any block.
            limit: Most candidates. Range: 1 to 1000.
            size: Number of blocks of a candidate.
            decision: A recorded recall: the frontier at the time of that decision. Candidates that
                were composed since, and worked, are reported separately as ``calibration``.

        Raises:
            FieldRefused: An argument is invalid.
            DecisionNotFound: No recorded recall has this id.
        """
        from mnemic.projections.frontier.queue import frontier

        now = then = self._view()
        if decision is not None:
            then = decision_records.view_before(self._space, now, decision)
        return frontier(
            then,
            mode=mode,
            tags=tags,
            limit=limit,
            size=size,
            until=None if decision is None else now,
        )

    @operation("GET ./diff", "The past")
    def diff(self, before: Point, after: Point = NOW, *, limit: int = 50) -> DiffResult:
        """Return the differences between an earlier point and a later one.

        Blocks, edges, evidence, labels and policies are compared as they are at the two points;
        what was added and removed again in between is only counted in ``events``.

        Args:
            before: A version (``120``), active hours (``"12.5h"``), a decision (``"d45"``, as it
                read the memory), a wall-clock instant (ISO 8601, or a datetime), a day
                (``"2026-11-17"``, meaning its end; see ``as_of``), or ``"now"``.
            after: The same, and not earlier than *before*.
            limit: Most entries of each list; ``totals`` counts them all. Range: 1 to 1000.

        Raises:
            FieldRefused: A point or the limit is invalid, or *after* is the earlier one.
            PointOutOfRange, DecisionNotFound: There is no such point.
        """
        from mnemic.projections.listing import differences

        now = self._view()
        points = [
            view_of_point(self._space, now, name, point)
            for name, point in (("before", before), ("after", after))
        ]
        return differences.difference(points[0], points[1], limit=limit)

    @operation("GET ./timeline", "The past")
    def timeline(
        self, *, bins: int | None = None, after: int | None = None, limit: int = 100
    ) -> Timeline:
        """Return when everything happened: by active hours, by wall clock and by session.

        Args:
            bins: Number of equal intervals of active hours; None: 24. Range: 1 to 1000.
            after: Sessions that started after this version (``next_after`` of the page before);
                None: from the first. Any whole number.
            limit: Most sessions of the page. Range: 1 to 1000.

        Raises:
            FieldRefused: An argument is invalid.
        """
        from mnemic.projections.listing import timeline

        return timeline.timeline(self._view(), bins=bins, after=after, limit=limit)

    @operation("POST ./descent", "The past")
    def descent(
        self, selector: Mapping[str, Any], *, after: int | None = None, limit: int = 100
    ) -> Descent:
        """Return what descends from the selected writes, each with the path from them to it.

        Blocks that they learned, and edges, decisions, outcomes, compositions, labels and policies
        that these or the writers led to, in the order of the log. The log is read for it.

        Args:
            selector: Which writes: ``source``, ``actor``, ``block``. Each is one or several, and
                ``since`` and ``until`` limit when they were recorded. All given conditions must
                hold.
            after: Continue after this version (``next_after`` of the page before); None: from the
                first. Any whole number.
            limit: Most entries of the page; those of one event stay together. Range: 1 to 1000.

        Raises:
            FieldRefused: The selector selects by none of source, actor and block, or an argument
                cannot be read.
            BlockNotFound: A selected block was not learned by now.
        """
        from mnemic.adapters.inprocess.replay import reevaluation
        from mnemic.projections.descent.descent import check_page, listed
        from mnemic.projections.descent.lineage import FOLLOWED_KINDS, Lineage
        from mnemic.projections.descent.selection import Selection

        selection = Selection.parse(selector)
        check_page(limit, after)
        view = self._view()
        selection.blocks(view)  # refuses unknown blocks
        versions = reevaluation.versions(view, *FOLLOWED_KINDS)
        lineage = Lineage.of(selection, view.state.catalogue.ids)
        for recorded in reevaluation.events(self._space, versions):
            lineage.take(recorded)
        return listed(as_of(view.state, view.version), lineage, after=after, limit=limit)

    @operation("GET .", "Spaces")
    def status(self) -> Status:
        """Return counts, the clock, and what is in force."""
        return blocks.status(self._view(), self._space.log.name)

    @operation("GET ./history", "The past")
    def history(self, *, of: str | None = None, limit: int = 100) -> ResultList[LogEntry]:
        """Return the last events, or those of one block, in order.

        Args:
            of: Only what concerns this block; None: everything.
            limit: Most events. Range: 1 to 1000.

        Raises:
            BlockNotFound: It was not learned by now.
        """
        from mnemic.adapters.inprocess import history

        view = self._view()
        if of is not None:
            return ResultList(history.behind(self._space, view, of, limit=limit))
        return ResultList(history.latest(self._space, view.version, limit=limit))

    @operation("GET ./log", "The past")
    def log(self, *, after: int = -1, limit: int = 100) -> ResultList[LogEntry]:
        """Return up to *limit* events after version *after*, in order."""
        from mnemic.adapters.inprocess import history

        upto = self._view().version
        found = history.entries(self._space, after=after, limit=limit)
        return ResultList(entry for entry in found if entry.version <= upto)


def known_ids(known: Queries, start: str = "") -> list[BlockId]:
    """Return the id of every block in *known* whose id begins with *start*, sorted."""
    return known._ids(start)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - not an operation


def embedder_in_force(known: Queries) -> EmbedderIdentity | None:
    """Return the identity of the embedder in force in *known*; None: none was adopted yet."""
    return known._embedder()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - as above
