"""All targets by name."""

from __future__ import annotations

from collections.abc import Mapping

from tests.fuzz import calls, doors, files, logs
from tests.fuzz.bounded import Target


def targets() -> Mapping[str, Target]:
    """Return every target."""
    return {**calls.TARGETS, **files.TARGETS, **doors.TARGETS, **logs.TARGETS}
