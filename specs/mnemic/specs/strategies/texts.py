"""Texts, tags and names, few enough to be repeated."""

from __future__ import annotations

from hypothesis import strategies as st

from mnemic.specs.strategies.vectors import ANGLES

WORDS = (
    "alpha",
    "béta",
    "ＧＡＭＭＡ",
    "ß",
    "İstanbul",
    "e\u0301clair",
    "日本語",
    "🧠",
    "\u200b",
    "a\tb",
)
"""Words that are difficult for case folding, normalisation and splitting."""

TAGS = (
    "a",
    "b",
    "c",
    "project/x",
    "self/constitutional",
    "self/value",
    "self/goal",
    "self/style",
)
CATEGORIES = ("knowledge", "observation", "message", "preference")
SOURCES = ("api", "agent", "web", "somewhere")


def contents() -> st.SearchStrategy[str]:
    """Texts to learn, most of which contain their angle for `vectors.PlaneEmbedder`.

    Few angles and few fillers: the same text, the same statement in another spelling, statements
    that contradict each other, near-duplicates and neighbours all occur within a few draws.
    """
    placed = st.builds(
        "angle {}: {}".format,
        st.sampled_from(ANGLES),
        st.sampled_from(("one", "two", "ONE", "one.")),
    )
    return st.one_of(placed, placed, placed, odd_texts())


def odd_texts() -> st.SearchStrategy[str]:
    """Texts of awkward words and white space, never empty."""
    return st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" \n ".join)


def tags() -> st.SearchStrategy[tuple[str, ...]]:
    """A few tags, including those with a meaning; not sorted, sometimes repeated."""
    return st.lists(st.sampled_from(TAGS), max_size=3).map(tuple)


def categories() -> st.SearchStrategy[str]:
    """Categories, of which one decays fast and one is exempt from near-duplicates."""
    return st.sampled_from(CATEGORIES)


def sources() -> st.SearchStrategy[str]:
    """Sources of several zones, and one that is in no policy."""
    return st.sampled_from(SOURCES)
