"""Fuzzes every entry point for some seconds: only mnemic's own errors may be raised.

``MNEMIC_FUZZ_S`` sets the seconds; ``make fuzz`` takes a minute each.
"""

from __future__ import annotations

import pytest

from tests.fuzz.bounded import fuzzed
from tests.fuzz.targets import targets

pytestmark = pytest.mark.extended


@pytest.mark.parametrize("name", targets())
def test_no_input_causes_more_than_a_refusal(name: str) -> None:
    target = targets()[name]
    tally = fuzzed(target)
    assert (0 < tally.refused < tally.tried) or not target.mixed
