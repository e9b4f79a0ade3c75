"""Matching a query to one block, and the confidence of the match."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.kernel.numeric.arithmetic import NANO
from mnemic.projections.retrieval.matching import confidence

parts = st.integers(0, NANO)


# Expected values: computed with forty decimal digits.
@pytest.mark.parametrize(
    ("words", "cosine", "gap", "expected"),
    [
        (0, 0, 0, 13_386_918),
        (0, 200_000_000, 80_000_000, 32_295_465),
        (1_000_000_000, 0, 0, 310_025_519),
        (600_000_000, 550_000_000, 90_000_000, 276_962_430),
        (600_000_000, 550_000_000, 500_000_000, 949_569_888),
        (1_000_000_000, 700_000_000, 0, 427_989_119),
        (900_000_000, 1_000_000_000, 0, 996_127_597),
        (1_000_000_000, 1_000_000_000, 1_000_000_000, 999_999_795),
    ],
)
def test_a_confidence_is_the_logistic_of_its_parts(
    words: int, cosine: int, gap: int, expected: int
) -> None:
    assert confidence(words, cosine, gap) == expected


@given(parts, parts, parts, parts)
def test_confidence_rises_with_every_part(words: int, cosine: int, gap: int, more: int) -> None:
    least = confidence(words, cosine, gap)
    assert confidence(max(words, more), cosine, gap) >= least
    assert confidence(words, max(cosine, more), gap) >= least
    assert confidence(words, cosine, max(gap, more)) >= least
    assert 0 < least < NANO
