"""The operation ``consolidate``: promotes the inbox in chunks, each one commit."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from attrs import evolve

from mnemic.adapters.inprocess.consolidation.pacing import Pace
from mnemic.adapters.inprocess.engine.analysis import analyse
from mnemic.adapters.inprocess.engine.commands import Command, Outcome, Progress
from mnemic.adapters.inprocess.engine.embedding import embed, embedder_of
from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.results import contradictions, replacements
from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.authorization import inbox_room
from mnemic.kernel.decisions.promotion import Candidate, decide_promotion, decide_relink
from mnemic.kernel.decisions.space import check_embedder
from mnemic.kernel.events import (
    BlocksPromoted,
    BlocksRelinked,
    EmbedderIdentity,
)
from mnemic.kernel.model.blocks import ACTIVE, INBOX, Fresh
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.ports import CommandRow, Embedder, Passage
from mnemic.kernel.results import ConsolidateResult
from mnemic.kernel.timestamps import Instant
from mnemic.projections.view import View, as_of

CHUNK_OF_LIMITED = 8
"""Blocks that one chunk promotes for a writer of a zone that is not fully trusted."""


def consolidate(
    space: SessionHandle,
    models: Models,
    *,
    limit: int | None = None,
    relink: bool = False,
    command_id: str | None = None,
    progress: Progress | None = None,
) -> ConsolidateResult:
    """Promote the inbox first in first out, each block exactly once.

    Raises:
        VectorRefused: The embedder's answer is unusable; earlier chunks stay promoted.
        EmbedderMismatch: The space was built with another embedder.
    """
    request = _Request(space, limit=limit, relink=relink, command_id=command_id)
    total = ConsolidateResult()
    for event in request.answered:
        total = _sum(total, event)
    chunks = _Chunks(space, models, request)
    waiting = len(chunks.waiting(request.view()))
    most = waiting if limit is None else max(0, limit - total.promoted)
    todo = total.promoted + min(most, waiting)
    while True:
        done = chunks.promote(None if limit is None else limit - total.promoted)
        if done is None:
            done = next(request.answers(), None)  # a concurrent command may have done the rest
        if done is None:
            break
        total = _sum(total, done)
        if progress is not None:
            progress(total.promoted, max(todo, total.promoted))
    if relink and not request.answered:
        formed = _relink(space, request, progress)
        total = evolve(total, edges_created=total.edges_created + formed)
    return evolve(total, inbox_remaining=request.inbox_remaining())


def promote_within(
    space: SessionHandle, models: Models, pace: Pace, *, only_privileged: bool = False
) -> bool:
    """Promote what waits, higher zones first, as far as a time limit allows.

    The first block is embedded before the time counts, since that may load the model.

    Args:
        space: The open space.
        models: The models of the host.
        pace: The time limit.
        only_privileged: Whether blocks of zones that are not fully trusted are left in the inbox.

    Returns:
        Whether the time was over before everything was promoted.

    Raises:
        VectorRefused, EmbedderMismatch: As ``consolidate``.
    """
    request = _Request(space, limit=None, relink=False, command_id=None)
    view = request.view()
    chunks = _Chunks(space, models, request, _by_zone(view, only_privileged=only_privileged))
    chunks.prepare_first(view)
    while room := pace.room():
        done = chunks.promote(room)
        if done is None:
            return False
        if isinstance(done, BlocksPromoted):
            pace.promoted(len(done.promotions))
    return bool(request.view().inbox())


def _by_zone(view: View, *, only_privileged: bool) -> list[int]:
    """Return the blocks in the inbox: higher zones first, and first in first out in each."""
    waiting = view.inbox()
    ceilings = view.ceilings(np.array(waiting, dtype=np.int64))
    order = np.argsort(-ceilings, kind="stable").tolist()
    if only_privileged:
        order = [place for place in order if view.policy.privileges(view.zone(waiting[place]))]
    return [waiting[place] for place in order]


def _sum(total: ConsolidateResult, event: BlocksPromoted | BlocksRelinked) -> ConsolidateResult:
    total = evolve(total, edges_created=total.edges_created + len(event.links))
    if isinstance(event, BlocksRelinked):
        return total
    return evolve(
        total,
        promoted=total.promoted + len(event.promotions),
        superseded=(*total.superseded, *replacements(event)),
        contradictions=(*total.contradictions, *contradictions(event.links)),
        near_duplicates=total.near_duplicates + len(event.near),
        analyses_failed=total.analyses_failed
        + sum(promotion.analysed == "failed" for promotion in event.promotions),
        chunks=total.chunks + bool(event.promotions),
    )


class _Request:
    """One consolidation and the ids of its commits: its own for the first, derived for the rest.

    Blocks learned since its first commit are not part of it, or it would never end while another
    process keeps learning. Repeated under its id, it resumes from the commits it has written. If it
    was interrupted, it continues with the blocks that waited at its first commit, and does not
    search for edges again, so that a completed command writes nothing when repeated. The same holds
    for concurrent commands under one id.
    """

    def __init__(
        self, space: SessionHandle, *, limit: int | None, relink: bool, command_id: str | None
    ) -> None:
        self._space = space
        self._arguments = {"limit": limit, "relink": relink}
        self._id = command_id
        self._replacements = space.log_state.replacements
        self._commits = 0
        self._head = -1
        self.known = space.view().block_count
        """How many blocks there were when it began: until its first commit, no others count."""
        self.began: int | None = None
        """The version of its first commit."""
        self.promoted: set[BlockId] = set()
        """What its commits promoted. It may wait again: a later revert returns it to the inbox."""
        self.answered: tuple[BlocksPromoted | BlocksRelinked, ...] = tuple(self.answers())
        """Events of its commits from before this call."""

    def answers(self) -> Iterator[BlocksPromoted | BlocksRelinked]:
        """Yield the events written under its ids that are not yet counted as its commits."""
        while (row := self._space.remembered(self.command())) is not None:
            outcome = self.written(row)
            self.commit(outcome)
            yield outcome.result

    def written(self, row: CommandRow) -> Outcome:
        """Return the outcome of an earlier commit, or of a concurrent command's."""
        found = self._space.events_of(row)
        event = next(each for each in found if isinstance(each, BlocksPromoted | BlocksRelinked))
        return Outcome(event, row.first, row.last, (event,))

    def command(self) -> Command:
        """Return the command of the next commit."""
        derived = None if self._id is None else f"{self._id}/{self._commits}"
        return Command(
            "consolidate",
            self._arguments,
            derived if self._commits else self._id,
            self._replacements,
        )

    def commit(self, outcome: Outcome) -> None:
        """Record a commit."""
        self._commits += 1
        self._head = outcome.last
        self.began = outcome.first if self.began is None else self.began
        if isinstance(outcome.result, BlocksPromoted):
            self.promoted.update(each.block_id for each in outcome.result.promotions)

    def view(self) -> View:
        """Return the view of the present.

        Raises:
            HistoryReplaced: It is of another history than the one that this command began with.
        """
        view = self._space.view()
        self._space.log_state.check_unreplaced(self._replacements)
        return view

    def inbox_remaining(self) -> int:
        """Return how many blocks wait after the last commit; now, if there is no commit.

        Blocks learned after that would not be in the answer to a repeated command.
        """
        view = self.view()
        if self._commits and self._head != view.version:
            view = as_of(view.state, self._head)
        return len(view.inbox())


class _Chunks:
    """The chunks of one consolidation. Each text is embedded once, in the first chunk with it."""

    def __init__(
        self,
        space: SessionHandle,
        models: Models,
        request: _Request,
        order: Sequence[int] | None = None,
    ) -> None:
        self._space = space
        self._models = models
        self._request = request
        self._order = None if order is None else deque(order)
        """Blocks to promote, in order; None: all that wait, in the order of learning."""
        self._ready: dict[int, tuple[BlockText, Candidate]] = {}
        self._ready_of: EmbedderIdentity | None = None
        """The embedder of the vectors that are ready; another one may be adopted between chunks."""
        self._size: int | None = None

    def promote(self, limit: int | None) -> BlocksPromoted | BlocksRelinked | None:
        """Promote the next blocks and return the event; None when nothing waits."""
        if self._order is not None and not self._order:
            return None
        snapshot = self._request.view()
        waiting = self._next(snapshot, limit)
        if not waiting:
            return None
        embedder = self._embed(snapshot, waiting)
        vectors = [self._ready[number][1].vector for number, _ in waiting]
        neighbours = snapshot.meeting(vectors)()

        def decide(view: View, at: Instant) -> Decision[BlocksPromoted]:
            # Others may have promoted some, or forgotten one and learned it with another text.
            left = [
                self._ready[number][1]
                for number, text in waiting
                if view.status(number) == INBOX and view.text(number) == text
            ]
            known = view.after(neighbours)
            return decide_promotion(known, left, at, embedder=embedder.identity)

        request = self._request
        outcome = self._space.prepared(request.command(), decide, again=request.written)
        if outcome.events:
            request.commit(outcome)
        event: BlocksPromoted | BlocksRelinked = outcome.result
        if isinstance(event, BlocksPromoted):
            self._adapt(snapshot, len(waiting), event)
        return event

    def _largest(self, view: View) -> int:
        """Return the size of a chunk; others wait less for those of a writer with little trust."""
        most = view.policy.consolidate_chunk
        return most if inbox_room(view) is None else min(most, CHUNK_OF_LIMITED)

    def prepare_first(self, view: View) -> None:
        """Embed and analyse the first block."""
        first = self._next(view, 1)
        if first:
            self._embed(view, first)

    def waiting(self, view: View) -> list[int]:
        """Return the waiting blocks that belong to the command."""
        began = self._request.began
        if began is None:
            return [block for block in view.inbox() if block < self._request.known]
        return [
            block
            for block in view.inbox()
            if view.life.get("learned", block) < began
            and view.id(block) not in self._request.promoted
        ]

    def _next(self, view: View, limit: int | None) -> list[tuple[int, BlockText]]:
        """Return the next inbox blocks of a snapshot, oldest first."""
        size = self._size or self._largest(view)
        most = size if limit is None else min(size, max(0, limit))
        numbers = self.waiting(view)[:most] if self._order is None else self._ordered(view, most)
        texts = ((number, view.text(number)) for number in numbers)
        return [(number, text) for number, text in texts if isinstance(text, BlockText)]

    def _ordered(self, view: View, most: int) -> list[int]:
        """Return the next blocks of the given order, as far as they still wait."""
        assert self._order is not None  # noqa: S101 - asked for only then
        while self._order and view.status(self._order[0]) != INBOX:
            self._order.popleft()
        still = (block for block in self._order if view.status(block) == INBOX)
        return list(islice(still, most))

    def _embed(self, view: View, waiting: Sequence[tuple[int, BlockText]]) -> Embedder:
        """Embed and analyse blocks, and return the embedder.

        Raises:
            EmbedderMismatch: The space was built with another one.
        """
        embedder = embedder_of(self._models, view.embedder)
        check_embedder(view.embedder, embedder.identity)
        if embedder.identity != self._ready_of:
            self._ready.clear()
            self._ready_of = embedder.identity
        self._prepare(view, waiting, embedder)
        return embedder

    def _prepare(
        self, view: View, waiting: Sequence[tuple[int, BlockText]], embedder: Embedder
    ) -> None:
        """Embed and analyse the blocks that have not been yet."""
        new = [
            (number, text)
            for number, text in waiting
            if number not in self._ready or self._ready[number][0] != text
        ]
        if not new:
            return
        vectors = embed(embedder, [text.content for _, text in new])
        verdicts = analyse(self._models.analyst, _passages(view, new), view.policy)
        for (number, text), vector, verdict in zip(new, vectors, verdicts, strict=True):
            analysis, analysed = verdict
            candidate = Candidate(
                number=number, vector=vector, analysis=analysis, analysed=analysed
            )
            self._ready[number] = (text, candidate)

    def _adapt(self, view: View, tried: int, event: BlocksPromoted) -> None:
        """Shrink the chunk size while chunks are promoted in part, and grow it again after."""
        promoted = len(event.promotions)
        largest = self._largest(view)
        done = {view.state.catalogue.numbers[each.block_id] for each in event.promotions}
        for number in done:
            self._ready.pop(number, None)
        while self._order and self._order[0] in done:
            self._order.popleft()
        self._size = min(largest, 2 * (self._size or largest if promoted == tried else promoted))
        self._size = max(1, self._size)


def _passages(view: View, blocks: Sequence[tuple[int, BlockText]]) -> list[Passage]:
    """Return the passages to show to an analyst."""
    facts = [view.facts(number) for number, _ in blocks]
    return [
        Passage(
            content=text.content,
            category=each.category,
            tags=text.tags,
            author=text.author,
            source=each.source,
        )
        for (_, text), each in zip(blocks, facts, strict=True)
    ]


def _relink(space: SessionHandle, request: _Request, progress: Progress | None) -> int:
    """Form edges for active blocks that have few, chunk by chunk, and return how many."""
    view = request.view()
    few = [
        number
        for number in view.with_status(ACTIVE).tolist()
        if view.degree(number) < view.policy.edge_candidates
    ]
    size = view.policy.consolidate_chunk
    formed = 0
    for start in range(0, len(few), size):
        formed += _relink_chunk(space, few[start : start + size], request)
        if progress is not None:
            progress(min(start + size, len(few)), len(few))
    return formed


def _relink_chunk(space: SessionHandle, numbers: Sequence[int], request: _Request) -> int:
    view = request.view()
    neighbours = view.meeting([each.vector for each in _active_blocks(view, numbers)])()

    def decide(view: View, at: Instant) -> Decision[BlocksRelinked | None]:
        fresh = _active_blocks(view, numbers)
        return decide_relink(view.after(neighbours), fresh, at) if fresh else Decision((), None)

    outcome = space.prepared(request.command(), decide, again=request.written)
    event: BlocksPromoted | BlocksRelinked | None = outcome.result
    if event is None:
        return 0
    request.commit(outcome)
    return len(event.links)


def _active_blocks(view: View, numbers: Sequence[int]) -> list[Fresh]:
    """Return those of *numbers* that are active, as if they were about to be promoted."""
    active = [number for number in numbers if view.status(number) == ACTIVE]
    vectors = view.index.vectors([view.life.get("vector", number) for number in active])
    return [
        Fresh(number, vector, view.category(number), view.tags(number))
        for number, vector in zip(active, vectors, strict=True)
    ]
