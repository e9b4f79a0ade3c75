"""What came of computing every past decision again."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.results.recalls import ReplayResult
from mnemic.kernel.results.shape import Result, plural


@frozen(kw_only=True, str=False)
class SuspectCount(Result):
    """How many decisions part from their record for one reason."""

    suspect: str
    """As ``ReplayResult.suspect``."""
    decisions: int

    @property
    def summary(self) -> str:
        return f"{self.suspect}: {plural(self.decisions, 'decision')}"


@frozen(kw_only=True, str=False)
class ReplaySummary(Result):
    """Every decision of a stretch of the log, computed again and compared with its record."""

    decisions: int
    reproduced: int
    differs: int
    sealed: int
    """Saw words that are erased since: only the stored signals can be checked."""
    retired: int
    """Made by a recipe or a token counter that is not at hand: nothing can be said of them."""
    first_version: int | None
    """Of the decisions; None where there are none."""
    last_version: int | None
    suspects: tuple[SuspectCount, ...] = ()
    """Why decisions part from their records, the most frequent first."""
    differences: tuple[ReplayResult, ...] = ()
    """The first decisions that differ, at most 10, block by block."""

    @property
    def is_exact(self) -> bool:
        """Whether no decision comes out otherwise than it was recorded."""
        return self.differs == 0

    @property
    def summary(self) -> str:
        if not self.decisions:
            return "No decisions."
        counted = [f"Reproduced {self.reproduced} of {plural(self.decisions, 'decision')}"]
        counted += [
            f"{count} {what}"
            for count, what in (
                (self.differs, "differ" if self.differs > 1 else "differs"),
                (self.sealed, "sealed"),
                (self.retired, "of a retired recipe"),
            )
            if count
        ]
        return ", ".join(counted) + "."
