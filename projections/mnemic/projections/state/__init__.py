"""The state of one space: all projections, advanced event by event or in batches."""

from __future__ import annotations
