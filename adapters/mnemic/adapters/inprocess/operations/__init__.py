"""The operations of a memory, grouped by what they act on."""

from __future__ import annotations
