"""The embedders that come with mnemic, by the names that a command line or a setting may hold.

Importing this module is quick: each embedder is imported when it is requested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from mnemic.kernel.events import EmbedderIdentity
    from mnemic.kernel.ports import Embedder

EmbedderName = Literal["bundled", "minilm"]


def embedder_named(name: EmbedderName) -> Embedder:
    """Return one of the shipped embedders; its model is not loaded yet."""
    match name:
        case "bundled":
            from mnemic.adapters.embedders.bundled import BundledEmbedder

            return BundledEmbedder()
        case "minilm":
            from mnemic.adapters.embedders.minilm import MiniLMEmbedder

            return MiniLMEmbedder()


def embedder_for(adopted: EmbedderIdentity | None) -> Embedder:
    """Return the shipped embedder that a space was built with; the bundled one if it is none."""
    from mnemic.adapters.embedders.minilm import NAME

    built_with_minilm = adopted is not None and adopted.name == NAME
    return embedder_named("minilm" if built_with_minilm else "bundled")


def shipped_as(identity: EmbedderIdentity) -> Embedder | None:
    """Return the shipped embedder with exactly this identity, or None.

    Raises:
        Unavailable: One has this name, and a file or the extra that it needs is missing.
    """
    if not is_shipped(identity):
        return None
    found = embedder_for(identity)
    return found if found.identity == identity else None


def is_shipped(adopted: EmbedderIdentity) -> bool:
    """Return whether a space was built with one of ours, of this release or another."""
    from mnemic.adapters.embedders import bundled, minilm

    return adopted.name in {bundled.NAME, minilm.NAME}
