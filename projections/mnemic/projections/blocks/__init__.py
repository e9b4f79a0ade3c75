"""The block catalogue: every block ever learned, and its state at every version."""

from __future__ import annotations
