from __future__ import annotations

from mnemic.kernel.ports import NearestRows
from mnemic.projections.index import VectorIndex
from mnemic.specs.contracts import VectorIndexContract


class TestVectorIndex(VectorIndexContract):
    def index(self) -> NearestRows:
        return VectorIndex()


class TestVectorIndexInSmallChunks(VectorIndexContract):
    def index(self) -> NearestRows:
        return VectorIndex(chunk_components=4)
