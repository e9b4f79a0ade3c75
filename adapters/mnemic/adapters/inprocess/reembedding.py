"""reembed: a space moves to another embedder, chunk by chunk, and switches at once at the end.

Chunks only stage vectors; the old embedder rules every search until the one event that adopts the
new one. A stopped re-embedding goes on where it was: what is staged is in the log.
"""

from __future__ import annotations

from mnemic.adapters.inprocess.commands import Command, Written
from mnemic.adapters.inprocess.consolidation import Progress, embed
from mnemic.adapters.inprocess.space import Space
from mnemic.kernel.events import EmbedderAdopted, EmbedderIdentity, StagedVector, VectorsStaged
from mnemic.kernel.ports import Embedder
from mnemic.kernel.reading import ACTIVE, Moment
from mnemic.kernel.results import ReembedResult
from mnemic.kernel.texts import BlockText, Embedding
from mnemic.kernel.vectors import Vector, pack
from mnemic.projections.views import View


def reembed(space: Space, embedder: Embedder, *, progress: Progress | None = None) -> ReembedResult:
    """Give every active block a vector of *embedder*, then adopt it.

    Raises:
        VectorRefused: The embedder's answer is unusable; what was staged stays.
    """
    identity = embedder.identity
    staged = 0
    while True:
        with space.guard:
            space.catch_up()
            view = space.live()
            if view.embedder == identity:
                return ReembedResult(embedder=identity.name, staged=staged)
            todo, size = _todo(space, identity), view.policy.consolidate_chunk
        if not todo:
            space.execute(Command("reembed", {}), lambda view, _: _adopt(space, view, identity))
            continue
        chunk = todo[:size]
        vectors = embed(embedder, [text.content for _, text in chunk])
        staged += _stage(space, identity, chunk, vectors)
        if progress is not None:
            progress(staged, staged + len(todo) - len(chunk))


def _todo(space: Space, identity: EmbedderIdentity) -> list[tuple[int, BlockText]]:
    """Return the active blocks that have no staged vector yet."""
    with space.guard:
        view = space.live()
        done = space.state.staged_vectors.get(identity, {})
        blocks = ((number, view.text(number)) for number in view.with_status(ACTIVE).tolist())
        return [
            (number, text)
            for number, text in blocks
            if number not in done and isinstance(text, BlockText)
        ]


def _stage(
    space: Space,
    identity: EmbedderIdentity,
    chunk: list[tuple[int, BlockText]],
    vectors: list[Vector],
) -> int:
    def decide(view: View, _: Moment) -> Written:
        # A block may have been archived, or learned with other words, since it was read.
        fresh = tuple(
            StagedVector(
                block_id=view.id(number),
                vector=Embedding(of=(view.id(number),), packed=pack(vector)),
            )
            for (number, text), vector in zip(chunk, vectors, strict=True)
            if view.status(number) == ACTIVE and view.text(number) == text
        )
        if not fresh:
            return Written((), extra=0)
        return Written((VectorsStaged(embedder=identity, vectors=fresh),), extra=len(fresh))

    count: int = space.execute(Command("reembed", {}), decide).extra
    return count


def _adopt(space: Space, view: View, identity: EmbedderIdentity) -> Written:
    """Adopt the embedder, unless a block was promoted without one of its vectors meanwhile."""
    if view.embedder == identity or _todo(space, identity):
        return Written(())
    return Written((EmbedderAdopted(embedder=identity),))
