"""What a campaign is told, and what it brings home: counts for the page on safety."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from attrs import field, frozen


@frozen(kw_only=True)
class Effort:
    """How long a campaign may take, and by which chances."""

    share: float = 1.0
    """Of the whole campaign. Range: (0, 1]; CI does a few hundredths."""
    seed: int = 1
    tell: Callable[[str], None] = field(default=lambda _: None, eq=False)
    """Called with a short line now and then."""

    def of(self, whole: int, *, least: int = 1) -> int:
        """Return how many of *whole* rounds are to be done, and *least* at least."""
        return max(least, round(whole * self.share))


@frozen(kw_only=True)
class Figures:
    """What one campaign found. It failed if there is a failure; nothing else is a verdict."""

    promise: str
    """In one sentence, as the page on safety says it."""
    facts: Mapping[str, int | float | str]
    """Counted or measured; units are in the names: ``worst wait, ms``."""
    failures: tuple[str, ...] = ()
    """Each names the seed or the place that shows it again."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "promise": self.promise,
            "facts": dict(self.facts),
            "failures": list(self.failures),
        }


Campaign: TypeAlias = Callable[[Path, Effort], Figures]
"""Works in an empty folder, which it may leave as it likes, and leaves no process behind."""
