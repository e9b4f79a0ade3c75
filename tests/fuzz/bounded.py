"""Time-limited fuzzing: as many hypothesis examples of a target as fit into some seconds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from attrs import define, frozen
from hypothesis import HealthCheck, given, seed, settings
from hypothesis.strategies import SearchStrategy

from mnemic.kernel.errors import MnemicError

SECONDS = float(os.environ.get("MNEMIC_FUZZ_S", "1.5"))
"""For each target; ``make fuzz`` takes more."""
PATIENCE_S = 10.0
"""No input may take longer, even on a busy machine."""
ROUND = 40
"""Examples between two checks of the clock, on one fresh set-up."""

Attempt: TypeAlias = Callable[[Any], None]
"""Tries one input. ``MnemicError`` is an answer; anything else that is raised is a crash."""


@frozen(kw_only=True)
class Target:
    """One entry point for input."""

    inputs: SearchStrategy[Any]
    opened: Callable[[Path], AbstractContextManager[Attempt]]
    """Sets it up in an empty folder."""
    mixed: bool = True
    """Whether some inputs are accepted and some refused; otherwise all have the same result."""


@define
class Tally:
    """Counts of accepted and refused inputs of one target."""

    tried: int = 0
    refused: int = 0
    slowest_s: float = 0.0

    def count(self, attempt: Attempt, given_input: Any) -> None:
        """Try one input.

        Raises:
            AssertionError: It took too long.
            Exception: It crashed.
        """
        begun = time.monotonic()
        try:
            attempt(given_input)
        except MnemicError:
            self.refused += 1
        took_s = time.monotonic() - begun
        self.tried += 1
        self.slowest_s = max(self.slowest_s, took_s)
        assert took_s < PATIENCE_S, f"it took {took_s:.1f} s"


def fuzzed(target: Target, *, seconds: float = SECONDS, first_seed: int = 1) -> Tally:
    """Try inputs until the time is up, at least one round.

    Args:
        target: What to try.
        seconds: How long.
        first_seed: Of the first round; each has the next one.

    Raises:
        Exception: The crash of an input; its note has the smallest such input that was found.
    """
    tally, ends, number = Tally(), time.monotonic() + seconds, first_seed
    while number == first_seed or time.monotonic() < ends:
        with TemporaryDirectory() as folder, target.opened(Path(folder)) as attempt:
            _round(target, tally, attempt, number)
        number += 1
    return tally


def _round(target: Target, tally: Tally, attempt: Attempt, number: int) -> None:
    @seed(number)
    @settings(
        max_examples=ROUND,
        derandomize=False,
        deadline=None,
        database=None,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
        ],
    )
    @given(target.inputs)
    def examples(given_input: Any) -> None:
        tally.count(attempt, given_input)

    examples()
