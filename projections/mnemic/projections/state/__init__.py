"""The state of one space: all projections, advanced event by event or in batches."""

from __future__ import annotations

from mnemic.projections.state.apply import apply
from mnemic.projections.state.replay import rebuild
from mnemic.projections.state.state import State

__all__ = ["State", "apply", "rebuild"]
