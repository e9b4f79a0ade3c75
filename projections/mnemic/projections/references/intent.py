"""The intent of a question, and the claim it contains.

Source: reference composed-graph section 3, stage 0; specs/deliberation.toml, rule "intent".
"""

from __future__ import annotations

import re
from typing import Final

ROOT_CAUSE, TIMELINE, COMPARISON, FACT_CHECK, SYNTHESIS = (
    "root_cause",
    "timeline",
    "comparison",
    "fact_check",
    "synthesis",
)

SIGNS: Final = (
    (
        ROOT_CAUSE,
        (
            "why did",
            "root cause",
            "what caused",
            "because of",
            "reason for",
            "why is",
            "why was",
        ),
    ),
    (
        TIMELINE,
        (
            "when did",
            "timeline",
            "history of",
            "over time",
            "how has",
            "evolution of",
            "sequence of",
        ),
    ),
    (
        COMPARISON,
        (
            "differ",
            "compare",
            "versus",
            " vs ",
            "difference between",
            "changed from",
        ),
    ),
    (
        FACT_CHECK,
        (
            "is it true",
            "did i",
            "was there",
            "verify",
            "confirm",
            "is this correct",
            "should i use",
            "should we",
        ),
    ),
)
"""Phrases that reveal an intent; the first that is found decides."""

_OPENING: Final = re.compile(
    r"^\W*(?:(?:please )?(?:verify|confirm)(?: that)?|is it true(?: that)?|is this correct:?|"
    r"did i (?:say|mention|write|tell you)(?: that)?|did i|was there|should (?:i|we))\b[:,]?\s*",
    re.IGNORECASE,
)
_ASKING: Final = re.compile(
    r"^\W*(?:who|whom|whose|what|which|when|where|why|how|is|are|was|were|do|does|did|has|have|"
    r"had|can|could|will|would|shall|should|may|might|must|tell|show|list|find|explain|compare|"
    r"give|describe|summarise|summarize)\b",
    re.IGNORECASE,
)


def intent(query: str) -> str:
    """Return the intent of *query*: one of the five names above."""
    asked = query.lower()
    for name, signs in SIGNS:
        if any(sign in asked for sign in signs):
            return name
    return SYNTHESIS


def claim_of(query: str) -> str | None:
    """Return the claim in *query*; None if it only asks.

    "Is it true that the gate opens at six?" claims, and so does a sentence that is no question.
    """
    opening = _OPENING.match(query)
    claimed = query[opening.end() :] if opening else query
    claimed = claimed.strip().removesuffix("?").strip()
    if not claimed or (opening is None and (query.rstrip().endswith("?") or _ASKING.match(query))):
        return None
    return claimed
