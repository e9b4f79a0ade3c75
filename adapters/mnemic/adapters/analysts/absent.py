"""The analyst that does nothing."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.kernel.ports import Analysis, Passage


class NoAnalyst:
    """Switches analysis off; the log then records that there was none.

    Not giving an analyst means the rules; giving this one means none.
    """

    name = "none"

    def analyse(self, passages: Sequence[Passage]) -> list[Analysis]:
        """Return an empty analysis of each passage."""
        return [Analysis()] * len(passages)
