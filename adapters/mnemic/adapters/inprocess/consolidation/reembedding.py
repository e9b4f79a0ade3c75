"""The operation ``reembed``: moves a space to another embedder in chunks, with one final switch.

Chunks only stage vectors; the old embedder serves every search until the one event that adopts the
new one. A stopped re-embedding resumes where it was, since staged vectors are in the log.
"""

from __future__ import annotations

import numpy as np

from mnemic.adapters.inprocess.engine.commands import Command, Progress
from mnemic.adapters.inprocess.engine.embedding import embed
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.promotion import decide_stage_vectors
from mnemic.kernel.decisions.space import decide_adopt_embedder
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model.texts import BlockText
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.ports import Embedder
from mnemic.kernel.results import ReembedResult
from mnemic.kernel.timestamps import Instant
from mnemic.projections.storage.sorted_arrays import among
from mnemic.projections.view import View


def reembed(
    space: SessionHandle, embedder: Embedder, *, progress: Progress | None = None
) -> ReembedResult:
    """Give every active block a vector of *embedder*, then adopt it.

    Raises:
        VectorRefused: The embedder's answer is unusable; vectors staged before stay.
    """
    identity = embedder.identity
    staged = 0
    while True:
        replacements, view = space.log_state.replacements, space.view()
        if view.embedder == identity:
            return ReembedResult(embedder=identity.name, staged=staged)
        todo, size = _todo(view, identity), view.policy.consolidate_chunk
        if not todo:
            command = Command("reembed", {}, replacements=replacements)
            space.execute(command, lambda view, _: _adopt(view, identity))
        for first in range(0, len(todo), size):
            if space.view().embedder == identity:
                break  # another process has completed it
            chunk = todo[first : first + size]
            vectors = embed(embedder, [text.content for _, text in chunk])
            command = Command("reembed", {}, replacements=replacements)
            staged += _stage(space, command, chunk, vectors=vectors, identity=identity)
            if progress is not None:
                progress(staged, staged + len(todo) - first - len(chunk))


def _todo(view: View, identity: EmbedderIdentity) -> list[tuple[int, BlockText]]:
    """Return the blocks that have no staged vector yet: active, in quarantine or not."""
    done = view.state.staged_vectors.get(identity, {})
    left = (number for number in view.vectored().tolist() if number not in done)
    texts = ((number, view.text(number)) for number in left)
    return [(number, text) for number, text in texts if isinstance(text, BlockText)]


def _stage(
    space: SessionHandle,
    command: Command,
    chunk: list[tuple[int, BlockText]],
    *,
    vectors: list[Vector],
    identity: EmbedderIdentity,
) -> int:
    def decide(view: View, _: Instant) -> Decision[int]:
        # A block may have been archived, or learned with another text, since it was read.
        numbers = np.array([number for number, _ in chunk], dtype=np.int64)
        vectored = among(view.vectored(), numbers).tolist()
        left = {
            number: vector
            for (number, text), vector, is_vectored in zip(chunk, vectors, vectored, strict=True)
            if is_vectored and view.text(number) == text
        }
        return Decision(decide_stage_vectors(view, left, embedder=identity).events, len(left))

    count: int = space.execute(command, decide).result
    return count


def _adopt(view: View, identity: EmbedderIdentity) -> Decision[None]:
    """Adopt the embedder, unless a block was promoted without one of its vectors meanwhile."""
    if _todo(view, identity):
        return Decision((), None)
    return decide_adopt_embedder(view, identity)
