"""Models behind an HTTP address with an OpenAI-compatible API.

Hosted ones have it, and so do Ollama, vLLM, llama.cpp and many others.

``embeddings`` converts texts to vectors, ``chat`` analyses new blocks; both use ``connection``,
which waits, retries, and gives up. Needs the extra ``openai``. A replay calls none of them.
"""

from __future__ import annotations

from mnemic.adapters.endpoints.chat import ChatAnalyst
from mnemic.adapters.endpoints.connection import EndpointRefused, EndpointUnavailable
from mnemic.adapters.endpoints.embeddings import EndpointEmbedder, TextTruncated

__all__ = [
    "ChatAnalyst",
    "EndpointEmbedder",
    "EndpointRefused",
    "EndpointUnavailable",
    "TextTruncated",
]
