"""What verbs on checkpoints answer."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.results.shape import Result, plural


@frozen(kw_only=True, str=False)
class Checkpoint(Result):
    """One file that a space can be opened from, or could not."""

    name: str
    """Of the file, in the folder of the checkpoints."""
    state: str
    """``valid``; ``torn``: not what was written; ``stale``: the log went another way, or words
    were erased since; ``foreign``: of another log; ``other-fold``: of another release."""
    version: int
    """The last version in it."""
    hour: float | None = None
    """Its active hour; None for a torn file."""
    bytes: int = 0
    """How long the file is."""
    release: str | None = None
    """The release that wrote it; None for a torn file."""
    problem: str | None = None
    """Why it is not valid."""

    @property
    def summary(self) -> str:
        at = "" if self.hour is None else f" at {self.hour:.2f} active hours"
        because = f": {self.problem}" if self.problem else ""
        size = f"{self.bytes / 1e6:.2f} MB"
        return f"{self.name}: {self.state}, version {self.version}{at}, {size}{because}."


@frozen(kw_only=True, str=False)
class DropCheckpointsResult(Result):
    """How many files went."""

    dropped: int

    @property
    def summary(self) -> str:
        return f"Dropped {plural(self.dropped, 'checkpoint')}; opening folds the log again."
