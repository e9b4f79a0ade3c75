"""Where a log ends, and whether something is missing behind that."""

from __future__ import annotations

from mnemic.kernel.ports import Log


def check_end(log: Log) -> None:
    """Refuse a log behind whose end something should stand.

    Whoever reads up to some version is not told: what they ask for is there.

    Raises:
        LogCorrupt: Its store knows of more than can be read, or its head row cannot be read.
    """
    next(log.read(log.head().version), None)
