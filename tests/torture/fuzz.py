"""Campaign: malformed input to every interface, for a minute each."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.bounded import fuzzed
from tests.fuzz.targets import targets
from tests.torture.figures import Effort, Figures

SECONDS = 60.0
"""For each target."""
LEAST_S = 0.4
"""In a short campaign: one round each."""
FEW = 0.05
"""Up to this share a third of the targets is run; the tests in tests/fuzz run them all."""


def campaign(folder: Path, effort: Effort) -> Figures:  # noqa: ARG001 - each target has its own
    """Fuzz all targets, one after the other."""
    tried = refused = 0
    slowest_s, failures = 0.0, []
    whole = list(targets().items())
    few = whole if effort.share > FEW else whole[effort.seed % 3 :: 3]
    for name, target in few:
        try:
            tally = fuzzed(
                target, seconds=max(LEAST_S, SECONDS * effort.share), first_seed=effort.seed
            )
        except Exception as error:  # noqa: BLE001 - a crash is what this looks for
            notes = "; ".join(getattr(error, "__notes__", ()))
            failures.append(f"{name}: {type(error).__name__}: {error} ({notes})"[:2000])
            continue
        effort.tell(f"{name}: {tally.tried} tried, {tally.refused} refused")
        tried, refused = tried + tally.tried, refused + tally.refused
        slowest_s = max(slowest_s, tally.slowest_s)
    return Figures(
        promise="Any input is accepted, or refused with an error of mnemic.",
        facts={
            "places": len(few),
            "inputs": tried,
            "refused": refused,
            "crashes": len(failures),
            "slowest, ms": round(slowest_s * 1000),
        },
        failures=tuple(failures),
    )
