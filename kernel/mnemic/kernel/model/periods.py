"""Periods: when a fact holds in the world, as opposed to when it was recorded or said."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from mnemic.kernel.values import Value

HOLDS, ENDED, LATER = "holds", "ended", "later"
VALIDITIES: Final = (HOLDS, ENDED, LATER)
"""What a period says of a moment: it is within, after the end, or before the beginning."""


@frozen
class Period(Value):
    """A time span, in microseconds since the epoch by the wall clock; an open end is None."""

    from_us: int | None = None
    """It holds from then on."""
    until_us: int | None = None
    """It holds until then, exclusive."""

    def at(self, instant_us: int) -> str:
        """Return ``holds``, ``ended`` or ``later``, as of a moment."""
        if self.until_us is not None and self.until_us <= instant_us:
            return ENDED
        if self.from_us is not None and instant_us < self.from_us:
            return LATER
        return HOLDS

    def overlaps(self, other: Period) -> bool:
        """Whether there is a moment at which both facts hold."""
        return not (self._is_before(other) or other._is_before(self))

    def _is_before(self, other: Period) -> bool:
        if self.until_us is None or other.from_us is None:
            return False
        return self.until_us <= other.from_us


ALWAYS: Final = Period()
"""The period of a block that does not say when its fact holds."""
