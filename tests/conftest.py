"""The profiles of hypothesis, chosen by ``HYPOTHESIS_PROFILE``: ``ci`` if not given.

``make test`` runs with ``core``, ``make test-all`` with ``ci``, ``make test-long`` with ``long``.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings

# Before anyone imports them: whose asserts should tell what they saw.
pytest.register_assert_rewrite(
    "tests.agreement.log_checker", "tests.agreement.agents", "tests.crash.reports"
)

# No deadline, and no complaint about slow generation: both would judge the machine, not the code.
# "ci" draws the same examples every time, so that a red run can be repeated; "core" draws fewer of
# them; "long" draws new ones, a night's worth, and remembers failures in .hypothesis.
# Tests that want more or fewer examples ask for a multiple of settings().max_examples.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=24,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("core", parent=settings.get_profile("ci"), max_examples=12)
settings.register_profile(
    "long",
    deadline=None,
    max_examples=1000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# For tests/faults, where a failure is expected and how small it could be does not matter.
settings.register_profile(
    "faults", parent=settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate]
)
# For `make mutants`, which plays the same histories thousands of times.
settings.register_profile("mutants", parent=settings.get_profile("faults"), max_examples=15)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
