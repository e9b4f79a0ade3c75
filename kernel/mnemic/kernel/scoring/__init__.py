"""Decay and score signals, computed from facts and a policy."""

from __future__ import annotations
