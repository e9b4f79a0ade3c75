"""Replay, what-if and backtest of recorded decisions."""

from __future__ import annotations
