"""Arithmetic with exact results on every machine, and the memory model built on it."""

from __future__ import annotations
