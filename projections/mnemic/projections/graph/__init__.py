"""The edge graph: one edge per pair of blocks, at every version."""

from __future__ import annotations
