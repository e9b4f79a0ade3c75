"""Every tunable number of mnemic, as one immutable value: policy, frames, zones and presets.

A policy is adopted by an event that holds its canonical bytes, and its id is the digest of those
bytes. When old bytes are parsed, a field that a later release added gets its value in ``LEGACY``,
or else its default here, so an old decision replays under the numbers it was made with. These
values are frozen once released.
"""

from __future__ import annotations

from mnemic.kernel.policy.frames import CONSTITUTIONAL, FRAMES, OWN, Frame
from mnemic.kernel.policy.legacy import LEGACY
from mnemic.kernel.policy.policy import (
    EDGE_WEIGHTS,
    LOGIT,
    PROBABILITY_WEIGHTS,
    RELATION_WEIGHTS,
    RELEVANCE_WEIGHTS,
    Policy,
)
from mnemic.kernel.policy.presets import DEFAULT, ELFMEM, POLICIES
from mnemic.kernel.policy.retention_rules import RetentionRule
from mnemic.kernel.policy.zones import INFLUENCED, ZONE_CEILINGS, ZONE_PLACES, ZONES

__all__ = [
    "CONSTITUTIONAL",
    "DEFAULT",
    "EDGE_WEIGHTS",
    "ELFMEM",
    "FRAMES",
    "INFLUENCED",
    "LEGACY",
    "LOGIT",
    "OWN",
    "POLICIES",
    "PROBABILITY_WEIGHTS",
    "RELATION_WEIGHTS",
    "RELEVANCE_WEIGHTS",
    "ZONES",
    "ZONE_CEILINGS",
    "ZONE_PLACES",
    "Frame",
    "Policy",
    "RetentionRule",
]
