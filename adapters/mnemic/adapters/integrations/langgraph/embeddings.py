"""An embedder of mnemic made of what LangGraph takes as ``index["embed"]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langgraph.store.base import ensure_embeddings
from numpy.typing import NDArray

from mnemic.kernel.events import EmbedderIdentity


class LangChainEmbedder:
    """Embeds with an ``Embeddings`` of LangChain, or a function from texts to vectors.

    Args:
        embed: The embeddings, the function, or the name of a provider.
        dims: Number of components of a vector.
        name: The name to record in the log. Vectors of another name are never compared.
    """

    def __init__(self, embed: Any, dims: int, *, name: str | None = None) -> None:
        self._embeddings: Embeddings = ensure_embeddings(embed)
        model = getattr(self._embeddings, "model", None)
        known = model if isinstance(model, str) else type(self._embeddings).__name__
        self._identity = EmbedderIdentity(name=name or f"langchain/{known}", dimension=dims)

    @property
    def identity(self) -> EmbedderIdentity:
        """The name and the dimension; the weights are not known."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text."""
        rows = self._embeddings.embed_documents(list(texts))
        return np.array(rows, dtype=np.float32).reshape(len(texts), self._identity.dimension)

    def embed_question(self, question: str) -> NDArray[np.float32]:
        """Return the vector to search with."""
        return np.array(self._embeddings.embed_query(question), dtype=np.float32)
