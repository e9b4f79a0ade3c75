"""The settings of a campaign, and its results: counts for the page on safety."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from attrs import field, frozen


@frozen(kw_only=True)
class Effort:
    """The share of a campaign to run, and its seed."""

    share: float = 1.0
    """Of the whole campaign. Range: (0, 1]; CI does a few hundredths."""
    seed: int = 1
    tell: Callable[[str], None] = field(default=lambda _: None, eq=False)
    """Called with a short progress line now and then."""

    def of(self, whole: int, *, least: int = 1) -> int:
        """Return how many of *whole* rounds are to be done, and *least* at least."""
        return max(least, round(whole * self.share))


@frozen(kw_only=True)
class Figures:
    """What one campaign found. It failed if there is a failure; nothing else is a verdict."""

    promise: str
    """The guarantee in one sentence, as the page on safety states it."""
    facts: Mapping[str, int | float | str]
    """Counted or measured; units are in the names: ``worst wait, ms``."""
    failures: tuple[str, ...] = ()
    """Each names the seed or the place that reproduces it."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "promise": self.promise,
            "facts": dict(self.facts),
            "failures": list(self.failures),
        }


Campaign: TypeAlias = Callable[[Path, Effort], Figures]
"""Works in an empty folder, which need not be cleaned, and leaves no process behind."""
