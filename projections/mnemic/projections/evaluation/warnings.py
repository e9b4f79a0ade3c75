"""Warnings about the numbers of a backtest: their limits, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mnemic.kernel.results import Backtest, PolicyScore, plural

FEW_DECISIONS: Final = 30
FEW_SESSIONS: Final = 10
LOW_COVERAGE: Final = 0.5
LOW_SHARE: Final = 0.5
"""Minimum share of the judged decisions that should distinguish blocks."""
FEW_EFFECTIVE: Final = 10.0
UNEQUAL_PLACES: Final = 0.02
"""Relative difference in the number of places that needs no warning."""

ONE_STEP: Final = (
    "Only one step is compared: each decision was answered again on the memory as it was; under "
    "another policy the memory itself would have developed differently."
)
SHOWN_ONLY: Final = (
    "Feedback is about the blocks that were shown: others are unjudged unless further feedback "
    "names them. The bounds count them as useless and as decisive."
)
WHY_LEFT_OUT: Final = {
    "sealed": "they read text that was erased since",
    "lost": "they read text that is lost",
    "recipe-retired": "their recipe or their token counter is not available",
}


def caveats(found: Backtest) -> tuple[str, ...]:
    """Return warnings about *found* to read before relying on it, the general ones first."""
    return (ONE_STEP, SHOWN_ONLY, *_of_sample(found), *_of_scores(found))


def _of_sample(found: Backtest) -> Iterator[str]:
    if found.judged == 0:
        yield "Nothing is judged: give outcomes or labels, or a longer horizon, and try again."
    elif found.judged < FEW_DECISIONS:
        yield f"Judged: {found.judged} of {found.decisions} decisions, too few for a conclusion."
    if found.told_apart < LOW_SHARE * found.judged:
        yield (
            f"In {found.judged - found.told_apart} of {found.judged} judged decisions everything "
            "that is judged has the same gain, as when a whole answer is scored at once: that "
            "favours what was shown. Score single blocks."
        )
    if found.sessions == 1:
        yield "All decisions are of one session, so the variance is unknown."
    elif 0 < found.sessions < FEW_SESSIONS:
        yield (
            f"Only {found.sessions} sessions could be resampled: the intervals are narrower than "
            "they should be."
        )
    for reason, count in found.left_out.items():
        yield f"{plural(count, 'decision')} left out: {WHY_LEFT_OUT[reason]}."
    if not found.explored:
        yield (
            "No recall explored, so there is no correction for blocks that were never shown; "
            "recall(explore=0.1) allows one."
        )


def _of_scores(found: Backtest) -> Iterator[str]:
    recorded, *others = found.scores
    for score in others:
        yield from _of_one(score, recorded, found.objective)
    for score in found.scores:
        corrected = score.corrected
        if corrected is not None and corrected.effective < FEW_EFFECTIVE:
            yield (
                f"The corrected mean of {score.name} is based on "
                f"{plural(corrected.blocks, 'block')}, an effective sample of "
                f"{corrected.effective:.1f}: do not rely on it."
            )


def _of_one(score: PolicyScore, recorded: PolicyScore, objective: str) -> Iterator[str]:
    if score.places and score.coverage < LOW_COVERAGE:
        yield (
            f"Of the places of {score.name} only {score.coverage:.0%} are judged: look at its "
            "bounds."
        )
    if score.unanswered:
        yield (
            f"{score.name} has no answer to {plural(score.unanswered, 'decision')}: it lacks the "
            "frame that was requested."
        )
    gap = score.gap(objective)
    if score.digest == recorded.digest:
        yield f"{score.name} answers exactly what was recorded."
    elif gap is not None and not gap.sure:
        yield f"The gap of {score.name}, {gap.summary}, may be chance."
    if abs(score.places - recorded.places) > UNEQUAL_PLACES * max(recorded.places, 1):
        yield (
            f"{score.name} returns {score.places} blocks where {recorded.places} were returned: a "
            "longer answer hits more and costs more."
        )
