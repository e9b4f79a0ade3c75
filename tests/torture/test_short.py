"""A few hundredths of every campaign, run with every commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.__main__ import SHORT
from tests.torture.campaigns import NAMES, campaigns
from tests.torture.figures import Effort

pytestmark = pytest.mark.extended


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_lost_in_a_short_campaign(name: str, tmp_path: Path) -> None:
    figures = campaigns()[name](tmp_path, Effort(share=SHORT))
    assert figures.failures == ()
