"""Translation of arguments that are objects in the process into values for a server."""

from __future__ import annotations

from typing import get_args

from mnemic.adapters.embedders.shipped import EmbedderName, embedder_named
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.ports import Embedder


def embedder_name(embedder: Embedder | EmbedderName) -> str:
    """Return the name of a shipped embedder; another name is for the server to refuse.

    Raises:
        FieldRefused: It is an embedder of the caller's own.
    """
    if isinstance(embedder, str):
        return embedder
    name = next((each for each in get_args(EmbedderName) if _is(embedder, each)), None)
    if name is None:
        raise FieldRefused(
            f"the embedder {type(embedder).__name__} cannot be sent to a server",
            recovery="Name bundled or minilm; another one has to be adopted by its own host.",
            field="embedder",
        )
    return str(name)


def _is(embedder: Embedder, name: EmbedderName) -> bool:
    """Whether it is a shipped one. No model is loaded: it may be installed on the server alone."""
    return type(embedder) is type(embedder_named(name))
