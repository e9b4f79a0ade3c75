"""Scores of past decisions, from what happened after them."""

from __future__ import annotations
