"""The frontier in mode ``classic``, compatible with existing clients."""

from __future__ import annotations
