"""Embedding texts and questions with the models of a host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.kernel.decisions.space import check_embedder
from mnemic.kernel.errors import MnemicError, VectorRefused
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model.vectors import Vector, quantise
from mnemic.kernel.ports import Embedder

if TYPE_CHECKING:
    from mnemic.projections.retrieval.request import Request


def embedder_of(models: Models, adopted: EmbedderIdentity | None) -> Embedder:
    """Return the embedder with the identity *adopted*, of the host or shipped, or the closest one.

    Args:
        models: The models of the host.
        adopted: The embedder in force, now or at a point of the past; None: none yet.

    Returns:
        Without one of that identity: the host's, or if the host gave none, the shipped one that
        comes closest.

    Raises:
        Unavailable: A shipped embedder is needed, and a package or file of it is missing.
    """
    given = (models.coming, models.embedder, *models.others)
    for each in given:
        if each is not None and each.identity == adopted:
            return each
    from mnemic.adapters.embedders.shipped import embedder_for, shipped_as

    if models.embedder is None:
        return embedder_for(adopted)
    return (None if adopted is None else shipped_as(adopted)) or models.embedder


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
    # isinstance with the protocol QuestionEmbedder would take as long as computing the vector.
    ask = getattr(embedder, "embed_question", None)
    if ask is not None:
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
        adopted: The embedder in force in the view. No lock is held while the model runs, so
            another one may be in force by the time the answer is computed.
        request: The request with the question.
        models: The models of the host.

    Raises:
        EmbedderMismatch: Neither the host nor mnemic has that embedder.
        VectorRefused: It failed.
    """
    if request.query is None or adopted is None:
        return None
    embedder = embedder_of(models, adopted)
    check_embedder(
        adopted,
        embedder.identity,
        recovery=f"Give the embedder {adopted.name} to open(embedders=[...]), or ask without a "
        "query; for the present, the space can also be moved to another embedder with reembed().",
    )
    return embedded_question(embedder, request.query)
