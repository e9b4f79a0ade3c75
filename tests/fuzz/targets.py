"""All targets by name."""

from __future__ import annotations

from collections.abc import Mapping

from tests.fuzz import (
    calls,
    files,
    interfaces,
    logs,
)
from tests.fuzz.bounded import Target


def targets() -> Mapping[str, Target]:
    """Return every target."""
    return {**calls.TARGETS, **files.TARGETS, **interfaces.TARGETS, **logs.TARGETS}
