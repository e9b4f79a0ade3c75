"""Every test is in a tier: tests that `make test` leaves out run in `make test-all`."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARKERS = ("extended", "hypothesis")
"""Markers that decide the tiers of a test; hypothesis marks its own tests."""


def test_every_test_and_every_property_with_all_its_examples_is_in_a_tier() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    core, rest = re.findall(r'-m "([^"]+)"', makefile)
    for chosen in product((False, True), repeat=2):
        marked: dict[str, object] = dict(zip(MARKERS, chosen, strict=True))
        in_core, in_rest = (eval(tier, {}, marked) for tier in (core, rest))  # noqa: S307
        assert in_core or in_rest
        assert in_rest or not marked["hypothesis"]


def test_continuous_integration_runs_both_tiers() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert {"set -euo pipefail", "make test", "make test-all"} <= set(lines)
