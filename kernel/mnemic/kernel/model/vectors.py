"""Vectors quantised to small integers, so that cosines are exact and reproducible.

An embedding arrives as floats and is stored as ``rint(4064 * v / |v|)`` in int16. Its length is
then at most 4064 + sqrt(d)/2 <= 4096 for every dimension d up to 4096, and by Cauchy-Schwarz no
partial sum of a product of two of them, in any order, exceeds 4096 * 4096 = 2**24: the range
in which float32 holds every whole number. A matrix product of such vectors is therefore exact in
float32 on every BLAS kernel, batch shape and number of threads, and the cosine is one float64
square root, one division and one rounding away from it.

The price, against float32 vectors: a cosine moves by at most 5e-4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.errors import LogCorrupt, VectorRefused
from mnemic.kernel.numeric import arithmetic

Vector: TypeAlias = NDArray[np.int16]
"""A quantised embedding, shape (dimension,), read-only."""

SCALE: Final[int] = 4064
"""Length of a stored vector before its components are rounded."""

DIMENSION_MAX: Final[int] = 4096
SQUARED_NORM_MAX: Final[int] = 2**24
"""Up to this squared length every product of two vectors is exact in float32."""

_STORED = np.dtype("<i2")


def quantise(values: Sequence[float] | NDArray[Any], *, dimension: int) -> Vector:
    """Return the direction of *values* on the integer grid.

    Args:
        values: Finite numbers, shape (dimension,); their common scale does not matter.
        dimension: The dimension that the embedder declares. Range: [1, 4096].
    Returns:
        A read-only vector. A vector of zeros stays zero: its cosine with everything is 0.
    Raises:
        VectorRefused: Wrong size, not numbers, or not finite.
    """
    floats = _checked(values, dimension)
    largest = float(np.maximum.reduce(np.abs(floats)))  # nan, if one is
    if not math.isfinite(largest):
        first = int((~np.isfinite(floats)).argmax())
        raise VectorRefused(
            f"component {first} is {floats[first]}", dimension=dimension, component=first
        )
    if largest == 0.0:
        return _frozen(np.zeros(dimension, dtype=np.int16))
    # Scaling by a power of two is exact and keeps squares of huge or tiny components in range.
    # It takes two steps because the power itself may be out of range for a tiny vector.
    _, power = math.frexp(largest)
    half = power // 2
    scaled = floats * math.ldexp(1.0, -half) * math.ldexp(1.0, half - power)
    # fsum rounds the true sum once; numpy's sum depends on the order its SIMD width suggests.
    length = math.sqrt(math.fsum((scaled * scaled).tolist()))
    return _frozen(np.rint(scaled * SCALE / length).astype(np.int16))


def pack(vector: Vector) -> bytes:
    """Return the components as little-endian int16, two bytes each."""
    return np.asarray(vector, dtype=np.int16).astype(_STORED, copy=False).tobytes()


def unpack(data: bytes) -> Vector:
    """Return the vector that `pack` wrote.

    Raises:
        LogCorrupt: The bytes do not hold whole components, or exceed the length of a vector.
    """
    if len(data) % _STORED.itemsize or len(data) > DIMENSION_MAX * _STORED.itemsize:
        raise LogCorrupt(f"{len(data)} bytes hold no vector", size=len(data))
    return _frozen(np.frombuffer(data, dtype=_STORED).astype(np.int16))


def unpack_each(data: Sequence[bytes]) -> NDArray[np.int16] | None:
    """Return the vectors that `pack` wrote, one per row; None unless all have one valid size."""
    size = len(data[0]) if data else 0
    if not 0 < size <= DIMENSION_MAX * _STORED.itemsize or size % _STORED.itemsize:
        return None
    if any(len(each) != size for each in data):
        return None
    rows = np.frombuffer(b"".join(data), dtype=_STORED).reshape(len(data), -1)
    return rows.astype(np.int16, copy=False)


def squared_norms(rows: NDArray[np.int16]) -> NDArray[np.int64]:
    """Return `squared_norm` of every row."""
    wide = rows.astype(np.int64)
    norms: NDArray[np.int64] = np.einsum("ij,ij->i", wide, wide)
    return norms


def squared_norm(vector: Vector) -> int:
    """Return the exact squared length."""
    wide = vector.astype(np.int64)
    return int(wide @ wide)


def cosine(a: Vector, b: Vector) -> int:
    """Return the cosine of two vectors of one size in nano-units; 0 when either is zero.

    Returns:
        Range: [-NANO, NANO], without clipping: the product of two whole numbers whose true
        quotient is at most one is never rounded to more than one.
    """
    if a.shape != b.shape:
        raise VectorRefused(
            f"vectors of sizes {a.size} and {b.size} have no cosine", sizes=(a.size, b.size)
        )
    dot = int(a.astype(np.int64) @ b.astype(np.int64))
    norms = squared_norm(a) * squared_norm(b)
    return arithmetic.nano(float(dot) / math.sqrt(float(norms))) if norms else 0


def cosines_among(vectors: Sequence[Vector]) -> NDArray[np.int64]:
    """Return `cosine` of each of *vectors*, all of one size, with each, in nano-units.

    Returns:
        Shape (vectors, vectors).
    """
    if not vectors:
        return np.empty((0, 0), dtype=np.int64)
    wide = np.stack(vectors).astype(np.float64)  # whole numbers, whose products float64 holds
    # Row by row: a matrix product of this size would wake threads, which spin long after it.
    dots = np.vecdot(wide[:, None, :], wide[None, :, :])
    norms = np.diagonal(dots).astype(np.int64)
    return cosine_each(dots, norms[:, None], norms[None, :])


def cosine_each(
    dots: NDArray[Any], squared_norms_a: NDArray[np.int64] | int, squared_norms_b: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return `cosine` of many pairs from their exact products.

    Args:
        dots: Whole numbers of any type, each at most 2**24 either way.
        squared_norms_a: One per pair, or one for all.
        squared_norms_b: One per pair.
    """
    norms = np.multiply(squared_norms_a, squared_norms_b, dtype=np.float64)
    # A zero vector's product is 0, so any positive divisor gives the required 0.
    np.maximum(norms, 1.0, out=norms)
    return arithmetic.nano_each(dots.astype(np.float64) / np.sqrt(norms))


def _checked(values: Sequence[float] | NDArray[Any], dimension: int) -> NDArray[np.float64]:
    if not 1 <= dimension <= DIMENSION_MAX:
        raise VectorRefused(
            f"dimension {dimension} is outside of 1 to {DIMENSION_MAX}", dimension=dimension
        )
    try:
        given = np.asarray(values)
    except ValueError:  # rows of unequal length
        given = np.empty((0, 0))
    if given.shape != (dimension,) or given.dtype.kind not in "fiu":
        raise VectorRefused(
            f"expected {dimension} numbers, got {given.dtype} of shape {given.shape}",
            dimension=dimension,
            shape=given.shape,
        )
    return given.astype(np.float64)


def _frozen(vector: Vector) -> Vector:
    vector.flags.writeable = False
    return vector
