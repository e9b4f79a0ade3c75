from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mnemic.adapters.embedders.hashing import HashEmbedder, ScriptedEmbedder, with_cosine
from mnemic.kernel.events import EmbedderIdentity

X = (1.0, 0.0, 0.0)


def cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def test_a_hash_vector_is_the_same_in_every_process() -> None:
    rows = HashEmbedder(8).embed(["Bees make honey", ""])
    assert (rows.dtype.name, rows.tolist()) == (
        "float32",
        [[-1.0, -1.0, -3.0, 1.0, 3.0, -1.0, 3.0, 3.0], [0.0] * 8],
    )


def test_a_hash_embedder_is_named_for_its_analyser_and_dimension() -> None:
    assert HashEmbedder().identity == EmbedderIdentity(name="hash/english-1", dimension=64)


def test_texts_that_share_stems_are_close_and_others_are_not() -> None:
    bees, bee, storm = HashEmbedder(256).embed(
        ["bees make honey in summer", "the bee made honey, all summer", "storms sink ships"]
    )
    assert cosine(bees, bee) > 0.7
    assert abs(cosine(bees, storm)) < 0.25


@given(st.lists(st.text(max_size=20), max_size=5), st.integers(min_value=1, max_value=70))
def test_a_hash_vector_does_not_depend_on_its_batch(texts: list[str], dimension: int) -> None:
    embedder = HashEmbedder(dimension)
    rows = embedder.embed(texts)
    assert rows.shape == (len(texts), dimension)
    assert rows.tolist() == [embedder.embed([text])[0].tolist() for text in texts]


@pytest.mark.parametrize("dimension", [0, -1])
def test_a_dimension_below_one_is_refused(dimension: int) -> None:
    with pytest.raises(ValueError, match=f"dimension {dimension}: pass at least 1"):
        HashEmbedder(dimension)


def test_a_scripted_embedder_returns_the_scripted_vectors() -> None:
    embedder = ScriptedEmbedder({"a": X, "b": (0.0, 0.5, math.nan)}, 3, name="odd")
    assert embedder.identity == EmbedderIdentity(name="odd", dimension=3)
    rows = embedder.embed(["b", "a", "b"])
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(
        rows, [[0.0, 0.5, math.nan], [1.0, 0.0, 0.0], [0.0, 0.5, math.nan]]
    )
    assert embedder.embed([]).shape == (0, 3)


def test_a_scripted_embedder_names_a_text_it_does_not_know() -> None:
    with pytest.raises(LookupError, match="no vector is scripted for 'c'; there are: 'a', 'b'"):
        ScriptedEmbedder({"b": X, "a": X}, 3).embed(["a", "c"])


def test_a_script_with_a_vector_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="3 numbers for 'a': pass 4"):
        ScriptedEmbedder({"a": X}, 4)


@given(st.floats(min_value=-1.0, max_value=1.0))
def test_with_cosine_gives_a_unit_vector_at_that_cosine(wanted: float) -> None:
    vector = with_cosine(X, wanted, axis=2)
    assert vector == (wanted, 0.0, math.sqrt(1.0 - wanted * wanted))
    assert math.isclose(math.hypot(*vector), 1.0, abs_tol=1e-9)


def test_two_vectors_that_leave_along_different_axes_multiply_their_cosines() -> None:
    a, b = with_cosine(X, 0.9, axis=1), with_cosine(X, 0.5, axis=2)
    assert math.isclose(float(np.dot(a, b)), 0.9 * 0.5)


@pytest.mark.parametrize(
    ("anchor", "wanted", "axis"),
    [(X, 1.1, 1), (X, math.nan, 1), (X, 0.5, 0), ((2.0, 0.0, 0.0), 0.5, 1)],
)
def test_an_impossible_cosine_is_refused(
    anchor: tuple[float, ...], wanted: float, axis: int
) -> None:
    with pytest.raises(ValueError, match="pass"):
        with_cosine(anchor, wanted, axis=axis)
