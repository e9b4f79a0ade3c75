"""A seeded search over policies: CMA-ES with margins, of the package ``cmaes``. Extra ``tune``.

Rules of this module:

1. A candidate is the policy in force with other numbers in one frame: the weights of its signals,
   the rates by which memories fade, and ``top_k``. All else stays.
2. Every candidate is a valid policy: weights are shares of 1 to the last digit.
3. Coordinates are continuous for weights (their logarithms) and whole for rates (steps of a factor
   of 4) and ``top_k``; margins keep the search from freezing a whole one too early.

Source: Hansen, The CMA evolution strategy (2016); Hamano et al., CMA-ES with margin (2022).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import exp, log
from typing import Any, Final, TypeAlias

import numpy as np
from attrs import evolve, frozen

from mnemic.adapters.extras import require
from mnemic.kernel.errors import FieldRefused, PolicyRefused
from mnemic.kernel.events import SIGNALS
from mnemic.kernel.policy import Policy
from mnemic.kernel.results import PolicyChange

PARAMETERS: Final = ("weights", "rates", "top_k")
DIGITS: Final = 3
"""Of a weight: further digits are noise of the sample."""
LEAST: Final = 0.02
"""Weight from which the search starts where the policy in force has less."""
LOG_LOW, LOG_HIGH = -5.0, 3.0
"""Bounds of the logarithm of a weight, before all are divided by their sum."""
FACTOR: Final = 4.0
"""Step of the rates: finer ones change few answers, and candidates with equal rates share work."""
STEPS_MAX: Final = 2
"""Steps by which rates are raised or lowered at most."""
TOP_K_MAX: Final = 30
RATES: Final = (
    "rate_permanent",
    "rate_durable",
    "rate_standard",
    "rate_ephemeral",
    "recency_rate_days",
)
"""Rates by which memories fade, per active hour or per day. They keep their proportions."""
NAME: Final = "tuned"

Score: TypeAlias = Callable[[Sequence[Policy]], Sequence[float]]
"""Scores policies, higher is better."""
_Axis: TypeAlias = tuple[float, float, float, float]
"""Start, least and greatest value, and step; 0: continuous."""


def require_cmaes() -> None:
    """Refuse to go on without the package.

    Raises:
        Unavailable: Naming how to install it.
    """
    need = "the search for policies needs a package that is not installed"
    require("cmaes", "tune", need, package="cmaes")


@frozen
class Candidates:
    """The policies of a search, as points.

    Args:
        in_force: The policy from which all differ.
        frame: Name of the frame that is varied.
        parameters: Which of ``PARAMETERS`` are varied, at least one.
    """

    in_force: Policy
    frame: str
    parameters: tuple[str, ...]

    def axes(self) -> tuple[_Axis, ...]:
        """Return the coordinates of a point; the policy in force is near the start."""
        found: list[_Axis] = []
        if "weights" in self.parameters:
            frame = self.in_force.frame(self.frame)
            found += [
                (log(max(LEAST, getattr(frame, name))), LOG_LOW, LOG_HIGH, 0.0) for name in SIGNALS
            ]
        if "rates" in self.parameters:
            found.append((0.0, -STEPS_MAX, STEPS_MAX, 1.0))
        if "top_k" in self.parameters:
            top_k = self.in_force.top_k
            found.append((top_k, 1.0, max(TOP_K_MAX, top_k), 1.0))
        return tuple(found)

    def policy(self, point: Sequence[float]) -> Policy:
        """Return the policy at a point."""
        given = iter(point)
        changes: dict[str, Any] = {"name": NAME}
        if "weights" in self.parameters:
            weights: dict[str, Any] = dict(
                zip(SIGNALS, shares([exp(next(given)) for _ in SIGNALS]), strict=True)
            )
            changes["frames"] = tuple(
                evolve(each, **weights) if each.name == self.frame else each
                for each in self.in_force.frames
            )
        if "rates" in self.parameters:
            factor = FACTOR ** round(next(given))
            for name in RATES:
                changes[name] = min(1.0, getattr(self.in_force, name) * factor)
        if "top_k" in self.parameters:
            changes["top_k"] = round(next(given))
        return evolve(self.in_force, **changes)

    def changes(self, policy: Policy) -> Iterator[PolicyChange]:
        """Yield where a policy differs from the one in force."""
        before, after = self.in_force.frame(self.frame), policy.frame(self.frame)
        pairs: list[tuple[str, Any, Any, str]] = [
            (f"{self.frame}.{name}", before, after, name) for name in SIGNALS
        ]
        pairs += [(name, self.in_force, policy, name) for name in (*RATES, "top_k")]
        for label, old, new, name in pairs:
            was, now = getattr(old, name), getattr(new, name)
            if was != now:
                yield PolicyChange(name=label, before=was, after=now)


def shares(weights: Sequence[float]) -> list[float]:
    """Return weights as shares of 1 with few digits; the greatest takes what rounding left.

    Args:
        weights: >= 0, not all 0.
    """
    whole = 10**DIGITS
    total = sum(weights)
    units = [round(weight / total * whole) for weight in weights]
    units[units.index(max(units))] += whole - sum(units)
    return [unit / whole for unit in units]


def checked_parameters(given: object) -> tuple[str, ...]:
    """Return the parameters to vary.

    Raises:
        FieldRefused: One is unknown, or there is none.
    """
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not names or not {*names} <= {*PARAMETERS}:
        raise FieldRefused(
            f"parameters must be some of {', '.join(PARAMETERS)}, got {given!r:.100}",
            field="parameters",
        )
    return tuple(name for name in PARAMETERS if name in names)


@frozen(kw_only=True)
class Best:
    """What a search ends with."""

    policy: Policy
    score: float
    tried: int
    """Number of different policies that were scored."""


def search(
    candidates: Candidates,
    score: Score,
    *,
    evaluations: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> Best:
    """Return the policy with the highest score; the first of equals. The same seed, the same one.

    Args:
        candidates: What is searched.
        score: Called with one generation after another.
        evaluations: Most points that are looked at.
        seed: Any whole number.
        progress: Called with the number of points done and the total.
    """
    from cmaes import CMAwM

    start, low, high, steps = (np.array(each, dtype=float) for each in zip(*candidates.axes()))  # noqa: B905 - the axes are tuples of four
    optimizer = CMAwM(
        mean=start,
        sigma=1.0,
        bounds=np.stack((low, high), axis=1),
        steps=steps,
        seed=seed % 2**32,
    )
    known: dict[str, float] = {}
    best: tuple[float, Policy] | None = None
    done = 0
    while done < evaluations and not optimizer.should_stop():
        points = [
            optimizer.ask() for _ in range(min(optimizer.population_size, evaluations - done))
        ]
        policies = [candidates.policy(point.tolist()) for point, _ in points]
        fresh = list({each.id: each for each in policies if each.id not in known}.values())
        for policy, found in zip(fresh, score(fresh), strict=True):
            known[policy.id] = found
            if best is None or found > best[0]:
                best = found, policy
        done += len(points)
        if progress is not None:
            progress(done, evaluations)
        if len(points) < optimizer.population_size:
            break
        optimizer.tell(
            [(raw, -known[policy.id]) for (_, raw), policy in zip(points, policies, strict=True)]
        )
    if best is None:
        raise PolicyRefused("no policy was tried")
    if progress is not None and done < evaluations:
        progress(evaluations, evaluations)
    return Best(policy=best[1], score=best[0], tried=len(known))
