"""Every place where something comes in, for some seconds each: no crash but errors of ours.

``MNEMIC_FUZZ_S`` says for how many; ``make fuzz`` takes a minute each.
"""

from __future__ import annotations

import pytest

from tests.fuzz.bounded import fuzzed
from tests.fuzz.targets import targets


@pytest.mark.parametrize("name", targets())
def test_nothing_that_comes_in_is_more_than_refused(name: str) -> None:
    target = targets()[name]
    tally = fuzzed(target)
    assert (0 < tally.refused < tally.tried) or not target.mixed
