"""Score adjustments by labels in mode ``classic``: labels are a set, without weights.

Source: reference composed-graph section 2; specs/ledger.toml, rules "adjustment" and "signal".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

CLEAN: Final = "clean"
NEEDS_POC: Final = "needs_poc"

CLOSED: Final = frozenset(
    {
        "dead_end",
        "rejected",
        "bad_severity",
        "user_demoted",
        "closed_by_scope",
        "closed_by_false_assumption",
        "closed_by_user",
        "expired_lane",
    }
)
"""Labels after which the signal is that of a closed composition."""
DUPLICATE: Final = frozenset({"duplicate_risk", "closed_by_duplicate"})
SUCCESS: Final = frozenset({"accepted", "helpful", "submitted", "user_promoted"})
CLOSED_DOORS: Final = (CLOSED - {"user_demoted"}) | {"closed_by_duplicate"}
"""Labels that put a composition into the closed lane of ``bounty_mode``: a user's demotion does
not, a duplicate does."""

ADJUSTMENTS: Final = {
    "accepted": 350_000_000,
    "helpful": 250_000_000,
    "user_promoted": 200_000_000,
    "submitted": 150_000_000,
    "needs_poc": -50_000_000,
    "user_demoted": -200_000_000,
    "duplicate_risk": -350_000_000,
    "closed_by_duplicate": -400_000_000,
    **dict.fromkeys(sorted(CLOSED - {"user_demoted"}), -450_000_000),
}
"""Score adjustment of each label. Nano-units."""
ADJUSTMENT_MIN: Final = -800_000_000
ADJUSTMENT_MAX: Final = 500_000_000


def adjustment(labels: Iterable[str]) -> int:
    """Return the sum of the adjustments of labels, each kind counted once. Nano-units."""
    total = sum(ADJUSTMENTS.get(label, 0) for label in set(labels))
    return min(max(total, ADJUSTMENT_MIN), ADJUSTMENT_MAX)


def signal(labels: Iterable[str]) -> str:
    """Return the summary word for some labels, used to decide whether to try again."""
    said = set(labels)
    closed, duplicate, success = said & CLOSED, said & DUPLICATE, said & SUCCESS
    if (closed or duplicate) and success:
        return "mixed_prior_outcomes"
    ordered = (
        (closed, "prior_closed_door"),
        (duplicate, "prior_duplicate_risk"),
        (success, "prior_success"),
        (said & {NEEDS_POC}, "prior_needs_poc"),
        (said, "prior_outcome"),
    )
    return next((word for found, word in ordered if found), CLEAN)
