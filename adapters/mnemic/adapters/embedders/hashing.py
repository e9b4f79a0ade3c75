"""Embedders for tests: one that hashes words, and one that returns scripted vectors."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.events import EmbedderIdentity
from mnemic.projections.lexical.analysis import ANALYSER, analyser

_UNIT_TOLERANCE: Final = 1e-9


class HashEmbedder:
    """Bag of stems: each stem has a fixed direction of +1 and -1, drawn by its SHAKE-256.

    Texts that share stems are close, in proportion to what they share; unrelated ones have a
    cosine around 0, give or take 1/√dimension. Entries are whole numbers, so vectors are exact.
    """

    def __init__(self, dimension: int = 64) -> None:
        """Make vectors of *dimension* entries, at least 1."""
        if dimension < 1:
            raise ValueError(f"dimension {dimension}: pass at least 1")
        self._terms = analyser(ANALYSER)
        self._identity = EmbedderIdentity(name=f"hash/{ANALYSER}", dimension=dimension)

    @property
    def identity(self) -> EmbedderIdentity:
        """The analyser's name and the dimension; there are no weights."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, not normalised; a text without a term has the zero vector."""
        rows = np.zeros((len(texts), self._identity.dimension), dtype=np.float32)
        for number, text in enumerate(texts):
            for term, count in Counter(self._terms(text)).items():
                rows[number] += np.float32(count) * self._direction(term)
        return rows

    def _direction(self, term: str) -> NDArray[np.float32]:
        size = self._identity.dimension
        drawn = hashlib.shake_256(term.encode("utf-8")).digest((size + 7) // 8)
        bits = np.unpackbits(np.frombuffer(drawn, dtype=np.uint8), count=size)
        return bits.astype(np.float32) * np.float32(2.0) - np.float32(1.0)


class ScriptedEmbedder:
    """Exactly the vectors that a test specifies, so that it controls every cosine.

    With `with_cosine` for the vectors, a test reads like the case it is about:

        near = with_cosine((1.0, 0.0, 0.0), 0.95, axis=1)
        ScriptedEmbedder({"a fact": (1.0, 0.0, 0.0), "nearly that fact": near}, 3)
    """

    def __init__(
        self, vectors: Mapping[str, Sequence[float]], dimension: int, *, name: str = "scripted"
    ) -> None:
        """Answer with *vectors*.

        Args:
            vectors: From the whole text to its vector. Any numbers, NaN included, as a broken
                model might return.
            dimension: The dimension in `identity`. A vector of another length is refused here.
            name: The name in `identity`; two names are two models.
        """
        for text, vector in vectors.items():
            if len(vector) != dimension:
                raise ValueError(f"{len(vector)} numbers for {text!r}: pass {dimension}")
        self._vectors = dict(vectors)
        self._identity = EmbedderIdentity(name=name, dimension=dimension)

    @property
    def identity(self) -> EmbedderIdentity:
        """The given name and dimension; there are no weights."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the scripted row of each text.

        Raises:
            LookupError: A text is not in the script.
        """
        missing = [text for text in texts if text not in self._vectors]
        if missing:
            known = ", ".join(repr(text) for text in sorted(self._vectors))
            raise LookupError(f"no vector is scripted for {missing[0]!r}; there are: {known}")
        rows = [self._vectors[text] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), self._identity.dimension)


def with_cosine(anchor: Sequence[float], cosine: float, *, axis: int) -> tuple[float, ...]:
    """Return the unit vector at *cosine* from *anchor* that leaves it along *axis*.

    Vectors that leave one anchor along two axes that it does not touch have the product of their
    cosines between them.

    Args:
        anchor: A unit vector.
        cosine: Range: [-1, 1].
        axis: The entry that takes the orthogonal part; *anchor* must be 0 there.
    Raises:
        ValueError: One of these does not hold.
    """
    if not -1.0 <= cosine <= 1.0:
        raise ValueError(f"cosine {cosine}: pass -1 to 1")
    if abs(math.hypot(*anchor) - 1.0) > _UNIT_TOLERANCE or anchor[axis] != 0.0:
        raise ValueError(f"anchor {tuple(anchor)}: pass a unit vector that is 0 at axis {axis}")
    leaving = [cosine * entry for entry in anchor]
    leaving[axis] = math.sqrt(1.0 - cosine * cosine)
    return tuple(leaving)
