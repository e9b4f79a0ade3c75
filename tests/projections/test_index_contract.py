from __future__ import annotations

from mnemic.kernel.ports import NearestRows
from mnemic.projections.index import VectorIndex
from mnemic.projections.rows.held import Held
from mnemic.specs.contracts import VectorIndexContract


class TestVectorIndex(VectorIndexContract):
    def index(self) -> NearestRows:
        return VectorIndex()


class TestVectorIndexInSmallChunks(VectorIndexContract):
    def index(self) -> NearestRows:
        return VectorIndex(Held(chunk_components=4))
