"""The vector index: quantised vectors and exact search."""

from __future__ import annotations
