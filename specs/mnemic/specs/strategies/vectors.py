"""Vectors with a chosen cosine."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model.vectors import Vector, quantise

# Milliradians. The cosine of two texts is that of the difference of their angles: 318 is where it
# falls to .95, 451 to .90, 870 to .645 (an edge by meaning alone), 1266 to the guard's .30.
_TURNS = (0, 317, 318, 319, 450, 452, 869, 871, 1265, 1267)
ANGLES = (*_TURNS, 1570, 2000, 3141)
"""Angles of texts: close to the cosines of thresholds, and opposite."""


class PlaneEmbedder:
    """An embedder that reads the angle of a text's vector from the text.

    ``angle 318: ...`` has an angle of 318 milliradians in the plane; any other text has an angle
    derived from the sum of its code points. Deterministic.
    """

    DIMENSION = 4

    def __init__(self, name: str = "plane") -> None:
        self._identity = EmbedderIdentity(name=name, dimension=self.DIMENSION)

    @property
    def identity(self) -> EmbedderIdentity:
        """Name and dimension; there are no weights."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return one row per text, shape (len(texts), 4)."""
        rows = np.zeros((len(texts), self.DIMENSION))
        for row, text in zip(rows, texts, strict=True):
            angle = _angle(text) / 1000.0
            row[0], row[1] = math.cos(angle), math.sin(angle)
        return rows


def _angle(text: str) -> int:
    said = re.match(r"angle (\d+)", text)
    return int(said[1]) if said else sum(map(ord, text)) % 6283


def at_cosine(cosine: float, *, dimension: int = 4) -> tuple[Vector, Vector]:
    """Return two stored vectors whose cosine is *cosine*, up to the rounding of stored vectors.

    Args:
        cosine: Range: [-1, 1].
        dimension: At least 2.
    """
    first, second = np.zeros(dimension), np.zeros(dimension)
    first[0] = 1.0
    second[:2] = cosine, math.sqrt(max(0.0, 1.0 - cosine * cosine))
    return quantise(first, dimension=dimension), quantise(second, dimension=dimension)


def cosines() -> st.SearchStrategy[float]:
    """Cosines, often at thresholds of rules and one nano-unit from them."""
    return st.one_of(
        st.sampled_from((-1.0, 0.0, 1.0)),
        st.builds(
            lambda turn, nanos: round(turn + nanos * 1e-9, 9),
            st.sampled_from((0.30, 0.50, 0.6455, 0.90, 0.95)),
            st.sampled_from((-1, 0, 1)),
        ),
        st.floats(min_value=-1.0, max_value=1.0),
    )


def embeddings(dimension: int = 4) -> st.SearchStrategy[Vector]:
    """Stored vectors of a dimension, including those along an axis and the zero vector."""
    component = st.one_of(st.just(0.0), st.floats(min_value=-1.0, max_value=1.0))
    return st.lists(component, min_size=dimension, max_size=dimension).map(
        lambda components: _stored(components, dimension)
    )


def _stored(components: list[Any], dimension: int) -> Vector:
    return quantise(np.array(components), dimension=dimension)
