from __future__ import annotations

from mnemic.kernel.ports import NearestRows
from mnemic.projections.vectors.index import VectorIndex
from mnemic.projections.vectors.local_rows import LocalRows
from mnemic.specs.contracts import VectorIndexContract


class TestVectorIndex(VectorIndexContract):
    def index(self) -> NearestRows:
        return VectorIndex()


class TestVectorIndexInSmallChunks(VectorIndexContract):
    def index(self) -> NearestRows:
        return VectorIndex(LocalRows(chunk_components=4))
