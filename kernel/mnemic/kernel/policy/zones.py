"""Trust zones: the default zone of each source, and the default limits of each zone."""

from __future__ import annotations

from typing import Any

from mnemic.kernel.errors import PolicyRefused
from mnemic.kernel.policy.ranges import words

INFLUENCED = ("usefulness", "confidence", "frequency", "centrality", "reinforcement")
"""Signals that any writer can inflate: they are declared by the writer, or grow by use."""

ZONES = (
    ("agent", "trusted"),
    ("api", "trusted"),
    ("cli", "trusted"),
    ("user", "trusted"),
    ("ingest", "imported"),
    ("tool", "external"),
    ("web", "external"),
)

ZONE_CEILINGS = (
    ("trusted", 1.0),
    ("vetted", 0.9),
    ("imported", 0.6),
    ("external", 0.4),
    ("untrusted", 0.2),
    ("quarantined", 0.0),
)

ZONE_PLACES = (
    ("trusted", 1.0),
    ("vetted", 1.0),
    ("imported", 0.8),
    ("external", 0.6),
    ("untrusted", 0.4),
    ("quarantined", 0.0),
)

ZONES_UNATTRIBUTED = ("untrusted", "quarantined")


def influenced_signals(value: Any) -> tuple[str, ...]:
    """Return names of signals out of ``INFLUENCED`` as a tuple.

    Raises:
        PolicyRefused: It names another, or is not a list of texts.
    """
    found = words(value)
    if unknown := sorted({*found} - {*INFLUENCED}):
        raise PolicyRefused(
            f"zone_discounted names {', '.join(unknown)}",
            recovery=f"Name some of {', '.join(INFLUENCED)}.",
            field="zone_discounted",
        )
    return found
