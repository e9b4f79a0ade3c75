"""The configuration of mem0: the parts of it that have an effect."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.mem0.arguments import LOGGER
from mnemic.adapters.integrations.records import open_memory
from mnemic.kernel.ports import Embedder, Extractor

SUFFIX: Final = ".mnemic.db"
"""Follows the name of mem0's history file: the two may be kept side by side."""
ENDPOINTS: Final = {
    "openai": "https://api.openai.com/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "lmstudio": "http://localhost:1234/v1",
    "ollama": "http://localhost:11434",
    "vllm": "http://localhost:8000/v1",
}
"""Providers that speak OpenAI's protocol, with their addresses where the configuration has none."""


@frozen
class _Model:
    """A model behind an address."""

    base_url: str
    model: str
    api_key: str | None
    dimension: int | None


def opened(config: Any) -> tuple[SyncMemory, str | None]:
    """Return the memory that a configuration names, and the extractor for ``infer=True``.

    ``history_db_path`` says where the file is, the collection of the vector store is the space. A
    model for embeddings or for extraction is used if it speaks OpenAI's protocol.

    Args:
        config: A mapping, or a ``MemoryConfig`` of mem0; None: the default one.
    """
    given = _plain(config)
    folder = Path(os.environ.get("MEM0_DIR") or Path.home() / ".mem0")
    path = Path(given.get("history_db_path") or folder / "history.db")
    path.parent.mkdir(parents=True, exist_ok=True)
    collection = _plain(_plain(given.get("vector_store")).get("config")).get("collection_name")
    extractor = extractor_of(given.get("llm"))
    memory = open_memory(
        path.with_suffix(SUFFIX),
        space=collection or "mem0",
        embedder=_embedder(given.get("embedder")),
        extractor=extractor,
    )
    return memory, "rules" if extractor is None else None


def _plain(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    found: Mapping[str, Any] = value.model_dump() if hasattr(value, "model_dump") else vars(value)
    return found


def extractor_of(section: Any) -> Extractor | None:
    """Return the extractor with the model of a section ``llm``; None: none that can be used."""
    found = _model(section, "llm", "facts are found by rules")
    if found is None:
        return None
    from mnemic.adapters.extractors.chat import ChatExtractor

    return ChatExtractor(found.base_url, found.model, api_key=found.api_key)


def _embedder(section: Any) -> Embedder | None:
    found = _model(section, "embedder", "the bundled model is used")
    if found is None:
        return None
    from mnemic.adapters.endpoints.embeddings import EndpointEmbedder

    return EndpointEmbedder(
        found.base_url, found.model, api_key=found.api_key, dimension=found.dimension
    )


def _model(section: Any, name: str, otherwise: str) -> _Model | None:
    """Return the model that a section of the configuration names; None: none that can be used."""
    given = _plain(section)
    provider, settings = given.get("provider"), _plain(given.get("config"))
    if provider not in ENDPOINTS or not settings.get("model"):
        if given:
            LOGGER.warning("%s: no model of %s is used; %s", name, provider, otherwise)
        return None
    address = str(settings.get(f"{provider}_base_url") or ENDPOINTS[provider]).rstrip("/")
    if provider == "ollama" and not address.endswith("/v1"):
        address += "/v1"
    return _Model(
        base_url=address,
        model=settings["model"],
        api_key=settings.get("api_key") or os.environ.get(f"{provider.upper()}_API_KEY"),
        dimension=settings.get("embedding_dims"),
    )
