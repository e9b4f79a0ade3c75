"""Full-text statistics: terms, postings and BM25."""

from __future__ import annotations
