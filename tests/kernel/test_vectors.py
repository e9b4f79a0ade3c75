from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.errors import LogCorrupt, VectorRefused
from mnemic.kernel.model import vectors
from mnemic.kernel.model.vectors import Vector
from mnemic.kernel.numeric.arithmetic import NANO

FLOATS = st.floats(-1.0, 1.0) | st.floats(allow_nan=False, allow_infinity=False)
THREE = st.lists(FLOATS, min_size=3, max_size=3)
STORED = st.lists(st.integers(-4064, 4064), max_size=8).map(lambda v: np.array(v, dtype=np.int16))


def quantised(values: list[float]) -> Vector:
    return vectors.quantise(values, dimension=len(values))


def test_a_vector_is_stored_as_its_direction_on_a_grid() -> None:
    assert quantised([3.0, -4.0]).tolist() == [2438, -3251]
    assert quantised([0.0, 1e-3, 0.0]).tolist() == [0, 4064, 0]
    assert quantised([1.0, 1.0]).dtype == np.int16


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1.0, 1e300, 1.7e308])
def test_the_length_of_the_embedding_does_not_matter(scale: float) -> None:
    assert quantised([scale, -scale]).tolist() == [2874, -2874]


def test_a_zero_vector_stays_zero_and_has_cosine_zero() -> None:
    zero = quantised([0.0, -0.0])
    assert zero.tolist() == [0, 0]
    assert vectors.cosine(zero, quantised([1.0, 0.0])) == 0
    assert vectors.cosine(zero, zero) == 0


def test_any_numeric_type_is_accepted() -> None:
    expected = quantised([1.0, 2.0]).tolist()
    assert vectors.quantise(np.array([1, 2], dtype=np.float32), dimension=2).tolist() == expected
    assert vectors.quantise(np.array([1, 2], dtype=np.float16), dimension=2).tolist() == expected
    assert vectors.quantise([1, 2], dimension=2).tolist() == expected


@given(THREE)
def test_a_stored_vector_multiplies_exactly_in_float32(values: list[float]) -> None:
    assert vectors.squared_norm(quantised(values)) <= vectors.SQUARED_NORM_MAX


def test_the_longest_stored_vector_still_multiplies_exactly() -> None:
    # Components just past a half round up everywhere at once: the worst case of every dimension.
    worst = quantised([1.0] * 2 + [0.5 / 4064 * math.sqrt(2.001)] * 4094)
    assert vectors.squared_norm(worst) <= vectors.SQUARED_NORM_MAX
    assert vectors.squared_norm(quantised([1.0] * 4096)) <= vectors.SQUARED_NORM_MAX


@given(THREE, THREE)
def test_cosine_is_symmetric_bounded_and_close_to_the_truth(a: list[float], b: list[float]) -> None:
    mine, theirs = quantised(a), quantised(b)
    cosine = vectors.cosine(mine, theirs)
    assert cosine == vectors.cosine(theirs, mine)
    assert -NANO <= cosine <= NANO
    exact = math.hypot(*mine.tolist()) * math.hypot(*theirs.tolist())
    dot = sum(x * y for x, y in zip(mine.tolist(), theirs.tolist(), strict=True))
    assert math.isclose(cosine * exact, dot * NANO, abs_tol=exact)


@given(THREE.filter(any))
def test_a_vector_has_cosine_one_with_itself(values: list[float]) -> None:
    vector = quantised(values)
    assert vectors.cosine(vector, vector) == NANO
    assert vectors.cosine(vector, -vector) == -NANO


def test_rounding_moves_a_cosine_by_half_a_thousandth_at_most() -> None:
    a, b = [math.sin(i * i) for i in range(256)], [math.sin(i * i + i % 3) for i in range(256)]
    dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
    exact = dot / math.hypot(*a) / math.hypot(*b)
    assert abs(vectors.cosine(quantised(a), quantised(b)) / NANO - exact) < 5e-4


@given(st.lists(st.tuples(THREE, THREE)))
def test_cosines_of_arrays_equal_the_cosine_of_each(pairs: list[tuple[list[float], ...]]) -> None:
    quantised_pairs = [(quantised(a), quantised(b)) for a, b in pairs]
    dots = np.array([a.astype(int) @ b.astype(int) for a, b in quantised_pairs], dtype=np.float32)
    norms_a = np.array([vectors.squared_norm(a) for a, _ in quantised_pairs], dtype=np.int64)
    norms_b = np.array([vectors.squared_norm(b) for _, b in quantised_pairs], dtype=np.int64)
    expected = [vectors.cosine(a, b) for a, b in quantised_pairs]
    assert vectors.cosine_each(dots, norms_a, norms_b).tolist() == expected


@given(st.lists(THREE))
def test_cosines_among_vectors_equal_the_cosine_of_each_two(components: list[list[float]]) -> None:
    stored = [quantised(each) for each in components]
    expected = [[vectors.cosine(one, other) for other in stored] for one in stored]
    assert vectors.cosines_among(stored).tolist() == expected


def test_cosines_among_the_longest_vectors_are_exact() -> None:
    flat = vectors.quantise([1.0] * 4096, dimension=4096)
    steep = vectors.quantise([4095.0] + [1.0] * 4095, dimension=4096)
    between = vectors.cosine(flat, steep)
    assert vectors.cosines_among([flat, steep]).tolist() == [[NANO, between], [between, NANO]]


@given(STORED)
def test_a_packed_vector_unpacks_to_itself(vector: Vector) -> None:
    assert vectors.unpack(vectors.pack(vector)).tolist() == vector.tolist()


def test_a_packed_vector_is_little_endian_on_every_machine() -> None:
    assert vectors.pack(np.array([1, -2, 4064], dtype=np.int16)) == b"\x01\x00\xfe\xff\xe0\x0f"
    assert vectors.pack(np.array([1], dtype=">i2")) == b"\x01\x00"


def test_vectors_cannot_be_changed() -> None:
    assert not quantised([1.0]).flags.writeable
    assert not quantised([0.0]).flags.writeable
    assert not vectors.unpack(b"\x01\x00").flags.writeable


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0], r"expected 2 numbers, got float64 of shape \(1,\)"),
        ([[1.0, 2.0]], r"of shape \(1, 2\)"),
        ([[1.0], [1.0, 2.0]], "expected 2 numbers"),
        (["a", "b"], "expected 2 numbers, got <U1"),
        ([True, False], "expected 2 numbers, got bool"),
        ([1j, 2j], "expected 2 numbers, got complex128"),
        ([1.0, math.nan], "component 1 is nan"),
        ([-math.inf, 0.0], "component 0 is -inf"),
    ],
)
def test_values_that_are_not_a_vector_of_the_declared_size_are_refused(
    values: list[float], message: str
) -> None:
    with pytest.raises(VectorRefused, match=message) as refusal:
        vectors.quantise(values, dimension=2)
    assert refusal.value.code == "vector-refused"
    assert refusal.value.facts["dimension"] == 2


@pytest.mark.parametrize("dimension", [0, -1, 4097])
def test_a_dimension_that_float32_cannot_multiply_exactly_is_refused(dimension: int) -> None:
    with pytest.raises(VectorRefused, match="outside of 1 to 4096"):
        vectors.quantise([], dimension=dimension)


def test_vectors_of_two_sizes_have_no_cosine() -> None:
    with pytest.raises(VectorRefused, match="sizes 1 and 2"):
        vectors.cosine(quantised([1.0]), quantised([1.0, 1.0]))


@pytest.mark.parametrize("data", [b"\x01", b"\x00" * 8194])
def test_bytes_that_hold_no_vector_are_reported(data: bytes) -> None:
    with pytest.raises(LogCorrupt, match="hold no vector"):
        vectors.unpack(data)
