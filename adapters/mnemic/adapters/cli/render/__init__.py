"""Results as tables and lines for a terminal."""

from __future__ import annotations
