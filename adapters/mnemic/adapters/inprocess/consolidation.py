"""consolidate: chunk by chunk, models off every lock, each chunk its own commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from mnemic.adapters.inprocess.opening import Models, check_embedder
from mnemic.adapters.inprocess.space import Command, Space, Written
from mnemic.kernel.decisions.promotion import Candidate, decide_promotion, decide_relink
from mnemic.kernel.errors import MnemicError, VectorRefused
from mnemic.kernel.events import BlocksPromoted, BlocksRelinked, EmbedderAdopted, Event
from mnemic.kernel.ports import Analysis, Embedder
from mnemic.kernel.reading import ACTIVE, INBOX, Fresh, Moment
from mnemic.kernel.results import ConsolidateResult
from mnemic.kernel.texts import BlockText
from mnemic.kernel.vectors import Vector, quantise
from mnemic.projections.views import View

Progress = Callable[[int, int], None]
"""Called with what is done and what there is to do, in blocks."""
T = TypeVar("T")


def consolidate(
    space: Space,
    models: Models,
    *,
    limit: int | None = None,
    relink: bool = False,
    command_id: str | None = None,
    progress: Progress | None = None,
) -> ConsolidateResult:
    """Promote the inbox first in first out, each block exactly once.

    Raises:
        VectorRefused: The embedder's answer is unusable; the chunks before stay.
        EmbedderMismatch: The space was built with another embedder.
    """
    space.catch_up()
    total = ConsolidateResult()
    waiting = len(space.state.catalogue.waiting)
    todo = waiting if limit is None else min(limit, waiting)
    chunks = _Chunks(space, models)
    while True:
        left = None if limit is None else limit - total.promoted
        chunk_id = None if command_id is None else f"{command_id}/{total.chunks}"
        done = chunks.promote(left, chunk_id)
        if done is None:
            break
        total = _sum(total, done)
        if progress is not None:
            progress(total.promoted, max(todo, total.promoted))
    if relink:
        total = evolve(
            total, edges_created=total.edges_created + _relink(space, command_id, progress)
        )
    return evolve(total, inbox_remaining=len(space.state.catalogue.waiting))


def _sum(total: ConsolidateResult, event: BlocksPromoted) -> ConsolidateResult:
    return ConsolidateResult(
        promoted=total.promoted + len(event.promotions),
        superseded=total.superseded + sum(p.supersession is not None for p in event.promotions),
        near_duplicates=total.near_duplicates + len(event.near),
        edges_created=total.edges_created + len(event.links),
        analyses_failed=total.analyses_failed
        + sum(promotion.analysed == "failed" for promotion in event.promotions),
        chunks=total.chunks + 1,
    )


class _Chunks:
    """The chunks of one consolidation. Each text meets the models once, whatever chunk takes it."""

    def __init__(self, space: Space, models: Models) -> None:
        self._space = space
        self._models = models
        self._ready: dict[int, tuple[BlockText, Candidate]] = {}
        self._size: int | None = None

    def promote(self, limit: int | None, command_id: str | None) -> BlocksPromoted | None:
        """Promote the next blocks and return the event; None when nothing waits."""
        repeated = _repeated(self._space, command_id)
        if repeated is not None:
            return repeated
        waiting = self._next(limit)
        if not waiting:
            return None
        embedder = embedder_of(self._models)
        check_embedder(self._space.state.timeline.embedder, embedder.identity)
        self._prepare(waiting, embedder)

        def decide(view: View, at: Moment) -> Written:
            check_embedder(view.embedder, embedder.identity)
            # Others may have promoted some, or forgotten one and learned it with other words.
            left = [
                self._ready[number][1]
                for number, text in waiting
                if view.status(number) == INBOX and view.text(number) == text
            ]
            if not left:
                return Written((), extra=BlocksPromoted(promotions=()))
            event = decide_promotion(view, left, at)
            adopted: tuple[Event, ...] = ()
            if view.embedder is None:
                adopted = (EmbedderAdopted(embedder=embedder.identity),)
            return Written((*adopted, event), extra=event)

        event: BlocksPromoted = self._space.prepared(_command(command_id), decide).extra
        self._adapt(len(waiting), event)
        return event

    def _next(self, limit: int | None) -> list[tuple[int, BlockText]]:
        """Return the next inbox blocks off a snapshot, first in first."""
        with self._space.guard:
            view = self._space.live()
            size = self._size or view.policy.consolidate_chunk
            numbers = view.inbox()[: size if limit is None else min(size, max(0, limit))]
            texts = ((number, view.text(number)) for number in numbers)
            return [(number, text) for number, text in texts if isinstance(text, BlockText)]

    def _prepare(self, waiting: Sequence[tuple[int, BlockText]], embedder: Embedder) -> None:
        """Embed and analyse what has not been yet."""
        new = [
            (number, text)
            for number, text in waiting
            if number not in self._ready or self._ready[number][0] != text
        ]
        if not new:
            return
        contents = [text.content for _, text in new]
        vectors = embed(embedder, contents)
        analyses, analysed = _analyse(self._models, contents)
        for (number, text), vector, analysis in zip(new, vectors, analyses, strict=True):
            candidate = Candidate(
                number=number, vector=vector, analysis=analysis, analysed=analysed
            )
            self._ready[number] = (text, candidate)

    def _adapt(self, tried: int, event: BlocksPromoted) -> None:
        """Take smaller chunks while they end early, and larger ones again when they do not."""
        promoted = len(event.promotions)
        for promotion in event.promotions:
            number = self._space.state.catalogue.numbers[promotion.block_id]
            self._ready.pop(number, None)
        largest = self._space.state.timeline.policy.consolidate_chunk
        self._size = min(largest, 2 * (self._size or largest if promoted == tried else promoted))
        self._size = max(1, self._size)


def _command(command_id: str | None) -> Command:
    return Command("consolidate", {}, command_id)


def _repeated(space: Space, command_id: str | None) -> BlocksPromoted | None:
    """Return the chunk that a command id promoted before."""
    row = space.remembered(_command(command_id))
    if row is None:
        return None
    events = (each.event for each in space.recorded(row.first - 1, row.last))
    return next(event for event in events if isinstance(event, BlocksPromoted))


def _relink(space: Space, command_id: str | None, progress: Progress | None) -> int:
    """Form edges for active blocks that have few, chunk by chunk, and return how many."""
    with space.guard:
        view = space.live()
        few = [
            number
            for number in view.with_status(ACTIVE).tolist()
            if view.degree(number) < view.policy.edge_candidates
        ]
        size = view.policy.consolidate_chunk
    formed = 0
    for start in range(0, len(few), size):
        formed += _relink_chunk(space, few[start : start + size], command_id, start)
        if progress is not None:
            progress(min(start + size, len(few)), len(few))
    return formed


def _relink_chunk(space: Space, numbers: Sequence[int], command_id: str | None, start: int) -> int:
    def decide(view: View, at: Moment) -> Written:
        fresh = [
            Fresh(
                number,
                view.index.vector(view.life.get("vector", number)),
                view.category(number),
                view.tags(number),
            )
            for number in numbers
            if view.status(number) == ACTIVE
        ]
        event = decide_relink(view, fresh, at) if fresh else None
        return Written(() if event is None else (event,), extra=event)

    derived = None if command_id is None else f"{command_id}/relink-{start}"
    outcome = space.prepared(Command("relink", {"start": start}, derived), decide)
    event: BlocksRelinked | None = outcome.extra
    return 0 if event is None else len(event.links)


# --- models ---------------------------------------------------------------------------------


def embedder_of(models: Models) -> Embedder:
    """Return the embedder of a host; the bundled one if it brought none."""
    if models.embedder is not None:
        return models.embedder
    from mnemic.adapters.embedders.bundled import BundledEmbedder

    return BundledEmbedder()


def embed(embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
    """Return one checked, quantised vector per text.

    Raises:
        VectorRefused: The embedder failed, or gave other than one finite vector per text.
    """
    try:
        rows: NDArray[np.floating] = np.asarray(embedder.embed(texts))
    except MnemicError:
        raise
    except Exception as error:
        raise VectorRefused(
            f"the embedder {embedder.identity.name} failed: {error}",
            recovery="Check the embedder and consolidate again; nothing was lost.",
        ) from error
    if rows.ndim != 2 or len(rows) != len(texts):  # noqa: PLR2004 - rows and columns
        raise VectorRefused(
            f"the embedder {embedder.identity.name} gave shape {rows.shape} for {len(texts)} texts"
        )
    return [quantise(row, dimension=embedder.identity.dimension) for row in rows]


def _analyse(models: Models, texts: Sequence[str]) -> tuple[Sequence[Analysis | None], str]:
    """Return one analysis per text; a failing analyst degrades to none, and that is recorded."""
    nothing: list[Analysis | None] = [None] * len(texts)
    if models.analyst is None:
        return nothing, "none"
    try:
        analyses = list(models.analyst.analyse(texts))
    except Exception:  # noqa: BLE001 - whatever an analyst does, learning goes on
        return nothing, "failed"
    if len(analyses) != len(texts):
        return nothing, "failed"
    return analyses, "done"
