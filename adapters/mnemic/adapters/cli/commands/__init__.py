"""The commands, grouped by what they act on."""

from __future__ import annotations
