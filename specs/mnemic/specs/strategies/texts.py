"""Texts, tags and names, few enough to meet each other again."""

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
"""Words on which case folding, normalisation and splitting go wrong first."""

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
    """Texts to learn, most of which say where `vectors.PlaneEmbedder` puts them.

    Few angles and few fillers: the same text, the same text in other letters, near-duplicates
    and neighbours all come up within a handful of draws.
    """
    placed = st.builds(
        "angle {}: {}".format, st.sampled_from(ANGLES), st.sampled_from(("one", "two", "ONE"))
    )
    return st.one_of(placed, placed, placed, odd_texts())


def odd_texts() -> st.SearchStrategy[str]:
    """Texts of awkward words and white space, never empty."""
    return st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" \n ".join)


def tags() -> st.SearchStrategy[tuple[str, ...]]:
    """A few tags, those that mean something among them; not sorted, sometimes repeated."""
    return st.lists(st.sampled_from(TAGS), max_size=3).map(tuple)


def categories() -> st.SearchStrategy[str]:
    """Categories, of which one fades fast and one is exempt from near-duplicates."""
    return st.sampled_from(CATEGORIES)


def sources() -> st.SearchStrategy[str]:
    """Sources of several zones, and one that no policy knows."""
    return st.sampled_from(SOURCES)
