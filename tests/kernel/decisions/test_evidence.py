from __future__ import annotations

import numpy as np
import pytest

from mnemic.kernel.numeric.arithmetic import NANO, share
from mnemic.kernel.scoring.signals import usefulness


@pytest.mark.parametrize("outcomes", [0, 1, 10**3, 10**6, 10**7, 4 * 10**9])
def test_usefulness_is_exact_for_any_amount_of_evidence(outcomes: int) -> None:
    alpha = np.array([NANO // 2 + outcomes * NANO, NANO // 2], dtype=np.int64)
    beta = np.array([NANO // 2, NANO // 2 + outcomes * NANO], dtype=np.int64)
    wanted = [share(int(a), int(a + b)) for a, b in zip(alpha, beta, strict=True)]
    assert usefulness(alpha, beta).tolist() == wanted
    assert sum(wanted) == NANO


def test_without_evidence_usefulness_is_a_half() -> None:
    prior = np.array([NANO // 2], dtype=np.int64)
    assert usefulness(prior, prior).tolist() == [NANO // 2]
