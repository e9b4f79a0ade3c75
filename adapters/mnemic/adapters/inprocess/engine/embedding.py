"""Embedding texts and questions with the models of a host."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.kernel.decisions.space import check_embedder
from mnemic.kernel.errors import MnemicError, VectorRefused
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model.vectors import Vector, quantise
from mnemic.kernel.ports import Embedder, QuestionEmbedder
from mnemic.projections.retrieval.request import Request


def embedder_of(models: Models, adopted: EmbedderIdentity | None) -> Embedder:
    """Return the host's embedder; if it gave none, a shipped one that fits the space."""
    if models.coming is not None and models.coming.identity == adopted:
        return models.coming
    if models.embedder is not None:
        return models.embedder
    from mnemic.adapters.embedders.shipped import embedder_for

    return embedder_for(adopted)


def embed(embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
    """Return one checked, quantised vector per text.

    Raises:
        VectorRefused: The embedder failed, or did not return one finite vector per text.
    """
    return _embedded(embedder, len(texts), lambda: embedder.embed(texts))


def embedded_question(embedder: Embedder, question: str) -> Vector:
    """Return the checked, quantised vector to search with.

    Raises:
        VectorRefused: The embedder failed, or did not return one finite vector.
    """
    if isinstance(embedder, QuestionEmbedder):
        ask = embedder.embed_question
        return _embedded(embedder, 1, lambda: np.asarray(ask(question))[None])[0]
    return embed(embedder, [question])[0]


def _embedded(
    embedder: Embedder, count: int, rows_of: Callable[[], NDArray[np.floating]]
) -> list[Vector]:
    try:
        rows: NDArray[np.floating] = np.asarray(rows_of())
    except MnemicError:
        raise
    except Exception as error:
        raise VectorRefused(
            f"the embedder {embedder.identity.name} failed: {error}",
            recovery="Check the embedder and consolidate again; nothing was lost.",
        ) from error
    if rows.ndim != 2 or len(rows) != count:  # noqa: PLR2004 - rows and columns
        raise VectorRefused(
            f"the embedder {embedder.identity.name} gave shape {rows.shape} for {count} texts"
        )
    return [quantise(row, dimension=embedder.identity.dimension) for row in rows]


def question_vector(
    adopted: EmbedderIdentity | None, request: Request, models: Models
) -> Vector | None:
    """Return the vector of a question; None without a question or without any vectors.

    Args:
        adopted: The embedder in force in the view. The state lock is not held while the model runs;
            so another one may be in force when the answer is computed.
        request: The request with the question.
        models: The models of the host.
    """
    if request.query is None or adopted is None:
        return None
    embedder = embedder_of(models, adopted)
    check_embedder(adopted, embedder.identity)
    return embedded_question(embedder, request.query)
